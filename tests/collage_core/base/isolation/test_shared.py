"""`shared_worker`: callers share a warm process, and it ends when nobody needs it."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from collage_core.base.isolation import shared
from collage_core.base.isolation.shared import shared_worker
from collage_core.base.isolation.worker_errors import WorkerDied


def pid(name: str) -> int:
    with shared_worker(name) as worker:
        return int(worker.call(os.getpid, timeout_s=30))


def test_callers_of_one_name_share_a_process_that_stays_warm() -> None:
    first = pid("one")
    assert first not in (os.getpid(), pid("other"))
    with shared_worker("one") as outer:
        assert pid("one") == outer.call(os.getpid, timeout_s=30) == first
    with ThreadPoolExecutor(3) as threads:
        assert set(threads.map(pid, ["one"] * 6)) == {first}


def test_it_ends_after_nobody_has_used_it_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "IDLE_S", 0.1)
    first = pid("idle")
    until = time.monotonic() + 30
    while psutil.pid_exists(first):
        assert time.monotonic() < until
        time.sleep(0.02)
    with shared_worker("idle") as worker:
        again = worker.call(os.getpid, timeout_s=30)
        time.sleep(0.3)
        assert worker.call(os.getpid, timeout_s=30) == again != first, "it is in use, however long that takes"


def test_another_environment_or_folder_has_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = pid("here")
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "elsewhere:Toolchain")
    second = pid("here")
    monkeypatch.chdir(tmp_path)
    assert len({first, second, pid("here")}) == 3
    monkeypatch.undo()
    assert pid("here") == first


def test_a_crash_ends_the_call_and_the_next_caller_gets_a_new_process() -> None:
    first = pid("crashes")
    with shared_worker("crashes") as worker, pytest.raises(WorkerDied):
        worker.call(os.kill, first, signal.SIGKILL, timeout_s=30)
    assert pid("crashes") != first
