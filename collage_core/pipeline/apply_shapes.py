"""`apply`: phase 4 alone, of a plan for one shape or for several: the plan and its model in, a verified artifact out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import CollageError
from ..events import Emit, Note, ignore
from ..rewrite.plan import Plan
from ..rewrite.shaped_folder import folder_of, forget_artifact
from . import apply as one_shape
from .shaped_build import build_shaped


def apply(plan: Plan, source: str | Path, out: Path, emit: Emit = ignore) -> dict[str, Any]:
    """Build what `plan` says, verify it at each of its shapes, and leave the artifact in `out`.

    Returns:
        The `verify` document; of several shapes that of the plan's own shape, with those of all as ``shapes``.

    Raises:
        CollageError, AccuracyError: as `apply.apply`.
    """
    if not plan.by_shape:
        return one_shape.apply(plan, source, out, emit)
    one_shape.make_folder(out)
    forget_artifact(out)
    rows = []
    for number, one in enumerate(plan.by_shape):
        emit(Note(f"shape {number + 1} of {len(plan.by_shape)}: {one.name}"))
        rows.append({"name": one.name, **one_shape.apply(one.plan, source, out / folder_of(number), emit)})
    own = next((row for row, one in zip(rows, plan.by_shape, strict=True) if one.plan.model == plan.model), None)
    if own is None:
        raise CollageError("the plan is broken: none of its shapes is its own", "make it again with `collage partition`", "bad_plan")
    build_shaped(source, plan, out)
    plan.write(out / "plan.json")
    return {**own, "shapes": rows}
