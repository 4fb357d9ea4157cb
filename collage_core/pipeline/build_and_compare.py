"""`build`: phase 4 of a run: the plan assembled, verified, and timed end to end beside others, of which the fastest is the plan.

A run with its decision and record enters; an `Outcome` leaves: what is decided now, the record with what was measured, and whether the
plan is right. No plan is searched for here but over costs that measuring the whole corrected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from ..base.counted import counted
from ..cost.cost import Cost
from ..documents.run import Alternative
from ..errors import Cancelled
from ..events import BaselineMeasured, Note, PlanDecided
from ..rules.candidate import CandidatePartition
from ..rules.spec import HOST_TARGET
from .cancelled import NOT_BUILT, NOT_TIMED
from .decision import Decision
from .inside.additive_error import additive_error_s, correction_s, costs_in_context, costs_inside
from .inside.profile_nodes import profiled_times
from .inside.timing_gap import Surroundings, disturbance_of, timing_gap
from .loop.budget import Deadline, comparing_deadline
from .loop.cost_table import is_settled
from .record.record import RunRecord
from .searched_run import SearchedRun
from .whole.assemble_and_verify import BUILD_TIMEOUT_S, Built, build_and_verify
from .whole.choose_finalists import another_plan, carried_over, finalists
from .whole.compare_whole import Comparison, compare_whole, needed_s
from .whole.finalists import BARRED, SEARCHED, Finalist, WholeTime, alternatives, barred, decision_text

BUILD_SHARE, LEAST_BUILD_S = 0.5, 3.0
"""A plan on estimates may take that share of the time that is left to build, and so many seconds in any case."""
TOO_LATE_TO_COMPARE = "no time was left to measure these plans whole: {} (--budget gives a run more)"


class Outcome(NamedTuple):
    """The result of building the plan of a run.

    Attributes:
        decision: As it is now: another plan may have been faster.
        record: Of that plan.
        is_right: The plan that was built is within its accuracy. One that cannot be built, or that the user has no patience for,
            counts as right, and the document says why nothing was built.
    """

    decision: Decision
    record: RunRecord
    is_right: bool


def build(run: SearchedRun, decision: Decision, record: RunRecord) -> Outcome:
    """Phase 4 of a run whose plan is that of `record`; where that plan is wrong, nothing is timed beside it."""
    why_not = baselines_not_built(run, decision)
    rows = tuple(replace(row, reason=row.reason or why_not.get(row.name, "")) for row in record.document.baselines)
    outcome = Outcome(decision, replace(record, document=replace(record.document, baselines=rows)), is_right=True)
    reason = NOT_BUILT if run.is_stopped() else run.why_not_built(record.plan)
    if not reason:
        try:
            outcome = _build(run, decision, outcome.record, why_not)
        except Cancelled:
            reason = NOT_BUILT
    record = outcome.record
    if reason:
        run.emit(Note(f"the plan is {reason}"))
        record = replace(record, document=replace(record.document, verify=replace(record.document.verify, reason=reason)))
    return outcome._replace(record=replace(record, document=replace(record.document, phases=run.phases.info)))


def baselines_not_built(run: SearchedRun, decision: Decision) -> dict[str, str]:
    """Return why each baseline that has a plan cannot be built here; empty for one that can."""
    others = {name: another_plan(decision.searched, chosen) for name, chosen in decision.baseline_plans.items()}
    return {name: run.why_not_built(run.plan_of(planned, decision.bodies)) for name, planned in others.items()}


def finalists_of(run: SearchedRun, decision: Decision, why_not: Mapping[str, str]) -> list[Finalist]:
    """Return the plan, and the plans that are measured beside it.

    Args:
        why_not: As `baselines_not_built` returns it.
    """
    return finalists(
        decision.searched,
        decision.planned,
        {name: chosen for name, chosen in decision.baseline_plans.items() if not why_not[name]},
        lambda planned: run.plan_of(planned, decision.bodies),
        run.plans.constraints(decision.planned.problem),
        run.plans.settings,
        decision.refused,
        run.loop.table.key,
    )


def _build(run: SearchedRun, decision: Decision, record: RunRecord, why_not: Mapping[str, str]) -> Outcome:
    """As `build`, of a plan that can be built. Raises Cancelled where the user stopped the run before the plan was verified."""
    services = run.phases, run.emit, run.options.out, run.is_stopped
    # Nobody has built the partitions whose costs are estimates: a plan of known costs takes the place of one that takes too long to build.
    is_estimated = any(item.cost.is_guess for item in decision.planned.partitions)
    limit_s = max(LEAST_BUILD_S, BUILD_SHARE * run.deadline.left_s) if is_estimated and run.options.is_measured else BUILD_TIMEOUT_S
    with build_and_verify(run.found.model, record.plan, run.inputs, *services, packages=run.packages, limit_s=limit_s) as built:
        record = replace(
            record, document=replace(record.document, verify=replace(built.verify, estimated_error=record.document.verify.estimated_error))
        )
        if run.options.is_measured and built.is_right:
            try:
                with run.phases("baselines"):
                    if run.is_stopped():
                        raise Cancelled
                    decision, record = _measure_whole(run, decision, record, built, why_not)
                    worker = built.pool.worker("assemble")  # it has the toolchains, and no artifact whose threads would be in the way
                    times = profiled_times(run.found.model, record.plan, run.inputs, worker, limit_s=run.deadline.left_s)
                    record = replace(record, document=replace(record.document, node_times=tuple(times)))
            except Cancelled:  # The plan stands, verified; what was timed beside it by then is no comparison.
                rows = tuple(replace(row, reason=row.reason or NOT_TIMED) for row in record.document.baselines)
                record = replace(record, document=replace(record.document, baselines=rows))
        verify = record.document.verify
        around = Surroundings.since(built.load)
        gap = timing_gap(record.plan, verify, around) if run.options.is_measured else ""
        if gap:
            run.emit(Note(gap))
        disturbance = disturbance_of(around, run.options.used_threads) if run.options.is_measured else None
        document = replace(record.document, verify=replace(verify, gap=gap), disturbance=disturbance)
        return Outcome(decision, replace(record, document=document), built.is_right)


def _measure_whole(
    run: SearchedRun, decision: Decision, record: RunRecord, built: Built, why_not: Mapping[str, str]
) -> tuple[Decision, RunRecord]:
    """Time the plan beside the other finalists, and return the decision for the fastest with its record."""
    others, deadline = finalists_of(run, decision, why_not), comparing_deadline(run.whole_run_s, run.deadline)
    outcome = compare_whole(built, others, run.emit, deadline)
    if outcome.winner:
        decision = decision.take(others[outcome.winner].chosen, run.plans)
    missing = _missing_costs(run, decision)
    if missing:
        run.emit(Note("some partitions of the fastest plan were not measured alone: now they are, and the search runs again"))
    inside = costs_inside(decision.planned, outcome.profile) if outcome.profile else {}
    beside = costs_in_context(decision.planned, inside)
    if inside:
        text = f"the costs of {counted(len(inside), 'partition')} were corrected to what they take inside the whole"
        others_text = f", those of {counted(len(beside), 'candidate')} behind the same targets in proportion" if beside else ""
        run.emit(Note(f"{text}{others_text}, and the search ran again"))
    if missing or inside:
        decision, others, outcome = over_other_costs(run, decision, {**beside, **missing, **inside}, built, others, outcome, deadline)
    late = [next(iter(one.names)) for one in others if one.is_late]
    if late:
        run.emit(Note(TOO_LATE_TO_COMPARE.format(", ".join(late))))
    rows = alternatives(others, outcome.times, outcome.winner)
    record = _measured_record(run, decision, record, built, rows)
    for row in record.document.baselines:
        run.emit(BaselineMeasured(row.name, row.total_s, row.measured_s, row.reason))
    name = next(iter(others[outcome.winner].names))
    run.emit(PlanDecided("sum" if decision.is_searched else "whole", name, built.measured_s, tuple(row.summary for row in rows)))
    if not decision.is_searched:
        run.emit(Note(decision_text(record.document)))
    for one in barred(others, outcome.times, outcome.winner):
        run.emit(Note(f"{one} is faster, timed end to end, but {BARRED}"))
    return decision, record


def _measured_record(run: SearchedRun, decision: Decision, before: RunRecord, built: Built, rows: tuple[Alternative, ...]) -> RunRecord:
    """Return the record `before` with the plan that is decided on now, and the times of all that were timed end to end, the `rows`."""
    record = run.record(decision)
    built.plan = record.plan
    corrected_s = correction_s(decision.planned.partitions)
    error_s = additive_error_s(record.plan, built.measured_s, corrected_s)
    built.verify = replace(built.verify, additive_error_s=error_s, explained_s=corrected_s or None)
    measured = {row.name: row for row in rows}
    timed = ((row, measured.get(row.name, row)) for row in before.document.baselines)
    document = replace(
        record.document,
        phases=before.document.phases,
        alternatives=rows,
        verify=replace(built.verify, estimated_error=before.document.verify.estimated_error),
        baselines=tuple(replace(row, total_s=one.total_s, measured_s=one.measured_s, reason=one.reason) for row, one in timed),
        cancelled=before.document.cancelled,
    )
    return replace(record, created=before.created, rules=before.rules, document=document)


def _missing_costs(run: SearchedRun, decision: Decision) -> dict[int, Cost]:
    """Measure what the plan rests on and nobody measured, as far as there is time: index in ``planned.costed`` → its cost."""
    costed = decision.planned.costed
    open_ = [index for index in decision.planned.indices if costed[index].target != HOST_TARGET and not is_settled(costed[index].cost)]
    wanted = {held: index for index in open_ if isinstance(held := costed[index].held, CandidatePartition)}
    if not wanted or run.budget.is_over():
        return {}
    with run.budget.counting():
        return {wanted[candidate]: cost for candidate, cost in run.measure(list(wanted), None) if cost.seconds is not None}


def over_other_costs(
    run: SearchedRun,
    decision: Decision,
    costs: Mapping[int, Cost],
    built: Built,
    others: list[Finalist],
    outcome: Comparison,
    deadline: Deadline,
) -> tuple[Decision, list[Finalist], Comparison]:
    """Search again where some partitions of the plan have other costs, and time what is found beside the plan, if there is time.

    Return the decision and the finalists over these costs, and their times.
    """
    before = decision.planned.problem
    with run.budget.counting():
        decision = run.decide(run.loop.with_costs(decision.planned, costs), decision.bodies)
    carried = carried_over(others, before, decision.searched, lambda planned: run.plan_of(planned, decision.bodies))
    ahead, times = outcome.winner, list(outcome.times)
    if len(carried) > len(others) and needed_s(built, carried[-1:]) > deadline.left_s:
        carried[-1].leave_for_time()
        times.append(WholeTime())
    elif len(carried) > len(others):
        try:
            again = compare_whole(built, [carried[ahead], carried[-1]], run.emit, deadline)
        except Cancelled:
            carried = carried[:-1]
        else:
            times = [*times[:ahead], again.times[0], *times[ahead + 1 :], again.times[1]]
            ahead = len(others) if again.winner else ahead
    decision = replace(decision, undecided=run.loop.undecided(decision.planned))
    if SEARCHED not in carried[ahead].names:
        decision = decision.take(carried[ahead].chosen, run.plans)
    return decision, carried, Comparison(ahead, times)
