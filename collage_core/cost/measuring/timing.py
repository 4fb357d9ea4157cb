"""How a run is timed: warm-up, batches long enough for the clock, and as many samples as the spread asks for.

What enters is a function to call; what leaves are seconds of one run each, without those that were disturbed
(`steadiness`). Nothing here knows what is run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from ...base.garbage import no_collector
from .noise_filter import (
    UNKNOWN,
    Clock,
    Sample,
    Speed,
    Waits,
    kept,
    least_disturbed,
    own_speed,
    reference_speed,
    undisturbed,
    waited_share,
    waiting,
)

PROBE_EVERY_S = 0.01
"""From one echo to the next at least: it takes a fifth of a millisecond, and the core that the kernel's other threads are on."""
PROBE_SHARE = 0.05
"""Of the time, at most: where others use the cores, an echo waits for its turn on both."""
FAR = 4.0
"""What takes so many times the budget exceeds it, however disturbed the machine: none was seen to slow a kernel down by more than 2.4."""
NORMAL_95 = 1.96


@dataclass(frozen=True, slots=True)
class TimingLimits:
    """How much timing is enough.

    Attributes:
        batch_s: A sample is a batch of runs of about that length, or one run that is longer.
        warm_up_s: Runs of that length together are not counted.
        fewest, most: Bounds on the number of undisturbed samples.
        total_s: No further sample after that long, once there are the fewest.
        longest_s: No further sample after that long in any case.
        interval: Enough when the 95 % confidence interval of the percentile is within this share of it, either way.
        percentile: Of the samples, that the cost will be.
    """

    batch_s: float = 200e-6
    warm_up_s: float = 0.01
    fewest: int = 5
    most: int = 200
    total_s: float = 0.3
    longest_s: float = 5.0
    interval: float = 0.02
    percentile: float = 50.0


@dataclass(frozen=True, slots=True)
class Samples:
    """What timing came to.

    Attributes:
        seconds: Of one run each, in the order of measuring.
        stopped_early: They exceeded the budget.
        reference_s: Of the reference meanwhile.
        slowed_by: By what share the machine was slowed down, where too few samples were undisturbed and all were kept.
        own: The machine's speed while it was undisturbed most.
    """

    seconds: tuple[float, ...]
    stopped_early: bool = False
    reference_s: float = 0.0
    slowed_by: float = 0.0
    own: Speed = UNKNOWN


def time_runs(
    run: Callable[[], None],
    limits: TimingLimits,
    budget_s: float | None = None,
    clock: Clock = time.perf_counter,
    between: Callable[[], None] | None = None,
    enough_s: float | None = None,
    watch: Callable[[], AbstractContextManager[Waits]] = waiting,
    known: Speed = UNKNOWN,
    echo: Callable[[], float] | None = None,
) -> Samples:
    """Time `run`, which has run before.

    Args:
        budget_s: What takes longer is of no interest: timing ends as soon as even the fastest run exceeds it, or the
            confidence interval does.
        between: Called before each sample, outside of its time; a sample is then one run. Without it, runs follow each other.
        enough_s: What takes less need not be known better: timing ends as soon as the confidence interval is below.
        watch: Tells how long our threads waited for a core.
        known: The speed of the undisturbed machine, as earlier timings saw it.
        echo: Seconds of an echo between two cores, now; where `run` uses several.
    """
    with no_collector(), watch() as waits:
        session = _Session(run, limits, clock, between, waits, known, echo)
        fastest = session.warm_up()
        if budget_s is not None and fastest >= limits.batch_s and session.is_over_at_once(budget_s):
            return session.result(stopped_early=True)
        session.start(1 if between else max(1, math.ceil(limits.batch_s / max(fastest, 1e-9))))
        while not (session.is_enough(enough_s) and session.is_confirmed()):
            session.take()
            if budget_s is not None and session.is_over(budget_s):
                return session.result(stopped_early=True)
        return session.result()


def confidence_interval(samples: Sequence[float], percentile: float = 50.0, deviations: float = NORMAL_95) -> tuple[float, float]:
    """A confidence interval of a percentile, from the order of the samples alone: no distribution is assumed.

    An end is infinite where so few samples do not bound it.

    Args:
        deviations: How many standard deviations it reaches either way: 1.96 for 95 %.
    """
    ordered = sorted(samples)
    count, share = len(ordered), percentile / 100
    reach = deviations * math.sqrt(count * share * (1 - share))
    low, high = math.floor(count * share - reach), math.ceil(count * share + reach)
    return (
        ordered[min(low, count - 1)] if low >= 0 else -math.inf,
        ordered[min(high, count - 1)] if high <= count else math.inf,
    )


