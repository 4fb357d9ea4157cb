"""Confidence intervals: of a percentile of samples, and of a cost that was measured in few or many repetitions.

What enters and leaves are seconds; pure functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

NORMAL_95 = 1.96
"""Standard deviations that a 95 % interval of a normal distribution reaches either way."""


def confidence_interval(samples: Sequence[float], percentile: float = 50.0, deviations: float = NORMAL_95) -> tuple[float, float]:
    """Return a confidence interval of a percentile, from the order of the samples alone: no distribution is assumed.

    An end is infinite where so few samples do not bound it.

    Args:
        deviations: How many standard deviations the interval reaches either way: 1.96 for 95 %.
    """
    ordered = sorted(samples)
    count, share = len(ordered), percentile / 100
    reach = deviations * math.sqrt(count * share * (1 - share))
    low, high = math.floor(count * share - reach), math.ceil(count * share + reach)
    return (
        ordered[min(low, count - 1)] if low >= 0 else -math.inf,
        ordered[min(high, count - 1)] if high <= count else math.inf,
    )
