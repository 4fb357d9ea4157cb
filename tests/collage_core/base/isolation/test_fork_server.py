"""Workers are forks of one process; what they share with it, what they don't, and how either ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import worker_functions as functions

from collage_core.base.isolation import fork_server, fork_server_process
from collage_core.base.isolation.environment import child_environment
from collage_core.base.isolation.process import await_imports, begin_imports
from collage_core.base.isolation.shared import shared_worker
from collage_core.base.isolation.spawn import spawn
from collage_core.base.isolation.worker import Pool, Worker
from collage_core.base.isolation.worker_errors import WorkerDied
from collage_core.errors import Cancelled

from .test_worker import LONG_S, is_gone, wait_until


def server_of(worker: Worker) -> psutil.Process:
    server = psutil.Process(worker.call(functions.pid, timeout_s=LONG_S)).parent()
    assert server is not None
    return server


def test_workers_are_forks_of_one_process_in_sessions_of_their_own() -> None:
    with Worker() as one, Worker(environment={"COLLAGE_A": "a", "ORT_LOG": ""}) as other:
        server = server_of(one)
        assert server_of(other) == server
        assert server.pid != os.getpid()
        assert len({os.getsid(pid) for pid in (one.pid, other.pid, server.pid) if pid}) == 3
        asked = [*fork_server_process.PRELOADED, "tvm"]
        assert one.call(functions.imported, [], asked, timeout_s=LONG_S) == {"numpy": True, "onnx": True, "tvm": False}


def test_imports_may_begin_before_the_first_worker_that_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, imports = [], ["collage_core.search.conflict", "no_other_library"]
    plain = fork_server.spawn
    monkeypatch.setattr(fork_server, "spawn", lambda module, *given, **more: begun.append(given[1:]) or plain(module, *given, **more))
    begin_imports({"ORT_LOG": ""}, imports)
    await_imports({}, imports, LONG_S, lambda: True)
    await_imports({}, imports, LONG_S, lambda: False)
    assert begun == [tuple(imports)]
    with Worker(environment={"COLLAGE_A": "a"}, imports=imports) as worker:
        assert worker.call(functions.imported, [], imports[:1], timeout_s=LONG_S) == {imports[0]: True}
    assert len(begun) == 1


def test_a_worker_starts_with_the_imports_of_its_kind() -> None:
    asked = ["collage_core.search.problem", "no_such_library"]
    with Worker(imports=asked) as one, Worker() as other, Pool() as pool, shared_worker("of the test", imports=asked) as shared:
        has_them = [one, pool.worker("a", imports=asked), shared]
        found = [worker.call(functions.imported, [], asked, timeout_s=LONG_S) for worker in (*has_them, other)]
    assert found == [{asked[0]: has_it, "no_such_library": False} for has_it in (True, True, True, False)]


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "TVM_USE_RUNTIME_LIB"])
def test_what_libraries_read_when_they_are_imported_makes_another_process(name: str) -> None:
    with Worker() as one, Worker(environment={name: "1"}) as other:
        assert server_of(one) != server_of(other)
        assert other.call(functions.environment, name, timeout_s=LONG_S) == "1"


def test_the_password_of_one_worker_is_nowhere_in_the_process_of_the_others() -> None:
    with Worker(environment={"PGPASSWORD": "secret"}) as one, Worker() as other:
        assert one.call(functions.environment, "PGPASSWORD", timeout_s=LONG_S) == "secret"
        assert other.call(functions.environment, "PGPASSWORD", timeout_s=LONG_S) is None
        assert "PGPASSWORD" not in server_of(other).environ()


def test_a_worker_has_no_socket_of_the_others_nor_of_its_server() -> None:
    with Worker() as one, Worker() as other:
        one.call(functions.pid, timeout_s=LONG_S)
        for worker in (one, other):
            assert len([name for name in worker.call(functions.open_descriptors, timeout_s=LONG_S) if name.startswith("socket:")]) == 1


def test_each_starts_in_the_folder_of_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        monkeypatch.chdir(folder)
        with Worker() as worker:
            assert os.readlink(f"/proc/{worker.call(functions.pid, timeout_s=LONG_S)}/cwd") == str(folder)


def test_a_server_that_is_killed_takes_its_workers_along_and_the_next_has_another() -> None:
    with Worker() as one, Worker() as other:
        server = server_of(one)
        server.kill()
        wait_until(lambda: is_gone(server.pid))
        with pytest.raises(WorkerDied, match="was killed by SIGKILL"):
            one.call(functions.add, 1, 2, timeout_s=LONG_S)
        assert one.call(functions.add, 1, 2, timeout_s=LONG_S) == 3
        assert server_of(one) == server_of(other) != server


def test_many_threads_start_workers_at_once() -> None:
    workers = [Worker() for _ in range(12)]
    with ThreadPoolExecutor(12) as threads:
        assert list(threads.map(lambda i: workers[i].call(functions.add, i, i, timeout_s=LONG_S), range(12))) == [2 * i for i in range(12)]
    assert len({worker.pid for worker in workers}) == 12
    for worker in workers:
        worker.close()


def test_it_ends_once_it_has_no_workers_and_its_sockets_tell(tmp_path: Path) -> None:
    (tmp_path / "quick.py").write_text(
        "from collage_core.base.isolation import fork_server_process\nfork_server_process.IDLE_S = 0.1\nmain = fork_server_process.main\n"
    )
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = child_environment()
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), environment["PYTHONPATH"]])
    with theirs:
        process = spawn("quick", theirs.fileno(), output=subprocess.DEVNULL, environment=environment)
    assert process.wait(LONG_S) == 0
    assert ours.recv(1) == b""
    ours.close()


def test_a_server_that_ended_meanwhile_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where it ends by itself: its process is gone, and nobody has noticed."""
    monkeypatch.setattr(fork_server, "_servers", {})
    with Worker() as worker:
        server = server_of(worker)
        worker.close()
        server.kill()
        wait_until(lambda: is_gone(server.pid))
        assert server_of(worker) != server
    for one in fork_server._servers.values():
        one.end()


