"""`check_plan`: whether a plan of an earlier day still holds: it fits the model, computes what the model does, and takes no longer.

A plan file, and the run and the artifact beside it where there are any, enter, with the model; a `Checked` leaves, or an error with the
first thing that does not hold. The plan is built in a folder that is gone afterwards, and the artifact beside it is opened as whoever ships
it would open it; nothing is searched, and nothing is kept.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..base.durations import milliseconds
from ..base.isolation.worker import Pool
from ..cost.database.records import machine_id
from ..documents.verify import Verify
from ..errors import AccuracyError, CollageError
from ..events import Emit, Note, ignore
from ..rewrite.plan import Plan, read_plan
from ..rewrite.runtime.manifest import NAME, REBUILD, Manifest
from ..rewrite.runtime.shaped_manifest import read_manifests
from ..toolchains import registry
from ..toolchains.border import availability_of
from ..toolchains.native_files import LOADER
from ..version import __version__
from .discover import load_as_planned
from .record.record import FILE_NAME, RunRecord
from .shapes.apply_shapes import apply
from .whole.assemble_and_verify import Built, errors_of, errors_with_loader, time_alone, verify_document
from .whole.errors_by_set import where_text

ATTEMPTS = 3
"""A plan that seems slower is timed again: a machine may be busy for a moment."""


class SlowerError(CollageError):
    """The plan takes longer than it did (exit status 3)."""

    exit_status = 3


@dataclass(frozen=True)
class Shipped:
    """An artifact as it lies in its folder, run in a process of its own; `max_rel_error` and `measured_s` as in `Checked`."""

    folder: str
    max_rel_error: float | None
    measured_s: float | None


@dataclass(frozen=True)
class ChangedVersion:
    """A program (a toolchain, or ``collage-explorer``) that had the version `then`, and has `now` today."""

    name: str
    then: str
    now: str


@dataclass(frozen=True)
class Checked:
    """A plan that holds.

    Attributes:
        max_rel_error: Against the reference, as `verify` has it.
        measured_s: Time of the whole, now; None where it was not timed.
        interval_s: Half of its interval.
        expected_s: Time of the whole when the plan was made; None where it was not asked for.
        basis: ``measured`` or ``predicted``: what `expected_s` is.
        shipped: The artifact beside the plan; None where there is none.
        sets: Names of the sets of inputs that both were compared on.
        changed: What has another version now than the plan or that artifact was made with.
    """

    max_rel_error: float | None
    measured_s: float | None
    interval_s: float | None
    expected_s: float | None = None
    basis: str = ""
    shipped: Shipped | None = None
    changed: tuple[ChangedVersion, ...] = ()
    sets: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the document of `collage check`."""
        return {"schema": 1, "holds": True, **asdict(self)}


@dataclass(frozen=True)
class _Expected:
    """The time that a plan took when it was made."""

    seconds: float
    interval_s: float
    basis: str


def check_plan(path: Path, model: str | Path, slower_than: float | None = None, emit: Emit = ignore) -> Checked:
    """Return how the plan at `path` does today.

    Args:
        path: A plan file, or the folder of a run.
        slower_than: Share by which the plan may take longer than it did when it was made; its time is not judged unless given.

    Raises:
        CollageError: the plan does not fit the model or this installation, its times are those of another machine, or the artifact
            beside it cannot be opened here.
        AccuracyError: it computes something else than the model, or the artifact does.
        SlowerError: it takes longer than it did, by more than `slower_than` and by more than what both times may be off.
    """
    file = path / "plan.json" if path.is_dir() else path
    plan = read_plan(file)
    expected = None if slower_than is None else _expected(plan, file.parent / FILE_NAME)
    folder = file.parent if (file.parent / NAME).is_file() else None
    changed = changed_versions(plan, read_manifests(folder) if folder else ())
    for one in changed:
        emit(Note(f"{one.name} was {one.then} when the plan was made, and is {one.now} now"))

    def built_anew() -> Verify:
        with tempfile.TemporaryDirectory(prefix="collage-check-") as scratch:
            return apply(plan, model, Path(scratch) / "artifact", emit)

    verify = _as_fast(built_anew, "the plan", expected, slower_than)
    shipped = None
    if folder is not None:
        opened = _as_fast(lambda: open_shipped(folder, plan, model), f"the artifact {str(folder)!r}", expected, slower_than)
        shipped = Shipped(str(folder), opened.max_rel_error, opened.measured_s)
    return Checked(
        verify.max_rel_error,
        verify.measured_s,
        verify.interval_s,
        expected.seconds if expected else None,
        expected.basis if expected else "",
        shipped,
        changed,
        tuple(verify.sets),
    )


