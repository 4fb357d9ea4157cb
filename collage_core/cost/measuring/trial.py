"""`TrialRunner`: runs a trial of a sub-model on a target, in that target's worker, and returns a `Record`.

A toolchain may refuse, crash, hang, take too much memory or compute something else: each is a record with the stage and the
reason. Only the user's wish to stop leaves as an exception (`Cancelled`).
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import psutil

from ...base.durations import duration, milliseconds
from ...base.isolation.worker import Pool, Worker
from ...base.isolation.worker_errors import WorkerDied, WorkerError, WorkerTimeout
from ...errors import Cancelled, CollageError
from ...graph.value_policy import FINITE
from ...model.model import SubModel
from ...toolchains.border import one_line
from ...toolchains.built_packages import BuiltPackages
from ...toolchains.profiling import NodeTime
from ...toolchains.toolchain import ToolchainError
from ..database.records import Record
from . import profile_worker, trial_worker
from .noise_filter import UNKNOWN_SPEED, Speed, SpeedHistory
from .timing import SHORT_LOOK, TimingLimits
from .trial_worker import ArrayFile, Check, CheckSet, GetToolchain, Timed

_STAGES = ("import", "build", "run", "device")
_MEMORY_SHARE = 0.75


@dataclass(frozen=True)
class TrialLimits:
    """How long a trial may take.

    Attributes:
        start_s: For a worker to be ready, its imports included.
        build_s: For building and loading.
        run_s: For a first run, and for each part of the timing that does not end by itself.
        lose_s, lose_factor: A run that takes longer than both these seconds and so many budgets is ended.
        most_hangs: A target that hung so often is not tried any more in this run.
        memory_bytes: Memory that a worker may take; None for three quarters of the machine's.
        timing: How much timing is enough.
    """

    start_s: float = 120.0
    build_s: float = 120.0
    run_s: float = 30.0
    lose_s: float = 10.0
    lose_factor: float = 20.0
    most_hangs: int = 3
    memory_bytes: int | None = None
    timing: TimingLimits = SHORT_LOOK

    @classmethod
    def from_environment(cls) -> TrialLimits:
        """Return the defaults, with ``COLLAGE_BUILD_TIMEOUT_S`` and ``COLLAGE_RUN_TIMEOUT_S`` where they are set.

        Raises:
            CollageError: one of them is no positive number.
        """
        return cls(build_s=_seconds_from("COLLAGE_BUILD_TIMEOUT_S", cls.build_s), run_s=_seconds_from("COLLAGE_RUN_TIMEOUT_S", cls.run_s))

    def of_percentile(self, percentile: float) -> TrialLimits:
        """Return the same limits, for a timing that ends when that percentile is known well enough."""
        return replace(self, timing=replace(self.timing, percentile=percentile))

    def first_run_s(self, budget_s: float | None) -> float:
        """Return how long a first run may take where the candidate may cost `budget_s`."""
        return self.run_s if budget_s is None else min(self.run_s, max(self.lose_s, self.lose_factor * budget_s))


@dataclass(frozen=True, slots=True)
class TrialTask:
    """A sub-model, the tensors that it reads, and those that it must compute from them.

    Attributes:
        budget_s: A sub-model that surely costs more is not timed further. None for no such bound.
        enough_s: A sub-model that surely costs less is not timed further either. None where every cost must be known well.
        value_policy: How NaN and infinities of `wanted` are compared.
        further: The same tensors on other inputs of the whole model: the sub-model must compute these right, too.
        checked_on: As `Record.checked_on`, for the record of this trial.
        is_timed: Whether it is timed; else it is only built and checked, and the one sample is the time of its first run.
        flushed_bytes: As `trial_worker.sample` takes it.
    """

    target: str
    model: SubModel
    given: Sequence[ArrayFile]
    wanted: Sequence[ArrayFile]
    budget_s: float | None
    enough_s: float | None = None
    value_policy: str = FINITE
    further: Sequence[CheckSet] = ()
    checked_on: str = ""
    is_timed: bool = True
    flushed_bytes: int = 0

    @property
    def files(self) -> list[Path]:
        """The files of all its tensors."""
        sets = ((self.given, self.wanted), *((one.given, one.wanted) for one in self.further))
        return [array.path for given, wanted in sets for array in (*given, *wanted)]

    def with_files(self, moved: Mapping[str, Path]) -> TrialTask:
        """Return the task with its files elsewhere, each path as in `moved`."""

        def there(arrays: Sequence[ArrayFile]) -> list[ArrayFile]:
            return [replace(one, path=moved[str(one.path)]) for one in arrays]

        further = [replace(one, given=there(one.given), wanted=there(one.wanted)) for one in self.further]
        return replace(self, given=there(self.given), wanted=there(self.wanted), further=further)


class Hangs:
    """The trials of one run that hung, and which targets are therefore not tried any more.

    Args:
        most: As `TrialLimits.most_hangs`.
    """

    def __init__(self, most: int):
        self._most = most
        self._records: dict[str, list[Record]] = defaultdict(list)

    def add(self, target: str, record: Record) -> None:
        """Take the record of a trial on `target`, if it hung."""
        if record.crashed and record.limit_s is not None:
            self._records[target].append(record)

    def refusal(self, target: str) -> Record | None:
        """Return the record for a target that hung too often; None for the others."""
        hung = self._records[target]
        if len(hung) < self._most:
            return None
        return Record(stage="device", reason=f"not tried: {target} hung {len(hung)} times in this run; the last time it {hung[-1].reason}")


def trial_workers(limits: TrialLimits) -> Pool:
    """Return workers for trials; each starts with its first trial."""
    return Pool(memory_bytes=limits.memory_bytes or int(psutil.virtual_memory().total * _MEMORY_SHARE))


class TrialRunner:
    """Runs trials, one at a time, each in the warm worker of its target.

    Args:
        known: The undisturbed machine's speed, where something is known of it before the first trial.
        workers: Workers that others use before and after; they are the caller's to close. Workers of its own unless given.
    """

    def __init__(
        self,
        get_toolchain: GetToolchain,
        threads: int,
        accuracy: float,
        limits: TrialLimits,
        should_stop: Callable[[], bool] | None = None,
        known: Speed = UNKNOWN_SPEED,
        workers: Pool | None = None,
    ):
        self._get_toolchain = get_toolchain
        self._threads = threads
        self._accuracy = accuracy
        self.limits = limits
        self._should_stop = should_stop
        self._is_own = workers is None
        self._pool = trial_workers(limits) if workers is None else workers
        self._speeds = SpeedHistory()
        self._speeds.add(known)
        self._broken: dict[str, str] = {}
        self._hangs = Hangs(limits.most_hangs)
        self._ahead: list[threading.Thread] = []
        self._is_closing = False

    def run(self, task: TrialTask) -> Record:
        """Run one trial and return its record.

        Raises:
            Cancelled: the user stopped it.
        """
        refusal = self._hangs.refusal(task.target)
        if refusal is not None:
            return refusal
        worker = self._pool.worker(task.target)
        record = self._warm_up(worker, task.target)
        if record is None:
            was_fresh = worker.calls == 1
            record, cause = self._outcome(worker, task)
            if isinstance(cause, WorkerDied) and (not was_fresh or cause.was_killed):
                # An earlier trial may have broken the process, or somebody killed it: that is no fault of this trial, so it runs once more.
                record = self._warm_up(worker, task.target) or self._outcome(worker, task)[0]
        self._hangs.add(task.target, record)
        return record

    def build_ahead(self, task: TrialTask) -> None:
        """As `TrialBackend.build_ahead`, in the worker of the target, for which the trial waits.

        It ends when the trial would: when the user stops the run, or no time is left.
        """
        should_stop = self._should_stop or (lambda: False)
        asked = trial_worker.build, self._get_toolchain, task.target, task.model, self._threads, BuiltPackages(self._pool.folder)
        limit_s = self.limits.start_s + self.limits.build_s

        def build() -> None:
            with suppress(WorkerError, CollageError, Cancelled):  # The trial meets it again, and has a record of it.
                self._pool.worker(task.target).call(*asked, timeout_s=limit_s, should_stop=lambda: self._is_closing or should_stop())

        self._ahead.append(threading.Thread(target=build, name=f"collage-build-{task.target}", daemon=True))
        self._ahead[-1].start()

    def profile(self, task: TrialTask) -> Sequence[NodeTime]:
        """As `TrialBackend.profile`, in the worker of the target.

        Raises:
            Cancelled: the user stopped it.
        """
        worker = self._pool.worker(task.target)
        if self._hangs.refusal(task.target) is not None or self._warm_up(worker, task.target) is not None:
            return ()
        limit_s = self.limits.build_s + self.limits.run_s
        asked = profile_worker.profile_nodes, self._get_toolchain, task.target, task.model, task.given, self._threads
        try:
            return worker.call(*asked, timeout_s=limit_s, should_stop=self._should_stop) or ()
        except (WorkerError, CollageError):
            return ()

    def own_values(self, task: TrialTask, folder: Path) -> Sequence[Mapping[str, Path]]:
        """As `TrialBackend.own_values`, in the worker of the target.

        Raises:
            Cancelled: the user stopped it.
        """
        worker = self._pool.worker(task.target)
        if self._hangs.refusal(task.target) is not None or self._warm_up(worker, task.target) is not None:
            return ()
        sets = [CheckSet("", task.given, task.wanted), *task.further]
        limit_s = self.limits.build_s + self.limits.run_s * len(sets)
        asked = profile_worker.own_values, self._get_toolchain, task.target, task.model, sets, folder, self._threads
        try:
            return cast(Sequence[Mapping[str, Path]], worker.call(*asked, timeout_s=limit_s, should_stop=self._should_stop))
        except (WorkerError, CollageError):
            return ()

    def run_all(self, tasks: Iterable[TrialTask]) -> Iterator[tuple[TrialTask, Record]]:
        """Yield each task with its record, one after another; a task is taken when the one before it is done."""
        for task in tasks:
            yield task, self.run(task)

    def close(self) -> None:
        """End the workers, unless they are the caller's, and what is built ahead."""
        self._is_closing = True
        for thread in self._ahead:
            thread.join()
        if self._is_own:
            self._pool.close()
            self._pool.remove_folder()

    def _warm_up(self, worker: Worker, target: str) -> Record | None:
        """Start the target's worker where it does not run; return a record where that fails, and do not try again after that."""
        if target not in self._broken and worker.pid is None:
            try:
                call = (trial_worker.warm_up, self._get_toolchain, target)
                worker.call(*call, timeout_s=self.limits.start_s, should_stop=self._should_stop)
            except (WorkerError, CollageError) as error:
                self._broken[target] = f"its worker process cannot be started: {error}"
        return Record(stage="device", reason=self._broken[target]) if target in self._broken else None

    def _outcome(self, worker: Worker, task: TrialTask) -> tuple[Record, Exception | None]:
        """Return the record of an attempt, with the seconds that it took, and the exception that ended it, if one did."""
        begin = time.perf_counter()
        cause = None
        try:
            record = self._attempt(worker, task)
        except _Failed as failed:
            record, cause = failed.record, failed.cause
        return replace(record, seconds_spent=time.perf_counter() - begin, checked_on=task.checked_on), cause

    def _attempt(self, worker: Worker, task: TrialTask) -> Record:
        limits = self.limits
        asked = trial_worker.build, self._get_toolchain, task.target, task.model, self._threads, BuiltPackages(self._pool.folder)
        self._call(worker, "build", limits.build_s, *asked)
        first = self._first_run(worker, task)
        refusal = self._refusal(first)
        if refusal is not None:
            return refusal
        checks = [first]
        for one in task.further:
            found = self._check_also(worker, task, one)
            if isinstance(found, Record):
                return found
            checks.append(found)
        error = max(check.error for check in checks)
        if not task.is_timed:
            return Record(samples=(first.seconds,), error=error)
        timing_s = limits.run_s + limits.timing.longest_s + 4 * first.seconds
        arguments = limits.timing, task.budget_s, task.enough_s, task.flushed_bytes, self._speeds.fastest()
        timed: Timed = self._call(worker, "run", timing_s, trial_worker.sample, *arguments)
        self._speeds.add(timed.samples.speed)
        return self._refusal(timed.check) or Record(
            samples=timed.samples.seconds,
            error=max(error, timed.check.error),
            stopped_early=timed.samples.stopped_early,
            reference_s=timed.samples.reference_s,
            slowed_by=timed.samples.slowed_by,
            core_latency_s=timed.samples.speed.core_latency_s if math.isfinite(timed.samples.speed.core_latency_s) else None,
        )

    def _first_run(self, worker: Worker, task: TrialTask) -> Check:
        limit = self.limits.first_run_s(task.budget_s)
        try:
            return self._call(worker, "run", limit, trial_worker.check, task.given, task.wanted, self._accuracy, task.value_policy)
        except _Failed as failed:
            if task.budget_s is None or limit >= self.limits.run_s or not isinstance(failed.cause, WorkerTimeout):
                raise
            below = milliseconds(task.budget_s, 3)
            reason = f"ended after {duration(limit)} in its first run: sure to lose, it would have to take less than {below}"
            raise _Failed(Record(stage="run", reason=reason, limit_s=limit), failed.cause) from None

    def _check_also(self, worker: Worker, task: TrialTask, one: CheckSet) -> Check | Record:
        """Run the kernel on other inputs; return the record of one that fails there, or computes something else than the reference."""
        limit = self.limits.first_run_s(task.budget_s)
        try:
            check = self._call(worker, "run", limit, trial_worker.check_also, one.given, one.wanted)
            refusal = self._refusal(check)
        except _Failed as failed:
            record = replace(failed.record, reason=f"on {one.name} inputs: {failed.record.reason}")
            raise _Failed(record, failed.cause) from failed.cause
        return check if refusal is None else replace(refusal, reason=f"on {one.name} inputs: {refusal.reason}")

    def _refusal(self, check: Check) -> Record | None:
        """Return the record of a kernel that computes something else than the reference; None where it is right."""
        error = check.error if math.isfinite(check.error) else None
        if check.error > self._accuracy or math.isnan(check.error):
            if check.has_other_type:
                said = f"its output {check.worst!r} has another shape or dtype than in the reference: "
            elif error is None:
                said = f"its output {check.worst!r} has NaN, infinity, or nothing at all where the reference has numbers, or the reverse: "
            else:
                # The accuracy of later runs that read this may be another one.
                said = f"its output {check.worst!r} errs by {error:.2g} of the largest value, more than the accuracy allows: "
            return Record(stage="numerics", reason=said + check.element, error=error)
        if check.overwritten:
            return Record(stage="run", reason=f"it overwrites its input {check.overwritten!r}, which others may still read", error=error)
        return None

    def _call(self, worker: Worker, stage: str, timeout_s: float, function: Callable[..., Any], *args: Any) -> Any:
        """Call in the worker; raises `_Failed` with the record of a failure."""
        doing = {"build": "building", "run": "running"}[stage]
        try:
            return worker.call(function, *args, timeout_s=timeout_s, should_stop=self._should_stop)
        except Cancelled as error:
            if self._should_stop is not None and self._should_stop():
                raise
            raise _Failed(Record(stage=stage, reason="it cancelled what nobody had stopped"), error) from error
        except ToolchainError as error:
            own = getattr(error, "stage", None)
            own = own if isinstance(own, str) and own in _STAGES else stage
            raise _Failed(Record(stage=own, reason=one_line(error)), error) from error
        except CollageError as error:
            raise _Failed(Record(stage=stage, reason=one_line(error)), error) from error
        except WorkerError as error:
            words = f"; its last output: {error.last_words!r}" if error.last_words else ""
            gave_up = timeout_s if isinstance(error, WorkerTimeout) else None
            broke = isinstance(error, WorkerTimeout | WorkerDied)
            reason = f"{error.what} while {doing}{words}" if broke else one_line(error.what)
            raise _Failed(Record(stage=stage, reason=reason, crashed=broke, limit_s=gave_up), error) from error


def _seconds_from(variable: str, default: float) -> float:
    text = os.environ.get(variable)
    if text is None:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise CollageError(
            f"{variable} is {text!r}, it must be a number of seconds above 0", f"set it to {default:g} or unset it", "bad_option"
        )
    return seconds


class _Failed(Exception):
    """Raised when a trial ends with `record`, because of `cause`."""

    def __init__(self, record: Record, cause: Exception):
        super().__init__(record.reason)
        self.record = record
        self.cause = cause
