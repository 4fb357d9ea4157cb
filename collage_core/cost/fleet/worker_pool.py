"""`WorkerPool`: the workers that a run holds, a thread for each, and the work that waits for one of them.

Work is a function of a `RemoteWorker`. Where a worker is lost over it, another one gets it, at most `MOST_TRIES` times; what it
comes to stands in the job's future. Lines for the user go to `tell`, from any thread.
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
    """Something that one of the workers is to do.

    Attributes:
        work: Does it, given a worker and a function that says when to stop.
        is_elsewhere: Whether an answer is this worker's own trouble, so that another worker is worth a try.
        only: The worker that must do it, while it is there.
        lost: How many workers were lost over it.
        avoid: Those that had it already.
        is_stopped: Nobody waits for it any more.
    """

    work: Callable[[RemoteWorker, Stop], Any]
    is_elsewhere: Callable[[Any], bool] = lambda answer: False
    only: RemoteWorker | None = None
    future: Future[Any] = field(default_factory=Future)
    lost: int = 0
    avoid: set[Address] = field(default_factory=set)
    is_stopped: bool = False
    done_by: RemoteWorker | None = None


class WorkerPool:
    """Does jobs; all of it may be called from several threads."""

    def __init__(self, tell: Callable[[str], None], on_lost: Callable[[RemoteWorker, WorkerLost], None]):
        self._tell = tell
        self._on_lost = on_lost
        self._condition = threading.Condition()
        self._members: dict[RemoteWorker, threading.Thread] = {}
        self._jobs: deque[Job] = deque()
        self._is_closed = False

    @property
    def members(self) -> list[RemoteWorker]:
        """The workers that are there."""
        with self._condition:
            return list(self._members)

    def join(self, member: RemoteWorker) -> None:
        """Take in a worker that is open."""
        thread = threading.Thread(target=self._serve, args=(member,), name=f"fleet-{member.name}", daemon=True)
        with self._condition:
            if self._is_closed:
                member.close()
                return
            self._members[member] = thread
            thread.start()  # Under the lock: who closes the crew waits for all threads, which must have begun.

    def submit(self, job: Job) -> Future[Any]:
        """Have `job` done. Its future raises `WorkerLost`, or what the work raised."""
        with self._condition:
            self._jobs.append(job)
            self._condition.notify_all()
        return job.future

    def abandon(self, job: Job, *, stop: bool) -> None:
        """Nobody waits for `job`: it is not begun any more; one that was begun is stopped, or left to come to its end."""
        with self._condition:
            if job in self._jobs:
                self._jobs.remove(job)
                job.future.cancel()
            job.is_stopped = job.is_stopped or stop

    def close(self) -> None:
        """End all work and let go of all workers."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()
            threads = list(self._members.values())
        for thread in threads:
            thread.join()

    def _serve(self, member: RemoteWorker) -> None:
        """A worker's thread: one job after another until the worker or the crew ends."""
        try:
            while not self._is_closed:
                job = self._next(member)
                if job is not None:
                    self._do(member, job)
                elif not self._is_closed:
                    member.ping()
        except WorkerLost as lost:
            self._let_go(member, lost)
        except Cancelled:
            pass  # the run is over
        finally:
            member.close()
            with self._condition:
                self._members.pop(member, None)
                self._condition.notify_all()

    def _next(self, member: RemoteWorker) -> Job | None:
        """The first job that this worker may do, or None after a while without one."""
        with self._condition:
            self._condition.wait_for(lambda: self._is_closed or self._first_for(member) is not None, PING_S)
            job = self._first_for(member)
            if job is None or self._is_closed:
                return None
            self._jobs.remove(job)
            return job

    def _first_for(self, member: RemoteWorker) -> Job | None:
        return next((job for job in self._jobs if self._may_do(member, job)), None)

    def _may_do(self, member: RemoteWorker, job: Job) -> bool:
        if job.only is not None and job.only in self._members:
            return member is job.only
        return member.address not in job.avoid or not self._others_for(job)

    def _others_for(self, job: Job) -> bool:
        """Whether there is a worker that did not have the job yet."""
        return any(member.address not in job.avoid for member in self._members)

    def _do(self, member: RemoteWorker, job: Job) -> None:
        try:
            answer = job.work(member, lambda: self._is_closed or job.is_stopped)
        except WorkerLost as lost:
            self._again(member, job, lost)
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
        job.avoid.add(member.address)
        if job.is_elsewhere(answer) and not job.is_stopped and self._requeued_elsewhere(job):
            return
        job.done_by = member
        job.future.set_result(answer)

    def _requeued_elsewhere(self, job: Job) -> bool:
        with self._condition:
            if not self._others_for(job):
                return False
            self._jobs.appendleft(job)
            self._condition.notify_all()
            return True

    def _again(self, member: RemoteWorker, job: Job, lost: WorkerLost) -> None:
        """Over to another worker, unless too many were lost over it."""
        job.lost += 1
        job.avoid.add(member.address)
        with self._condition:
            self._members.pop(member, None)
            if job.lost < MOST_TRIES and not job.is_stopped and not self._is_closed:
                self._jobs.appendleft(job)
                self._condition.notify_all()
                return
        job.future.set_exception(lost)

    def _let_go(self, member: RemoteWorker, lost: WorkerLost) -> None:
        with self._condition:
            self._members.pop(member, None)
            left = len(self._members)
        self._on_lost(member, lost)
        self._tell(f"the worker {member.name} is let go: {lost}; {left} are left")
