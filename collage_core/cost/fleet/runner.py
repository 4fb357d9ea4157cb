"""`FleetRunner`: run trials on the workers of a fleet, with the same results as `measuring.trial.TrialRunner`.

It takes trials and gives records that name their worker. All workers of a run are of one kind (`machine_kinds`);
workers that start later join it, and the trial of one that vanishes goes to another. Notes are emitted in the caller's thread.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from ...base.isolation.errors import WorkerError
from ...errors import Cancelled, CollageError
from ...events import Emit, Note, ignore
from ...toolchains import registry
from ...toolchains.base import Availability
from ..database.records import Record
from ..measuring.call_meter import ASSEMBLER
from ..measuring.trial import Hangs, TrialLimits, TrialTask
from ..measuring.trial_worker import GetToolchain
from .discovery import WorkerDiscovery
from .machine_kinds import Kind, choose_kind, shared_computers
from .protocol import Description, Settings
from .remote_worker import RemoteWorker, WorkerLost
from .tracker import Address, Registered, TrackerLost, check_key, show_address, unreachable
from .worker_pool import Job, WorkerPool

BUSY_S = 20.0
"""Seconds to wait where all workers are busy: those of a run that just ended are free again within seconds."""
REJOIN_S = 30.0
"""Seconds to wait for a worker when the last one is gone."""
_TICK_S = 0.05
_DISCOVERY_S = 1.0
_LONGEST_DISCOVERY_S = 15.0
_MOST_VANISHINGS = 6
"""A worker that vanished so often is not used again in this run."""


class FleetRunner:
    """Runs trials on the workers that are registered with a tracker.

    Args:
        tracker: Host and port of TVM's RPC tracker.
        key: Key under which the workers are registered.
        accuracy, limits, threads, should_stop, flushed_bytes, get_toolchain: As for `TrialRunner`; `get_toolchain` is found by
            its name on the workers.
        targets: Targets of the run; their versions agree on all workers, and so does that of TVM, which assembles.
        machine: Measure on this kind of machine, as `machine_id` gives it there; None for the kind of most free workers.
        emit: Called with notes, only from within the methods of this class.
        rejoin_s: Seconds to wait for a worker when the last one is gone.

    Attributes:
        kind: The machine and the targets' availability that the workers share, for the keys of costs.

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
        self._hangs = Hangs(limits.most_hangs)
        self._vanishings: Counter[Address] = Counter()
        self._is_closed = threading.Event()
        self._empty_since: float | None = None
        self._last_lost = ""
        self._noted_shared: set[str] = set()
        self._pool = WorkerPool(self._notes.append, self._on_lost)
        self._discovery = WorkerDiscovery(tracker, key, self._notes.append, lambda: self._is_closed.is_set() or self._should_stop())
        workers: list[RemoteWorker] = []
        try:
            workers = self._first_workers()
            # `CallMeter` asks for the assembler whatever the targets are, and its measurements are kept under the assembler's version.
            needed = list(dict.fromkeys([*targets, ASSEMBLER]))
            self.kind: Kind = choose_kind([worker.description for worker in workers], needed, threads, machine)
        except BaseException:
            for worker in workers:
                worker.close()
            self._discovery.close()
            self._emit_notes()
            raise
        self._admit(workers)
        self._thread = threading.Thread(target=self._keep_discovering, name="fleet-discovery", daemon=True)
        self._thread.start()
        self._emit_notes()

    @property
    def machine(self) -> str:
        """Return the machine that measures, as `machine_id` gives it there."""
        return self.kind.machine

    def availability(self, target: str) -> Availability:
        """Return the availability of a target of the run, or of TVM, on the workers."""
        return self.kind.availability(target)

    def workers(self) -> list[Description]:
        """Return the descriptions of the workers that the run has now."""
        return [worker.description for worker in self._pool.workers]

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
        running: dict[Future[Any], tuple[TrialTask, Job]] = {}
        is_over = False
        try:
            while True:
                self._check_stopped()
                while not is_over and len(running) < max(1, len(self._pool.workers)):
                    task = next(waiting, None)
                    refusal = self._hangs.refusal(task.target) if task is not None else None
                    if task is None:
                        is_over = True
                    elif refusal is not None:
                        yield task, refusal
                    else:
                        job = self._submit(task)
                        running[job.future] = task, job
                if not running:
                    return
                for future in self._wait_for_some(list(running)):
                    task, job = running.pop(future)
                    yield task, self._record(task, future)
        except Cancelled:
            self._abandon(running, stop=True)
            raise
        finally:
            self._abandon(running, stop=False)
            self._emit_notes()

    def caller(self) -> FleetCaller:
        """Return an object with `isolation.Worker.call` and `close` that calls functions on a worker of the fleet."""
        return FleetCaller(self)

    def close(self) -> None:
        """Stop all jobs, and close all workers."""
        self._is_closed.set()
        self._pool.close()
        if hasattr(self, "_thread"):
            self._thread.join()
        self._discovery.close()
        self._emit_notes()

    def do(self, job: Job, should_stop: Callable[[], bool] | None = None) -> Any:
        """Do one job and return its result; raises what its future raises, and what `run_all` does."""
        future = self._pool.submit(job)
        try:
            while not future.done():
                if should_stop is not None and should_stop():
                    raise Cancelled
                self._wait_for_some([future])
            return future.result()
        finally:
            self._pool.abandon(job, stop=True)
            self._emit_notes()

    def _submit(self, task: TrialTask) -> Job:
        job = Job(lambda worker, stop: worker.trial(self._settings, task, stop), lambda record: record.stage == "device")
        self._pool.submit(job)
        return job

    def _abandon(self, running: dict[Future[Any], tuple[TrialTask, Job]], *, stop: bool) -> None:
        for _, job in running.values():
            self._pool.abandon(job, stop=stop)
        running.clear()

    def _wait_for_some(self, futures: list[Future[Any]]) -> list[Future[Any]]:
        """Wait a moment, and return the futures that are done, those with results first.

        Raises:
            CollageError: none is done, and the last worker is gone.
            Cancelled: none is done, and the user stopped it.
        """
        done, _ = wait(futures, _TICK_S, FIRST_COMPLETED)
        self._emit_notes()
        if not done:
            self._check_stopped()
            self._check_workers_left()
        return sorted(done, key=lambda future: future.exception() is not None)

    def _check_stopped(self) -> None:
        if self._should_stop():
            raise Cancelled

    def _check_workers_left(self) -> None:
        if self._pool.workers:
            self._empty_since = None
            return
        now = time.monotonic()
        since = self._empty_since = self._empty_since or now  # The discovery's thread may forget it at any time.
        if now - since > self._rejoin_s:
            raise CollageError(
                f"no worker of the fleet is left: {self._last_lost or 'all of them vanished'}",
                "start workers again, then the same command: what was measured is kept",
                "no_worker",
            )

    def _record(self, task: TrialTask, future: Future[Any]) -> Record:
        """Return the record of a trial that ended; raises what its future does, unless that is a worker's fault."""
        try:
            record: Record = future.result()
        except WorkerLost as lost:
            return Record(stage="device", reason=f"each worker that was given it was lost; the last one: {lost}")
        self._hangs.add(task.target, record)
        return record

    def _on_lost(self, worker: RemoteWorker, lost: WorkerLost) -> None:
        self._last_lost = f"{worker.name}: {lost}"
        self._vanishings[worker.address] += 1
        if lost.is_fault or self._vanishings[worker.address] >= _MOST_VANISHINGS:
            self._discovery.refuse(worker.address)

    def _emit_notes(self) -> None:
        while self._notes:
            self._emit(Note(self._notes.popleft()))

    def _first_workers(self) -> list[RemoteWorker]:
        """Open all workers that are free now; wait for a while where all are busy."""
        deadline = time.monotonic() + BUSY_S
        try:
            while True:
                registered = self._discovery.registered()
                workers = self._discovery.open_free(registered)
                if workers:
                    return workers
                if self._should_stop():
                    raise Cancelled
                if not registered.addresses or time.monotonic() > deadline or self._notes:
                    raise self._no_worker(registered)
                time.sleep(_TICK_S)
        except TrackerLost as lost:
            raise unreachable(self._discovery.address, str(lost)) from lost

    def _no_worker(self, registered: Registered) -> CollageError:
        where = show_address(self._discovery.address)
        if registered.addresses and not self._notes:
            hint = "wait until the other run has ended, or start more workers"
            message = f"all {len(registered.addresses)} workers under {self._key!r} at {where} are busy"
            return CollageError(message, hint, "no_worker")
        why = f": {self._notes[-1]}" if self._notes else ""
        hint = f"start one on each machine with `collage worker --tracker {where} --key {self._key}` (docs/fleet.md)"
        return CollageError(f"no worker is registered under {self._key!r} with the tracker at {where}{why}", hint, "no_worker")

    def _admit(self, workers: Sequence[RemoteWorker]) -> None:
        """Add the workers of the run's kind to the pool, and close the others."""
        for worker in workers:
            why_not = self.kind.why_not(worker.description)
            if why_not:
                self._notes.append(f"the worker {worker.name} is left out: {why_not}")
                self._discovery.refuse(worker.address)
                worker.close()
            else:
                self._empty_since = None
                self._pool.add(worker)
        note = shared_computers(self.workers())
        if note and note not in self._noted_shared:
            self._noted_shared.add(note)
            self._notes.append(note)

    def _keep_discovering(self) -> None:
        """Admit workers that start later, in a thread; the tracker may be gone for a while."""
        pause_s, is_lost = _DISCOVERY_S, False
        while not self._is_closed.wait(pause_s):
            try:
                self._admit(self._discovery.open_free(self._discovery.registered()))
            except TrackerLost as lost:
                if not is_lost:
                    have = len(self._pool.workers)
                    self._notes.append(f"the tracker is gone ({lost}): the run goes on with the {have} workers that it has")
                pause_s, is_lost = min(2 * pause_s, _LONGEST_DISCOVERY_S), True
                continue
            except Cancelled:
                return
            except CollageError as error:
                self._notes.append(f"workers that start later are not used: {error}")
                return
            if is_lost:
                self._notes.append("the tracker is there again")
            pause_s, is_lost = _DISCOVERY_S, False


class FleetCaller:
    """Calls module-level functions in isolated children of a worker of the fleet, the same one while it is in the pool."""

    def __init__(self, runner: FleetRunner):
        self._runner = runner
        self._worker: RemoteWorker | None = None

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
        job = Job(lambda worker, stop: worker.call(module, name, args, timeout_s, stop), only=self._worker)
        try:
            result = self._runner.do(job, should_stop)
        except WorkerLost as lost:
            raise WorkerError(f"was lost with its worker: {lost}") from lost
        self._worker = job.done_by
        return result

    def close(self) -> None:
        """Do nothing; the runner owns the workers."""
