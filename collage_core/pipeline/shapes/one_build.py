"""Which shapes have the same plan, and so may have one build of a partition; and what came of that at each of them.

The plans of several shapes enter, groups of them leave. Plain data: `shaped_build` builds.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...documents.plan import PlanPartition
from ...rewrite.plan import Plan, ShapePlan
from ...rules.spec import HOST_TARGET

FIXED = "its toolchains take fixed shapes only"


def of_one_plan(by_shape: Sequence[ShapePlan]) -> list[list[int]]:
    """Return the indices of shapes that have the same partitions on the same targets, two or more in each group."""
    groups: dict[tuple[tuple[str, tuple[str, ...]], ...], list[int]] = {}
    for number, one in enumerate(by_shape):
        groups.setdefault(tuple((part.target, tuple(part.names)) for part in one.plan.partitions), []).append(number)
    return [group for group in groups.values() if len(group) > 1]


def on_toolchains(plan: Plan) -> list[PlanPartition]:
    """Return the partitions of a plan that a toolchain runs."""
    return [part for part in plan.partitions if part.target != HOST_TARGET]
