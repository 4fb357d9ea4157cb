"""The shapes of a run as the server tells them: the plan of each, its losses at the others, and the two answers. Plain data in and out."""

from __future__ import annotations

from typing import Any

from ...documents.run import RunDocument
from .ranges import BY_RANGE, ONE_PLAN


def run_shapes(document: RunDocument) -> dict[str, Any]:
    """Return the fields of the server's `RunShapes`, without the run's id, from the document of a run."""
    shapes = document.shapes
    nothing = {"total_s": None, "measured_s": None, "reason": ""}
    if not shapes:
        empty = {"shapes": [], "shown": 0, "crossovers": [], "chosen": "", "decided_by": ""}
        return {**empty, ONE_PLAN: nothing, BY_RANGE: nothing}
    inputs = {tensor.name: list(tensor.shape) for tensor in document.model.inputs}
    planned = shapes["planned"]
    return {
        "shapes": [
            {
                **{name: row[name] for name in ("name", "weight", "total_s", "measured_s", "partitions")},
                "loses_s": [] if row["best"] is None else shapes["plans"][row["best"]]["loses_s"],
            }
            for row in planned
        ],
        "shown": next((index for index, row in enumerate(planned) if row["inputs"] == inputs), 0),
        **{answer: {name: shapes[answer].get(name, "") for name in nothing} for answer in (ONE_PLAN, BY_RANGE)},
        "crossovers": [{name: one[name] for name in ("after", "dimension", "below", "above")} for one in shapes["crossovers"]],
        "chosen": shapes["chosen"],
        "decided_by": shapes["decided_by"],
    }
