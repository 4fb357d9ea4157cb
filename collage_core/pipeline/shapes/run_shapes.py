"""The shapes of a run as the page shows them: the plan of each, its losses at the others, and the two answers. Pure."""

from __future__ import annotations

from ...documents.run import RunDocument
from ...documents.shapes import PlanAtShapes, RunShape, RunShapes, ShapeInfo, ShapesAnswer, ShapesCrossover


def run_shapes(document: RunDocument) -> RunShapes:
    """Return the shapes in the document of a run."""
    shapes = document.shapes
    if shapes is None:
        return RunShapes()
    inputs = {tensor.name: tensor.shape for tensor in document.model.inputs}
    one, by_range = shapes.one_plan, shapes.by_range
    return RunShapes(
        shapes=tuple(_shape(row, shapes.plans) for row in shapes.planned),
        shown=next((index for index, row in enumerate(shapes.planned) if row.inputs == inputs), 0),
        one_plan=ShapesAnswer(one.total_s, one.measured_s, one.reason),
        by_range=ShapesAnswer(by_range.total_s, by_range.measured_s),
        crossovers=tuple(ShapesCrossover(row.after, row.dimension, row.below, row.above) for row in shapes.crossovers),
        chosen=shapes.chosen,
        decided_by=shapes.decided_by,
    )


def _shape(row: ShapeInfo, plans: tuple[PlanAtShapes, ...]) -> RunShape:
    return RunShape(
        name=row.name,
        weight=row.weight,
        total_s=row.total_s,
        measured_s=row.measured_s,
        partitions=row.partitions,
        loses_s=() if row.best is None else plans[row.best].loses_s,
    )
