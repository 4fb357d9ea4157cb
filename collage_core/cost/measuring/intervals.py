"""Confidence intervals of a percentile of samples. Pure functions; arguments and results have the unit of the samples."""

from __future__ import annotations

import math
from collections.abc import Sequence

NORMAL_95 = 1.96
"""Standard deviations that a 95 % interval of a normal distribution reaches either way."""


def confidence_interval(samples: Sequence[float], percentile: float = 50.0) -> tuple[float, float]:
    """Return the 95 % confidence interval of a percentile, from the order of the samples alone: no distribution is assumed.

    An end is infinite where so few samples do not bound it.
    """
    ordered = sorted(samples)
    count, share = len(ordered), percentile / 100
    reach = NORMAL_95 * math.sqrt(count * share * (1 - share))
    low, high = math.floor(count * share - reach), math.ceil(count * share + reach)
    return (
        ordered[min(low, count - 1)] if low >= 0 else -math.inf,
        ordered[min(high, count - 1)] if high <= count else math.inf,
    )


def half_interval(samples: Sequence[float], percentile: float, middle: float) -> float:
    """Return how far the 95 % confidence interval of a percentile reaches from `middle`, the wider half, as far as there are samples."""
    low, high = confidence_interval(samples, percentile)
    return max(min(high, max(samples)) - middle, middle - max(low, min(samples)))
