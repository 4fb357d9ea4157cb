"""`WorkerPool`: the workers of one run, all of one kind. Jobs enter, and leave with their results.

Dask carries requests, keeps files and cancels. Here it is decided which worker gets which job, and which workers are let go: a job is
given to one worker by name, since its files are sent there, and workers that sent them to each other would disturb their timings. All of
it happens in the caller's thread, while it waits for a result.
"""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...base.durations import duration
from ...base.isolation.worker import Worker
from ...base.isolation.worker_errors import WorkerError
from ...errors import Cancelled, CollageError
from ...events import Emit, Note
from . import client
from .connection import CONNECT_S, Connection
from .jobs import Job, WorkerLost, described
from .machine_kinds import Kind, choose_kind, shared_computers
from .protocol import Description, InvalidAnswer, Settings, parse
from .self_description import TRIAL, machine_resource

START_S = 20.0
"""Seconds to wait for the list of workers at the start; three times as many for workers that are started for this run."""
REJOIN_S = 30.0
"""Seconds to wait for a worker, or for the scheduler, when the last one is gone."""
MOST_TRIES = 3
"""A job over which so many workers were lost is given up."""
_IMPORT_S = 30.0
_TICK_S = 0.1
_RECONNECT_S = 2.0
_EXCHANGE_S = 60.0
_SLOWEST_BYTES_PER_S = 1e6
_LONGEST_ERROR = 300


@dataclass(eq=False)
class RemoteWorker:
    """A worker of the run's kind, and what it is asked right now.

    Attributes:
        number: That of the request.
    """

    address: str
    description: Description
    job: Job | None = None
    number: int = 0
    asked: float = 0.0

    @property
    def name(self) -> str:
        return self.description.name


