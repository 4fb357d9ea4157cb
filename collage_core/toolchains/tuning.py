"""`TunedKernel`, `Tuning`: what tuning found, as plain data that travels with a sub-model and is kept in the cost database.

A toolchain that tunes makes them, and takes them back as text (`encoded`) in `SubModel.tuning`. Nothing here runs a tuner.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields

from ..base.isolation.report import report
from ..errors import CollageError

MOST_TRIALS = 64
"""Trials of one kernel, in all runs together: a search that knows so many schedules hardly finds a better one."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A kernel before it is scheduled.

    Attributes:
        workload: Digest of its structure, equal for equal kernels of any two models.
        target: What it is compiled for, as JSON.
    """

    workload: str
    target: str


@dataclass(frozen=True, slots=True)
class TunedKernel:
    """The knowledge of the schedules of one kernel.

    Attributes:
        workload, target: As in `Workload`.
        trace: The fastest schedule, as JSON; empty where none is faster than the default one.
        seconds: Of a run with that schedule, by the tuner's own timing.
        default_s: Of a run with the default schedule.
        trials: Number of schedules that were tried.
        spent_s: Seconds that these took.
    """

    workload: str
    target: str
    trace: str
    seconds: float
    default_s: float
    trials: int
    spent_s: float


@dataclass(frozen=True, slots=True)
class Tuning:
    """The outcome of one call of `Tunes.tune`.

    Attributes:
        kernels: Those of the sub-model, each as it is known now.
        trials, seconds: Number of trials of this call, and what they took.
        before_s, after_s: Seconds of all kernels with the default schedules, and with the fastest ones, by the tuner's own timing.
    """

    kernels: tuple[TunedKernel, ...]
    trials: int
    seconds: float
    before_s: float
    after_s: float


def begin_trial(kernel: TunedKernel) -> None:
    """Tell whoever waits for `Tunes.tune` that the next trial of `kernel` begins, which counts it already.

    If that schedule ends the process or hangs, `kernel` is what the call found.
    """
    report(asdict(kernel))


def encoded(kernels: Iterable[TunedKernel]) -> bytes:
    """Return `kernels` as `SubModel.tuning` has them; empty where there are none."""
    rows = [asdict(kernel) for kernel in sorted(kernels, key=lambda kernel: kernel.workload)]
    return json.dumps(rows, separators=(",", ":")).encode() if rows else b""


def decoded(tuning: bytes) -> tuple[TunedKernel, ...]:
    """Return the kernels of `SubModel.tuning`.

    Raises:
        CollageError: these are none.
    """
    try:
        rows = json.loads(tuning) if tuning else []
        return tuple(_kernel(row) for row in rows)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CollageError(f"the tuning records are damaged: {error}", "tune again, or leave them out", "bad_tuning") from error


def merged(tunings: Iterable[bytes]) -> bytes:
    """Return the kernels of several `SubModel.tuning` as one; of two records of one kernel, the faster."""
    fastest: dict[tuple[str, str], TunedKernel] = {}
    for kernel in (kernel for tuning in tunings for kernel in decoded(tuning)):
        known = fastest.get((kernel.workload, kernel.target))
        if known is None or kernel.seconds < known.seconds:
            fastest[kernel.workload, kernel.target] = kernel
    return encoded(fastest.values())


def schedules(kernels: Iterable[TunedKernel]) -> bytes:
    """Return what of `kernels` changes a build: those with a schedule of their own, without how long tuning took."""
    return encoded(TunedKernel(one.workload, one.target, one.trace, one.seconds, one.default_s, 0, 0.0) for one in kernels if one.trace)


def digest(tuning: bytes) -> str:
    """Return a name for `SubModel.tuning`: of its schedules alone, so that equal ones have one name whatever was measured."""
    traces = [(kernel.workload, kernel.target, kernel.trace) for kernel in decoded(tuning)]
    return hashlib.sha256(json.dumps(traces).encode()).hexdigest()[:16] if traces else ""


def _kernel(row: dict[str, object]) -> TunedKernel:
    kernel = TunedKernel(**{field.name: row[field.name] for field in fields(TunedKernel)})  # type: ignore[arg-type]
    for field in fields(TunedKernel):
        value, kind = getattr(kernel, field.name), {"str": str, "int": int, "float": (int, float)}[str(field.type)]
        if not isinstance(value, kind) or isinstance(value, bool):  # type: ignore[arg-type]
            raise TypeError(f"{field.name} is {value!r}")
    return kernel
