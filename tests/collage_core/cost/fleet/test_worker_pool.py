"""A pool that is closed while a worker joins it: every thread is waited for, and none before it has begun."""

from __future__ import annotations

import threading

import pytest

from collage_core.cost.fleet.worker_pool import WorkerPool


class Idle:
    """A worker that has nothing to do."""

    name = "idle"
    address = ("127.0.0.1", 1)
    is_closed = False

    def ping(self) -> None: ...

    def close(self) -> None:
        self.is_closed = True


def test_closing_while_a_worker_joins_waits_for_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, idle = WorkerPool(lambda text: None, lambda worker, lost: None), Idle()
    failed: list[BaseException] = []

    def close() -> None:
        try:
            pool.close()
        except RuntimeError as error:
            failed.append(error)

    closing = threading.Thread(target=close)
    start = threading.Thread.start

    def late(thread: threading.Thread) -> None:
        """The pool's thread begins only after somebody else had the chance to close the pool."""
        if thread.name == "fleet-idle":
            start(closing)
            closing.join(0.2)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", late)
    pool.add(idle)  # type: ignore[arg-type]
    closing.join(30)
    assert not closing.is_alive()
    assert failed == []
    assert idle.is_closed
    assert pool.workers == []