class WorkerPool:
    """The workers of one run.

    Args:
        settings: For the trials of the run.
        should_stop, emit, rejoin_s: As for `FleetRunner`.
        has_own_cores: Each worker has cores of its own, also where several share a computer.

    Attributes:
        kind: What all workers have in common; None until `choose` has been called.
        workers: By their addresses.

    Raises:
        CollageError: there is no scheduler.
        Cancelled: the user stopped it.
    """

    def __init__(
        self, to: Connection, settings: Settings, should_stop: Callable[[], bool], emit: Emit, rejoin_s: float, *, has_own_cores: bool
    ):
        self._to = to
        self._settings = settings
        self._should_stop = should_stop
        self._emit = emit
        self._rejoin_s = rejoin_s
        self._has_own_cores = has_own_cores
        self.kind: Kind | None = None
        self.workers: dict[str, RemoteWorker] = {}
        self._listed: dict[str, Description] | None = None
        self._child = Worker()
        self._is_connected = False
        self._next_connect = 0.0
        self._count = 0
        self._submits: list[client.Submit] = []
        self._cancels: list[int] = []
        self._jobs: deque[Job] = deque()
        self._refused: set[str] = set()
        self._empty_since: float | None = None
        self._last_lost = ""
        self._shared = ""
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    def choose(self, targets: Sequence[str], machine: str | None, expected: int) -> Kind:
        """Wait for `expected` workers, choose the kind to use from now on, and return it.

        Args:
            targets, machine: As `choose_kind` takes them.

        Raises:
            CollageError: there is no worker, or none that can take the run.
            Cancelled: the user stopped it.
        """
        deadline = time.monotonic() + START_S * (3 if expected else 1)
        while (self._listed is None or len(self._listed) < expected) and time.monotonic() < deadline:
            if self._should_stop():
                raise Cancelled
            self._step()
        if not self._listed:
            why = f": {self._last_lost}" if self._last_lost else ""
            hint = f"start one on each machine with `collage worker --scheduler {self._to}` (docs/fleet.md)"
            raise CollageError(f"no worker has joined the scheduler at {self._to}{why}", hint, "no_worker")
        self.kind = choose_kind(list(self._listed.values()), targets, self._settings.threads, machine)
        self._admit()
        return self.kind

    def results(self, jobs: Iterator[Job], should_stop: Callable[[], bool] | None = None) -> Iterator[Job]:
        """Yield each job once it is done, those with results first.

        Jobs are taken one by one, whenever a worker is free, and only while the caller asks for the next result. When a caller stops
        asking, jobs that were begun run to their end.

        Raises:
            CollageError: the last worker is gone, and none came within `rejoin_s`.
            Cancelled: the user stopped the run, or `should_stop` said so: a worker that has begun with a job ends it.
        """
        running: list[Job] = []
        is_over = False
        try:
            while True:
                if self._should_stop() or (should_stop is not None and should_stop()):
                    raise Cancelled
                while not is_over and len(running) < max(1, len(self.workers)):
                    job = next(jobs, None)
                    if job is None:
                        is_over = True
                        break
                    running.append(job)
                    if not job.is_done:
                        self._jobs.append(job)
                if not running:
                    return
                for job in self._done(running):
                    running.remove(job)
                    yield job
        except Cancelled:
            self._stop(running)
            raise
        finally:
            for job in running:
                job.is_done = True  # Nobody waits for it: it is not given to another worker.
                if job in self._jobs:
                    self._jobs.remove(job)

    def _done(self, running: Sequence[Job]) -> list[Job]:
        """Do one step unless a job is done already; return those that are, with results first."""
        if not any(job.is_done for job in running):
            self._step()
        done = sorted((job for job in running if job.is_done), key=lambda job: job.error is not None)
        if not done:
            self._check_workers_left()
        return done

    def close(self) -> None:
        """Stop all jobs: without its client Dask cancels what the run has asked for, and lets go of its sessions."""
        self._child.close()
        self.workers.clear()

    def _stop(self, jobs: Sequence[Job]) -> None:
        """Have the workers end what they have begun of `jobs`."""
        for worker in self.workers.values():
            if worker.job in jobs:
                self._cancels.append(worker.number)
                worker.job = None
        if self._cancels and self._is_connected:
            self._exchange(0.0)

    def _step(self) -> None:
        """Connect where that is needed, give jobs to idle workers, exchange, and look at what came."""
        if not self._is_connected:
            self._reconnect()
            return
        for worker in self.workers.values():
            if worker.job is None:
                self._begin_next(worker)
        self._exchange(_TICK_S)
        for worker in list(self.workers.values()):
            if worker.job is not None and time.monotonic() - worker.asked > worker.job.limit_s:
                self._lose(worker, WorkerLost("it did not come to an end with what it was given", is_fault=True))

    def _check_workers_left(self) -> None:
        if self.workers:
            self._empty_since = None
            return
        now = time.monotonic()
        self._empty_since = self._empty_since or now
        if now - self._empty_since > self._rejoin_s:
            raise CollageError(
                f"no worker of the fleet is left: {self._last_lost or 'all of them vanished'}",
                "start workers again, then the same command: what was measured is kept",
                "no_worker",
            )

    # The connection is in a child, which is replaced when it fails.

    def _connect(self) -> None:
        """Connect in a fresh child. Raises CollageError where that fails."""
        self._child.close()
        timeout_s = CONNECT_S + _IMPORT_S
        try:
            self._child.call(client.connect, self._to, self._settings, CONNECT_S, timeout_s=timeout_s, should_stop=self._should_stop)
        except WorkerError as error:
            hint = "start one with `collage fleet scheduler` (docs/fleet.md)"
            raise CollageError(f"no scheduler can be used at {self._to}: {_last_line(error)}", hint, "no_worker") from error
        self._is_connected = True

    def _reconnect(self) -> None:
        if time.monotonic() < self._next_connect:
            time.sleep(_TICK_S)
            return
        try:
            self._connect()
            self._note("the scheduler is there again")
        except CollageError:
            self._next_connect = time.monotonic() + _RECONNECT_S

    def _exchange(self, wait_s: float) -> None:
        submits, self._submits = self._submits, []
        cancels, self._cancels = self._cancels, []
        size = sum(len(submit.request) + sum(path.stat().st_size for path in submit.files) for submit in submits)
        timeout_s = wait_s + _EXCHANGE_S + size / _SLOWEST_BYTES_PER_S
        try:
            came: client.Exchanged = self._child.call(client.exchange, submits, cancels, wait_s, timeout_s=timeout_s)
        except WorkerError as error:
            self._is_connected = False
            self._note(f"the scheduler is gone ({_last_line(error)}): the run waits {duration(self._rejoin_s)} for it")
            for worker in list(self.workers.values()):
                self._lose(worker, WorkerLost("it vanished with the scheduler", is_fault=False), is_noted=False)
            return
        if came.workers is not None:
            self._look_at(came.workers)  # before the answers, which are newer
        asked = {worker.number: worker for worker in self.workers.values() if worker.job is not None}
        for number, answer in came.answers.items():
            if number in asked and (job := asked[number].job) is not None:
                self._answered(asked[number], job, answer)

    # Which workers there are: those that the scheduler lists, that describe themselves, and that are of the kind.

    def _look_at(self, listed: dict[str, client.Listed]) -> None:
        """Take in the scheduler's list: let go who is not in it any more, and use new ones."""
        for lost in [worker for worker in self.workers.values() if worker.address not in listed]:
            self._lose(lost, WorkerLost("it vanished", is_fault=False))
        self._listed = {}
        for address, worker in listed.items():
            if address in self.workers:
                self._listed[address] = self.workers[address].description
            elif worker.name not in self._refused:
                try:
                    self._listed[address] = _description(worker)
                except (InvalidAnswer, WorkerLost) as error:
                    self._refuse(worker.name, str(error))
        self._admit()

    def _admit(self) -> None:
        """Use the listed workers of the run's kind, and leave out others."""
        for address, description in (self._listed or {}).items():
            if self.kind is None or address in self.workers:
                continue
            if why_not := self.kind.why_not(description):
                self._refuse(description.name, why_not)
                continue
            self.workers[address], self._empty_since = RemoteWorker(address, description), None
        shared = "" if self._has_own_cores else shared_computers([worker.description for worker in self.workers.values()])
        if len(shared) > len(self._shared):
            self._shared = shared
            self._note(shared)

    def _refuse(self, name: str, why: str) -> None:
        self._refused.add(name)
        self._last_lost = f"{name}: {why}"
        self._note(f"the worker {name} is left out: {why}")

    def _lose(self, worker: RemoteWorker, lost: WorkerLost, *, is_noted: bool = True) -> None:
        """Let a worker go; its job goes to another one, unless too many were lost over it."""
        del self.workers[worker.address]
        self._last_lost = f"{worker.name}: {lost}"
        if lost.is_fault:
            self._refused.add(worker.name)
        job, worker.job = worker.job, None
        if job is not None:
            self._cancels.append(worker.number)  # Dask would wait for the worker to come back.
            if not job.is_done:
                job.lost += is_noted
                job.avoid.add(worker.address)
                if job.lost < MOST_TRIES:
                    self._jobs.appendleft(job)
                else:
                    job.error, job.is_done = lost, True
        if is_noted:
            self._note(f"the worker {worker.name} is let go: {lost}; {len(self.workers)} are left")

    # Which worker does what.

    def _begin_next(self, worker: RemoteWorker) -> None:
        """Give a worker the first job that it may do: one that it must do, or that it did not have, or that all others had, too."""
        for job in self._jobs:
            is_bound = job.only is not None and any(other.name == job.only for other in self.workers.values())
            is_new = worker.address not in job.avoid or job.avoid >= self.workers.keys()
            if worker.name == job.only if is_bound else is_new:
                self._jobs.remove(job)
                self._ask(worker, job)
                return

    def _ask(self, worker: RemoteWorker, job: Job) -> None:
        assert self.kind is not None
        self._count += 1
        worker.job, worker.number, worker.asked = job, self._count, time.monotonic()
        needed = {TRIAL: 1.0, machine_resource(self.kind.machine): 1.0}
        self._submits.append(client.Submit(self._count, worker.address, pickle.dumps(job.words, protocol=5), job.files, needed))

    def _answered(self, worker: RemoteWorker, job: Job, answer: bytes | client.Unanswered) -> None:
        try:
            if isinstance(answer, client.Unanswered):
                raise WorkerLost(answer.reason, is_fault=answer.is_fault)
            data = parse(answer)
            if "fault" in data:
                raise WorkerLost(f"it cannot do what it is asked: {str(data['fault'])[:_LONGEST_ERROR]!r}", is_fault=True)
            if data.get("state") == "stopped":
                raise WorkerLost("it vanished: it was ended over what it was given", is_fault=False)
            job.result = job.read(data, time.monotonic() - worker.asked)
        except InvalidAnswer as invalid:
            self._lose(worker, WorkerLost(str(invalid), is_fault=True))
            return
        except WorkerLost as lost:
            self._lose(worker, lost)
            return
        except (CollageError, WorkerError) as error:
            job.error = error
        worker.job = None
        job.avoid.add(worker.address)
        is_elsewhere = job.error is None and job.try_elsewhere(job.result) and not job.avoid >= self.workers.keys()
        if is_elsewhere and not job.is_done:
            self._jobs.appendleft(job)
        else:
            job.is_done, job.done_by = True, worker.name

    def _note(self, text: str) -> None:
        self._emit(Note(text))


def _description(worker: client.Listed) -> Description:
    """Return a worker's description, with the name that the scheduler gives: it sees to it that no two have one."""
    if not worker.about:
        raise WorkerLost("it is a worker of Dask alone: start it with `collage worker`", is_fault=True)
    return replace(described(parse(worker.about)), name=worker.name)


def _last_line(error: WorkerError) -> str:
    return str(error).strip().splitlines()[-1][:_LONGEST_ERROR]
