"""The shapes of a run as the page shows them: the plan of each, and the answers that serve them all (docs/shapes.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


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
        measured_s: The same, measured whole.
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
