"""`timed_beside`: another plan of a run's model and the plan of the run, both built, checked and timed whole in turns.

A run, a plan and the model enter; times and reasons leave. Artifacts are built in a folder that is gone afterwards; nothing is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ..documents.run import Alternative
from ..documents.verify import Verify
from ..events import Emit, ignore
from ..pipeline.discover import Phases
from ..pipeline.inside.additive_error import additive_error_s, correction_s
from ..pipeline.inside.timing_gap import Surroundings, timing_gap
from ..pipeline.record.record import RunRecord
from ..pipeline.whole.compare_whole import compare_whole
from ..pipeline.whole.finalists import RIVAL, SEARCHED, Finalist, Kind, WholeTime, alternatives
from ..rewrite.plan import Plan
from ..rules.spec import HOST_TARGET
from .trial_setup import check_measurable, model_of

BESIDE = "the plan of the run"


@dataclass(frozen=True)
class Beside:
    """Two plans that were timed whole in turns: that of a run, and the other one.

    Attributes:
        verify: The other one against the reference, as a document's ``verify``; None where it could not be built.
        reason: Why the other one was not timed; empty where it was.
        rows: Both as a document's ``alternatives``; the other one is the plan.
    """

    plan: WholeTime
    other: WholeTime
    verify: Verify | None
    reason: str
    rows: tuple[Alternative, ...]


def timed_beside(record: RunRecord, other: Plan, name: str, source: str | Path, emit: Emit = ignore) -> Beside:
    """Build the plan of `record` and another, compare both with the reference, and time them whole in turns.

    Args:
        name: That of the other one, for events.

    Raises:
        CollageError: the run was not measured on this machine, a toolchain is not usable, the file has another model, or the run's own
            plan cannot be built any more. What keeps the other one from being timed is a `Beside.reason` instead.
    """
    from ..pipeline.whole.assemble_and_verify import build_and_verify

    for target in dict.fromkeys([*record.plan.used_targets, *other.used_targets]):
        if target != HOST_TARGET:
            check_measurable(record, target)
    phases = Phases(emit)
    with phases("load"):
        model = model_of(record, source)
    both = [_finalist(BESIDE, SEARCHED, record.plan), _finalist(name, RIVAL, other)]
    with build_and_verify(model, record.plan, model.seeded_inputs(), phases, emit, None) as built:
        found = compare_whole(built, both, emit)
        surroundings = Surroundings.since(built.load)
    ids = {part.id for part in other.partitions}
    corrected_s = correction_s(item for item in record.candidates if item.id in ids)
    verify = _verify(other, both[1].verify, found.times[1], surroundings, corrected_s)
    return Beside(found.times[0], found.times[1], verify, both[1].reason, alternatives(both, found.times, 1))


def _finalist(name: str, kind: Kind, plan: Plan) -> Finalist:
    known = all(part.cost_s is not None for part in plan.partitions if part.target != HOST_TARGET)
    total_s = plan.total_s if known else None
    return Finalist({name: kind}, plan, (), (len(plan.partitions), 0), kind == SEARCHED, total_s, total_s)


def _verify(plan: Plan, checked: Verify | None, time: WholeTime, around: Surroundings, corrected_s: float) -> Verify | None:
    """Return what was `checked` of a plan, with its time."""
    if checked is None or time.measured_s is None:
        return checked
    error_s = additive_error_s(plan, time.measured_s, corrected_s)
    verify = replace(checked, measured_s=time.measured_s, interval_s=time.interval_s, rounds=time.rounds)
    verify = replace(verify, additive_error_s=error_s, explained_s=corrected_s or None)
    return replace(verify, gap=timing_gap(plan, verify, around))
