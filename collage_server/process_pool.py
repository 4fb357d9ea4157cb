"""`ProcessPool`: keeps worker processes that have the engine imported before they are needed, and stops them.

A function of `server.worker` and its arguments enter; its result or its error leaves. A process that has measured is ended; one
that has only searched or answered a query is used again, with the records that it has in memory.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar, TypeVarTuple

import psutil

from collage_core.base.durations import duration
from collage_core.base.isolation.environment import database_access
from collage_core.base.isolation.worker import Worker
from collage_core.base.isolation.worker_errors import WorkerError
from collage_core.base.processor import usable_cores
from collage_core.errors import Cancelled, CollageError

from .http.error_answers import Problem
from .worker import queries
from .worker.engine import Engine

IDLE_KEPT = 2
PREPARE_TIMEOUT_S = 120.0
CALL_TIMEOUT_S = 30.0
CALLS_AT_ONCE = max(2, usable_cores())
"""More would only take cores and memory from each other, and from a run."""
CALLS_WAITING = 64
LOOK_S = 0.05
RUN_TIMEOUT_S = 7 * 86400.0
"""A run has its own time limit; this one only keeps it from being endless."""

RETURN_S = 0.25
"""How long a call waits for a process that is lent for something short, before it starts another: that takes longer."""

GRACE_S = 0.5

Events = list[dict[str, Any]]
T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class ProcessPool:
    """Worker processes, at least one of them idle as far as possible.

    Args:
        engine: The engine that an idle process has imported.
    """

    def __init__(self, engine: Engine[Any]):
        self._engine = engine
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._lent = 0
        self._calls = 0
        self._waiting_calls = 0
        self._lock = threading.Condition()
        self._closed = threading.Event()
        self._background = ThreadPoolExecutor(1, thread_name_prefix="collage-spare")

    def start(self) -> None:
        """Make a spare process, in the background."""
        self._in_background(self._make_spare)

    def warm(self, folder: str) -> None:
        """Have a spare process read the record of `folder`, in the background."""
        self._in_background(lambda: self._prepare(queries.warm, self._engine, folder))

    def call(
        self,
        function: Callable[[*Arguments], T],
        *args: *Arguments,
        timeout_s: float = CALL_TIMEOUT_S,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> T:
        """Call a quick function of `server.worker`, when fewer than `CALLS_AT_ONCE` others are answered.

        Args:
            should_stop: Asked about every 50 ms; the call ends soon after it says so.

        Raises:
            Problem: too many calls wait already, or this one waited too long (503).
            CollageError: as the function raised it.
            Cancelled: `should_stop` said so, or the pool is closed.
            WorkerError: it failed.
        """

        def is_unwanted() -> bool:
            return self._closed.is_set() or should_stop()

        with self._turn(is_unwanted):
            return self._call(function, *args, timeout_s=timeout_s, should_stop=is_unwanted)

    def run(
        self,
        function: Callable[[*Arguments], T],
        *args: *Arguments,
        on_events: Callable[[Events], None],
        should_stop: Callable[[], bool],
        is_reusable: bool,
        ends_itself: Callable[[], bool] = lambda: False,
    ) -> T:
        """Call a function of `server.worker` that may take as long as it likes.

        Args:
            on_events: Gets every list of events that the function reports.
            should_stop: Asked about every 50 ms; the process and all that it started are ended soon after it says so.
            is_reusable: The process can be used again afterwards.
            ends_itself: Whether the process was asked to end by itself; one that somebody has stopped (SIGSTOP) is ended then.

        Raises:
            CollageError: as the function raised it.
            Cancelled: it was stopped.
            WorkerError: it died, or met a fault of ours.
        """
        with self._borrowed() if is_reusable else self._owned() as worker:
            stop = _Stop(worker, lambda: self._closed.is_set() or should_stop() or (ends_itself() and _is_stopped(worker)))
            try:
                result: T = worker.call(function, *args, timeout_s=RUN_TIMEOUT_S, on_progress=on_events, should_stop=stop.is_wanted)
                return result
            finally:
                stop.end_what_is_left()

    def close(self) -> None:
        """End every process, busy or idle."""
        with self._lock:
            self._closed.set()
            self._lock.notify_all()
            workers = list(self._all)
        self._background.shutdown(wait=True, cancel_futures=True)
        for worker in workers:
            worker.close()

    def _call(
        self, function: Callable[[*Arguments], T], *args: *Arguments, timeout_s: float, should_stop: Callable[[], bool] | None = None
    ) -> T:
        with self._borrowed() as worker:
            result: T = worker.call(function, *args, timeout_s=timeout_s, should_stop=should_stop or self._closed.is_set)
            return result

    @contextmanager
    def _turn(self, is_unwanted: Callable[[], bool]) -> Iterator[None]:
        """Wait until there is room for one more call."""
        with self._lock:
            if self._waiting_calls >= CALLS_WAITING:
                raise Problem(503, "busy", f"{self._waiting_calls} questions wait already", "ask again in a moment")
            self._waiting_calls += 1
            try:
                self._wait_for_room(is_unwanted)
            finally:
                self._waiting_calls -= 1
            self._calls += 1
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1
                self._lock.notify_all()

    def _wait_for_room(self, is_unwanted: Callable[[], bool]) -> None:
        deadline = time.monotonic() + CALL_TIMEOUT_S
        while self._calls >= CALLS_AT_ONCE:
            self._lock.wait(LOOK_S)
            if is_unwanted():
                raise Cancelled
            if time.monotonic() > deadline:
                raise Problem(503, "busy", f"other questions have taken the whole {duration(CALL_TIMEOUT_S)}", "ask again in a moment")

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
            while self._idle:
                worker = self._idle.pop()
                if not _is_stopped(worker):
                    return worker
                # Somebody has stopped or killed it, or the process that forked it and takes it along: it would answer nothing.
                self._all.discard(worker)
                self._background.submit(worker.close)
            worker = self._worker()
            self._all.add(worker)
            return worker

    def _worker(self) -> Worker:
        return Worker(environment=database_access(), imports=(queries.__name__, *self._engine.imports))

    def _give(self, worker: Worker) -> None:
        with self._lock:
            self._lent -= 1
            self._lock.notify_all()
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
            self._prepare(queries.prepare, self._engine)

    def _prepare(self, function: Callable[[*Arguments], None], *args: *Arguments) -> None:
        """Call `function` in a spare process. A failure is ignored: the run that needs the process meets it again and tells it."""
        with suppress(WorkerError, CollageError, Cancelled):
            self._call(function, *args, timeout_s=PREPARE_TIMEOUT_S)

    def _in_background(self, function: Callable[[], None]) -> None:
        with self._lock:
            if not self._closed.is_set():
                self._background.submit(function)


def _is_stopped(worker: Worker) -> bool:
    """Return whether the process of `worker`, or the one that forked it, is stopped or gone; False where there is no process yet."""
    if worker.pid is None:
        return False
    try:
        process = psutil.Process(worker.pid)
        states = {each.status() for each in (process, process.parent()) if each is not None}
    except psutil.Error:
        return True
    return not states.isdisjoint((psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD))


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
        """Ask what is left to end, and kill it after half a second. The run's own process is dead by now."""
        for process in self._descendants:
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        _, alive = psutil.wait_procs(self._descendants, timeout=GRACE_S)
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                process.kill()
