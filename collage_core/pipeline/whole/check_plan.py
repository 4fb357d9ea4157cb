"""`check_plan`: whether a plan of an earlier day still holds: it fits the model, computes what the model does, and takes no longer.

A plan file, and the run beside it where there is one, enter, with the model; a `Checked` leaves, or an error with the first thing that
does not hold. The plan is built in a folder that is gone afterwards; nothing is searched, and nothing is kept.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...base.durations import milliseconds
from ...cost.database.records import machine_id
from ...errors import CollageError
from ...events import Emit, ignore
from ...rewrite.plan import Plan, read_plan
from ..record.record import FILE_NAME, RunRecord
from ..shapes.apply_shapes import apply

ATTEMPTS = 3
"""A plan that seems slower is timed again: a machine may be busy for a moment."""


class SlowerError(CollageError):
    """The plan takes longer than it did (exit status 3)."""

    exit_status = 3


@dataclass(frozen=True)
class Checked:
    """A plan that holds.

    Attributes:
        max_rel_error: Against the reference, as `verify` has it.
        measured_s: Time of the whole, now; None where it was not timed.
        interval_s: Half of its interval.
        expected_s: Time of the whole when the plan was made; None where it was not asked for.
        basis: ``measured`` or ``predicted``: what `expected_s` is.
    """

    max_rel_error: float
    measured_s: float | None
    interval_s: float | None
    expected_s: float | None = None
    basis: str = ""

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
        CollageError: the plan does not fit the model or this installation, or its times are those of another machine.
        AccuracyError: it computes something else than the model.
        SlowerError: it takes longer than it did, by more than `slower_than` and by more than what both times may be off.
    """
    file = path / "plan.json" if path.is_dir() else path
    plan = read_plan(file)
    expected = None if slower_than is None else _expected(plan, file.parent / FILE_NAME)
    said = ""
    for _ in range(ATTEMPTS):
        with tempfile.TemporaryDirectory(prefix="collage-check-") as folder:
            verify = apply(plan, model, Path(folder) / "artifact", emit)
        now = verify["max_rel_error"], verify["measured_s"], verify.get("interval_s")
        if expected is None or slower_than is None:
            return Checked(*now)
        said = _slower(verify, expected, slower_than)
        if not said:
            return Checked(*now, expected.seconds, expected.basis)
    raise SlowerError(
        said, f"it was timed {ATTEMPTS} times: plan again with `collage partition`, or allow more with --slower-than", "slower"
    )


def _expected(plan: Plan, record: Path) -> _Expected:
    """Return the time that `plan` took: measured whole in the run beside it, else predicted."""
    if plan.machine != machine_id():
        here, there = machine_id(), plan.machine or "no machine: its costs were not measured"
        raise CollageError(
            f"the plan's times are those of {there}; this is {here}",
            "make a plan here, or leave --slower-than out, which checks that it fits and computes the same",
            "other_machine",
        )
    with suppress(CollageError):
        run = RunRecord.load(record)
        measured_s = run.document["verify"]["measured_s"]
        if run.plan == plan and measured_s is not None:
            return _Expected(measured_s, run.document["verify"].get("interval_s") or 0.0, "measured")
    return _Expected(plan.total_s, plan.total_interval_s or 0.0, "predicted")


def _slower(verify: Mapping[str, Any], expected: _Expected, slower_than: float) -> str:
    """Say by how much the plan is slower than allowed; empty where it is not, beyond what both times may be off."""
    measured_s = verify["measured_s"]
    above_s = measured_s - expected.seconds * (1 + slower_than)
    if above_s <= math.hypot(expected.interval_s, verify.get("interval_s") or 0.0):
        return ""
    now, before = (milliseconds(seconds) for seconds in (measured_s, expected.seconds))
    longer = f"{measured_s / expected.seconds - 1:.0%} longer"
    return f"the plan takes {now}, {longer} than the {before} {expected.basis} when it was made; {slower_than:.0%} is allowed"
