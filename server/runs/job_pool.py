"""`JobPool`: worker processes that have the pipeline imported before they are needed, and how one of them is stopped.

What enters is which function of `job` to call; what leaves is its result or its error. A process that has measured is
ended; one that has only searched or looked something up is used again, with the records that it has in memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import psutil

from collage_core.base.isolation.errors import WorkerError
from collage_core.base.isolation.worker import Worker
from collage_core.errors import Cancelled, CollageError

from ..worker import run_job

IDLE_KEPT = 2
PREPARE_TIMEOUT_S = 120.0
LOOK_UP_TIMEOUT_S = 30.0
RUN_TIMEOUT_S = 7 * 86400.0
"""A run has its own time limit; this one only keeps it from being endless."""

RETURN_S = 0.25
"""How long one waits for a spare that is out for something short, before another is started: that takes longer."""

GRACE_S = 0.5

Events = list[dict[str, Any]]


class JobPool:
    """Spare processes, at least one of them idle as far as possible.

    Args:
        pipeline: Dotted name of the pipeline's module.
    """

    def __init__(self, pipeline: str):
        self._pipeline = pipeline
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._lent = 0
        self._lock = threading.Condition()
        self._closed = threading.Event()
        self._background = ThreadPoolExecutor(1, thread_name_prefix="collage-spare")

    def start(self) -> None:
        """Have a spare made, in the background."""
        self._in_background(self._make_spare)

    def warm(self, folder: str) -> None:
        """Have a spare read the record of `folder`, in the background."""
        self._in_background(lambda: self._prepare(run_job.warm, folder))

    def look_up(self, function: Callable[..., Any], *args: Any, timeout_s: float = LOOK_UP_TIMEOUT_S) -> Any:
        """Call a quick function of `job` with the pipeline's name and `args`.

        Raises:
            CollageError: as the function raised it.
            WorkerError: it failed.
        """
        with self._borrowed() as worker:
            return worker.call(function, self._pipeline, *args, timeout_s=timeout_s, should_stop=self._closed.is_set)

    def run(
        self, function: Callable[..., Any], *args: Any, on_events: Callable[[Events], None], should_stop: Callable[[], bool], again: bool
    ) -> Any:
        """Call a function of `job` as a run.

        Args:
            on_events: Gets every list of events that the run reports.
            should_stop: Asked about every 50 ms; the run and all that it started are ended soon after it says so.
            again: The process can be used again afterwards.

        Raises:
            CollageError: as the run raised it.
            Cancelled: it was stopped.
            WorkerError: it died, or met a fault of ours.
        """
        with self._borrowed() if again else self._owned() as worker:
            stop = _Stop(worker, lambda: self._closed.is_set() or should_stop())
            try:
                return worker.call(
                    function, self._pipeline, *args, timeout_s=RUN_TIMEOUT_S, on_progress=on_events, should_stop=stop.is_wanted
                )
            finally:
                stop.end_what_is_left()

    def close(self) -> None:
        """End every process; what runs is stopped."""
        with self._lock:
            self._closed.set()
            self._lock.notify_all()
            workers = list(self._all)
        self._background.shutdown(wait=True, cancel_futures=True)
        for worker in workers:
            worker.close()

    @contextmanager
    def _borrowed(self) -> Iterator[Worker]:
        worker = self._take(lent=1)
        try:
            yield worker
        finally:
            self._give(worker)

    @contextmanager
    def _owned(self) -> Iterator[Worker]:
        worker = self._take(lent=0)
        self.start()
        try:
            yield worker
        finally:
            self._end(worker)

    def _take(self, lent: int) -> Worker:
        with self._lock:
            if self._lent:
                self._lock.wait_for(lambda: self._idle or self._closed.is_set(), RETURN_S)
            if self._closed.is_set():
                raise Cancelled
            self._lent += lent
            worker = self._idle.pop() if self._idle else Worker()
            self._all.add(worker)
            return worker

    def _give(self, worker: Worker) -> None:
        with self._lock:
            self._lent -= 1
            self._lock.notify()
            if len(self._idle) < IDLE_KEPT and not self._closed.is_set():
                self._idle.append(worker)
                return
        self._end(worker)

    def _end(self, worker: Worker) -> None:
        with self._lock:
            self._all.discard(worker)
        worker.close()

    def _make_spare(self) -> None:
        if not self._idle:
            self._prepare(run_job.prepare)

    def _prepare(self, function: Callable[..., Any], *args: Any) -> None:
        """What is wrong here is met again, and told, by the run that needs it."""
        with suppress(WorkerError, CollageError, Cancelled), self._borrowed() as worker:
            worker.call(function, self._pipeline, *args, timeout_s=PREPARE_TIMEOUT_S, should_stop=self._closed.is_set)

    def _in_background(self, function: Callable[[], None]) -> None:
        with self._lock:
            if not self._closed.is_set():
                self._background.submit(function)


class _Stop:
    """Remembers what a run has started when it is to stop, so that nothing of it is left behind."""

    def __init__(self, worker: Worker, should_stop: Callable[[], bool]):
        self._worker = worker
        self._should_stop = should_stop
        self._descendants: list[psutil.Process] = []

    def is_wanted(self) -> bool:
        if not self._should_stop():
            return False
        with suppress(psutil.NoSuchProcess):
            self._descendants = psutil.Process(self._worker.pid).children(recursive=True)
        return True

    def end_what_is_left(self) -> None:
        """Asked first, killed after half a second. The run's own process is dead by now."""
        for process in self._descendants:
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        _, alive = psutil.wait_procs(self._descendants, timeout=GRACE_S)
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                process.kill()
