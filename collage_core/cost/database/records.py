"""`CostKey` and `Record`: everything that a measured cost depends on, and the result of its trial; the same for transitions and tunings.

Plain data, kept by `CostDatabase`. `record_validation` says what each field may hold.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

from ...base import processor


@dataclass(frozen=True, slots=True)
class CostKey:
    """Everything that a measured cost depends on.

    Attributes:
        computation: Digest of the computation, as `computation_key` gives it.
        toolchain, version: Name of the target, and the version of its library.
        threads: Threads that the kernel was given.
        machine: As `machine_id` gives it.
        options: Whatever else changes the result: the precision, whether the caches were flushed, and the digest of a tuning.
        weights: Digest of the weights' values, for a toolchain that looks at them; empty for the others.
    """

    computation: str
    toolchain: str
    version: str
    threads: int
    machine: str
    options: str = ""
    weights: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """The result of a trial.

    Attributes:
        samples: Seconds of each timed run that the noise filter kept; empty where the trial failed.
        repetitions: Number of samples of each repetition, in order, 0 for one that did not count; empty where there was only one.
        stage: Stage at which the trial failed (`Cost.stage`); empty where it did not.
        reason: Why it failed.
        error: Largest relative error against the reference, where it was compared and finite.
        stopped_early: The trial was ended because it was sure to lose.
        crashed: It failed by a crash, a hang or too much memory, and not in the toolchain's own words.
        limit_s: The trial was ended after that many seconds; with a higher limit it is worth another try.
        reference_s: Median seconds of a small fixed computation between the samples: it shows how fast the machine was.
        created: Time of the measurement: UTC, ISO 8601.
        slowed_by: Share by which the machine was slowed down, where too few samples were undisturbed and all were kept; else 0.
        worker: Name of the fleet's worker that measured it; empty for this machine.
        seconds_spent: Seconds that building, checking and timing took, the first time.
        core_latency_s: Lowest core-to-core latency during the trial, in seconds; None where it was not probed.
        checked_on: What it was compared with the reference on: a digest of the model and its inputs, a space, and a digest of the values
            that arrived at the ends of the candidate, which other models may share. Empty where that is not known.
    """

    samples: tuple[float, ...] = ()
    stage: str = ""
    reason: str = ""
    error: float | None = None
    stopped_early: bool = False
    crashed: bool = False
    limit_s: float | None = None
    reference_s: float | None = None
    created: str = ""
    slowed_by: float = 0.0
    worker: str = ""
    seconds_spent: float = 0.0
    repetitions: tuple[int, ...] = ()
    core_latency_s: float | None = None
    checked_on: str = ""

    @property
    def is_lasting(self) -> bool:
        """Return whether the record is worth keeping: a target that cannot be used here and now may be usable in the next run."""
        return self.stage != "device"


@dataclass(frozen=True, slots=True)
class TransitionKey:
    """Everything that a measured transition depends on; an empty `dtype` means any."""

    maker: str
    reader: str
    maker_version: str
    reader_version: str
    threads: int
    machine: str
    dtype: str = ""


@dataclass(frozen=True, slots=True)
class MeasuredTransition:
    """The result of measuring a transition.

    Attributes:
        note: Why it could not be measured, and so counts as free; empty where it was.
        created: Time of the measurement: UTC, ISO 8601. It does not count when two are compared.
    """

    fixed_s: float = 0.0
    per_byte_s: float = 0.0
    note: str = ""
    created: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class TuningKey:
    """Everything that a tuned schedule depends on, so that equal kernels of any two models share one.

    Attributes:
        workload: Digest of the kernel before it is scheduled, as its toolchain gives it.
        target: What it is compiled for, as JSON.
        toolchain, version: Name of the toolchain without a variant, and the version of its library.
        threads, machine: As in `CostKey`.
    """

    workload: str
    target: str
    toolchain: str
    version: str
    threads: int
    machine: str


@dataclass(frozen=True, slots=True)
class TuningRecord:
    """The result of tuning one kernel.

    Attributes:
        trace: The fastest schedule, as JSON; empty where none is faster than the default one.
        seconds: Of a run with that schedule, by the tuner's own timing.
        default_s: Of a run with the default schedule.
        trials: Number of schedules that were tried.
        spent_s: Seconds that these took.
        created: Time of the last trial: UTC, ISO 8601.
    """

    trace: str
    seconds: float
    default_s: float
    trials: int
    spent_s: float
    created: str = ""


ProfileKernels = tuple[tuple[tuple[int, ...], float], ...]
"""The kernels of a profiled computation: the positions of its nodes that each computes, and its seconds. None has no nodes twice."""
CostRow = tuple[CostKey, Record]
TransitionRow = tuple[TransitionKey, MeasuredTransition]
TuningRow = tuple[TuningKey, TuningRecord]
Row = TypeVar("Row", CostRow, TransitionRow, TuningRow)


def fields_of(key: CostKey | TransitionKey | TuningKey, value: Record | MeasuredTransition | TuningRecord) -> dict[str, Any]:
    """Return the fields of both by name. `dataclasses.asdict` copies each sample, which takes longer than writing it."""
    return {name: getattr(item, name) for item in (key, value) for name in item.__slots__}


@cache
def machine_id() -> str:
    """Return the CPU's model, its instruction sets and the number of its cores: costs of machines of different ids are never mixed.

    The cores are those of the machine, not those that this process may use (`base.processor.usable_cores`). The threads stand beside the
    machine in each key and follow the usable cores, so a cost under a quota is one of so many threads on this CPU. In one container
    the quota changes between two runs, and in a fleet between two workers of one kind: an id that held it would lose costs that are
    still right.
    """
    return f"{processor.name()}, {os.cpu_count() or 1} cores"


def utc(text: str) -> str:
    """Return a time with its zone as records hold it: UTC, whole seconds. Raises ValueError where it is none."""
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is None:
            raise ValueError("no zone")
        return time.astimezone(UTC).isoformat(timespec="seconds")
    except (TypeError, OverflowError) as error:
        raise ValueError(str(error)) from error
