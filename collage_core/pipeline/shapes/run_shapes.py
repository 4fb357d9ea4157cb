"""The shapes of a run as the page shows them: the plan of each, its losses at the others, and the two answers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...documents.run import RunDocument
from ...documents.shapes import RunShape, RunShapes, ShapePartition, ShapesAnswer, ShapesCrossover
from .ranges import BY_RANGE, ONE_PLAN


def run_shapes(document: RunDocument) -> RunShapes:
    """Return the shapes in the document of a run."""
    shapes = document.shapes
    if not shapes:
        return RunShapes()
    inputs = {tensor.name: list(tensor.shape) for tensor in document.model.inputs}
    planned = shapes["planned"]
    return RunShapes(
        shapes=tuple(_shape(row, shapes["plans"]) for row in planned),
        shown=next((index for index, row in enumerate(planned) if row["inputs"] == inputs), 0),
        one_plan=_answer(shapes[ONE_PLAN]),
        by_range=_answer(shapes[BY_RANGE]),
        crossovers=tuple(ShapesCrossover(one["after"], one["dimension"], one["below"], one["above"]) for one in shapes["crossovers"]),
        chosen=shapes["chosen"],
        decided_by=shapes["decided_by"],
    )


def _shape(row: Mapping[str, Any], plans: Any) -> RunShape:
    return RunShape(
        name=row["name"],
        weight=row["weight"],
        total_s=row["total_s"],
        measured_s=row["measured_s"],
        partitions=tuple(ShapePartition(part["target"], tuple(part["nodes"])) for part in row["partitions"]),
        loses_s=() if row["best"] is None else tuple(plans[row["best"]]["loses_s"]),
    )


def _answer(row: Mapping[str, Any]) -> ShapesAnswer:
    return ShapesAnswer(row["total_s"], row["measured_s"], row.get("reason", ""))
