"""The pool of worker processes: reused, replaced, stopped."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_engine import FakeEngine

from collage_core.base.isolation.report import report
from collage_core.base.isolation.worker_errors import WorkerDied, WorkerFailed
from collage_core.errors import Cancelled, CollageError
from collage_server import process_pool
from collage_server.http.error_answers import Problem
from collage_server.process_pool import ProcessPool
from collage_server.worker import queries
from tests.helpers.live import until


def pid_of() -> int:
    report([{"type": "Note", "text": "here"}])
    return os.getpid()


def sleep_for_ever() -> None:
    time.sleep(600)


def die() -> None:
    os.abort()


def mistake() -> None:
    raise CollageError("a mistake", "mend it", "word")


@pytest.fixture
def pool() -> Iterator[ProcessPool]:
    made = ProcessPool(FakeEngine())
    yield made
    made.close()


def run_pid(pool: ProcessPool, is_reusable: bool) -> int:
    told: list[dict[str, str]] = []
    pid: int = pool.run(pid_of, on_events=told.extend, should_stop=lambda: False, is_reusable=is_reusable)
    assert told == [{"type": "Note", "text": "here"}]
    return pid


def test_a_search_uses_its_process_again_and_a_measurement_does_not(pool: ProcessPool) -> None:
    first = run_pid(pool, is_reusable=True)
    assert run_pid(pool, is_reusable=True) == first
    assert pool.call(pid_of) == first
    assert run_pid(pool, is_reusable=False) == first
    assert run_pid(pool, is_reusable=True) != first


def test_a_spare_that_is_out_for_something_short_is_waited_for(pool: ProcessPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_pool, "RETURN_S", 30.0)
    pid = pool.call(pid_of)
    threads = [threading.Thread(target=pool.call, args=(pid_of,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pool._all) == 1
    assert pool.call(pid_of) == pid


def test_a_spare_is_made_ahead(pool: ProcessPool) -> None:
    pool.start()
    until(lambda: pool._idle, "the spare")
    pid = pool._idle[0].pid
    assert pid is not None
    assert run_pid(pool, is_reusable=True) == pid


def test_a_process_that_died_is_replaced(pool: ProcessPool) -> None:
    with pytest.raises(WorkerDied):
        pool.call(die)
    assert pool.call(pid_of)


def test_mistakes_come_through(pool: ProcessPool) -> None:
    with pytest.raises(CollageError, match="a mistake") as caught:
        pool.call(mistake)
    assert (caught.value.hint, caught.value.code) == ("mend it", "word")


class BrokenEngine(FakeEngine):
    imports = ("no_such_library",)


def test_an_engine_that_cannot_be_imported_is_told_by_the_run(home: Path) -> None:
    pool = ProcessPool(BrokenEngine())
    pool.start()
    with pytest.raises(WorkerFailed, match="ModuleNotFoundError: No module named 'no_such_library'"):
        pool.call(queries.prepare, BrokenEngine())
    pool.close()


def test_closing_stops_what_runs_and_starts_nothing_more() -> None:
    pool = ProcessPool(FakeEngine())
    raised: list[BaseException] = []

    def run() -> None:
        try:
            pool.run(sleep_for_ever, on_events=print, should_stop=lambda: False, is_reusable=False)
        except Cancelled as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: any(worker.calls for worker in pool._all), "the call")
    pool.close()
    thread.join()
    assert len(raised) == 1
    with pytest.raises(Cancelled):
        pool.call(pid_of)


def wait_for(path: str) -> None:
    while not Path(path).exists():
        time.sleep(0.01)


def test_only_so_many_calls_are_answered_at_once_and_the_others_wait(
    pool: ProcessPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_pool, "CALLS_AT_ONCE", 2)
    monkeypatch.setattr(process_pool, "CALLS_WAITING", 3)
    go = tmp_path / "go"
    threads = [threading.Thread(target=pool.call, args=(wait_for, str(go))) for _ in range(5)]
    for thread in threads:
        thread.start()
    until(lambda: pool._waiting_calls == 3, "three that wait")
    assert len(pool._all) <= 2
    with pytest.raises(Problem, match="3 questions wait already") as caught:
        pool.call(pid_of)
    assert caught.value.status == 503
    go.touch()
    for thread in threads:
        thread.join()
    assert pool.call(pid_of)


def test_a_call_that_nobody_waits_for_ends(pool: ProcessPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both while it is answered, and while it waits."""
    monkeypatch.setattr(process_pool, "CALLS_AT_ONCE", 1)
    left, raised = [threading.Event(), threading.Event()], []

    def call(index: int) -> None:
        try:
            pool.call(sleep_for_ever, should_stop=left[index].is_set)
        except Cancelled:
            raised.append(index)

    threads = [threading.Thread(target=call, args=(index,)) for index in range(2)]
    for index, thread in enumerate(threads):
        thread.start()
        until(lambda: pool._calls == 1 and pool._waiting_calls == index, "its turn")  # noqa: B023
    for index in (1, 0):
        left[index].set()
        threads[index].join()
    assert raised == [1, 0]


def test_a_call_that_waits_too_long_is_refused(pool: ProcessPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_pool, "CALLS_AT_ONCE", 0)
    monkeypatch.setattr(process_pool, "CALL_TIMEOUT_S", 0.1)
    with pytest.raises(Problem, match=r"other questions have taken the whole 100 ms"):
        pool.call(pid_of)
