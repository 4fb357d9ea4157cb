"""Which shapes have the same plan, and so may have one build of a partition; and what came of that at each of them.

The plans of several shapes enter, groups of them leave. Plain data: `shaped_build` builds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...documents.plan import PlacedPartition
from ...rewrite.plan import Plan, ShapePlan
from ...rules.spec import HOST_TARGET

FIXED = "its toolchains take fixed shapes only"


@dataclass(frozen=True)
class OneBuild:
    """A shape whose partitions may have builds for any shape, which other shapes of the same plan have, too.

    Attributes:
        name: Of the shape.
        partitions: Ids of the partitions that have one; the others have builds of their own.
        own_s, shared_s: Seconds of an inference with builds of the shape's own alone, and with these; None where there are none.
        reason: Why there are none; empty where there are some.
    """

    name: str
    partitions: tuple[str, ...] = ()
    own_s: float | None = None
    shared_s: float | None = None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def of_one_plan(by_shape: Sequence[ShapePlan]) -> list[list[int]]:
    """Return the indices of shapes that have the same partitions on the same targets, two or more in each group."""
    groups: dict[tuple[tuple[str, tuple[str, ...]], ...], list[int]] = {}
    for number, one in enumerate(by_shape):
        groups.setdefault(tuple((part.target, tuple(part.names)) for part in one.plan.partitions), []).append(number)
    return [group for group in groups.values() if len(group) > 1]


def on_toolchains(plan: Plan) -> list[PlacedPartition]:
    """Return the partitions of a plan that a toolchain runs."""
    return [part for part in plan.partitions if part.target != HOST_TARGET]
