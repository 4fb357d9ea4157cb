"""The noise filter: it tells the samples that other work on the machine disturbed, and leaves them out.

It takes samples with three signs of noise, and gives the undisturbed ones; nothing is measured here. The signs are the
time of a reference kernel before and after the sample (`reference_kernel`), the time that a thread of this process waited for a
core meanwhile (`run_queue_waits`) and, for kernels of several threads, the core-to-core latency before and after (`core_latency`).
A disturbed sample is left out and never scaled: nobody knows by how much a kernel other than the reference suffers.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from statistics import median

from .reference_kernel import Clock

MAX_SLOWDOWN = 0.15
"""A sample is disturbed when a sign says that it was slowed down by more than this share."""
HIGH_LATENCY = 0.25
"""The core-to-core latency is high from this share above the lowest. While the host leaves the cores where they are, it varies less."""
REMEMBERED_S = 60.0
_FASTEST = 5


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample and the signs of noise around it.

    Attributes:
        seconds: Of one run.
        reference_s: Of the reference kernel, before or after the sample: the slower of the two.
        waited: Share of the sample's time, below 1, that a thread of ours waited for a core.
        core_latency_s: Core-to-core latency before or after the sample: the higher of the two; 0 where it was not measured.
    """

    seconds: float
    reference_s: float
    waited: float = 0.0
    core_latency_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Speed:
    """Two signs as they are on the undisturbed machine, in seconds; infinite where that is not known."""

    reference_s: float = math.inf
    core_latency_s: float = math.inf

    def best(self, other: Speed) -> Speed:
        """Return the faster of both, each sign for itself."""
        return Speed(min(self.reference_s, other.reference_s), min(self.core_latency_s, other.core_latency_s))


UNKNOWN_SPEED = Speed()


def undisturbed_samples(samples: Sequence[Sample], known: Speed = UNKNOWN_SPEED) -> list[Sample]:
    """Return the samples that were slowed down by `MAX_SLOWDOWN` at most, in their order.

    Args:
        known: The undisturbed machine's speed, as earlier samples showed it.
    """
    speed = undisturbed_speed(samples).best(known)
    return [sample for sample in samples if slowdown(sample, speed) <= 1 + MAX_SLOWDOWN]


def filter_samples(samples: Sequence[Sample], fewest: int, known: Speed = UNKNOWN_SPEED) -> tuple[list[Sample], float]:
    """Return the undisturbed samples and 0; if there are fewer than `fewest`, all samples and the share by which they were slowed down."""
    undisturbed = undisturbed_samples(samples, known)
    if len(undisturbed) == len(samples) or len(undisturbed) >= fewest:
        return undisturbed, 0.0
    speed = undisturbed_speed(samples).best(known)
    return list(samples), median(slowdown(sample, speed) for sample in samples) - 1


def least_disturbed(samples: Sequence[Sample], count: int) -> list[Sample]:
    """Return the `count` samples that were slowed down least, in their order."""
    speed = undisturbed_speed(samples)
    indices = sorted(range(len(samples)), key=lambda index: slowdown(samples[index], speed))[:count]
    return [samples[index] for index in sorted(indices)]


def undisturbed_speed(samples: Sequence[Sample]) -> Speed:
    """Return the undisturbed machine's speed: of each sign the median of the fastest quarter of `samples`, of the fastest five at most.

    So three undisturbed samples tell that speed, however long the machine is disturbed after them.
    """
    latencies = [sample.core_latency_s for sample in samples if sample.core_latency_s]
    return Speed(_of_fastest([sample.reference_s for sample in samples]), _of_fastest(latencies) if latencies else math.inf)


def _of_fastest(seconds: Sequence[float]) -> float:
    return median(sorted(seconds)[: min(math.ceil(len(seconds) / 4), _FASTEST)])


def slowdown(sample: Sample, speed: Speed) -> float:
    """Return how many times as long as on the undisturbed machine the sample took, by the worst of the three signs."""
    reference = sample.reference_s / speed.reference_s if speed.reference_s else 1.0
    latency = sample.core_latency_s / speed.core_latency_s
    return max(reference, 1 / (1 - sample.waited), latency if latency > 1 + HIGH_LATENCY else 1.0)


class SpeedHistory:
    """The undisturbed machine's speed, as the timings of the last minute saw it, in whatever process.

    A neighbour may slow a virtual machine down for longer than one timing takes: then only earlier timings tell. A machine that is
    slower for more than a minute has become slower.
    """

    def __init__(self, clock: Clock = time.monotonic):
        self._clock = clock
        self._seen: deque[tuple[float, Speed]] = deque()

    def fastest(self) -> Speed:
        """Return the fastest speed seen."""
        while self._seen and self._clock() - self._seen[0][0] > REMEMBERED_S:
            self._seen.popleft()
        return reduce(Speed.best, (speed for _, speed in self._seen), UNKNOWN_SPEED)

    def add(self, speed: Speed) -> None:
        """Remember the undisturbed speed that one timing found."""
        self._seen.append((self._clock(), speed))