class _Session:
    """The timing of one function, sample by sample."""

    def __init__(
        self,
        run: Callable[[], None],
        limits: TimingLimits,
        clock: Clock,
        between: Callable[[], None] | None,
        waits: Waits,
        known: Speed,
        echo: Callable[[], float] | None,
    ):
        self._run = run
        self._limits = limits
        self._clock = clock
        self._between = between
        self._waits = waits
        self._known = known
        self._echo = echo
        self._echo_s = 0.0
        self._next_echo = 0.0
        self._nearest = UNKNOWN
        self._unprobed = 0
        self._batch = 1
        self._begin = 0.0
        self._reference_s = 0.0
        self._samples: list[Sample] = []
        self._calm: list[float] = []

    def warm_up(self) -> float:
        """Seconds of the fastest of the first runs, what it waited not counted; those runs are the samples so far."""
        self._begin = self._clock()
        while not self._samples or self._elapsed() < self._limits.warm_up_s:
            self._samples.append(self._timed())
        self._reference_s = reference_speed(self._clock)
        self._listen()
        self._samples = [replace(sample, reference_s=self._reference_s) for sample in self._samples]
        return self._fastest()

    def is_over_at_once(self, budget_s: float) -> bool:
        """Whether even the fastest of the first runs takes longer, and nothing that disturbed the machine can be why."""
        fastest = self._fastest()
        return fastest > FAR * budget_s or (fastest > budget_s and bool(self._undisturbed()))

    def start(self, batch: int) -> None:
        """From now on samples count, each of `batch` runs."""
        self._samples = []
        self._unprobed = 0
        self._batch = batch
        self._begin = self._clock()

    def take(self) -> None:
        """One more sample, with the reference before and after it."""
        if self._between is not None:
            self._between()
        sample = self._timed()
        before, self._reference_s = self._reference_s, reference_speed(self._clock)
        self._samples.append(replace(sample, reference_s=max(before, self._reference_s), core_latency_s=self._echo_s))
        if self._clock() >= self._next_echo:
            self._listen()
        limits = self._limits
        self._judge()
        if len(self._samples) >= limits.most and len(self._calm) < limits.fewest:
            self._samples = least_disturbed(self._samples, max(limits.fewest, limits.most // 2))
            self._unprobed = len(self._samples)

    def is_confirmed(self) -> bool:
        """Whether the newest samples are what they seem, as the echo after them says; or there is no time for others."""
        seeming = len(self._calm)
        self._listen()
        self._judge()
        return len(self._calm) >= seeming or self._elapsed() >= self._limits.longest_s

    def is_over(self, budget_s: float) -> bool:
        """Whether the run surely takes longer than `budget_s`."""
        if len(self._samples) >= self._limits.fewest and self._fastest() > FAR * budget_s:
            return True
        has_fewest = len(self._calm) >= self._limits.fewest
        if not self._calm or not (has_fewest or self._elapsed() >= self._limits.warm_up_s):
            return False
        return min(self._calm) > budget_s or (has_fewest and self._interval()[0] > budget_s)

    def is_enough(self, enough_s: float | None) -> bool:
        """Whether another sample is not worth its time."""
        limits, elapsed_s = self._limits, self._elapsed()
        if not self._samples or elapsed_s >= limits.longest_s or len(self._calm) >= limits.most:
            return bool(self._samples)
        if len(self._calm) < limits.fewest:
            return False
        low, high = self._interval()
        is_narrow = (high - low) / 2 <= limits.interval * float(np.percentile(self._calm, limits.percentile))
        return elapsed_s >= limits.total_s or is_narrow or (enough_s is not None and high < enough_s)

    def result(self, *, stopped_early: bool = False) -> Samples:
        """What is left when disturbed samples are thrown away: no fewer than half of the fewest that were wanted, else all."""
        believed, slowed_by = kept(self._samples, (self._limits.fewest + 1) // 2, self._known.best(self._nearest))
        reference_s = median(sample.reference_s for sample in believed)
        seconds = tuple(sample.seconds for sample in believed)
        return Samples(seconds, stopped_early, reference_s, slowed_by, own_speed(self._samples).best(self._nearest))

    def _listen(self) -> None:
        """Samples since the last echo get the slower of that and a new one."""
        if self._echo is None or self._unprobed == len(self._samples):
            return
        before, begin = self._echo_s, self._clock()
        self._echo_s = self._echo()
        self._next_echo = self._clock() + max(PROBE_EVERY_S, (self._clock() - begin) / PROBE_SHARE)
        self._nearest = self._nearest.best(Speed(core_latency_s=self._echo_s or math.inf))
        slower = max(before, self._echo_s)
        self._samples[self._unprobed :] = [replace(sample, core_latency_s=slower) for sample in self._samples[self._unprobed :]]
        self._unprobed = len(self._samples)

    def _fastest(self) -> float:
        return min(sample.seconds * (1 - sample.waited) for sample in self._samples)

    def _undisturbed(self) -> list[Sample]:
        return undisturbed(self._samples, self._known.best(self._nearest))

    def _judge(self) -> None:
        self._calm = [sample.seconds for sample in self._undisturbed()]

    def _timed(self) -> Sample:
        waits = self._waits()
        start = self._clock()
        for _ in range(self._batch):
            self._run()
        seconds = self._clock() - start
        return Sample(seconds / self._batch, self._reference_s, waited_share(waits, self._waits(), seconds))

    def _interval(self) -> tuple[float, float]:
        return confidence_interval(self._calm, self._limits.percentile)

    def _elapsed(self) -> float:
        return self._clock() - self._begin
