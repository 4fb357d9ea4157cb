"""`WorkerPool`: the workers of a run, a thread for each, and a queue of jobs for them.

A job is a function of a `RemoteWorker`. If the worker is lost while it runs, another one gets the job, at most `MOST_TRIES`
times; the result is in the job's future. Lines for the user go to `tell`, from any thread.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from ...errors import Cancelled
from .remote_worker import JobStopped, RemoteWorker, WorkerLost
from .tracker import Address

MOST_TRIES = 3
PING_S = 5.0

Stop = Callable[[], bool]


@dataclass(eq=False)
class Job:
    """A job for one of the workers.

    Attributes:
        work: The function, called with a worker and a function that returns whether to stop.
        try_elsewhere: Returns whether an answer is this worker's own trouble, so that another worker is worth a try.
        only: The worker that must do it, while it is in the pool.
        lost: Number of workers that were lost while they did it.
        avoid: Addresses of the workers that had it already.
        is_stopped: Nobody waits for it any more.
        done_by: The worker that gave the result.
    """

    work: Callable[[RemoteWorker, Stop], Any]
    try_elsewhere: Callable[[Any], bool] = lambda answer: False
    only: RemoteWorker | None = None
    future: Future[Any] = field(default_factory=Future)
    lost: int = 0
    avoid: set[Address] = field(default_factory=set)
    is_stopped: bool = False
    done_by: RemoteWorker | None = None


class WorkerPool:
    """Does jobs. Several threads may use it.

    Args:
        tell: Called with a line for the user.
        on_lost: Called with a worker that was lost, and why.
    """

    def __init__(self, tell: Callable[[str], None], on_lost: Callable[[RemoteWorker, WorkerLost], None]):
        self._tell = tell
        self._on_lost = on_lost
        self._condition = threading.Condition()
        self._workers: dict[RemoteWorker, threading.Thread] = {}
        self._jobs: deque[Job] = deque()
        self._is_closed = False

    @property
    def workers(self) -> list[RemoteWorker]:
        """Return the workers in the pool."""
        with self._condition:
            return list(self._workers)

    def add(self, worker: RemoteWorker) -> None:
        """Add a worker that is open; a pool that is closed closes it."""
        thread = threading.Thread(target=self._serve, args=(worker,), name=f"fleet-{worker.name}", daemon=True)
        with self._condition:
            if self._is_closed:
                worker.close()
                return
            self._workers[worker] = thread
            thread.start()  # Under the lock, since `close` waits for all threads, which must have begun.

    def submit(self, job: Job) -> Future[Any]:
        """Queue `job`. Its future raises `WorkerLost`, or what the work raised."""
        with self._condition:
            self._jobs.append(job)
            self._condition.notify_all()
        return job.future

    def abandon(self, job: Job, *, stop: bool) -> None:
        """Remove `job` from the queue; one that was begun is stopped, or left to its end."""
        with self._condition:
            if job in self._jobs:
                self._jobs.remove(job)
                job.future.cancel()
            job.is_stopped = job.is_stopped or stop

    def close(self) -> None:
        """Stop all jobs and close all workers."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()
            threads = list(self._workers.values())
        for thread in threads:
            thread.join()

    def _serve(self, worker: RemoteWorker) -> None:
        """Do one job after another, in a worker's thread, until the worker is lost or the pool is closed."""
        try:
            while not self._is_closed:
                job = self._next(worker)
                if job is not None:
                    self._do(worker, job)
                elif not self._is_closed:
                    worker.ping()
        except WorkerLost as lost:
            self._drop(worker, lost)
        except Cancelled:
            pass  # the run is over
        finally:
            worker.close()
            with self._condition:
                self._workers.pop(worker, None)
                self._condition.notify_all()

    def _next(self, worker: RemoteWorker) -> Job | None:
        """Wait for the first job that this worker may do; None after a while without one."""
        with self._condition:
            self._condition.wait_for(lambda: self._is_closed or self._first_for(worker) is not None, PING_S)
            job = self._first_for(worker)
            if job is None or self._is_closed:
                return None
            self._jobs.remove(job)
            return job

    def _first_for(self, worker: RemoteWorker) -> Job | None:
        return next((job for job in self._jobs if self._may_do(worker, job)), None)

    def _may_do(self, worker: RemoteWorker, job: Job) -> bool:
        if job.only is not None and job.only in self._workers:
            return worker is job.only
        return worker.address not in job.avoid or not self._others_for(job)

    def _others_for(self, job: Job) -> bool:
        """Return whether there is a worker that did not have the job yet."""
        return any(worker.address not in job.avoid for worker in self._workers)

    def _do(self, worker: RemoteWorker, job: Job) -> None:
        try:
            answer = job.work(worker, lambda: self._is_closed or job.is_stopped)
        except WorkerLost as lost:
            self._retry(worker, job, lost)
            raise
        except JobStopped:
            job.future.set_exception(Cancelled())
            return
        except Cancelled as error:
            job.future.set_exception(error)
            raise
        except Exception as error:  # noqa: BLE001 - it is raised where the future is asked
            job.future.set_exception(error)
            return
        job.avoid.add(worker.address)
        if job.try_elsewhere(answer) and not job.is_stopped and self._requeued_elsewhere(job):
            return
        job.done_by = worker
        job.future.set_result(answer)

    def _requeued_elsewhere(self, job: Job) -> bool:
        with self._condition:
            if not self._others_for(job):
                return False
            self._jobs.appendleft(job)
            self._condition.notify_all()
            return True

    def _retry(self, worker: RemoteWorker, job: Job, lost: WorkerLost) -> None:
        """Queue the job again for another worker, unless too many were lost over it."""
        job.lost += 1
        job.avoid.add(worker.address)
        with self._condition:
            self._workers.pop(worker, None)
            if job.lost < MOST_TRIES and not job.is_stopped and not self._is_closed:
                self._jobs.appendleft(job)
                self._condition.notify_all()
                return
        job.future.set_exception(lost)

    def _drop(self, worker: RemoteWorker, lost: WorkerLost) -> None:
        with self._condition:
            self._workers.pop(worker, None)
            left = len(self._workers)
        self._on_lost(worker, lost)
        self._tell(f"the worker {worker.name} is let go: {lost}; {left} are left")
