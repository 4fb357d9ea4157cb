"""`Tuner`: finds faster schedules for computations, slice by slice, and keeps them in the cost database by kernel.

A sub-model and its key enter; the schedules leave with which it is built from then on (`SubModel.tuning`), and how far tuning got. All
that a slice finds is committed before it is told. Kernels are looked up first: what another model tuned costs no trial. The toolchain
works in a process of its own; it may crash or hang there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...base.durations import duration
from ...base.isolation.worker_errors import WorkerError
from ...documents.cost import Tuned
from ...errors import Cancelled
from ...model.model import SubModel
from ...toolchains.border import one_line, with_weights_inside
from ...toolchains.toolchain import ToolchainError
from ...toolchains.tuning import MOST_TRIALS, TunedKernel, digest, encoded, schedules
from ..database.database import CostDatabase
from ..database.record_validation import InvalidRecord, tuning_row
from ..database.records import CostKey, TuningKey, TuningRecord, fields_of
from ..measuring import tuning_worker
from ..measuring.trial_backend import Caller, TrialBackend
from ..measuring.trial_worker import GetToolchain

_SLACK = 4.0
"""So many times as long as it was given, and the time for a build, a slice may take before its process is ended."""
TRIAL_S = 8.0
"""A schedule that takes longer to build, and to run so often as `_RUNS`, is given up: LLVM takes hours for some that are unrolled."""
_RUNS = 20


@dataclass(frozen=True, slots=True)
class Slice:
    """The outcome of one slice.

    Attributes:
        tuning: The fastest schedules that are known, as `SubModel.tuning`; empty where the default ones are.
        trials: Number of schedules that were tried.
        is_done: Nothing more can be found.
        note: Why tuning failed; empty where it did not.
    """

    tuning: bytes
    trials: int
    is_done: bool
    note: str = ""


class _Trials:
    """The kernel that a slice tunes, as the slice told it before each trial. Most that goes wrong in a slice is the fault of one schedule.

    Attributes:
        is_stuck: The schedule under trial took too long.
    """

    def __init__(self, should_stop: Callable[[], bool] | None):
        self.is_stuck = False
        self._should_stop = should_stop
        self._began = self._heard = time.monotonic()
        self._first: Mapping[str, Any] | None = None
        self._last: Mapping[str, Any] | None = None

    def hear(self, kernel: Mapping[str, Any]) -> None:
        """Take what a slice reports: the fields of a `TunedKernel`, the trial that begins counted."""
        self._heard = time.monotonic()
        self._first = self._first or kernel
        self._last = kernel

    def should_stop(self) -> bool:
        if self._last is not None:
            self.is_stuck = time.monotonic() - self._heard > TRIAL_S + _RUNS * float(self._last["default_s"])
        return self.is_stuck or (self._should_stop is not None and self._should_stop())

    def found(self) -> dict[str, Any] | None:
        """Return what the trials found, as `tuning_worker.tune` does; None where none began."""
        if self._first is None or self._last is None:
            return None
        kernel = {**self._last, "spent_s": self._first["spent_s"] + time.monotonic() - self._began}
        return {"kernels": [kernel], "trials": kernel["trials"] - self._first["trials"] + 1}


class Tuner:
    """Tunes the computations of one run, and says what each is built with.

    Attributes:
        tunings: Digest → schedules, of all that were taken (`take`).
    """

    def __init__(
        self,
        database: CostDatabase,
        backend: TrialBackend,
        get_toolchain: GetToolchain,
        threads: int,
        should_stop: Callable[[], bool] | None = None,
    ):
        self.tunings: dict[str, bytes] = {}
        self._database = database
        self._backend = backend
        self._get_toolchain = get_toolchain
        self._threads = threads
        self._should_stop = should_stop
        self._caller: Caller | None = None
        self._taken: dict[CostKey, bytes] = {}
        self._kernels: dict[CostKey, dict[TuningKey, TuningRecord | None]] = {}

    def tuning(self, key: CostKey) -> bytes:
        """Return what the computation of `key` is built with, a key without tuning; empty for the default schedules."""
        return self._taken.get(key, b"")

    def with_tuning(self, key: CostKey) -> CostKey:
        """Return the key under which the cost of a computation is kept, as it is built now."""
        taken = self.tuning(key)
        return replace(key, options=f"{key.options}, tuned {digest(taken)}") if taken else key

    def take(self, key: CostKey, tuning: bytes) -> None:
        """Build the computation of `key` with `tuning` from now on."""
        self._taken[key] = tuning
        if tuning:
            self.tunings[digest(tuning)] = tuning

    def told(self, key: CostKey, untuned_s: float) -> Tuned | None:
        """Return how tuning changed the cost of a computation, which was `untuned_s`; None where the default schedules are used."""
        taken = self.tuning(key)
        if not taken:
            return None
        records = [record for record in self._kernels.get(key, {}).values() if record is not None]
        return Tuned(digest(taken), untuned_s, sum(record.spent_s for record in records), sum(record.trials for record in records))

    def slice(self, key: CostKey, model: SubModel, seconds: float) -> Slice:
        """Look for faster schedules of the computation of `key` for about `seconds`.

        The first slice of a computation takes what the database has of its kernels, and tries nothing where that is news.

        A schedule that ends the process or hangs is left out; the next slice goes on from the others.

        Raises:
            Cancelled: the user stopped it; what earlier slices found is kept.
        """
        try:
            model = with_weights_inside(model)  # The tuner may be on another machine.
            if key not in self._kernels:
                self._look_up(key, model)
                known = self._known(key)
                if any(kernel.trace for kernel in known) or not self._is_open(key):
                    return Slice(schedules(known), 0, not self._is_open(key))
            return self._tried(key, model, seconds)
        except (ToolchainError, WorkerError, InvalidRecord) as error:
            reason = _fault(error) if isinstance(error, WorkerError) else one_line(error)
            return Slice(self.tuning(key), 0, True, f"{key.toolchain} could not tune: {reason}")

    def close(self) -> None:
        """End the process in which tuning runs."""
        if self._caller is not None:
            self._caller.close()
            self._caller = None

    def _look_up(self, key: CostKey, model: SubModel) -> None:
        found = self._call(self._backend.limits.build_s, tuning_worker.workloads, key.toolchain, model, self._threads)
        keys = [self._kernel_key(key, workload, target) for workload, target in found]
        kept = self._database.get_tunings(keys)
        self._kernels[key] = {one: kept.get(one) for one in keys}

    def _tried(self, key: CostKey, model: SubModel, seconds: float) -> Slice:
        limit_s = self._backend.limits.build_s + _SLACK * seconds
        arguments = key.toolchain, model, self._threads, seconds, encoded(self._known(key))
        trials, note = _Trials(self._should_stop), ""
        try:
            found = self._call(limit_s, tuning_worker.tune, *arguments, trials=trials)
        except (Cancelled, WorkerError) as error:
            if (heard := trials.found()) is None or (isinstance(error, Cancelled) and not trials.is_stuck):
                raise
            found, note = heard, f"{key.toolchain}: a schedule is left out: {_fault(error)}"
        try:
            self._keep(key, found["kernels"])
            count = int(found["trials"])
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidRecord(f"what it found cannot be true: {one_line(error)}") from error
        return Slice(schedules(self._known(key)), count, not self._is_open(key), note)

    def _keep(self, key: CostKey, kernels: Iterable[Mapping[str, Any]]) -> None:
        """Keep what a slice found: in the database, and for the next slice. Raises ValueError and others where it cannot be true."""
        for kernel in kernels:
            own = self._kernel_key(key, str(kernel["workload"]), str(kernel["target"]))
            record = TuningRecord(*(kernel[name] for name in ("trace", "seconds", "default_s", "trials", "spent_s")))
            before = self._kernels[key].get(own)
            tuning_row({**fields_of(own, record), "created": "2026-01-01T00:00:00+00:00"})
            if before is None or before != replace(record, created=before.created):
                self._database.put_tuning(own, record)
                self._kernels[key][own] = record

    def _known(self, key: CostKey) -> list[TunedKernel]:
        return [
            TunedKernel(own.workload, own.target, record.trace, record.seconds, record.default_s, record.trials, record.spent_s)
            for own, record in self._kernels[key].items()
            if record is not None
        ]

    def _is_open(self, key: CostKey) -> bool:
        """Return whether a kernel of the computation has had fewer trials than it may have."""
        return any(record is None or record.trials < MOST_TRIALS for record in self._kernels[key].values())

    def _kernel_key(self, key: CostKey, workload: str, target: str) -> TuningKey:
        return TuningKey(workload, target, key.toolchain.partition("@")[0], key.version, self._threads, key.machine)

    def _call(self, timeout_s: float, function: Callable[..., Any], *arguments: Any, trials: _Trials | None = None) -> Any:
        self._caller = self._caller or self._backend.caller()
        hear, should_stop = (trials.hear, trials.should_stop) if trials else (None, self._should_stop)
        return self._caller.call(function, self._get_toolchain, *arguments, timeout_s=timeout_s, on_progress=hear, should_stop=should_stop)


def _fault(error: Exception) -> str:
    return f"its process {error.what}" if isinstance(error, WorkerError) else f"it took longer than {duration(TRIAL_S)} to build and run"
