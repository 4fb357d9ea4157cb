"""Rounds that compare one thing with another, without the disturbed ones: for what is a difference and no run of its own."""

from __future__ import annotations

import time
from collections.abc import Callable

from .noise_filter import Sample, SpeedHistory, filter_samples, undisturbed_samples, undisturbed_speed
from .paired_rounds import median_of
from .reference_kernel import Clock
from .run_queue_waits import waited_share
from .sampling import SINGLE_THREADED, NoiseSigns

LONGEST_S = 0.5
"""No further round after that long."""


def undisturbed_rounds(
    one_round: Callable[[], float],
    count: int,
    history: SpeedHistory,
    signs: NoiseSigns = SINGLE_THREADED,
    clock: Clock = time.perf_counter,
) -> list[float]:
    """Return the differences of `count` undisturbed rounds, of half as many at least; after `LONGEST_S`, those of all rounds.

    Args:
        one_round: Returns the difference that it measured.
        history: The speed of earlier rounds of this process; these add to it.
    """
    known, rounds, begin = history.fastest(), list[Sample](), clock()
    with signs.waits() as waits:
        after_s = signs.reference_s(clock)
        while not rounds or (len(undisturbed_samples(rounds, known)) < count and clock() - begin < LONGEST_S):
            waited, start = waits(), clock()
            difference = one_round()
            share = waited_share(waited, waits(), clock() - start)
            before_s, after_s = after_s, signs.reference_s(clock)
            rounds.append(Sample(difference, max(before_s, after_s), share))
    history.add(undisturbed_speed(rounds))
    return [sample.seconds for sample in filter_samples(rounds, (count + 1) // 2, known)[0]]


def significant_difference(differences: list[float]) -> float:
    """Return the median of the rounds' differences where its 95 % interval is above zero, else zero."""
    difference = median_of(differences)
    return difference.value if difference.low > 0 else 0.0
