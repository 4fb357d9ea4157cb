"""`FleetRunner`: run trials on the workers of a fleet, with the same results as `measuring.trial.TrialRunner`.

It takes trials and gives records that name their worker. All workers of a run are of one kind (`machine_kinds`); workers that start
later join it, and the trial of one that vanishes goes to another. All of it happens in the caller's thread, while it waits for a result.
"""

from __future__ import annotations

import pickle
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...base.isolation.errors import WorkerError
from ...base.isolation.worker import Worker
from ...errors import Cancelled, CollageError
from ...events import Emit, Note, ignore
from ...toolchains import registry
from ...toolchains.base import Availability, ToolchainError, with_weights_inside
from ..database.records import Record
from ..measuring.call_meter import ASSEMBLER
from ..measuring.trial import Hangs, TrialLimits, TrialTask
from ..measuring.trial_worker import GetToolchain
from . import client
from .connection import CONNECT_S, check_installed, connection, local_count
from .local import LocalFleet, local_fleet
from .machine_kinds import Kind, choose_kind, shared_computers
from .protocol import Description, InvalidAnswer, Settings, description_from_json, error_from_json, parse, record_from_json
from .request_handler import TRIAL, machine_resource

START_S = 20.0
"""Seconds to wait for the descriptions of the workers that are there at the start."""
REJOIN_S = 30.0
"""Seconds to wait for a worker, or for the scheduler, when the last one is gone."""
MOST_TRIES = 3
"""A trial over which so many workers were lost is given up."""
_MOST_VANISHINGS = 6
"""A worker that vanished so often is not used again in this run."""
_MOST_SHARING = 3
"""A trial may wait for so many times its own limits, since other runs may use the same workers."""
_IMPORT_S = 30.0
_TICK_S = 0.1
_DESCRIBE_S = 120.0
_RECONNECT_S = 2.0
_EXCHANGE_S = 60.0
_SLOWEST_BYTES_PER_S = 1e6
_LONGEST_ERROR = 300
_SLACK_S = 60.0


class WorkerLost(Exception):
    """Raised where a worker cannot be used any more.

    Attributes:
        is_fault: It misbehaves, and is not used again in this run; a worker that vanished may come back.
    """

    def __init__(self, reason: str, *, is_fault: bool):
        super().__init__(reason)
        self.is_fault = is_fault


@dataclass(eq=False)
class Job:
    """A request that any worker may answer.

    Attributes:
        words: Name of the request, and its arguments.
        limit_s: Seconds within which it must be answered.
        read: Returns the result of an answer to it, which came after so many seconds. Raises `InvalidAnswer`, `WorkerLost`, or what
            the request raised.
        files: Files that it reads.
        try_elsewhere: Returns whether a result is this worker's own trouble, so that another worker is worth a try.
        only: Name of the worker that must do it, while it is there.
        lost: Number of workers that were lost over it.
        avoid: Addresses of the workers that had it already.
        done_by: Name of the worker that gave the result.
        error: Why there is no result.
    """

    words: tuple[Any, ...]
    limit_s: float
    read: Callable[[dict[str, Any], float], Any]
    files: Sequence[Path] = ()
    try_elsewhere: Callable[[Any], bool] = lambda result: False
    only: str | None = None
    lost: int = 0
    avoid: set[str] = field(default_factory=set)
    is_done: bool = False
    done_by: str = ""
    result: Any = None
    error: Exception | None = None


@dataclass(eq=False)
class RemoteWorker:
    """A worker that the scheduler listed, and what it is asked right now.

    Attributes:
        description: Its own description; None until it has answered.
        is_admitted: It is of the run's kind.
        number: That of the request.
    """

    address: str
    name: str
    description: Description | None = None
    is_admitted: bool = False
    job: Job | None = None
    number: int = 0
    asked: float = 0.0


