"""The spare processes of runs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from collage_server.runs import job_pool
from collage_server.runs.job_pool import JobPool

from collage_core.base.isolation.errors import WorkerDied, WorkerFailed
from collage_core.base.isolation.report import report
from collage_core.errors import Cancelled, CollageError
from tests.helpers.live import until


def pid_of(pipeline: str) -> int:
    report([{"type": "Note", "text": "here"}])
    return os.getpid()


def sleep_for_ever(pipeline: str) -> None:
    time.sleep(600)


def die(pipeline: str) -> None:
    os.abort()


def mistake(pipeline: str) -> None:
    raise CollageError("a mistake", "mend it", "word")


@pytest.fixture
def pool() -> Iterator[JobPool]:
    made = JobPool("fake_pipeline")
    yield made
    made.close()


def run_pid(pool: JobPool, again: bool) -> int:
    told: list[dict[str, str]] = []
    pid: int = pool.run(pid_of, on_events=told.extend, should_stop=lambda: False, again=again)
    assert told == [{"type": "Note", "text": "here"}]
    return pid


def test_a_search_uses_its_process_again_and_a_measurement_does_not(pool: JobPool) -> None:
    first = run_pid(pool, again=True)
    assert run_pid(pool, again=True) == first
    assert pool.look_up(pid_of) == first
    assert run_pid(pool, again=False) == first
    assert run_pid(pool, again=True) != first


def test_a_spare_that_is_out_for_something_short_is_waited_for(pool: JobPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_pool, "RETURN_S", 30.0)
    pid = pool.look_up(pid_of)
    threads = [threading.Thread(target=pool.look_up, args=(pid_of,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pool._all) == 1
    assert pool.look_up(pid_of) == pid


def test_a_spare_is_made_ahead(pool: JobPool) -> None:
    pool.start()
    until(lambda: pool._idle, "the spare")
    pid = pool._idle[0].pid
    assert pid is not None
    assert run_pid(pool, again=True) == pid


def test_a_process_that_died_is_replaced(pool: JobPool) -> None:
    with pytest.raises(WorkerDied):
        pool.look_up(die)
    assert pool.look_up(pid_of)


def test_mistakes_come_through(pool: JobPool) -> None:
    with pytest.raises(CollageError, match="a mistake") as caught:
        pool.look_up(mistake)
    assert (caught.value.hint, caught.value.code) == ("mend it", "word")


def test_a_pipeline_that_cannot_be_imported_is_told_by_the_run(home: Path) -> None:
    pool = JobPool("no_such_pipeline")
    pool.start()
    with pytest.raises(WorkerFailed, match="ModuleNotFoundError: No module named 'no_such_pipeline'"):
        pool.look_up(job_pool.job.prepare)
    pool.close()


def test_closing_stops_what_runs_and_starts_nothing_more() -> None:
    pool = JobPool("fake_pipeline")
    raised: list[BaseException] = []

    def run() -> None:
        try:
            pool.run(sleep_for_ever, on_events=print, should_stop=lambda: False, again=False)
        except Cancelled as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: any(worker.calls for worker in pool._all), "the call")
    pool.close()
    thread.join()
    assert len(raised) == 1
    with pytest.raises(Cancelled):
        pool.look_up(pid_of)
