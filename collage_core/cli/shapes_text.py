"""The lines of a terminal about several shapes: the plan of each, the two answers, and the loss where one shape is fixed.

The document of `collage partition` enters; lines leave.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..base.counted import counted
from ..base.durations import duration
from ..documents.run import RunDocument
from ..documents.shapes import OneBuild, ShapeInfo, ShapePartition, ShapesInfo
from ..documents.statements import PlanTime, compared
from ..rules.partitionings import ALL_SHAPES
from ..rules.spec import HOST_TARGET

ANSWERS = {"one_plan": "one plan for all shapes", "by_range": "one plan for each range"}


def shapes_lines(document: RunDocument) -> list[str]:
    """Return the lines about the shapes of a run; none where it had one shape."""
    shapes = document.shapes
    if shapes is None:
        return []
    lines = [f"{counted(len(shapes.planned), 'shape')}; the plan above is that of {_main(document, shapes.planned).name}:"]
    lines += [f"  {row}" for row in _rows(shapes.planned)]
    lines += _answers(shapes)
    lines += [f"  {text}" for text in _crossovers(shapes)]
    lines += [f"  {text}" for text in _losses(shapes)]
    lines += _one_build(shapes.one_build)
    return lines


def _main(document: RunDocument, planned: Sequence[ShapeInfo]) -> ShapeInfo:
    """Return the shape that the rest of the document is about."""
    inputs = {tensor.name: tensor.shape for tensor in document.model.inputs}
    return next((row for row in planned if row.inputs == inputs), planned[-1])


def _rows(planned: Sequence[ShapeInfo]) -> Iterator[str]:
    width = max(len(row.name) for row in planned)
    for row in planned:
        measured = "" if row.measured_s is None else f", measured {duration(row.measured_s)}"
        said = f"predicted {duration(row.total_s)}{measured}  {targets(row.partitions)}"
        yield f"{row.name:<{width}}  {row.weight:4.0%}  {said}"


def targets(partitions: Sequence[ShapePartition]) -> str:
    """Return the targets of a plan with how many nodes each has."""
    counts: dict[str, int] = {}
    for part in partitions:
        if part.target != HOST_TARGET:
            counts[part.target] = counts.get(part.target, 0) + len(part.nodes)
    parts = sum(part.target != HOST_TARGET for part in partitions)
    named = " + ".join(f"{target} {count}" for target, count in counts.items())
    return f"{named} nodes in {counted(parts, 'partition')}"


def _answers(shapes: ShapesInfo) -> Iterator[str]:
    one, by_range = shapes.one_plan, shapes.by_range
    named = f" ({one.name})" if one.name != ALL_SHAPES else ""
    yield _answer(shapes, "one_plan", named, one.reason, one.total_s, one.measured_s, "")
    yield _answer(shapes, "by_range", "", "", by_range.total_s, by_range.measured_s, f" in {counted(len(by_range.ranges), 'range')}")


def _answer(shapes: ShapesInfo, name: str, named: str, reason: str, total_s: float | None, measured_s: float | None, ranges: str) -> str:
    if total_s is None:
        return f"{ANSWERS[name]}: none ({reason or 'a cost is not known'})"
    mark = "chosen" if shapes.chosen == name else "not chosen"
    measured = "" if measured_s is None else f", measured {duration(measured_s)}"
    said = f"predicted {duration(total_s)}{measured} over all shapes{ranges}"
    return f"{ANSWERS[name]}{named}: {said} ({mark}, by the {shapes.decided_by})"


def _crossovers(shapes: ShapesInfo) -> Iterator[str]:
    for one in shapes.crossovers:
        tried = ", ".join(str(row.size) for row in one.tried)
        yield f"the plans change between {one.dimension}={one.below} and {one.above} (compared at {tried or 'no size between'})"


def _losses(shapes: ShapesInfo) -> Iterator[str]:
    """Say of each plan that is the best of some shapes what it would lose at the others."""
    for index, plan in enumerate(shapes.plans):
        best_at = [row.name for row in shapes.planned if row.best == index]
        if not best_at:
            continue
        lost = [(row.name, seconds) for row, seconds in zip(shapes.planned, plan.loses_s, strict=True) if row.best != index]
        said = [f"{name} {'not to be had' if seconds is None else '+' + duration(seconds)}" for name, seconds in lost if seconds != 0]
        if said:
            yield f"fixing the shape {' or '.join(best_at)} loses at {'; '.join(said)}"


def _one_build(rows: Sequence[OneBuild]) -> Iterator[str]:
    """Say of each shape how much longer it takes with builds that other shapes have too, or why it has none of them."""
    for row in rows:
        if row.own_s is None or row.shared_s is None:
            yield f"{row.name} has builds of its own: {row.reason}"
            continue
        ratio = compared(PlanTime(predicted_s=row.shared_s), PlanTime(predicted_s=row.own_s)).ratio or 1.0
        own = f"{duration(row.own_s)} with builds of its own"
        yield f"{row.name} shares {counted(len(row.partitions), 'build')}: {duration(row.shared_s)}, {own} ({ratio - 1:+.1%})"