class FleetRunner:
    """Runs trials on the workers of a fleet.

    Args:
        fleet: Address of the scheduler, or ``local:N`` for workers on this machine that are started for this run.
        accuracy, limits, threads, should_stop, flushed_bytes, get_toolchain: As for `TrialRunner`; `get_toolchain` is found by
            its name on the workers.
        targets: Targets of the run; their versions agree on all workers, and so does that of TVM, which assembles.
        keys: Folder of the fleet's keys, as `connection` takes it.
        machine: Measure on this kind of machine, as `machine_id` gives it there, or a pattern such as ``*EPYC*``; None for the kind
            of most workers.
        emit: Called with notes, only from within the methods of this class.
        rejoin_s: Seconds to wait for a worker when the last one is gone.

    Attributes:
        kind: The machine and the targets' availability that the workers share, for the keys of costs.

    Raises:
        CollageError: there is no scheduler, or no worker that can take the run.
        Cancelled: the user stopped it.
    """

    def __init__(
        self,
        fleet: str,
        accuracy: float,
        limits: TrialLimits,
        threads: int,
        *,
        targets: Sequence[str],
        keys: Path | None = None,
        should_stop: Callable[[], bool] | None = None,
        flushed_bytes: int = 0,
        get_toolchain: GetToolchain = registry.get,
        machine: str | None = None,
        emit: Emit = ignore,
        rejoin_s: float = REJOIN_S,
    ):
        check_installed()
        self.limits = limits
        self._settings = Settings(get_toolchain, threads, accuracy, limits, flushed_bytes)
        self._should_stop = should_stop or (lambda: False)
        self._emit = emit
        self._rejoin_s = rejoin_s
        self._id = uuid.uuid4().hex
        self._child = Worker()
        self._is_connected = False
        self._next_connect = 0.0
        self._count = 0
        self._submits: list[client.Submit] = []
        self._cancels: list[int] = []
        self._jobs: deque[Job] = deque()
        self._workers: dict[str, RemoteWorker] = {}
        self._is_listed = False
        self._refused: set[str] = set()
        self._vanishings: Counter[str] = Counter()
        self._hangs = Hangs(limits.most_hangs)
        self._empty_since: float | None = None
        self._last_lost = ""
        self._noted_shared: set[str] = set()
        self._local: LocalFleet | None = None
        self.kind: Kind | None = None
        try:
            count = local_count(fleet)
            if count is None:
                self._to = connection(fleet, "--fleet", keys)
            else:
                self._local = local_fleet(count)
                self._to = self._local.connection
            self._connect()
            # `CallMeter` asks for the assembler whatever the targets are, and its measurements are kept under the assembler's version.
            needed = list(dict.fromkeys([*targets, ASSEMBLER]))
            self.kind = choose_kind(self._first_descriptions(count or 0), needed, threads, machine)
            for worker in list(self._workers.values()):
                self._admit(worker)
        except BaseException:
            self.close()
            raise

    @property
    def machine(self) -> str:
        """Return the machine that measures, as `machine_id` gives it there."""
        assert self.kind is not None
        return self.kind.machine

    def availability(self, target: str) -> Availability:
        """Return the availability of a target of the run, or of TVM, on the workers."""
        assert self.kind is not None
        return self.kind.availability(target)

    def workers(self) -> list[Description]:
        """Return the descriptions of the workers that the run has now."""
        return [worker.description for worker in self._admitted() if worker.description is not None]

    def run(self, task: TrialTask) -> Record:
        """Run one trial, as `TrialRunner.run`.

        Raises:
            CollageError: the last worker is gone.
            Cancelled: the user stopped it.
        """
        return next(self.run_all([task]))[1]

    def run_all(self, tasks: Iterable[TrialTask]) -> Iterator[tuple[TrialTask, Record]]:
        """Yield each trial once, with its record, as they end.

        Tasks are taken one by one, whenever a worker is free, and only while the caller asks for the next result; so they may be
        chosen by the results so far. When a caller stops asking, trials that were begun run to their end.

        Raises:
            CollageError: the last worker is gone, and none came within `rejoin_s`; the records so far are valid all the same.
            Cancelled: the user stopped it.
        """
        waiting = iter(tasks)
        running: dict[Job, TrialTask] = {}
        is_over = False
        try:
            while True:
                self._check_stopped()
                while not is_over and len(running) < max(1, len(self._admitted())):
                    task = next(waiting, None)
                    if task is None:
                        is_over = True
                        break
                    job = self._trial_job(task)
                    running[job] = task
                    if not job.is_done:
                        self._jobs.append(job)
                if not running:
                    return
                done = self._done(running)
                for job in done:
                    yield running[job], self._record(running.pop(job), job)
        except Cancelled:
            for job in running:
                self._stop(job)
            raise
        finally:
            for job in running:
                job.is_done = True  # Nobody waits for it: it is not given to another worker.
                if job in self._jobs:
                    self._jobs.remove(job)

    def _trial_job(self, task: TrialTask) -> Job:
        """Return the job of a trial; it is done already where its target hung too often, or its model cannot be sent."""
        job = trial_job(self._settings, task)
        refusal = self._hangs.refusal(task.target)
        if refusal is not None:
            job.result, job.is_done = refusal, True
        return job

    def _done(self, jobs: Iterable[Job]) -> list[Job]:
        """Do one step unless one of `jobs` is done already; return those that are, with results first."""
        if not any(job.is_done for job in jobs):
            self._step()
        done = sorted((job for job in jobs if job.is_done), key=lambda job: job.error is not None)
        if not done:
            self._check_workers_left()
        return done

    def caller(self) -> FleetCaller:
        """Return an object with `isolation.Worker.call` and `close` that calls functions on a worker of the fleet."""
        return FleetCaller(self)

    def close(self) -> None:
        """Stop all jobs: without its client Dask cancels what the run has asked for."""
        self._child.close()
        self._workers.clear()
        self._local = None

    def do(self, job: Job, should_stop: Callable[[], bool] | None = None) -> Any:
        """Do one job and return its result; raises what it raises, and what `run_all` does."""
        self._jobs.append(job)
        try:
            while not job.is_done:
                self._check_stopped()
                if should_stop is not None and should_stop():
                    raise Cancelled
                self._done([job])
        finally:
            self._stop(job)
        if job.error is not None:
            raise job.error
        return job.result

    def _record(self, task: TrialTask, job: Job) -> Record:
        """Return the record of a trial that ended; raises its error, unless that is a worker's fault."""
        if isinstance(job.error, WorkerLost):
            return Record(stage="device", reason=f"each worker that was given it was lost; the last one: {job.error}")
        if job.error is not None:
            raise job.error
        record: Record = replace(job.result, worker=job.done_by)
        self._hangs.add(task.target, record)
        return record

    def _stop(self, job: Job) -> None:
        """Take a job back, wherever it is; a worker that has begun with it ends it."""
        if job in self._jobs:
            self._jobs.remove(job)
        for worker in self._workers.values():
            if worker.job is job:
                self._cancels.append(worker.number)
                worker.job = None
        if self._cancels and self._is_connected:
            self._exchange(0.0)

    def _admitted(self) -> list[RemoteWorker]:
        return [worker for worker in self._workers.values() if worker.is_admitted]

    def _check_stopped(self) -> None:
        if self._should_stop():
            raise Cancelled

    def _check_workers_left(self) -> None:
        if self._admitted():
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

    # What happens in one step: connect where that is needed, give jobs to idle workers, exchange, and look at what came.

    def _step(self) -> None:
        if not self._is_connected:
            self._reconnect()
            return
        for worker in self._admitted():
            if worker.job is None:
                self._begin_next(worker)
        self._exchange(_TICK_S)
        for worker in list(self._workers.values()):
            if worker.job is not None and time.monotonic() - worker.asked > worker.job.limit_s:
                self._lose(worker, WorkerLost("it did not come to an end with what it was given", is_fault=True))

    def _connect(self) -> None:
        """Connect in a fresh child. Raises CollageError where that fails."""
        self._child.close()
        try:
            self._child.call(client.connect, self._to, CONNECT_S, timeout_s=CONNECT_S + _IMPORT_S, should_stop=self._should_stop)
        except WorkerError as error:
            why = str(error).strip().splitlines()[-1][:_LONGEST_ERROR]
            hint = "start one with `collage fleet scheduler` (docs/fleet.md)"
            raise CollageError(f"no scheduler can be used at {self._to}: {why}", hint, "no_worker") from error
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
            why = str(error).strip().splitlines()[-1][:_LONGEST_ERROR]
            self._note(f"the scheduler is gone ({why}): the run waits {self._rejoin_s:g} s for it")
            for worker in list(self._workers.values()):
                self._lose(worker, WorkerLost("it vanished with the scheduler", is_fault=False), is_noted=False)
            return
        asked = {worker.number: worker for worker in self._workers.values() if worker.job is not None}
        for number, answer in came.answers.items():
            if number in asked and (job := asked[number].job) is not None:
                self._answered(asked[number], job, answer)
        if came.workers is not None:
            self._look_at(came.workers)

    def _look_at(self, listed: dict[str, tuple[str, dict[str, float]]]) -> None:
        """Take in the scheduler's list: let go who is not in it any more, and ask new workers who they are."""
        self._is_listed = True
        for worker in list(self._workers.values()):
            if worker.address not in listed:
                self._lose(worker, WorkerLost("it vanished", is_fault=False))
        for address, (name, resources) in listed.items():
            if address in self._workers or name in self._refused:
                continue
            if TRIAL not in resources:
                self._refuse(name, f"it offers no resource {TRIAL!r}: start it with `collage worker`")
                continue
            self._workers[address] = worker = RemoteWorker(address, name)
            self._ask(worker, Job(("describe",), _DESCRIBE_S, _description_of))

    def _begin_next(self, worker: RemoteWorker) -> None:
        """Give a worker the first job that it may do: one that it must do, or that it did not have, or that all others had, too."""
        others = self._admitted()
        for job in self._jobs:
            is_bound = job.only is not None and any(other.name == job.only for other in others)
            is_new = worker.address not in job.avoid or all(other.address in job.avoid for other in others)
            if worker.name == job.only if is_bound else is_new:
                self._jobs.remove(job)
                self._ask(worker, job)
                return

    def _ask(self, worker: RemoteWorker, job: Job) -> None:
        self._count += 1
        worker.job, worker.number, worker.asked = job, self._count, time.monotonic()
        needed = {TRIAL: 1.0, machine_resource(self.machine): 1.0} if worker.is_admitted else {}
        wanted, *arguments = job.words
        request = pickle.dumps((wanted, self._id, *arguments), protocol=5)
        self._submits.append(client.Submit(self._count, worker.address, request, job.files, needed))

    def _answered(self, worker: RemoteWorker, job: Job, answer: bytes | client.Unanswered) -> None:
        try:
            if isinstance(answer, client.Unanswered):
                raise WorkerLost(answer.reason, is_fault=answer.is_fault)
            data = parse(answer)
            if "fault" in data:
                raise WorkerLost(f"it cannot do what it is asked: {str(data['fault'])[:_LONGEST_ERROR]!r}", is_fault=True)
            if data.get("state") == "stopped":
                raise WorkerLost("it vanished: it was ended over what it was given", is_fault=False)
            result = job.read(data, time.monotonic() - worker.asked)
        except InvalidAnswer as invalid:
            self._lose(worker, WorkerLost(str(invalid), is_fault=True))
        except WorkerLost as lost:
            self._lose(worker, lost)
        except (CollageError, WorkerError) as error:
            worker.job = None
            job.error, job.is_done, job.done_by = error, True, worker.name
        else:
            worker.job = None
            self._end(worker, job, result)

    def _end(self, worker: RemoteWorker, job: Job, result: Any) -> None:
        if isinstance(result, Description):
            worker.description = replace(result, name=worker.name)  # The scheduler sees to it that no two have one name.
            if self.kind is not None:
                self._admit(worker)
            return
        job.avoid.add(worker.address)
        if not job.is_done and job.try_elsewhere(result) and any(other.address not in job.avoid for other in self._admitted()):
            self._jobs.appendleft(job)
            return
        job.result, job.is_done, job.done_by = result, True, worker.name

    def _admit(self, worker: RemoteWorker) -> None:
        """Use a worker of the run's kind, and leave out another one."""
        assert self.kind is not None
        if worker.description is None:
            return
        why_not = self.kind.why_not(worker.description)
        if why_not:
            del self._workers[worker.address]
            self._refuse(worker.name, why_not)
            return
        worker.is_admitted, self._empty_since = True, None
        shared = shared_computers(self.workers()) if self._local is None or self._local.shares_cores else ""
        if shared and shared not in self._noted_shared:
            self._noted_shared.add(shared)
            self._note(shared)

    def _refuse(self, name: str, why: str) -> None:
        self._refused.add(name)
        self._note(f"the worker {name} is left out: {why}")

    def _lose(self, worker: RemoteWorker, lost: WorkerLost, *, is_noted: bool = True) -> None:
        """Let a worker go; its job goes to another one, unless too many were lost over it."""
        del self._workers[worker.address]
        job, worker.job = worker.job, None
        if job is not None:
            self._cancels.append(worker.number)  # Dask would wait for the worker to come back.
        self._last_lost = f"{worker.name}: {lost}"
        self._vanishings[worker.name] += is_noted
        if lost.is_fault or self._vanishings[worker.name] >= _MOST_VANISHINGS:
            self._refused.add(worker.name)
        if job is not None and worker.is_admitted and not job.is_done:
            job.lost += is_noted
            job.avoid.add(worker.address)
            if job.lost < MOST_TRIES:
                self._jobs.appendleft(job)
            else:
                job.error, job.is_done = lost, True
        if is_noted and worker.is_admitted:
            self._note(f"the worker {worker.name} is let go: {lost}; {len(self._admitted())} are left")
        elif is_noted:
            self._note(f"the worker {worker.name} is not used: {lost}")

    def _note(self, text: str) -> None:
        self._emit(Note(text))

    def _first_descriptions(self, expected: int) -> list[Description]:
        """Wait for the descriptions of all workers that are there now, and for `expected` workers.

        Raises:
            CollageError: there is none.
            Cancelled: the user stopped it.
        """
        deadline = time.monotonic() + START_S * (3 if expected else 1)
        while True:
            self._check_stopped()
            self._step()
            described = [worker.description for worker in self._workers.values() if worker.description is not None]
            is_all = self._is_listed and len(described) == len(self._workers) and len(described) >= expected
            if is_all or time.monotonic() > deadline:
                break
        if described:
            return described
        why = f": {self._last_lost}" if self._last_lost else ""
        hint = f"start one on each machine with `collage worker --scheduler {self._to}` (docs/fleet.md)"
        raise CollageError(f"no worker has joined the scheduler at {self._to}{why}", hint, "no_worker")


