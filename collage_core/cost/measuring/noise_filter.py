"""Whether the machine was itself while a sample was taken, and which samples may be believed.

Three signs: a small fixed computation, the reference, ran slower than it can right before or after the sample; a thread of this
process waited for a core meanwhile; or, where the kernel has several threads, two cores were farther apart than they can be
(`echo`). The reference alone notices a slowed core, but no other process that takes the core in turns: it is over before its
turn is. What is disturbed is thrown away and never scaled, since nobody knows by how much
another kernel than the reference suffers.
"""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from statistics import median

import numpy as np

from ...graph.dataflow_graph import TensorType
from ...toolchains.buffers import aligned_empty

Clock = Callable[[], float]
Waits = Callable[[], list[int]]

SLOWER = 0.15
"""By what share a sample may be slowed down before it counts as disturbed."""
HIGH_LATENCY = 0.25
"""By what share an echo may be slower. As long as the cores stay where they are, it differs by less (docs/measuring.md)."""
REMEMBERED_S = 60.0
_FASTEST = 5
_TRIES = 3
_PRODUCTS = 8
_THREADS = Path("/proc/self/task")


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample and what the machine did meanwhile.

    Attributes:
        seconds: Of one run.
        reference_s: Of the reference, before or after it: the slower of the two.
        waited: Share of the sample's time, below 1, that a thread of ours waited for a core.
        core_latency_s: Of an echo between two cores, before or after it: the slower of the two; 0 where none was asked for.
    """

    seconds: float
    reference_s: float
    waited: float = 0.0
    core_latency_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Speed:
    """What the signs take on the undisturbed machine, in seconds; infinite where that is not known."""

    reference_s: float = math.inf
    core_latency_s: float = math.inf

    def best(self, other: Speed) -> Speed:
        """The faster of both, each sign for itself."""
        return Speed(min(self.reference_s, other.reference_s), min(self.core_latency_s, other.core_latency_s))


UNKNOWN = Speed()


def undisturbed(samples: Sequence[Sample], known: Speed = UNKNOWN) -> list[Sample]:
    """Those taken while the machine was no more than `SLOWER` below its own speed; in their order.

    Args:
        known: The speed of the undisturbed machine before, where that is known.
    """
    own = own_speed(samples).best(known)
    return [sample for sample in samples if slowdown(sample, own) <= 1 + SLOWER]


def kept(samples: Sequence[Sample], fewest: int, known: Speed = UNKNOWN) -> tuple[list[Sample], float]:
    """The undisturbed samples and 0; where those are less than `fewest`, all, and by what share they were slowed down."""
    calm = undisturbed(samples, known)
    if len(calm) == len(samples) or len(calm) >= fewest:
        return calm, 0.0
    own = own_speed(samples).best(known)
    return list(samples), median(slowdown(sample, own) for sample in samples) - 1


def least_disturbed(samples: Sequence[Sample], count: int) -> list[Sample]:
    """So many of them; in their order."""
    own = own_speed(samples)
    places = sorted(range(len(samples)), key=lambda place: slowdown(samples[place], own))[:count]
    return [samples[place] for place in sorted(places)]


def own_speed(samples: Sequence[Sample]) -> Speed:
    """That of the undisturbed machine: of each sign the median of the fastest quarter, of the fastest five at most.

    So three undisturbed samples tell the machine's own speed, however long it is disturbed after them.
    """
    echoes = [sample.core_latency_s for sample in samples if sample.core_latency_s]
    return Speed(_of_fastest([sample.reference_s for sample in samples]), _of_fastest(echoes) if echoes else math.inf)


def _of_fastest(seconds: Sequence[float]) -> float:
    return median(sorted(seconds)[: min(math.ceil(len(seconds) / 4), _FASTEST)])


class OwnSpeed:
    """The speed of the undisturbed machine, as the timings of the last minute saw it, in whatever process.

    A neighbour may slow a virtual machine down for longer than a timing takes: then only earlier ones tell. What is slower
    for more than a minute is the machine's own speed from then on.
    """

    def __init__(self, clock: Clock = time.monotonic):
        self._clock = clock
        self._seen: deque[tuple[float, Speed]] = deque()

    def known(self) -> Speed:
        """The best that was seen."""
        while self._seen and self._clock() - self._seen[0][0] > REMEMBERED_S:
            self._seen.popleft()
        return reduce(Speed.best, (speed for _, speed in self._seen), UNKNOWN)

    def learn(self, own: Speed) -> None:
        """Remember the own speed that a timing found."""
        self._seen.append((self._clock(), own))


def slowdown(sample: Sample, own: Speed) -> float:
    """How many times as long as on the undisturbed machine the sample took, by the worst of the three signs."""
    apart = sample.core_latency_s / own.core_latency_s
    reference = sample.reference_s / own.reference_s if own.reference_s else 1.0
    return max(reference, 1 / (1 - sample.waited), apart if apart > 1 + HIGH_LATENCY else 1.0)


def reference_speed(clock: Clock) -> float:
    """Seconds of the reference on one core, some 25 microseconds: the fastest of a few runs, so that no interrupt counts."""
    _reference()
    return min(_reference_once(clock) for _ in range(_TRIES))


def _reference_once(clock: Clock) -> float:
    start = clock()
    _reference()
    return clock() - start


_LEFT, _RIGHT, _PRODUCT = (aligned_empty(TensorType((48, 48), "float32")) for _ in range(3))
_LEFT[...], _RIGHT[...] = (np.linspace(low, 1, 48 * 48).reshape(48, 48) for low in (-1, 0))


def _reference() -> None:
    """Products of matrices that fit into the first cache and are too small for a second thread."""
    for _ in range(_PRODUCTS):
        np.matmul(_LEFT, _RIGHT, out=_PRODUCT)


@contextmanager
def waiting() -> Iterator[Waits]:
    """A function that gives the nanoseconds that each of this process's threads has waited for a core so far.

    It knows the threads that there are by now. Where the system does not tell, it gives an empty list.
    """
    files: list[int] = []
    with suppress(OSError):
        for folder in _THREADS.iterdir():
            with suppress(OSError):
                files.append(os.open(folder / "schedstat", os.O_RDONLY))
    try:
        yield lambda: [_waited_ns(file) for file in files]
    finally:
        for file in files:
            os.close(file)


def _waited_ns(file: int) -> int:
    """Of one thread; 0 where it has ended or the system keeps no such statistics."""
    with suppress(OSError, ValueError, IndexError):
        return int(os.pread(file, 96, 0).split()[1])
    return 0


def waited_share(before: Sequence[int], after: Sequence[int], seconds: float) -> float:
    """The share, below 1, of `seconds` that the thread which waited longest waited."""
    longest_s = max((later - earlier for earlier, later in zip(before, after, strict=True)), default=0) * 1e-9
    return min(max(longest_s, 0.0) / seconds, 0.99) if seconds > 0 else 0.0
