"""`RepetitionNoise`: by how much repetitions of one computation differ, learnt from all computations that have some.

Pure functions take the values of repetitions, and give intervals. A few repetitions of one computation say little
of their variance. So the variance is a moderated one (empirical Bayes): to that of its own repetitions comes that of other
computations which take about as long on the same machine, and where these are few, an assumption.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Self

from .intervals import NORMAL_95

ASSUMED_DEVIATION = 0.08
"""Standard deviation of repetitions, as a share of the cost, where too few were seen: one repetition is right within 20 %."""
ASSUMED_CORRELATION = 0.25
"""Of a repetition with the next one, some tenths of a second later."""
_DEGREES = 6
"""Degrees of freedom of a computation's own repetitions that make others superfluous, and of others that make the assumption so."""
_MOST_DEGREES = 12
"""Degrees of freedom of other computations at most, however many there are: each computation has a noise of its own."""
_PAIRS = 8
"""Pairs of repetitions that weigh as much as the assumed correlation."""
_HIGHEST_CORRELATION = 0.6
_SAME_SCALE = 5.0
"""A computation tells of others that take up to so many times as long, or as short: the noise of short ones is larger."""
_MEDIAN_ERROR = 1.2533
"""Standard error of the median of a normal distribution, where that of the mean is 1."""


@dataclass(frozen=True, slots=True)
class RepetitionNoise:
    """Holds what was learnt of the repetitions on one machine.

    Attributes:
        variances: Of each computation with several repetitions: its cost in seconds, their relative variance, its degrees of freedom.
        correlation: Of a repetition with the next one.
    """

    variances: tuple[tuple[float, float, int], ...] = ()
    correlation: float = ASSUMED_CORRELATION

    @classmethod
    def of(cls, computations: Iterable[Sequence[float]]) -> Self:
        """Learn from the values of the repetitions of each computation, in seconds and in their order."""
        repeated = [values for values in computations if len(values) > 1]
        correlation = _pooled_correlation([values for values in repeated if len(values) > _DEGREES])
        return cls(tuple((median(values), _variance(values, correlation), len(values) - 1) for values in repeated), correlation)

    def half_interval_s(self, values: Sequence[float]) -> float:
        """Return half of the 95 % interval of the median of a computation's repetitions, in seconds."""
        count, cost_s = len(values), median(values)
        variance, degrees = self._moderated(values)
        error = math.sqrt(variance * _inflation(count, self.correlation) / count) * (_MEDIAN_ERROR if count > 2 else 1.0)
        return _student_95(degrees) * error * cost_s

    def _moderated(self, values: Sequence[float]) -> tuple[float, float]:
        """Return the variance of the repetitions of one computation, and its degrees of freedom (Welch and Satterthwaite)."""
        own = len(values) - 1
        weight = max(0, _DEGREES - own)
        if not weight:
            return _variance(values, self.correlation), own
        variance, degrees = self._others(median(values))
        if own:
            variance = (own * _variance(values, self.correlation) + weight * variance) / (own + weight)
        return variance, (own + weight) ** 2 / (own + weight**2 / degrees)

    def _others(self, cost_s: float) -> tuple[float, int]:
        """Return the variance of computations that take about `cost_s`, and its degrees of freedom."""
        near = [(variance, degrees) for other_s, variance, degrees in self.variances if _is_same_scale(other_s, cost_s)]
        seen = sum(degrees for _, degrees in near)
        missing = max(0, _DEGREES - seen)
        total = sum(variance * degrees for variance, degrees in near) + missing * ASSUMED_DEVIATION**2
        return total / (seen + missing), min(seen + missing, _MOST_DEGREES)


ASSUMED_NOISE = RepetitionNoise()
"""The assumption about a machine on which nothing was repeated."""


def _variance(values: Sequence[float], correlation: float) -> float:
    """Return the variance around the median, as a share of its square; without bias though successive values are correlated."""
    count, middle = len(values), median(values)
    return sum((value / middle - 1) ** 2 for value in values) / (count - _inflation(count, correlation)) if middle else 0.0


def _inflation(count: int, correlation: float) -> float:
    """Return how many times as large the variance of the mean of `count` values is because each is correlated with the next.

    A value is correlated with one that is `lag` values later by the `lag`-th power, so this stays below `count`.
    """
    return 1 + 2 * sum((1 - lag / count) * correlation**lag for lag in range(1, count))


def _pooled_correlation(computations: Sequence[Sequence[float]]) -> float:
    """Return the mean correlation of a repetition with the next; `ASSUMED_CORRELATION` weighs as much as `_PAIRS` pairs."""
    product, pairs = ASSUMED_CORRELATION * _PAIRS, _PAIRS
    for values in computations:
        product += _correlation(values) * (len(values) - 1)
        pairs += len(values) - 1
    return min(max(product / pairs, 0.0), _HIGHEST_CORRELATION)


def _correlation(values: Sequence[float]) -> float:
    """Return the correlation of each value with the next; one over their number corrects the bias of few values."""
    middle = median(values)
    off = [value - middle for value in values]
    square = sum(one * one for one in off)
    return sum(one * other for one, other in pairwise(off)) / square + 1 / len(values) if square else 0.0


def _is_same_scale(one_s: float, other_s: float) -> bool:
    return one_s <= _SAME_SCALE * other_s and other_s <= _SAME_SCALE * one_s


def _student_95(degrees: float) -> float:
    """Return the 97.5 % quantile of Student's t distribution: the expansion of Cornish and Fisher, within 1 % from 4 degrees on."""
    z = NORMAL_95
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
