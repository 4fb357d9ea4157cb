"""Workers: calls that crash, hang, babble, eat memory or are cancelled, and what the parent is told about them."""

from __future__ import annotations

import functools
import gc
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
import worker_functions as functions

from collage_core.base.isolation.report import report
from collage_core.base.isolation.worker import Pool, Worker
from collage_core.base.isolation.worker_errors import WorkerDied, WorkerFailed, WorkerTimeout
from collage_core.errors import Cancelled, CollageError, InfeasibleError
from collage_core.toolchains.toolchain import ToolchainError

LONG_S = 60.0
"""A limit that no healthy call comes near, however busy the machine."""


@pytest.fixture(scope="module")
def warm() -> Iterator[Worker]:
    """One worker for the tests that leave it well, and for those that show that it comes back."""
    with Worker() as worker:
        yield worker


def wait_until(true: Callable[[], object], seconds: float = LONG_S) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def is_gone(pid: int) -> bool:
    """Dead, whether reaped or not (the reaper of an orphan is not ours to choose)."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_result_comes_back_from_another_process_that_stays_warm(warm: Worker) -> None:
    assert warm.call(functions.add, 2, 3, timeout_s=LONG_S) == 5
    first, second = (warm.call(functions.pid, timeout_s=LONG_S) for _ in range(2))
    assert first == second == warm.pid != os.getpid()


def test_large_arrays_travel_both_ways(warm: Worker) -> None:
    array = np.arange(3_000_000, dtype=np.float64)
    assert np.array_equal(warm.call(functions.echo, array, timeout_s=LONG_S), array)


def test_static_method_is_found_by_its_qualified_name(warm: Worker) -> None:
    assert warm.call(functions.Holder.double, 21, timeout_s=LONG_S) == 42


@pytest.mark.parametrize("function", [lambda: 1, functools.partial(functions.add, 1)], ids=["lambda", "partial"])
def test_function_that_has_no_name_of_its_own_is_refused(function: Callable[[], int]) -> None:
    with pytest.raises(ValueError, match="a worker can only run module-level functions"):
        Worker().call(function, timeout_s=LONG_S)


def test_progress_arrives_in_order_before_the_result(warm: Worker) -> None:
    seen: list[object] = []
    assert warm.call(functions.count, 50, timeout_s=LONG_S, on_progress=seen.append) == "counted"
    assert seen == [{"step": step} for step in range(50)]


def test_report_outside_a_worker_is_heard_by_nobody() -> None:
    report("anything")


def test_listener_that_raises_ends_the_child_and_the_error_arrives(warm: Worker) -> None:
    def refuse(message: object) -> None:
        raise KeyboardInterrupt

    before = warm.call(functions.pid, timeout_s=LONG_S)
    with pytest.raises(KeyboardInterrupt):
        warm.call(functions.count, 3, timeout_s=LONG_S, on_progress=refuse)
    assert warm.pid is None
    assert is_gone(before)


def test_toolchain_error_keeps_class_stage_and_words(warm: Worker) -> None:
    with pytest.raises(ToolchainError, match="no converter for operator Foo") as caught:
        warm.call(functions.raise_toolchain_error, timeout_s=LONG_S)
    assert (caught.value.stage, caught.value.code) == ("import", "toolchain")


def test_collage_error_keeps_message_hint_and_code(warm: Worker) -> None:
    with pytest.raises(CollageError) as caught:
        warm.call(functions.raise_collage_error, timeout_s=LONG_S)
    assert caught.value.to_json() == {"code": "odd", "message": "'x' is odd", "hint": "use 'y'"}


def test_attribute_that_cannot_travel_stays_behind(warm: Worker) -> None:
    with pytest.raises(InfeasibleError) as caught:
        warm.call(functions.raise_infeasible, timeout_s=LONG_S)
    assert caught.value.conflict == [3, 1]
    assert not hasattr(caught.value, "extra")


def test_cancelled_in_the_child_is_cancelled_here(warm: Worker) -> None:
    with pytest.raises(Cancelled):
        warm.call(functions.raise_cancelled, timeout_s=LONG_S)


def test_error_class_that_only_the_child_has_is_told_as_a_failure(warm: Worker) -> None:
    with pytest.raises(WorkerFailed, match="Local: made inside"):
        warm.call(functions.raise_local_error, timeout_s=LONG_S)


def test_any_other_exception_is_a_failure_with_last_line_and_traceback(warm: Worker) -> None:
    before = warm.call(functions.pid, timeout_s=LONG_S)
    with pytest.raises(WorkerFailed) as caught:
        warm.call(functions.raise_odd, "Check failed\n  (n == 4) is false\n", timeout_s=LONG_S)
    assert str(caught.value) == "RuntimeError: (n == 4) is false"
    assert "in raise_odd" in caught.value.traceback
    assert warm.call(functions.pid, timeout_s=LONG_S) == before, "an exception is no reason to lose a warm process"


def test_asking_the_process_to_end_is_a_failure_too(warm: Worker) -> None:
    with pytest.raises(WorkerFailed, match="SystemExit: it asked the process to end with 3"):
        warm.call(functions.leave, 3, timeout_s=LONG_S)


def test_result_that_cannot_travel_is_a_failure(warm: Worker) -> None:
    with pytest.raises(WorkerFailed, match="TypeError: this object stays at home"):
        warm.call(functions.unpicklable, timeout_s=LONG_S)


def test_crash_names_the_signal_and_the_last_words_and_the_worker_comes_back(warm: Worker) -> None:
    with pytest.raises(WorkerDied) as caught:
        warm.call(functions.crash, "kernel 7 reads past its end", timeout_s=LONG_S)
    assert str(caught.value) == "crashed with SIGSEGV; its last output: 'kernel 7 reads past its end'"
    assert caught.value.exit_status == -signal.SIGSEGV
    assert warm.pid is None
    assert warm.call(functions.add, 1, 1, timeout_s=LONG_S) == 2


def test_abort_and_quiet_exit_are_told_apart(warm: Worker) -> None:
    with pytest.raises(WorkerDied, match=r"^crashed with SIGABRT"):
        warm.call(functions.abort, timeout_s=LONG_S)
    with pytest.raises(WorkerDied, match=r"^ended with exit status 4$"):
        warm.call(functions.exit_quietly, 4, timeout_s=LONG_S)


def test_last_words_are_of_this_call_and_skip_empty_lines(warm: Worker) -> None:
    warm.call(functions.babble, 1, timeout_s=LONG_S)
    with pytest.raises(WorkerDied) as caught:
        warm.call(functions.say_and_fail, "the\tend", timeout_s=LONG_S)
    assert caught.value.last_words == "the end"


def test_hang_is_ended_after_its_time(warm: Worker) -> None:
    before = warm.call(functions.pid, timeout_s=LONG_S)
    with pytest.raises(WorkerTimeout, match=r"gave no answer within 200 ms") as caught:
        warm.call(functions.hang, timeout_s=0.2)
    assert caught.value.seconds == 0.2
    assert is_gone(before)


def test_hang_in_native_code_is_ended_and_so_are_the_childs_children(warm: Worker, tmp_path: Path) -> None:
    with pytest.raises(WorkerTimeout):
        warm.call(functions.hang_in_native_code, timeout_s=0.2)
    started = tmp_path / "grandchild"
    with pytest.raises(Cancelled):
        warm.call(
            functions.hang_with_child, str(started), timeout_s=LONG_S, should_stop=lambda: started.exists() and bool(started.read_text())
        )
    wait_until(lambda: is_gone(int(started.read_text())))


def test_cancel_ends_the_child(warm: Worker, tmp_path: Path) -> None:
    started = tmp_path / "started"
    with pytest.raises(Cancelled):
        warm.call(functions.hang, str(started), timeout_s=LONG_S, should_stop=started.exists)
    assert warm.pid is None


def test_babble_on_both_streams_disturbs_nothing_and_fills_no_disk(warm: Worker) -> None:
    assert warm.call(functions.babble, 24, timeout_s=LONG_S) == "said enough"
    assert warm.call(functions.add, 1, 2, timeout_s=LONG_S) == 3


def test_child_that_closes_its_socket_is_given_up(warm: Worker) -> None:
    with pytest.raises(WorkerDied, match="ended with exit status 1"):
        warm.call(functions.close_the_socket, timeout_s=LONG_S)


def test_child_that_eats_memory_is_ended() -> None:
    with Worker(memory_bytes=300 << 20) as worker, pytest.raises(WorkerDied, match=r"took more than the 0\.3 GB of memory that it may"):
        worker.call(functions.eat, 16, timeout_s=LONG_S)


def test_mapped_files_are_not_counted_as_the_childs_memory(tmp_path: Path) -> None:
    mapped = tmp_path / "large"
    mapped.write_bytes(bytes(200 << 20))
    with Worker(memory_bytes=150 << 20) as worker:
        assert worker.call(functions.map_file, str(mapped), timeout_s=LONG_S) == 0


def test_parents_sockets_and_standard_output_stay_the_parents(warm: Worker, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        os.set_inheritable(server.fileno(), True)
        inode = os.readlink(f"/proc/self/fd/{server.fileno()}")
        with Worker() as worker:
            assert inode not in worker.call(functions.open_descriptors, timeout_s=LONG_S)
            worker.call(functions.babble, 1, timeout_s=LONG_S)
    assert capfd.readouterr() == ("", "")


def test_environment_goes_on_top_of_the_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_A", "parent")
    with Worker(environment={"COLLAGE_B": "own"}) as worker:
        assert [worker.call(functions.environment, f"COLLAGE_{name}", timeout_s=LONG_S) for name in "AB"] == ["parent", "own"]


@pytest.mark.parametrize("native", [False, True], ids=["in Python", "in native code"])
def test_child_dies_with_its_parent(tmp_path: Path, native: bool) -> None:
    started = tmp_path / "started"
    parent = Worker()

    def parent_is_killed_once_the_child_hangs() -> bool:
        if started.exists() and started.read_text():
            assert parent.pid is not None
            os.kill(parent.pid, signal.SIGKILL)
        return False

    with pytest.raises(WorkerDied, match="was killed by SIGKILL"):
        parent.call(functions.parent_that_dies, str(started), native, timeout_s=LONG_S, should_stop=parent_is_killed_once_the_child_hangs)
    wait_until(lambda: is_gone(int(started.read_text())))


def test_child_outlives_the_thread_that_first_called_it(warm: Worker) -> None:
    pids: list[int] = []
    warm.close()
    thread = threading.Thread(target=lambda: pids.append(warm.call(functions.pid, timeout_s=LONG_S)))
    thread.start()
    thread.join()
    assert warm.call(functions.pid, timeout_s=LONG_S) == pids[0]


def test_forgotten_worker_leaves_no_process() -> None:
    worker = Worker()
    pid = worker.call(functions.pid, timeout_s=LONG_S)
    del worker
    gc.collect()
    assert not psutil.pid_exists(pid)


def test_killed_between_calls_is_told_by_the_next_call(warm: Worker) -> None:
    os.kill(warm.call(functions.pid, timeout_s=LONG_S), signal.SIGKILL)
    with pytest.raises(WorkerDied, match="was killed by SIGKILL"):
        warm.call(functions.add, 1, 1, timeout_s=LONG_S)


def test_pool_keeps_one_worker_for_each_name_and_closes_them_all() -> None:
    with Pool() as pool:
        pids = [pool.worker(name).call(functions.pid, timeout_s=LONG_S) for name in ("a", "b", "a")]
        assert pids[0] == pids[2] != pids[1]
        assert pool.worker("c", {"WORD": "new"}).call(functions.environment, "WORD", timeout_s=LONG_S) == "new"
        assert pool.worker("a").call(functions.environment, "WORD", timeout_s=LONG_S) is None
    assert not any(map(psutil.pid_exists, pids))
    assert not [child for child in psutil.Process().children() if child.pid in pids]


@pytest.mark.parametrize("is_removed", [True, False], ids=["removed", "forgotten"])
def test_the_folder_of_a_pool_outlives_its_workers(is_removed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path))
    pool = Pool()
    folder = pool.folder
    (folder / "file").write_text("")
    pool.close()
    assert pool.folder == folder
    assert list(folder.iterdir())
    if is_removed:
        pool.remove_folder()
    else:
        del pool
        gc.collect()
    assert not folder.exists()
