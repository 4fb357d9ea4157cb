"""Timing: warm-up, batches long enough for the clock, and as many samples as the spread asks for.

It takes a function to call, and gives seconds of one run each, without those that were disturbed (`noise_filter`).
Nothing here knows what is run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from ...base.garbage import no_collector
from .intervals import confidence_interval
from .noise_filter import (
    UNKNOWN_SPEED,
    Sample,
    Speed,
    filter_samples,
    least_disturbed,
    undisturbed_samples,
    undisturbed_speed,
)
from .reference_kernel import Clock
from .sampling import SINGLE_THREADED, NoiseSigns, Sampler

MAX_DISTURBANCE = 4.0
"""A run of so many times the budget exceeds it, however disturbed the machine: none was seen to slow a kernel down by more than 2.4."""


@dataclass(frozen=True, slots=True)
class TimingLimits:
    """How much timing is enough.

    Attributes:
        batch_s: A sample is a batch of runs of about that length, or one run that is longer.
        warm_up_s: Runs of that length together are not counted.
        fewest, most: Bounds on the number of undisturbed samples.
        total_s: No further sample after that long, once there are the fewest.
        brief_s: No further sample after that long, once there are the fewest, disturbed ones counted.
        longest_s: No further sample after that long in any case.
        interval: Enough when the 95 % confidence interval of the percentile is within this share of it, either way.
        percentile: Of the samples, that the cost will be.
    """

    batch_s: float = 200e-6
    warm_up_s: float = 0.01
    fewest: int = 5
    most: int = 200
    total_s: float = 0.3
    brief_s: float = math.inf
    longest_s: float = 5.0
    interval: float = 0.02
    percentile: float = 50.0


SHORT_LOOK = TimingLimits(total_s=0.1, brief_s=0.1, longest_s=1.0)
"""Of a trial: a tenth of a second, or five runs where they take longer. Repetitions tell more than a longer look (docs/measuring.md)."""


@dataclass(frozen=True, slots=True)
class Samples:
    """The result of timing.

    Attributes:
        seconds: Of one run each, in the order of measuring.
        stopped_early: They exceeded the budget.
        reference_s: Of the reference kernel meanwhile.
        slowed_by: By what share the machine was slowed down, where too few samples were undisturbed and all were kept.
        speed: The undisturbed machine's speed, as these samples show it.
    """

    seconds: tuple[float, ...]
    stopped_early: bool = False
    reference_s: float = 0.0
    slowed_by: float = 0.0
    speed: Speed = UNKNOWN_SPEED


def time_runs(
    run: Callable[[], None],
    limits: TimingLimits,
    budget_s: float | None = None,
    *,
    enough_s: float | None = None,
    before_sample: Callable[[], None] | None = None,
    known: Speed = UNKNOWN_SPEED,
    signs: NoiseSigns = SINGLE_THREADED,
    clock: Clock = time.perf_counter,
) -> TimedSeries:
    """Time `run`, which has run before; `result` of the returned series has the undisturbed samples.

    Args:
        budget_s: A longer time is of no interest: timing ends as soon as even the fastest run exceeds it, or the confidence
            interval does.
        enough_s: A shorter time need not be known better: timing ends as soon as the confidence interval is below.
        before_sample: Called before each sample, outside of its time; a sample is then one run. Without it, runs follow each other.
        known: The undisturbed machine's speed, as earlier timings saw it.
        signs: How noise is noticed.
    """
    series = TimedSeries(limits, known)
    with no_collector(), signs.waits() as waits:
        sampler = Sampler(run, before_sample, signs, waits, clock)
        series.add(*sampler.warm_up(limits.warm_up_s))
        series.set_latency(sampler.probe())
        fastest_s = series.fastest_s()
        if budget_s is not None and fastest_s >= limits.batch_s and series.is_over_at_once(budget_s):
            series.stopped_early = True
            return series
        if fastest_s >= limits.longest_s:
            series.judge()
            return series
        batch = 1 if before_sample else max(1, math.ceil(limits.batch_s / max(fastest_s, 1e-9)))
        series.restart()
        _take_samples(sampler, batch, series, budget_s, enough_s, clock)
    return series


def _take_samples(sampler: Sampler, batch: int, series: TimedSeries, budget_s: float | None, enough_s: float | None, clock: Clock) -> None:
    """Add samples to `series` until they are enough, or exceed the budget."""
    begin = clock()
    while not (series.is_enough(clock() - begin, enough_s) and _is_confirmed(sampler, series, begin, clock)):
        series.add(sampler.take(batch))
        if sampler.is_probe_due:
            series.set_latency(sampler.probe())
        series.judge()
        series.drop_most_disturbed()
        if budget_s is not None and series.is_over(budget_s, clock() - begin):
            series.stopped_early = True
            return


def _is_confirmed(sampler: Sampler, series: TimedSeries, begin: float, clock: Clock) -> bool:
    """Return whether a last latency probe shows the newest samples to be undisturbed, too; or there is no time for others."""
    before = len(series.undisturbed)
    if series.is_probe_open:
        series.set_latency(sampler.probe())
        series.judge()
    return len(series.undisturbed) >= before or series.is_time_over(clock() - begin)


class TimedSeries:
    """The samples of one timing so far. It decides whether they are enough and which of them to believe, and measures nothing.

    Attributes:
        samples: All of them, disturbed ones too; of a series that stays disturbed, the least disturbed.
        undisturbed: Seconds of the undisturbed ones, when they were last judged.
        stopped_early: They exceeded the budget.
    """

    def __init__(self, limits: TimingLimits, known: Speed = UNKNOWN_SPEED):
        self.samples: list[Sample] = []
        self.undisturbed: list[float] = []
        self.stopped_early = False
        self._limits = limits
        self._known = known
        self._latency_s = 0.0
        self._lowest_latency = UNKNOWN_SPEED
        self._unprobed = 0

    @property
    def is_probe_open(self) -> bool:
        """Return whether there are samples after the last latency probe."""
        return self._unprobed < len(self.samples)

    def add(self, *samples: Sample) -> None:
        """Add samples; without a core-to-core latency of their own they have the latest until there is a newer one (`set_latency`)."""
        self.samples += (replace(sample, core_latency_s=sample.core_latency_s or self._latency_s) for sample in samples)

    def set_latency(self, latency_s: float | None) -> None:
        """Give the samples since the last probe the higher of that latency and `latency_s`; None changes nothing."""
        if latency_s is None:
            return
        before_s, self._latency_s = self._latency_s, latency_s
        self._lowest_latency = self._lowest_latency.best(Speed(core_latency_s=latency_s or math.inf))
        higher_s = max(before_s, latency_s)
        self.samples[self._unprobed :] = [replace(sample, core_latency_s=higher_s) for sample in self.samples[self._unprobed :]]
        self._unprobed = len(self.samples)

    def restart(self) -> None:
        """Forget the samples of the warm-up: from now on they count."""
        self.samples = []
        self._unprobed = 0

    def judge(self) -> None:
        """Find the undisturbed samples, with all that is known by now."""
        self.undisturbed = [sample.seconds for sample in self._undisturbed_samples()]

    def drop_most_disturbed(self) -> None:
        """Keep the least disturbed half where there are as many samples as there may be, and hardly an undisturbed one."""
        limits = self._limits
        if len(self.samples) >= limits.most and len(self.undisturbed) < limits.fewest:
            self.samples = least_disturbed(self.samples, max(limits.fewest, limits.most // 2))
            self._unprobed = len(self.samples)

    def fastest_s(self) -> float:
        """Return the seconds of the fastest run, what it waited for a core not counted."""
        return min(sample.seconds * (1 - sample.waited) for sample in self.samples)

    def is_over_at_once(self, budget_s: float) -> bool:
        """Return whether even the fastest run takes longer, and nothing that disturbed the machine can be the reason."""
        fastest_s = self.fastest_s()
        return fastest_s > MAX_DISTURBANCE * budget_s or (fastest_s > budget_s and bool(self._undisturbed_samples()))

    def is_over(self, budget_s: float, elapsed_s: float) -> bool:
        """Return whether a run surely takes longer than `budget_s`."""
        if len(self.samples) >= self._limits.fewest and self.fastest_s() > MAX_DISTURBANCE * budget_s:
            return True
        has_fewest = len(self.undisturbed) >= self._limits.fewest
        if not self.undisturbed or not (has_fewest or elapsed_s >= self._limits.warm_up_s):
            return False
        return min(self.undisturbed) > budget_s or (has_fewest and self._interval()[0] > budget_s)

    def is_time_over(self, elapsed_s: float) -> bool:
        """Return whether timing ends in any case."""
        is_brief_over = elapsed_s >= self._limits.brief_s and len(self.samples) >= self._limits.fewest
        return is_brief_over or elapsed_s >= self._limits.longest_s

    def is_enough(self, elapsed_s: float, enough_s: float | None = None) -> bool:
        """Return whether another sample is not worth its time."""
        limits = self._limits
        if not self.samples or self.is_time_over(elapsed_s) or len(self.undisturbed) >= limits.most:
            return bool(self.samples)
        if len(self.undisturbed) < limits.fewest:
            return False
        low, high = self._interval()
        is_narrow = (high - low) / 2 <= limits.interval * float(np.percentile(self.undisturbed, limits.percentile))
        return elapsed_s >= limits.total_s or is_narrow or (enough_s is not None and high < enough_s)

    def result(self) -> Samples:
        """Return the undisturbed samples; all of them where fewer than half of the fewest are undisturbed."""
        known = self._known.best(self._lowest_latency)
        believed, slowed_by = filter_samples(self.samples, (self._limits.fewest + 1) // 2, known)
        reference_s = median(sample.reference_s for sample in believed)
        speed = undisturbed_speed(self.samples).best(self._lowest_latency)
        return Samples(tuple(sample.seconds for sample in believed), self.stopped_early, reference_s, slowed_by, speed)

    def _undisturbed_samples(self) -> list[Sample]:
        return undisturbed_samples(self.samples, self._known.best(self._lowest_latency))

    def _interval(self) -> tuple[float, float]:
        return confidence_interval(self.undisturbed, self._limits.percentile)
