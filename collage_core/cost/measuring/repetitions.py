"""Repetitions: the cost, and its interval, that follow from several timings of one computation.

A machine changes from one second to the next, and samples taken in a row do not show that. So a computation on which a plan rests
is timed in several repetitions with time between them, and their differences tell by how much the cost may be off. The functions
here take records, and give figures and records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from ..cost import Cost
from ..database.records import Record
from .intervals import half_interval
from .noise_filter import HIGH_LATENCY
from .repetition_noise import ASSUMED_NOISE, RepetitionNoise

FEWEST = 7
"""With so many repetitions, the interval follows from them, and not from their samples."""
MOST = 11
MOST_TRIED = 2 * MOST
"""Some do not count, because the machine was slowed down all the time."""
PRECISE = 0.02
"""No further repetition where the interval is within this share of the cost, either way."""
PLAN_SHARE = 0.25
"""A part of a plan need not be known better than if it took this share of the plan."""


def repetition_values(record: Record, percentile: float) -> list[float]:
    """Return the percentile of the samples of each repetition that counts, in seconds."""
    parts = np.split(np.asarray(record.samples), np.cumsum(_repetitions(record))[:-1])
    return [float(np.percentile(part, percentile)) for part in parts if part.size]


def repetition_count(record: Record) -> int:
    """Return how many repetitions there were, with those that do not count."""
    return len(_repetitions(record))


def half_interval_s(values: Sequence[float], samples: Sequence[float], percentile: float, noise: RepetitionNoise = ASSUMED_NOISE) -> float:
    """Return by how much the cost may be off either way, in seconds: half of a 95 % interval, the wider half.

    It follows from the repetitions where there are enough, else from them together with their samples.

    Args:
        values: Of each repetition (`repetition_values`), in seconds.
        samples: Of all repetitions, in seconds.
        percentile: Of a repetition's samples, which `values` are.
        noise: The known noise of repetitions on this machine.
    """
    between_s = noise.half_interval_s(values)
    if len(values) >= FEWEST:
        return between_s
    return math.hypot(half_interval(samples, percentile, median(values)), between_s)


def cost_of(record: Record, percentile: float, source: str, noise: RepetitionNoise = ASSUMED_NOISE) -> Cost:
    """Return the cost that follows from a record, or an invalid one with the reason.

    It is the median over the repetitions of each one's percentile; the spread is half the interquartile range of all samples.
    If the machine was slowed down all the time, it may be too high by as much.

    Args:
        noise: The known noise of repetitions on the machine; without it the interval of few repetitions is wide.
    """
    if record.stage or not record.samples:
        return replace(Cost.invalid(record.stage or "run", record.reason), error=record.error)
    low, high = np.percentile(record.samples, (25, 75))
    values = repetition_values(record, percentile)
    seconds = median(values)
    return Cost(
        seconds,
        source,
        float(high - low) / 2,
        len(record.samples),
        stopped_early=record.stopped_early,
        error=record.error,
        interval_s=max(half_interval_s(values, record.samples, percentile, noise), seconds * record.slowed_by / (1 + record.slowed_by)),
    )


def is_precise(record: Record, percentile: float, plan_s: float | None, noise: RepetitionNoise = ASSUMED_NOISE) -> bool:
    """Return whether a further repetition would tell nothing that matters.

    Args:
        plan_s: Seconds of the whole plan: a part need not be known better than the plan is. None where that is not known.
        noise: As `cost_of` takes it.
    """
    if record.stage or record.stopped_early or repetition_count(record) >= MOST_TRIED:
        return True
    values = repetition_values(record, percentile)
    if len(values) >= MOST:
        return True
    enough_s = max(median(values), (plan_s or 0.0) * PLAN_SHARE)
    return len(values) >= FEWEST and half_interval_s(values, record.samples, percentile, noise) <= PRECISE * enough_s


def with_repetition(older: Record, newer: Record) -> Record:
    """Return `older` with the samples of one repetition more.

    A repetition that failed replaces it: a kernel must work each time. One during which the machine was slowed down all the time, or
    the core-to-core latency was high, counts only where there is no other: it remains as a repetition without samples.
    """
    if newer.stage:
        return newer
    before = _repetitions(older)
    if (older.slowed_by and not newer.slowed_by) or _has_higher_latency(older, newer):
        return replace(newer, repetitions=(*(0 for _ in before), len(newer.samples)))
    if (newer.slowed_by and not older.slowed_by) or _has_higher_latency(newer, older):
        return replace(older, repetitions=(*before, 0))
    return replace(
        newer,
        samples=(*older.samples, *newer.samples),
        repetitions=(*before, len(newer.samples)),
        error=max((error for error in (older.error, newer.error) if error is not None), default=None),
        slowed_by=max(older.slowed_by, newer.slowed_by),
        seconds_spent=older.seconds_spent,
        core_latency_s=min(
            (core_latency_s for core_latency_s in (older.core_latency_s, newer.core_latency_s) if core_latency_s is not None), default=None
        ),
    )


def _repetitions(record: Record) -> tuple[int, ...]:
    return record.repetitions or ((len(record.samples),) if record.samples else ())


def _has_higher_latency(one: Record, other: Record) -> bool:
    """Return whether the core-to-core latency was high in `one`, compared with `other`."""
    return (
        one.core_latency_s is not None
        and other.core_latency_s is not None
        and one.core_latency_s > (1 + HIGH_LATENCY) * other.core_latency_s
    )