def _as_fast(measure: Callable[[], Verify], what: str, expected: _Expected | None, slower_than: float | None) -> Verify:
    """Return what `measure` gives, the first that is not slower than allowed.

    Raises:
        SlowerError: none of `ATTEMPTS` is.
    """
    for _ in range(ATTEMPTS):
        verify = measure()
        said = "" if expected is None or slower_than is None else _slower(verify, what, expected, slower_than)
        if not said:
            return verify
    raise SlowerError(
        said, f"it was timed {ATTEMPTS} times: plan again with `collage partition`, or allow more with --slower-than", "slower"
    )


def changed_versions(plan: Plan, manifests: Sequence[Manifest]) -> tuple[ChangedVersion, ...]:
    """Return what has another version now than when `plan`, or the artifact with these manifests, was made."""
    then = {"collage-explorer": plan.version} | {target.name: target.version for target in plan.targets if target.name in plan.used_targets}
    for manifest in manifests:
        then |= {entry.target: entry.version for entry in manifest.partitions if entry.version}
        then |= {"tvm": manifest.tvm} if manifest.tvm else {}
    now = {
        name: __version__ if name == "collage-explorer" else availability_of(registry.get(name)).version
        for name, was in then.items()
        if was
    }
    return tuple(ChangedVersion(name, then[name], version) for name, version in now.items() if version and version != then[name])


def open_shipped(folder: Path, plan: Plan, source: str | Path) -> Verify:
    """Open the artifact in `folder` as it lies there, run it in a process of its own, and return how it was verified.

    Raises:
        CollageError: it cannot be opened here, or it fails; its own words.
        AccuracyError: it computes something else than the model.
    """
    model = load_as_planned(plan, source)
    with Pool() as pool:
        built = Built(model, plan, model.seeded_inputs(), folder, folder, pool)
        by_set = errors_of(built, "shipped", folder)
        if (folder / LOADER).is_file():
            by_set = errors_with_loader(built, by_set)
        verify = time_alone(built, "shipped", folder, verify_document(plan, by_set, math.nan))
    error = verify.max_rel_error
    if error is None or not error <= plan.accuracy:
        found = f"its largest relative error is {error:.3g}{where_text(verify)}, {plan.accuracy:g} is allowed"
        raise AccuracyError(f"the artifact {str(folder)!r} is wrong: {found}", REBUILD)
    return verify


def _expected(plan: Plan, record: Path) -> _Expected:
    """Return the time that `plan` took: timed end to end in the run beside it, else predicted."""
    if plan.machine != machine_id():
        here, there = machine_id(), plan.machine or "no machine: its costs were not measured"
        raise CollageError(
            f"the plan's times are those of {there}; this is {here}",
            "make a plan here, or leave --slower-than out, which checks that it fits and computes the same",
            "other_machine",
        )
    with suppress(CollageError):
        run = RunRecord.load(record)
        measured_s = run.document.verify.measured_s
        if run.plan == plan and measured_s is not None:
            return _Expected(measured_s, run.document.verify.interval_s or 0.0, "measured")
    return _Expected(plan.total_s, plan.total_interval_s or 0.0, "predicted")


def _slower(verify: Verify, what: str, expected: _Expected, slower_than: float) -> str:
    """Say by how much `what` is slower than allowed; empty where it is not, beyond what both times may be off."""
    measured_s = verify.measured_s
    assert measured_s is not None
    above_s = measured_s - expected.seconds * (1 + slower_than)
    if above_s <= math.hypot(expected.interval_s, verify.interval_s or 0.0):
        return ""
    now, before = (milliseconds(seconds) for seconds in (measured_s, expected.seconds))
    longer = f"{measured_s / expected.seconds - 1:.0%} longer"
    return f"{what} takes {now}, {longer} than the {before} {expected.basis} when it was made; {slower_than:.0%} is allowed"
