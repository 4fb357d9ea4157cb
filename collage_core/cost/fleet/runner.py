"""`FleetRunner`: trials on the workers of a fleet, with the same meaning as in `cost.trial.TrialRunner`.

What enters are trials; what leaves are records that name their worker. All workers of a run are of one kind (`kinds`);
those that come later join it, those that vanish give their trial to another. Notes come out in the caller's thread.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from ...base.isolation.errors import WorkerError
from ...errors import Cancelled, CollageError
from ...events import Emit, Note, ignore
from ...toolchains import registry
from ...toolchains.base import Availability
from ..database.records import Record
from ..measuring.trial import TrialLimits, TrialTask
from ..measuring.trial_worker import GetToolchain
from .discovery import WorkerDiscovery
from .machine_kinds import Kind, choose_kind, crowded
from .protocol import Description, Settings
from .remote_worker import RemoteWorker, WorkerLost
from .tracker import Address, Registered, TrackerLost, check_key, show_address, unreachable
from .worker_pool import Job, WorkerPool

BUSY_S = 20.0
"""How long to wait for workers that are all busy: those of a run that just ended are free again within seconds."""
REJOIN_S = 30.0
"""How long to wait for a worker when the last one is gone."""
_TICK_S = 0.05
_LOOK_S = 1.0
_LONGEST_LOOK_S = 15.0
_MOST_VANISHINGS = 6
"""A worker that vanished so often is not asked again in this run."""


class FleetRunner:
    """Runs trials on the workers that are registered with a tracker.

    Args:
        tracker: Host and port of TVM's RPC tracker.
        key: Under which the workers are registered.
        accuracy, limits, threads, should_stop, flushed_bytes, get_toolchain: As for `TrialRunner`; `get_toolchain` is found by
            its name on the workers.
        targets: Of the run: their versions agree on all workers.
        machine: Measure on this kind of machine, as `machine_id` gives it there; else on what most free workers are.
        emit: Gets notes; only from within the methods of this.
        rejoin_s: How long to wait for a worker when the last one is gone.

    Attributes:
        kind: What the workers have in common: the machine and the targets' availability, for the keys of costs.

    Raises:
        CollageError: there is no tracker, or no worker that can take the run.
        Cancelled: the user stopped it.
    """

    def __init__(
        self,
        tracker: Address,
        key: str,
        accuracy: float,
        limits: TrialLimits,
        threads: int,
        *,
        targets: Sequence[str],
        should_stop: Callable[[], bool] | None = None,
        flushed_bytes: int = 0,
        get_toolchain: GetToolchain = registry.get,
        machine: str | None = None,
        emit: Emit = ignore,
        rejoin_s: float = REJOIN_S,
    ):
        self.limits = limits
        self._key = check_key(key)
        self._settings = Settings(get_toolchain, threads, accuracy, limits, flushed_bytes)
        self._should_stop = should_stop or (lambda: False)
        self._emit = emit
        self._rejoin_s = rejoin_s
        self._notes: deque[str] = deque()
        self._hangs: dict[str, list[Record]] = defaultdict(list)
        self._vanishings: Counter[Address] = Counter()
        self._is_closed = threading.Event()
        self._empty_since: float | None = None
        self._last_lost = ""
        self._crowded: set[str] = set()
        self._crew = WorkerPool(self._notes.append, self._on_lost)
        self._recruiter = WorkerDiscovery(tracker, key, self._notes.append, lambda: self._is_closed.is_set() or self._should_stop())
        members: list[RemoteWorker] = []
        try:
            members = self._first_members()
            self.kind: Kind = choose_kind([member.description for member in members], targets, threads, machine)
        except BaseException:
            for member in members:
                member.close()
            self._recruiter.close()
            self._tell()
            raise
        self._take_in(members)
        self._thread = threading.Thread(target=self._keep_recruiting, name="fleet-recruiter", daemon=True)
        self._thread.start()
        self._tell()

    @property
    def machine(self) -> str:
        """The machine on which all of it is measured, as `machine_id` gives it there."""
        return self.kind.machine

    def availability(self, target: str) -> Availability:
        """Of a target of the run, on the workers."""
        return self.kind.availability(target)

    def workers(self) -> list[Description]:
        """What the workers that are there say of themselves."""
        return [member.description for member in self._crew.members]

    def run(self, task: TrialTask) -> Record:
        """As `TrialRunner.run`.

        Raises:
            CollageError: the last worker is gone.
            Cancelled: the user stopped it.
        """
        return next(self.run_all([task]))[1]

    def run_all(self, tasks: Iterable[TrialTask]) -> Iterator[tuple[TrialTask, Record]]:
        """The trials and what they come to, as they end; each exactly once.

        Tasks are taken one by one, whenever a worker is free, and only while the caller asks for the next result; so they
        may be chosen by what came out so far. A caller that stops asking leaves those that are being measured to their end.

        Raises:
            CollageError: the last worker is gone, and none came within `rejoin_s`; what was given out is true all the same.
            Cancelled: the user stopped it.
        """
        waiting = iter(tasks)
        running: dict[Future[Any], tuple[TrialTask, Job]] = {}
        is_over = False
        try:
            while True:
                self._check_stopped()
                while not is_over and len(running) < max(1, len(self._crew.members)):
                    task = next(waiting, None)
                    refusal = self._refusal(task) if task is not None else None
                    if task is None:
                        is_over = True
                    elif refusal is not None:
                        yield task, refusal
                    else:
                        job = self._submit(task)
                        running[job.future] = task, job
                if not running:
                    return
                for future in self._some_done(list(running)):
                    task, job = running.pop(future)
                    yield task, self._record(task, future)
        except Cancelled:
            self._abandon(running, stop=True)
            raise
        finally:
            self._abandon(running, stop=False)
            self._tell()

    def caller(self) -> FleetCaller:
        """Something with `isolation.Worker.call` and `close` that calls on a worker of the fleet."""
        return FleetCaller(self)

    def close(self) -> None:
        """Let go of all workers; what they are doing ends."""
        self._is_closed.set()
        self._crew.close()
        if hasattr(self, "_thread"):
            self._thread.join()
        self._recruiter.close()
        self._tell()

    def do(self, job: Job, should_stop: Callable[[], bool] | None = None) -> Any:
        """Have one job done and wait for it; raises what its future does, and as `run_all`."""
        future = self._crew.submit(job)
        try:
            while not future.done():
                if should_stop is not None and should_stop():
                    raise Cancelled
                self._some_done([future])
            return future.result()
        finally:
            self._crew.abandon(job, stop=True)
            self._tell()

    def _submit(self, task: TrialTask) -> Job:
        job = Job(lambda member, stop: member.trial(self._settings, task, stop), lambda record: record.stage == "device")
        self._crew.submit(job)
        return job

    def _abandon(self, running: dict[Future[Any], tuple[TrialTask, Job]], *, stop: bool) -> None:
        for _, job in running.values():
            self._crew.abandon(job, stop=stop)
        running.clear()

    def _some_done(self, futures: list[Future[Any]]) -> list[Future[Any]]:
        """Those that are done, after a moment, results first; where there are none, being stopped or left alone ends it."""
        done, _ = wait(futures, _TICK_S, FIRST_COMPLETED)
        self._tell()
        if not done:
            self._check_stopped()
            self._check_not_alone()
        return sorted(done, key=lambda future: future.exception() is not None)

    def _check_stopped(self) -> None:
        if self._should_stop():
            raise Cancelled

    def _check_not_alone(self) -> None:
        if self._crew.members:
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

    def _refusal(self, task: TrialTask) -> Record | None:
        """What to answer for a target that hung too often in this run."""
        hangs = self._hangs[task.target]
        if len(hangs) < self.limits.most_hangs:
            return None
        reason = f"not tried: {task.target} hung {len(hangs)} times in this run; the last time it {hangs[-1].reason}"
        return Record(stage="device", reason=reason)

    def _record(self, task: TrialTask, future: Future[Any]) -> Record:
        """Raises whatever is no worker's fault."""
        try:
            record: Record = future.result()
        except WorkerLost as lost:
            return Record(stage="device", reason=f"each worker that was given it was lost; the last one: {lost}")
        if record.crashed and record.limit_s is not None:
            self._hangs[task.target].append(record)
        return record

    def _on_lost(self, member: RemoteWorker, lost: WorkerLost) -> None:
        self._last_lost = f"{member.name}: {lost}"
        self._vanishings[member.address] += 1
        if lost.is_fault or self._vanishings[member.address] >= _MOST_VANISHINGS:
            self._recruiter.refuse(member.address)

    def _tell(self) -> None:
        while self._notes:
            self._emit(Note(self._notes.popleft()))

    def _first_members(self) -> list[RemoteWorker]:
        """All workers that are free now; waits for a while where all are busy."""
        deadline = time.monotonic() + BUSY_S
        try:
            while True:
                registered = self._recruiter.look()
                members = self._recruiter.gather(registered)
                if members:
                    return members
                if self._should_stop():
                    raise Cancelled
                if not registered.addresses or time.monotonic() > deadline or self._notes:
                    raise self._nobody(registered)
                time.sleep(_TICK_S)
        except TrackerLost as lost:
            raise unreachable(self._recruiter.address, str(lost)) from lost

    def _nobody(self, registered: Registered) -> CollageError:
        where = show_address(self._recruiter.address)
        if registered.addresses and not self._notes:
            hint = "wait until the other run has ended, or start more workers"
            message = f"all {len(registered.addresses)} workers under {self._key!r} at {where} are busy"
            return CollageError(message, hint, "no_worker")
        why = f": {self._notes[-1]}" if self._notes else ""
        hint = f"start one on each machine with `collage worker --tracker {where} --key {self._key}` (docs/fleet.md)"
        return CollageError(f"no worker is registered under {self._key!r} with the tracker at {where}{why}", hint, "no_worker")

    def _take_in(self, members: Sequence[RemoteWorker]) -> None:
        """Let those join that are of the run's kind, and the others go."""
        for member in members:
            why_not = self.kind.why_not(member.description)
            if why_not:
                self._notes.append(f"the worker {member.name} is left out: {why_not}")
                self._recruiter.refuse(member.address)
                member.close()
            else:
                self._empty_since = None
                self._crew.join(member)
        said = crowded(self.workers())
        if said and said not in self._crowded:
            self._crowded.add(said)
            self._notes.append(said)

    def _keep_recruiting(self) -> None:
        """In a thread: workers that come later join, and the tracker may go and come."""
        pause_s, is_lost = _LOOK_S, False
        while not self._is_closed.wait(pause_s):
            try:
                self._take_in(self._recruiter.gather(self._recruiter.look()))
            except TrackerLost as lost:
                if not is_lost:
                    have = len(self._crew.members)
                    self._notes.append(f"the tracker is gone ({lost}): the run goes on with the {have} workers that it has")
                pause_s, is_lost = min(2 * pause_s, _LONGEST_LOOK_S), True
                continue
            if is_lost:
                self._notes.append("the tracker is there again")
            pause_s, is_lost = _LOOK_S, False


class FleetCaller:
    """Calls module-level functions in isolated children of a worker of the fleet, the same one as long as it is there."""

    def __init__(self, runner: FleetRunner):
        self._runner = runner
        self._member: RemoteWorker | None = None

    def call(self, function: Callable[..., Any], *args: Any, timeout_s: float, should_stop: Callable[[], bool] | None = None) -> Any:
        """As `isolation.Worker.call`, but the result must be plain data, and comes as JSON has it: tuples are lists.

        What is reported stays on the worker.

        Raises:
            CollageError: as the function raised it, or the last worker is gone.
            WorkerError: it failed, or each worker that was given it was lost.
            Cancelled: `should_stop` said so.
        """
        module, name = function.__module__, function.__qualname__
        job = Job(lambda member, stop: member.call(module, name, args, timeout_s, stop), only=self._member)
        try:
            result = self._runner.do(job, should_stop)
        except WorkerLost as lost:
            raise WorkerError(f"was lost with its worker: {lost}") from lost
        self._member = job.done_by
        return result

    def close(self) -> None:
        """Nothing: the workers are the runner's."""