def test_where_it_cannot_even_start_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_server, "_servers", {})
    with pytest.raises(WorkerDied, match="could not be started: the process that it is forked from ended with exit status 1"):
        Worker(environment={"PYTHONPATH": "/nowhere", "PYTHONHOME": "/nowhere"}).call(functions.pid, timeout_s=LONG_S)


def test_a_fork_that_the_system_refuses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control, answers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    given = [os.open(os.devnull, os.O_RDONLY) for _ in range(3)]
    with requests, theirs, control, answers:
        socket.send_fds(requests, [b"{}"], [*given, answers.fileno()])
        assert fork_server_process._Server(theirs)._serve()
        control.settimeout(LONG_S)
        assert json.loads(control.recv(fork_server_process.MESSAGE_BYTES)) == {"error": "Resource temporarily unavailable"}
    for descriptor in given:
        os.close(descriptor)


def test_the_status_of_one_that_ended_by_itself_is_kept_until_it_is_asked_for() -> None:
    with Worker() as worker:
        pid = worker.call(functions.pid, timeout_s=LONG_S)
        os.kill(pid, signal.SIGSEGV)
        wait_until(lambda: is_gone(pid))
        with pytest.raises(WorkerDied, match="crashed with SIGSEGV"):
            worker.call(functions.pid, timeout_s=LONG_S)
        assert not psutil.pid_exists(pid)


@pytest.mark.parametrize("stopped", [("worker",), ("server",), ("worker", "server")], ids=" and ".join)
def test_workers_that_are_stopped_end_and_others_start(stopped: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody's SIGSTOP: a cancel, and the next call, wait for nobody to continue them."""
    monkeypatch.setattr(fork_server, "_LOOK_S", 0.02)
    with Worker() as worker:
        server = server_of(worker)
        assert worker.pid is not None
        old = psutil.Process(worker.pid)
        for name in stopped:
            (server if name == "server" else old).suspend()
        if "worker" in stopped:
            with pytest.raises(Cancelled):
                worker.call(functions.pid, timeout_s=LONG_S, should_stop=lambda: True)
        else:
            worker.close()
        wait_until(lambda: is_gone(old.pid))
        assert worker.call(functions.pid, timeout_s=LONG_S) not in (old.pid, None)
        assert server.is_running() == ("server" not in stopped)


def test_a_server_that_is_stopped_starts_no_worker_and_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_server, "_LOOK_S", 0.02)
    with Worker() as one:
        server = server_of(one)
        server.suspend()
        with Worker() as other:
            assert server_of(other) != server
        wait_until(lambda: is_gone(server.pid))
