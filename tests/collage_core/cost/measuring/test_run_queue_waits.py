"""Run-queue waits: what the system counts of this process's threads, and the share of a sample that it is."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from collage_core.cost.measuring import run_queue_waits

TASKS = Path("/proc/self/task")


def test_share_that_was_waited_is_that_of_the_thread_which_waited_longest() -> None:
    assert run_queue_waits.waited_share([0, 100], [1_000_000, 500_100], 0.004) == pytest.approx(0.25)
    assert run_queue_waits.waited_share([], [], 0.004) == 0
    assert run_queue_waits.waited_share([5], [0], 0.004) == 0
    assert run_queue_waits.waited_share([0], [10**9], 1e-3) == 0.99
    assert run_queue_waits.waited_share([0], [10**9], 0.0) == 0


@pytest.mark.skipif(not TASKS.is_dir(), reason="this system tells nothing of its threads")
def test_waiting_is_told_of_each_thread_of_this_process() -> None:
    go = threading.Event()
    other = threading.Thread(target=go.wait)
    other.start()
    try:
        with run_queue_waits.run_queue_waits() as waits:
            told = waits()
            threads = [int(folder.name) for folder in TASKS.iterdir()]
    finally:
        go.set()
        other.join()
    assert other.native_id in threads
    assert len(told) == len(threads)
    assert all(nanoseconds >= 0 for nanoseconds in told)


@pytest.mark.skipif(not TASKS.is_dir(), reason="this system tells nothing of its threads")
def test_thread_that_has_ended_waits_no_more() -> None:
    go = threading.Event()
    other = threading.Thread(target=go.wait)
    other.start()
    with run_queue_waits.run_queue_waits() as waits:
        before = len(waits())
        go.set()
        other.join()
        until_gone(other)
        assert len(waits()) == before


def until_gone(thread: threading.Thread) -> None:
    """A thread that was joined may still be listed for a moment."""
    while (TASKS / str(thread.native_id)).is_dir():
        os.sched_yield()


def test_system_that_does_not_tell_disturbs_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run_queue_waits, "_THREADS", tmp_path / "absent")
    with run_queue_waits.run_queue_waits() as waits:
        assert waits() == []
