"""The shapes of a run, in its document and on the page: the plan of each, and the answers that serve them all (docs/shapes.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .json_form import Seconds
from .plan import Baseline


@dataclass(frozen=True)
class ShapePartition:
    """A partition of the plan of a shape, with its nodes by index in the graph at that shape."""

    target: str
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class RunShape:
    """One of the shapes that a run planned for.

    Attributes:
        name: The shape in a few words, such as ``seq=64``.
        weight: Its share of the calls.
        loses_s: By how many seconds the best plan of this shape is slower at each of the shapes than the best one there; None where it
            cannot be, and empty where that is not known.
    """

    name: str
    weight: float
    total_s: float
    measured_s: float | None
    partitions: tuple[ShapePartition, ...]
    loses_s: tuple[float | None, ...]


@dataclass(frozen=True)
class ShapesAnswer:
    """One plan for all shapes, or one for each range.

    Attributes:
        total_s: Predicted, as the weighted mean over the shapes; None where there is no such answer.
        measured_s: The same, timed end to end.
        reason: Why there is no such answer.
    """

    total_s: float | None = None
    measured_s: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class ShapesCrossover:
    """The sizes between which one plan takes over from another.

    Attributes:
        after: Index of the shape before it.
        dimension: Name of the dimension that differs.
        below: Largest size that is known to be the first plan's.
        above: Least size that is known to be the second's.
    """

    after: int
    dimension: str
    below: int
    above: int


@dataclass(frozen=True)
class RunShapes:
    """``GET /api/v1/runs/<id>/shapes``: the plans of a run over several shapes (docs/shapes.md).

    Attributes:
        shapes: Empty where the run has one shape.
        shown: Index of the shape that the rest of the run is about.
    """

    shapes: tuple[RunShape, ...] = ()
    shown: int = 0
    one_plan: ShapesAnswer = ShapesAnswer()
    by_range: ShapesAnswer = ShapesAnswer()
    crossovers: tuple[ShapesCrossover, ...] = ()
    chosen: Literal["one_plan", "by_range", ""] = ""
    decided_by: str = ""


@dataclass(frozen=True)
class SizedDimension:
    """A dimension with several sizes.

    Attributes:
        name: Its symbol.
        inputs: Input and axis.
        sizes: As the user gave them.
        planned: Those that were planned for.
    """

    name: str
    inputs: tuple[tuple[str, int], ...]
    sizes: str
    is_range: bool
    planned: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class BuiltShape:
    """A shape with a build of its own.

    Attributes:
        sizes: Dimension → size.
        inputs: Input → shape.
    """

    name: str
    sizes: Mapping[str, int]
    inputs: Mapping[str, tuple[int | None, ...]]
    measured_s: Seconds | None
    max_rel_error: float | None


@dataclass(frozen=True, kw_only=True)
class ShapeInfo(BuiltShape):
    """A shape that was planned for.

    Attributes:
        weight: Its share of the calls.
        best: The index in `ShapesInfo.plans` of the plan of the least sum there; None where that is not among them.
    """

    weight: float
    best: int | None
    total_s: Seconds
    partitions: tuple[ShapePartition, ...]
    baselines: tuple[Baseline, ...]


@dataclass(frozen=True)
class PlanAtShapes:
    """A plan at each of the shapes.

    Attributes:
        totals_s: Predicted seconds; None where it cannot be.
        loses_s: By how many seconds it is slower than the best plan there.
        total_s: The weighted mean of `totals_s`.
    """

    partitions: tuple[ShapePartition, ...]
    totals_s: tuple[float | None, ...]
    loses_s: tuple[float | None, ...]
    total_s: float | None


@dataclass(frozen=True, kw_only=True)
class OnePlan(ShapesAnswer):
    """One plan for all shapes.

    Attributes:
        plan: Its index in `ShapesInfo.plans`; None where there is none.
        name: The baseline that it is, or ``all shapes``.
    """

    plan: int | None
    name: str


@dataclass(frozen=True)
class ShapeRange:
    """Shapes from the index `first` to `last`, which the plan of the index `plan` serves."""

    first: int
    last: int
    plan: int


@dataclass(frozen=True, kw_only=True)
class PlansByRange:
    """One plan for each range: the index of the plan of each shape, and the ranges that these make."""

    plans: tuple[int, ...]
    ranges: tuple[ShapeRange, ...]
    total_s: float | None
    measured_s: float | None


@dataclass(frozen=True)
class TriedSize:
    """A size between two shapes, and what both plans take there; None where a plan cannot be there."""

    size: int
    first_s: float | None
    second_s: float | None


@dataclass(frozen=True)
class TriedCrossover(ShapesCrossover):
    """A crossover with the sizes at which the two plans were compared."""

    tried: tuple[TriedSize, ...]


@dataclass(frozen=True)
class BetweenShapes:
    """Sizes between planned ones.

    Attributes:
        built: Those with builds of their own.
        ranges: Those that one build serves, as the plan file has them.
        unserved: Those that are not served, with the reason, one line each.
    """

    built: tuple[BuiltShape, ...] = ()
    ranges: tuple[Mapping[str, Any], ...] = ()
    unserved: tuple[str, ...] = ()


@dataclass(frozen=True)
class OneBuild:
    """A shape whose partitions may have builds for any shape, which other shapes of the same plan have, too.

    Attributes:
        partitions: Ids of the partitions that have one; the others have builds of their own.
        own_s, shared_s: Seconds of an inference with builds of the shape's own alone, and with these; None where there are none.
        reason: Why there are none; empty where there are some.
    """

    name: str
    partitions: tuple[str, ...] = ()
    own_s: float | None = None
    shared_s: float | None = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class ShapesInfo:
    """The shapes of a run, as its document has them.

    Attributes:
        plans: Every plan that is the best of a shape, the one for all shapes, and those that were the fastest, timed end to end.
        decided_by: Whether the sums of costs decided, or times of whole plans.
        one_build: With ``--one-build``, each shape whose plan others have too.
    """

    schema: int = 1
    dimensions: tuple[SizedDimension, ...]
    planned: tuple[ShapeInfo, ...]
    plans: tuple[PlanAtShapes, ...]
    one_plan: OnePlan
    by_range: PlansByRange
    crossovers: tuple[TriedCrossover, ...]
    chosen: Literal["one_plan", "by_range"]
    decided_by: Literal["sum", "whole"]
    between: BetweenShapes = BetweenShapes()
    one_build: tuple[OneBuild, ...] = ()
