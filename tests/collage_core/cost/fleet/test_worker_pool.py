"""Waiting for workers without a scheduler; what a pool does with real ones is tested in `test_runner.py`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from collage_core.cost.fleet import worker_pool
from collage_core.cost.fleet.connection import Connection
from collage_core.cost.fleet.jobs import Job
from collage_core.cost.fleet.protocol import Settings
from collage_core.cost.fleet.worker_pool import WorkerPool
from collage_core.cost.measuring.trial import TrialLimits
from collage_core.errors import Cancelled, CollageError
from collage_core.events import ignore
from collage_core.toolchains import registry


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Callable[..., WorkerPool]:
    """Makes a pool that has no connection; `step` is what happens in each of its steps."""
    monkeypatch.setattr(WorkerPool, "_connect", lambda self: None)

    def make(step: Callable[[], None], *, is_stopped: bool = False) -> WorkerPool:
        monkeypatch.setattr(WorkerPool, "_step", lambda self: step())
        settings = Settings(registry.get, 1, 1e-3, TrialLimits())
        return WorkerPool(Connection("tcp", "127.0.0.1", 1, None), settings, lambda: is_stopped, ignore, -1.0, has_own_cores=True)

    return make


def test_a_scheduler_that_lists_nobody_is_not_waited_for_without_end(
    pool: Callable[..., WorkerPool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "START_S", 0.01)
    with pytest.raises(CollageError, match=r"no worker has joined the scheduler at tcp://127\.0\.0\.1:1"):
        pool(lambda: None).choose([], None, 2)
    with pytest.raises(Cancelled):
        pool(lambda: None, is_stopped=True).choose([], None, 0)


def test_a_result_is_given_also_where_its_worker_was_the_last(pool: Callable[..., WorkerPool]) -> None:
    job = Job((), 1.0, lambda answer, took_s: None)

    def end() -> None:
        job.is_done = True

    assert list(pool(end).results(iter([job]))) == [job]
    with pytest.raises(CollageError, match="no worker of the fleet is left: all of them vanished"):
        list(pool(lambda: None).results(iter([Job((), 1.0, lambda answer, took_s: None)])))
