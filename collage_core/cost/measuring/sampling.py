"""`Sampler`: takes samples of a function one by one, each with the signs of noise around it.

It takes a function to call, and gives raw samples, disturbed ones too. `timing` decides how many are enough.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from .noise_filter import Sample
from .reference_kernel import Clock, time_reference
from .run_queue_waits import Waits, run_queue_waits, waited_share

PROBE_EVERY_S = 0.01
"""From one latency probe to the next at least: it takes a fifth of a millisecond, and the core that the kernel's other threads are on."""
PROBE_SHARE = 0.05
"""Of the time, at most: where others use the cores, a probe waits for its turn on both."""

SHORT_RUN_S = 5e-3
"""Of a shorter run it matters that the kernel's threads fall asleep between samples, while signs of noise are read and samples judged."""


@dataclass(frozen=True, slots=True)
class NoiseSigns:
    """The signs of noise, each a function that is called around samples.

    Attributes:
        reference_s: Times the reference kernel.
        waits: Opens the counters of run-queue waits.
        core_latency_s: Measures the core-to-core latency; None where the sampled function uses one core.
    """

    reference_s: Callable[[Clock], float] = time_reference
    waits: Callable[[], AbstractContextManager[Waits]] = run_queue_waits
    core_latency_s: Callable[[], float] | None = None


SINGLE_THREADED = NoiseSigns()
"""The signs for a function that uses one core."""


class Sampler:
    """Takes samples of `run`.

    Args:
        before_sample: Called before each sample, outside of its time; None for nothing.
        waits: The open counters of `signs.waits`.
    """

    def __init__(self, run: Callable[[], None], before_sample: Callable[[], None] | None, signs: NoiseSigns, waits: Waits, clock: Clock):
        self._run = run
        self._before_sample = before_sample
        self._signs = signs
        self._waits = waits
        self._clock = clock
        self._reference_s = 0.0
        self._next_probe = 0.0
        self._run_s = 0.0

    def warm_up(self, seconds: float) -> list[Sample]:
        """Return a sample of each run of the first `seconds`, of one run at least."""
        begin = self._clock()
        samples = [self._timed(1)]
        while self._clock() - begin < seconds:
            samples.append(self._timed(1))
        self._reference_s = self._signs.reference_s(self._clock)
        return [replace(sample, reference_s=self._reference_s) for sample in samples]

    def take(self, batch: int) -> Sample:
        """Return one sample of `batch` runs, its core-to-core latency left open; short ones follow a run that is not counted."""
        if self._before_sample is not None:
            self._before_sample()
        elif self._run_s < SHORT_RUN_S:
            self._run()
        sample = self._timed(batch)
        before_s, self._reference_s = self._reference_s, self._signs.reference_s(self._clock)
        return replace(sample, reference_s=max(before_s, self._reference_s))

    @property
    def is_probe_due(self) -> bool:
        """Return whether the last latency probe is `PROBE_EVERY_S` ago, or longer where probing takes long."""
        return self._clock() >= self._next_probe

    def probe(self) -> float | None:
        """Return the core-to-core latency in seconds, 0 where it cannot be measured now; None where it is not wanted."""
        if self._signs.core_latency_s is None:
            return None
        begin = self._clock()
        latency_s = self._signs.core_latency_s()
        self._next_probe = self._clock() + max(PROBE_EVERY_S, (self._clock() - begin) / PROBE_SHARE)
        return latency_s

    def _timed(self, batch: int) -> Sample:
        waits = self._waits()
        start = self._clock()
        for _ in range(batch):
            self._run()
        seconds = self._clock() - start
        self._run_s = seconds / batch
        return Sample(seconds / batch, self._reference_s, waited_share(waits, self._waits(), seconds))
