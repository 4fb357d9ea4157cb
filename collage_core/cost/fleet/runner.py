"""`FleetRunner`: run trials on the workers of a fleet, with the same results as `measuring.trial.TrialRunner`.

It takes trials and gives records that name their worker. All workers of a run are of one kind (`machine_kinds`); workers that start
later join it, and the trial of one that vanishes goes to another. All of it happens in the caller's thread, while it waits for a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...base.isolation.worker_errors import WorkerError
from ...events import Emit, ignore
from ...toolchains import registry
from ...toolchains.profiling import NodeTime
from ...toolchains.toolchain import Availability
from ..database.records import Record
from ..measuring.call_meter import ASSEMBLER
from ..measuring.trial import Hangs, TrialLimits, TrialTask
from ..measuring.trial_worker import GetToolchain
from .connection import check_installed, connection, local_count
from .jobs import Job, WorkerLost, call_job, trial_job
from .local import local_fleet
from .machine_kinds import Kind
from .protocol import Description, Settings
from .worker_pool import REJOIN_S, WorkerPool


class FleetRunner:
    """Runs trials on the workers of a fleet.

    Args:
        fleet: Address of the scheduler, or ``local:N`` for workers on this machine that are started for this run.
        accuracy, limits, threads, should_stop, get_toolchain: As for `TrialRunner`; `get_toolchain` is found by
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
        get_toolchain: GetToolchain = registry.get,
        machine: str | None = None,
        emit: Emit = ignore,
        rejoin_s: float = REJOIN_S,
    ):
        check_installed()
        self.limits = limits
        self._hangs = Hangs(limits.most_hangs)
        count = local_count(fleet)
        self._local = None if count is None else local_fleet(count)
        self._to = connection(fleet, "--fleet", keys) if self._local is None else self._local.connection
        settings = Settings(get_toolchain, threads, accuracy, limits)
        has_own_cores = self._local is not None and not self._local.shares_cores
        self._pool = WorkerPool(self._to, settings, should_stop or (lambda: False), emit, rejoin_s, has_own_cores=has_own_cores)
        try:
            # `CallMeter` asks for the assembler whatever the targets are, and its measurements are kept under the assembler's version.
            self.kind: Kind = self._pool.choose(list(dict.fromkeys([*targets, ASSEMBLER])), machine, count or 0)
        except BaseException:
            self.close()
            raise

    @property
    def machine(self) -> str:
        """Return the machine that measures, as `machine_id` gives it there."""
        return self.kind.machine

    def availability(self, target: str) -> Availability:
        """Return the availability of a target of the run, or of TVM, on the workers."""
        return self.kind.availability(target)

    def workers(self) -> list[Description]:
        """Return the descriptions of the workers that the run has now."""
        return [worker.description for worker in self._pool.workers.values()]

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
        tasks_of: dict[Job, TrialTask] = {}

        def jobs() -> Iterator[Job]:
            for task in tasks:
                job = self._trial_job(task)
                tasks_of[job] = task
                yield job

        for job in self._pool.results(jobs()):
            task = tasks_of.pop(job)
            yield task, self._record(task, job)

    def build_ahead(self, task: TrialTask) -> None:
        """As `TrialBackend.build_ahead`: a fleet's workers build beside each other as it is."""

    def profile(self, task: TrialTask) -> Sequence[NodeTime]:
        """As `TrialBackend.profile`: workers of a fleet run trials alone."""
        return ()

    def own_values(self, task: TrialTask, folder: Path) -> Sequence[Mapping[str, Path]]:
        """As `TrialBackend.own_values`: workers of a fleet run trials alone."""
        return ()

    def _trial_job(self, task: TrialTask) -> Job:
        """Return the job of a trial; it is done already where its target hung too often, or its model cannot be sent."""
        job = trial_job(self.limits, task)
        refusal = self._hangs.refusal(task.target)
        if refusal is not None:
            job.result, job.is_done = refusal, True
        return job

    def _record(self, task: TrialTask, job: Job) -> Record:
        """Return the record of a trial that ended; raises its error, unless that is a worker's fault."""
        if isinstance(job.error, WorkerLost):
            return Record(stage="device", reason=f"each worker that was given it was lost; the last one: {job.error}")
        if job.error is not None:
            raise job.error
        record: Record = replace(job.result, worker=job.done_by)
        self._hangs.add(task.target, record)
        return record

    def caller(self) -> FleetCaller:
        """Return an object with `isolation.Worker.call` and `close` that calls functions on a worker of the fleet."""
        return FleetCaller(self._pool)

    def close(self) -> None:
        """Stop all trials and calls, and end the workers that were started for this run."""
        self._pool.close()
        self._local = None


class FleetCaller:
    """Calls module-level functions in isolated children of a worker of the fleet, the same one while it is there."""

    def __init__(self, pool: WorkerPool):
        self._pool = pool
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
        job = next(self._pool.results(iter([call_job(function, args, timeout_s, self._worker)]), should_stop))
        if isinstance(job.error, WorkerLost):
            raise WorkerError(f"was lost with its worker: {job.error}") from job.error
        if job.error is not None:
            raise job.error
        self._worker = job.done_by
        return job.result

    def close(self) -> None:
        """Do nothing; the runner owns the workers."""
