"""Rounds that compare one thing with another, as long as the machine was itself: for what is a difference and no run of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np

from .noise_filter import Clock, OwnSpeed, Sample, Waits, kept, own_speed, reference_speed, undisturbed, waited_share, waiting
from .timing import confidence_interval

LONGEST_S = 2.0
"""No further round after that long."""


def calm_rounds(
    one_round: Callable[[], float],
    count: int,
    known: OwnSpeed,
    clock: Clock = time.perf_counter,
    watch: Callable[[], AbstractContextManager[Waits]] = waiting,
) -> list[float]:
    """What `count` undisturbed rounds gave, at least half of them; else, after `LONGEST_S`, what all gave.

    Args:
        known: What the reference took in earlier rounds of this process; these add to it.
    """
    before, rounds, begin = known.known(), list[Sample](), clock()
    with watch() as waits:
        after_s = reference_speed(clock)
        while not rounds or (len(undisturbed(rounds, before)) < count and clock() - begin < LONGEST_S):
            waited, start = waits(), clock()
            difference = one_round()
            share = waited_share(waited, waits(), clock() - start)
            before_s, after_s = after_s, reference_speed(clock)
            rounds.append(Sample(difference, max(before_s, after_s), share))
    known.learn(own_speed(rounds))
    return [sample.seconds for sample in kept(rounds, (count + 1) // 2, before)[0]]


def sure_extra(differences: list[float]) -> float:
    """The median of the rounds' differences where it is sure to be above zero, else zero."""
    return float(np.median(differences)) if confidence_interval(differences)[0] > 0 else 0.0
