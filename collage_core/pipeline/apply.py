"""`apply`: phase 4 alone: a plan and its model in, a verified artifact in a folder out. Nothing is searched or measured."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.model_file import is_relax_file
from ..documents.verify import Verify
from ..errors import AccuracyError, CollageError
from ..events import Emit, Note, ignore
from ..rewrite.assemble import remove_artifact
from ..rewrite.forms import AUTO
from ..rewrite.pieces import README
from ..rewrite.plan import Plan
from ..rewrite.runtime.arrays_file import read_arrays
from ..rewrite.runtime.manifest import MODULE, NATIVE, read_manifest
from ..rewrite.runtime.requirements import REQUIREMENTS
from ..toolchains.native_files import LOADER
from ..toolchains.registry import get
from . import discover
from .described_targets import check_not_described
from .discover import Phases
from .inside.timing_gap import Surroundings, timing_gap
from .whole.errors_by_set import where_text

if TYPE_CHECKING:
    from .whole.assemble_and_verify import Built


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
    """Phase 4 alone: build what `plan` says, verify it, and leave the artifact in `out`.

    Args:
        inputs: An ``.npz`` with the user's own inputs, of the shapes that the plan was made for; seeded ones unless given.
        form: Of the artifact: ``module``, ``pieces``, ``native``, or ``auto`` (`rewrite.forms`).
        checks_each: Compare each partition with the reference, too; the document has the errors as ``each`` (`check_each`).

    Raises:
        CollageError: the plan is for another model or cannot have this form, a target of it is not usable here, or the inputs do not fit.
        AccuracyError: the artifact computes something else than the model; nothing is left in `out`. It is a `PartitionAccuracyError`,
            which names the partition, where each is checked.
    """
    from .whole.assemble_and_verify import build_and_verify, time_alone

    phases = Phases(emit)
    with phases("load"):
        brought = None if inputs is None else read_arrays(inputs)
        model = discover.load_as_planned(plan, source, brought)
    if model.hash != plan.model.hash:
        raise CollageError(
            f"the plan is for the model {plan.model.name!r} ({plan.model.hash[:16]}), this is {model.name!r} ({model.hash[:16]})",
            "make a plan for this model with `collage partition`",
            "other_model",
        )
    plan.check_covers(tuple(node.name for node in model.graph.nodes))
    check_not_described(plan)
    discover.check_usable(get(name) for name in plan.used_targets)
    given = model.seeded_inputs() if brought is None else model.check_inputs(brought)
    for said in model.input_sets(given, plan.value_policy).notes:
        emit(Note(said))
    make_folder(out)
    if form in (NATIVE, AUTO):
        check_own_files(out)
    with build_and_verify(model, plan, given, phases, emit, out, form=form) as built:
        each = _checked_each(built) if checks_each else None
        check_accuracy(built.verify, plan.accuracy)
        remove_artifact(out)
        plan.write(out / "plan.json")
        built.verify = time_alone(built, "plan", built.folder, built.verify)
        gap = timing_gap(plan, built.verify, Surroundings.since(built.load))
        return replace(built.verify, gap=gap, each=each)


def _checked_each(built: Built) -> dict[str, Any]:
    """Return the errors of each partition. Raises PartitionAccuracyError where the whole is wrong."""
    from .whole.check_each import PartitionAccuracyError, begins_text, check_each

    each = check_each(built)
    try:
        check_accuracy(built.verify, built.plan.accuracy)
    except AccuracyError as error:
        raise PartitionAccuracyError(f"{error.message}; {begins_text(each)}", error.hint, each) from error
    return each


def check_accuracy(verify: Verify, accuracy: float) -> None:
    """Raise AccuracyError when the verified error is over `accuracy`; it says which toolchain alone comes nearest, where that is known."""
    error = verify.max_rel_error
    if error is None or error <= accuracy:
        return
    found = f"its largest relative error is {error:.3g}{where_text(verify)}, {accuracy:g} is allowed"
    said = f"the partitioned model is wrong: {found}; nothing was exported"
    nearest = verify.nearest
    if nearest is None:
        raise AccuracyError(said, "allow more with --accuracy, or veto the target whose partition errs")
    from .whole.nearest import nearest_hint, nearest_text

    raise AccuracyError(f"{said}; {nearest_text(nearest)}", nearest_hint(nearest), nearest=nearest)


def make_folder(folder: Path) -> None:
    """Make `folder`. Raises CollageError where it cannot be made or written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise CollageError(
            f"cannot write to the folder {str(folder)!r}: {error.strerror}", "give another folder with --out", "unwritable"
        ) from error


def check_own_files(out: Path) -> None:
    """Raise CollageError where `out` has a file that native files would replace, and that is no part of an artifact."""
    try:
        listed = set(read_manifest(out).files)
    except CollageError:
        listed = set()
    foreign = next((name for name in (LOADER, README, REQUIREMENTS) if name not in listed and os.path.lexists(out / name)), None)
    if foreign is not None:
        said = f"the folder {str(out)!r} has a file {foreign!r} of its own, which an artifact may have too"
        raise CollageError(said, "give another folder with --out", "unwritable")


def check_has_module(plan: Plan, source: str | Path) -> None:
    """Raise CollageError unless the model `source` of `plan` is a Relax module, which can be written as one again."""
    if not (is_relax_file(source) if plan.options.get("ir") is None else plan.options["ir"] == "relax"):
        said = f"{str(source)!r} is not a Relax module, so there is none to partition"
        raise CollageError(said, "leave --ir away: the artifact is built of any model", "not_relax")
