"""`planned_row`: what the run of one model says in a table of many. Pure: the document of a run enters, a row leaves.

Two times are compared as they were got: end-to-end times with end-to-end times, in turns with each other, else predicted with predicted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..documents.run import Alternative, RunDocument
from ..documents.statements import PlanTime, compared, time_of_run
from ..documents.survey import Alone, Gain, PlanTimes, SurveyRow
from ..documents.verdict import verdict, widened
from ..pipeline.whole.finalists import BASELINE
from ..rules.partitionings import is_alone

PLANNED, REFUSED, FAILED = "planned", "refused", "failed"
"""Statuses of a row: there is a plan; the model or the options do not allow one; a library crashed, or the fault is ours."""
MEASURED, PREDICTED = "measured", "predicted"


def planned_row(model: str, source: str, document: RunDocument, seconds: float) -> SurveyRow:
    """Return the row of a run from its document (docs/files.md)."""
    plan, alone = _plan_times(document), _alone(document)
    best = _best_alone(alone, plan)
    return SurveyRow(
        model,
        source,
        PLANNED,
        seconds=seconds,
        nodes=document.model.nodes,
        alone=alone,
        plan=plan,
        best_alone=best.target if best else "",
        gain=_gain(best, document, plan) if best else None,
        verdict=verdict(document).text,
        why_not=tuple(_why_not(document, alone, plan)),
    )


def _plan_times(document: RunDocument) -> PlanTimes:
    plan, time = document.plan, time_of_run(document)
    return PlanTimes(
        targets=tuple(dict.fromkeys(part.target for part in plan.partitions if part.target != "host")),
        partitions=len(plan.partitions),
        measured_s=time.measured_s,
        interval_s=time.interval_s,
        predicted_s=time.predicted_s,
        max_rel_error=document.verify.max_rel_error,
    )


def _alone(document: RunDocument) -> tuple[Alone, ...]:
    """Return the baselines of one target each; those that were timed beside the plan have their interval in `alternatives`."""
    timed = {row.name: row for row in document.alternatives if row.kind == BASELINE}
    rows = []
    for known in document.baselines:
        if is_alone(known.name):
            row, one = timed.get(known.name), timed.get(known.name, known)
            interval_s, is_plan = (row.interval_s, row.is_plan) if row else (None, False)
            rows.append(Alone(one.name, one.measured_s, one.total_s, interval_s, one.reason, is_plan))
    return tuple(rows)


def _best_alone(alone: Sequence[Alone], plan: PlanTimes) -> Alone | None:
    """Return the fastest target alone, by measured times wherever the plan and any of them have one; of a tie that which is the plan."""
    measured = [one for one in alone if one.measured_s is not None]
    if measured and plan.measured_s is not None:
        return min(measured, key=lambda one: (one.measured_s, not one.is_plan))
    return min((one for one in alone if one.predicted_s is not None), key=lambda one: one.predicted_s or 0.0, default=None)


def _gain(best: Alone, document: RunDocument, plan: PlanTimes) -> Gain | None:
    if best.is_plan:
        return Gain(1.0, 1.0, 1.0, MEASURED if plan.measured_s is not None else PREDICTED)
    alone = PlanTime(predicted_s=best.predicted_s, measured_s=best.measured_s, interval_s=best.interval_s)
    statement = widened(compared(alone, time_of_run(document)), document)
    ratio, ratios = statement.ratio, statement.ratios
    if ratio is None:
        return None
    low, high = ratios if ratios is not None else (None, None)
    return Gain(ratio, low, high, MEASURED if statement.basis == "measured" else PREDICTED)


def _why_not(document: RunDocument, alone: Sequence[Alone], plan: PlanTimes) -> Iterator[str]:
    """Yield why the plan gains no more: the nearest mix where one target takes all, and the targets that were not measured alone."""
    if len(plan.targets) == 1 and plan.measured_s:
        (target,) = plan.targets
        is_whole = is_alone_plan(plan, alone)
        holds_all = f"{target} alone is the plan" if is_whole else f"{target} has all {plan.partitions} partitions of the plan"
        others = [row for row in document.alternatives if not row.is_plan and _is_mix(row)]
        times = [row.measured_s for row in others if row.measured_s is not None]
        if times:
            share = min(times) / plan.measured_s - 1
            behind = f"{abs(share):.1%} {'slower' if share >= 0 else 'faster'}"
            yield f"{holds_all}: the nearest mix is {behind}, timed end to end"
        else:
            yield f"{holds_all}: no mix was timed end to end"
    for one in alone:
        if one.measured_s is None and one.reason:
            yield f"{one.target} alone was not measured: {one.reason}"


def is_alone_plan(plan: PlanTimes, alone: Sequence[Alone]) -> bool:
    """Return whether the plan is one target for the whole model, undivided."""
    return len(plan.targets) == 1 and (plan.partitions == 1 or any(one.is_plan for one in alone if one.target in plan.targets))


def _is_mix(alternative: Alternative) -> bool:
    """Return whether a plan has several targets; the host is one. Greedy and rivals may come to one target for all."""
    return len({partition.target for partition in alternative.partitions}) > 1
