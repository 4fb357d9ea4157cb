"""`apply`: phase 4 alone, of a plan for one shape or for several: the plan and its model in, a verified artifact out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...documents.verify import ShapeVerify, Verify
from ...errors import CollageError
from ...events import Emit, Note, ignore
from ...rewrite.forms import AUTO
from ...rewrite.plan import Plan
from ...rewrite.runtime.arrays_file import read_arrays
from ...rewrite.runtime.manifest import MODULE
from ...rewrite.shaped_folder import folder_of, forget_artifact
from .. import apply as one_shape
from ..discover import planned_shapes
from .shaped_build import build_shaped


def apply(
    plan: Plan,
    source: str | Path,
    out: Path,
    emit: Emit = ignore,
    inputs: Path | None = None,
    form: str = MODULE,
    *,
    checks_each: bool = False,
) -> Verify:
    """Build what `plan` says, verify it at each of its shapes, and leave the artifact in `out`.

    Args:
        checks_each: As `apply.apply` takes it.
        inputs: As `apply.apply` takes them; of several shapes they verify the one that they have, and seeded ones the others.
        form: As `apply.apply` takes it; the artifact of several shapes is made of modules.

    Returns:
        How it was verified; of several shapes that of the plan's own shape, with all of them as `Verify.shapes`.

    Raises:
        CollageError, AccuracyError: as `apply.apply`.
    """
    if not plan.by_shape:
        return one_shape.apply(plan, source, out, emit, inputs, form, checks_each=checks_each)
    if form not in (MODULE, AUTO):
        said = f"an artifact for {len(plan.by_shape)} shapes is made of modules, it cannot be {form}"
        raise CollageError(said, "ask for the form auto, or take the plan of one shape", "form")
    given = None if inputs is None else _planned_for(plan, inputs)
    one_shape.make_folder(out)
    forget_artifact(out)
    rows = []
    for number, one in enumerate(plan.by_shape):
        emit(Note(f"shape {number + 1} of {len(plan.by_shape)}: {one.name}"))
        brought = inputs if number == given else None
        verify = one_shape.apply(one.plan, source, out / folder_of(number), emit, brought, checks_each=checks_each)
        rows.append(ShapeVerify(**vars(verify), name=one.name))
    own = next((row for row, one in zip(rows, plan.by_shape, strict=True) if one.plan.model == plan.model), None)
    if own is None:
        raise CollageError("the plan is broken: none of its shapes is its own", "make it again with `collage partition`", "bad_plan")
    shaped = build_shaped(source, plan, out)
    for why_not in shaped.unbuilt.values():
        emit(Note(f"a range of the plan is not served: {why_not}"))
    plan.write(out / "plan.json")
    return replace(own, shapes=tuple(rows))


def _planned_for(plan: Plan, inputs: Path) -> int:
    """Return the number of the shape of `plan` that these inputs have. Raises CollageError where it has none like it."""
    arrays = read_arrays(inputs)
    for number, one in enumerate(plan.by_shape):
        if all(name in arrays and arrays[name].shape == shape for name, shape in planned_shapes(one.plan).items()):
            return number
    names = ", ".join(one.name for one in plan.by_shape)
    raise CollageError(f"{str(inputs)!r} has none of the shapes of the plan: {names}", "give inputs of one of them", "inputs")