class FleetCaller:
    """Calls module-level functions in isolated children of a worker of the fleet, the same one while it is there."""

    def __init__(self, runner: FleetRunner):
        self._runner = runner
        self._worker: str | None = None

    def call(
        self,
        function: Callable[..., Any],
        *args: Any,
        timeout_s: float,
        on_progress: Callable[[Any], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> Any:
        """Call `function`, as `isolation.Worker.call` does; its result must be plain data, in which tuples become lists.

        Reports of the function stay on the worker: `on_progress` is never called.

        Raises:
            CollageError: as the function raised it, or the last worker is gone.
            WorkerError: it failed, or each worker that was given it was lost.
            Cancelled: `should_stop` said so.
        """
        module, name = function.__module__, function.__qualname__
        job = Job(("call", module, name, args, timeout_s), _MOST_SHARING * (timeout_s + _SLACK_S), _value_of, only=self._worker)
        try:
            result = self._runner.do(job, should_stop)
        except WorkerLost as lost:
            raise WorkerError(f"was lost with its worker: {lost}") from lost
        self._worker = job.done_by
        return result

    def close(self) -> None:
        """Do nothing; the runner owns the workers."""


def trial_job(settings: Settings, task: TrialTask) -> Job:
    """Return the job of a trial; it is done already where the model cannot be sent."""
    files = [array.path for array in (*task.given, *task.wanted)]
    job = Job((), _MOST_SHARING * _longest_s(settings.limits), _record_of, files, lambda record: record.stage == "device")
    try:
        job.words = ("trial", settings, replace(task, model=with_weights_inside(task.model)))  # The model's files are not there.
    except ToolchainError as error:
        job.result, job.is_done = Record(stage="import", reason=error.message), True
    return job


def _description_of(answer: dict[str, Any], took_s: float) -> Description:
    return description_from_json(_without_error(answer).get("description"))


def _record_of(answer: dict[str, Any], took_s: float) -> Record:
    return record_from_json(_without_error(answer).get("record"), took_s)


def _value_of(answer: dict[str, Any], took_s: float) -> Any:
    if "error" in answer:
        raise error_from_json(answer["error"])
    if "value" not in answer:
        raise InvalidAnswer("its answer holds nothing that was asked for")
    return answer["value"]


def _without_error(answer: dict[str, Any]) -> dict[str, Any]:
    """Raise `WorkerLost` for an error of the worker itself; one of a toolchain would be in a record."""
    if "error" in answer:
        raise WorkerLost(f"it cannot measure: {error_from_json(answer['error'])}", is_fault=True)
    return answer


def _longest_s(limits: TrialLimits) -> float:
    """Return the seconds after which no trial that keeps its limits is still running: it may be tried twice."""
    timing_s = limits.run_s + limits.timing.longest_s + 4 * limits.run_s
    return 2 * (limits.start_s + limits.build_s + limits.run_s + timing_s) + _SLACK_S
