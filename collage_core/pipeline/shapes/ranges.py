"""Which plan serves which of several shapes: one plan for all, or one for each range with the crossover points between them.

Totals of plans at shapes enter, as seconds, and a function that asks for one more; indices of plans and crossovers leave. Plain data:
nothing is measured or searched here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ...documents.statements import PlanTime, compared

ONE_PLAN: Final = "one_plan"
BY_RANGE: Final = "by_range"
"""The two answers, as the document calls them."""
CHANGE = 0.01
"""A further range must make the weighted total less by more than this share: plans that are as good do not alternate."""
WORTH = 0.02
"""Plans by range must take this share less than the one plan for all, which is simpler, to be chosen."""
MOST_STEPS = 3
"""Sizes between two neighbouring shapes that are tried for a crossover."""

Totals = Sequence[Sequence[float | None]]
"""Seconds of each plan (first index) at each shape (second); None where the plan cannot be there, or its costs are not known."""


@dataclass(frozen=True)
class Crossover:
    """The sizes between which one plan takes over from another.

    Attributes:
        shape: Index of the shape before it; the one after it is the next.
        dimension: Name of the dimension that differs.
        below, above: Its largest size that is known to be the first plan's, and the least that is known to be the second's.
        tried: Size → seconds of both plans there.
    """

    shape: int
    dimension: str
    below: int
    above: int
    tried: Mapping[int, tuple[float | None, float | None]]


def assign(totals: Totals, weights: Sequence[float]) -> list[int] | None:
    """Return the plan of each shape, such that the weighted sum is least where a change from one shape to the next costs `CHANGE` of it.

    None where a shape has no plan.
    """
    least = [min((row[shape] for row in totals if row[shape] is not None), default=None) for shape in range(len(weights))]  # type: ignore[type-var]
    if any(seconds is None for seconds in least):
        return None
    change = CHANGE * sum(weight * (seconds or 0.0) for weight, seconds in zip(weights, least, strict=True))
    best: dict[int, tuple[float, list[int]]] = {-1: (0.0, [])}
    for shape, weight in enumerate(weights):
        step: dict[int, tuple[float, list[int]]] = {}
        for plan, row in enumerate(totals):
            seconds = row[shape]
            if seconds is None:
                continue
            step[plan] = min(
                (total + weight * seconds + (change if chosen and before != plan else 0.0), [*chosen, plan])
                for before, (total, chosen) in best.items()
            )
        best = step
    return min(best.values())[1]


def weighted_total(totals: Totals, weights: Sequence[float], chosen: Sequence[int]) -> float | None:
    """Return the weighted seconds of the plans `chosen` for each shape; None where one of them has none."""
    seconds = [totals[plan][shape] for shape, plan in enumerate(chosen)]
    if None in seconds:
        return None
    return sum(weight * (value or 0.0) for weight, value in zip(weights, seconds, strict=True))


def is_worth(by_range_s: float | None, one_s: float | None) -> bool:
    """Return whether plans by range take enough less than the one plan."""
    if by_range_s is None:
        return False
    return one_s is None or by_range_s < one_s * (1 - WORTH)


def losses(totals: Totals, best: Sequence[float | None]) -> list[list[float | None]]:
    """Return by how many seconds each plan is slower at each shape than the best one there."""
    leasts = [PlanTime(predicted_s=seconds) for seconds in best]
    return [[compared(PlanTime(predicted_s=mine), least).change_s for mine, least in zip(row, leasts, strict=True)] for row in totals]


def bisect(shape: int, dimension: str, sizes: tuple[int, int], totals_at: Callable[[int], tuple[float | None, float | None]]) -> Crossover:
    """Find where the second of two plans takes over between two sizes of a dimension.

    Args:
        sizes: The size that is the first plan's, and the one that is the second's.
        totals_at: Seconds of both plans at a size.
    """
    below, above = sizes
    tried: dict[int, tuple[float | None, float | None]] = {}
    while abs(above - below) > 1 and len(tried) < MOST_STEPS:
        middle = (below + above) // 2
        first, second = tried[middle] = totals_at(middle)
        if first is None and second is None:
            break
        if second is None or (first is not None and first <= second):
            below = middle
        else:
            above = middle
    return Crossover(shape, dimension, below, above, tried)
