"""How a run is timed: warm-up, batches long enough for the clock, and as many samples as the spread asks for.

What enters is a function to call; what leaves are seconds of one run each. Nothing here knows what is run.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

Clock = Callable[[], float]
_NORMAL_95 = 1.96


@dataclass(frozen=True, slots=True)
class TimingLimits:
    """How much timing is enough.

    Attributes:
        batch_s: A sample is a batch of runs of about that length, or one run that is longer.
        warm_up_s: Runs of that length together are not counted.
        fewest, most: Bounds on the number of samples.
        total_s: No further sample after that long, once there are the fewest.
        longest_s: No further sample after that long in any case.
        interval: Enough when the 95 % confidence interval of the median is within this share of it, either way.
    """

    batch_s: float = 200e-6
    warm_up_s: float = 0.01
    fewest: int = 5
    most: int = 200
    total_s: float = 0.3
    longest_s: float = 5.0
    interval: float = 0.02


@dataclass(frozen=True, slots=True)
class Samples:
    """Seconds of one run each, in the order of measuring; `stopped_early` where they exceeded the budget."""

    seconds: tuple[float, ...]
    stopped_early: bool = False


def time_runs(
    run: Callable[[], None],
    limits: TimingLimits,
    budget_s: float | None = None,
    clock: Clock = time.perf_counter,
    between: Callable[[], None] | None = None,
) -> Samples:
    """Time `run`, which has run before.

    Args:
        budget_s: What takes longer is of no interest: timing ends as soon as even the fastest run exceeds it.
        between: Called before each sample, outside of its time; a sample is then one run. Without it, runs follow each other.
    """
    with _no_collector():
        single = _warm_up(run, limits, clock)
        fastest = min(single)
        if budget_s is not None and fastest > budget_s and fastest >= limits.batch_s:
            return Samples(tuple(single), stopped_early=True)
        batch = 1 if between else max(1, math.ceil(limits.batch_s / max(fastest, 1e-9)))
        return _sample(run, batch, limits, budget_s, clock, between)


def median_interval(samples: Sequence[float]) -> tuple[float, float]:
    """A 95 % confidence interval of the median, from the order of the samples alone: no distribution is assumed."""
    ordered = sorted(samples)
    count = len(ordered)
    reach = _NORMAL_95 * math.sqrt(count) / 2
    low = max(0, math.floor(count / 2 - reach))
    high = min(count - 1, math.ceil(count / 2 + reach))
    return ordered[low], ordered[high]


def reference_speed(clock: Clock = time.perf_counter) -> float:
    """Seconds of a small fixed computation on one core: a machine that is slowed down shows here."""
    values = np.arange(1, 16385, dtype=np.float32)
    return min(_seconds(lambda: np.sqrt(values).sum(), clock) for _ in range(5))


def _sample(
    run: Callable[[], None], batch: int, limits: TimingLimits, budget_s: float | None, clock: Clock, between: Callable[[], None] | None
) -> Samples:
    samples: list[float] = []
    start = clock()
    while not samples or not _is_enough(samples, clock() - start, limits):
        if between is not None:
            between()
        samples.append(_seconds(lambda: _repeat(run, batch), clock) / batch)
        sure = len(samples) >= limits.fewest or clock() - start >= limits.warm_up_s
        if budget_s is not None and sure and min(samples) > budget_s:
            return Samples(tuple(samples), stopped_early=True)
    return Samples(tuple(samples))


def _is_enough(samples: list[float], elapsed_s: float, limits: TimingLimits) -> bool:
    if elapsed_s >= limits.longest_s or len(samples) >= limits.most:
        return True
    if len(samples) < limits.fewest:
        return False
    low, high = median_interval(samples)
    return elapsed_s >= limits.total_s or (high - low) / 2 <= limits.interval * float(np.median(samples))


def _warm_up(run: Callable[[], None], limits: TimingLimits, clock: Clock) -> list[float]:
    single: list[float] = []
    start = clock()
    while not single or clock() - start < limits.warm_up_s:
        single.append(_seconds(run, clock))
    return single


def _seconds(run: Callable[[], object], clock: Clock) -> float:
    start = clock()
    run()
    return clock() - start


def _repeat(run: Callable[[], None], times: int) -> None:
    for _ in range(times):
        run()


@contextmanager
def _no_collector() -> Iterator[None]:
    """A collection of garbage is no part of a kernel's time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
