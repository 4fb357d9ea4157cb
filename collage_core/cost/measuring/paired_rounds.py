"""Rounds of contenders that took turns: how many times as long one takes as another, and which of them another round could tell apart.

The seconds of each round enter, contenders are named by their indices; ratios with intervals leave. Nothing is timed here. On a machine
that others use, noise only ever slows a run down, and comes in bursts of seconds. So a contender is judged by low quantiles: its time in
one round is the 10th percentile of its runs (`low_s`), and its time over rounds the 20th percentile of these. Two contenders
are compared over the rounds of both, and an interval comes from resampling whole rounds, which keeps what happened at one time together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

LOW_OF_RUNS = 10.0
"""Percentile of the runs of a round: what disturbs a burst for most of its time leaves a tenth of the runs alone."""
LOW_OF_ROUNDS = 20.0
TIE = 0.01
"""A contender is faster than another only if it is by more than this share of its own time."""
FEWEST_ROUNDS = 6
"""With fewer rounds an interval decides nothing: of 200 comparisons of something with itself at most two may end with a difference."""
MOST_ROUNDS = 10
FAR = {4: 0.25, 3: 0.5, 2: 1.0}
"""Rounds → a contender that is slower than another by this share in each of so many needs no further one."""
_RESAMPLED = 400
"""So many draws of rounds give the ends of a 95 % interval within a few per cent of its width."""

Round = Mapping[int, float]
"""Contender → its seconds in one round (`low_s`); one that was not timed in it is missing."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate over so many `rounds`, with the ends of its 95 % interval."""

    value: float
    low: float
    high: float
    rounds: int

    @property
    def half(self) -> float | None:
        """How far the interval reaches from the value, the wider half; None of one round, which says nothing of that."""
        return max(self.high - self.value, self.value - self.low) if self.rounds > 1 else None


def low_s(seconds: Sequence[float]) -> float:
    """Return what a contender takes in one round, by the seconds of its runs."""
    return float(np.percentile(seconds, LOW_OF_RUNS))


def time_of(rounds: Sequence[Round], index: int) -> Interval | None:
    """Return the seconds of a contender over the rounds that timed it; None without any."""
    seconds = seconds_of(rounds, index)
    if not seconds:
        return None
    return _interval(_low(seconds), np.percentile(np.array(seconds)[_draws(len(seconds))], LOW_OF_ROUNDS, axis=1), len(seconds))


def ratio_of(rounds: Sequence[Round], one: int, other: int) -> Interval | None:
    """Return how many times as long `one` takes as `other`, over the rounds that timed both; None without any."""
    both = np.array([(seconds[one], seconds[other]) for seconds in rounds if one in seconds and other in seconds])
    if not both.size:
        return None
    mine, its = np.percentile(both, LOW_OF_ROUNDS, axis=0)
    drawn = np.percentile(both[_draws(len(both))], LOW_OF_ROUNDS, axis=1)
    return _interval(float(mine / its), drawn[:, 0] / drawn[:, 1], len(both))


def median_of(values: Sequence[float]) -> Interval:
    """Return the median of what each round gave, for a difference that noise moves either way."""
    array = np.array(values)
    return _interval(float(np.median(array)), np.median(array[_draws(array.size)], axis=1), array.size)


def slower(rounds: Sequence[Round], one: int, other: int) -> float:
    """Return how many times as long `one` takes as `other`; 0 where no round timed both."""
    ratio = ratio_of(rounds, one, other)
    return 0.0 if ratio is None else ratio.value


def beats(rounds: Sequence[Round], one: int, other: int) -> bool:
    """Return whether `one` is faster than `other` by more than `TIE`, and by more than noise."""
    both = [seconds[one] / seconds[other] for seconds in rounds if one in seconds and other in seconds]
    if any(len(both) >= least and max(both) * (1 + share) < 1 for least, share in FAR.items()):
        return True
    ratio = ratio_of(rounds, one, other)
    return ratio is not None and ratio.rounds >= FEWEST_ROUNDS and ratio.high * (1 + TIE) < 1


def is_tie(rounds: Sequence[Round], one: int, other: int) -> bool:
    """Return whether neither can be faster than the other by more than twice `TIE`."""
    ratio = ratio_of(rounds, one, other)
    return ratio is not None and ratio.rounds >= FEWEST_ROUNDS and ratio.low * (1 + 2 * TIE) >= 1 and ratio.high <= 1 + 2 * TIE


def fastest(rounds: Sequence[Round], among: Sequence[int]) -> int:
    """Return the fastest of some contenders. Those that were in fewer rounds than others are out: they were far behind."""
    counts = {index: sum(index in one for one in rounds) for index in among}
    most = max(counts.values())
    return min((index for index in among if counts[index] == most), key=lambda index: _low(seconds_of(rounds, index)))


def undecided(rounds: Sequence[Round], may_win: Sequence[bool]) -> list[int]:
    """Return the contenders that another round should time: the fastest of those that may win, and those not yet apart from it."""
    present = list(rounds[-1])
    ahead = fastest(rounds, [index for index in present if may_win[index]] or present)

    def is_apart(index: int) -> bool:
        is_faster = not may_win[index] and beats(rounds, index, ahead)
        return is_faster or beats(rounds, ahead, index) or is_tie(rounds, ahead, index)

    return [index for index in present if index == ahead or not is_apart(index)]


def seconds_of(rounds: Sequence[Round], index: int) -> list[float]:
    """Return the seconds of a contender in each round that timed it."""
    return [seconds[index] for seconds in rounds if index in seconds]


def _low(seconds: Sequence[float]) -> float:
    return float(np.percentile(seconds, LOW_OF_ROUNDS))


def _interval(value: float, drawn: np.ndarray, rounds: int) -> Interval:
    low, high = np.percentile(drawn, (2.5, 97.5)) if rounds > 1 else (-math.inf, math.inf)
    return Interval(value, float(low), float(high), rounds)


@cache
def _draws(count: int) -> np.ndarray:
    """Return draws of `count` rounds with replacement, each a row of indices; always the same, so equal rounds have equal intervals."""
    return np.random.default_rng(count).integers(0, count, (_RESAMPLED, count))
