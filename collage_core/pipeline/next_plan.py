"""`build_until_right`: builds the plan of a run; where it errs too much, or cannot be built, the one that comes next.

A run with its decision and record enters; the `Outcome` of the last plan that was built leaves. The search goes on with a corrected error
budget, without what fails, or without the partition that errs most; where it cannot, each baseline is tried in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..base.counted import counted
from ..cost.cost import Cost
from ..errors import CollageError, InfeasibleError, PartitionBuildError
from ..events import Note
from ..rules.candidate import CandidatePartition
from ..search.problem import FEMTOSECONDS
from .build_and_compare import BUILD_SHARE, Outcome, baselines_not_built, build, finalists_of
from .decision import Decision
from .loop.certainty import noise_s
from .loop.error_budget import BudgetCorrection
from .loop.search_and_merge import Planned
from .record.record import CostedCandidate, RunRecord
from .searched_run import BUILT_ON_ESTIMATES, SearchedRun

MOST_EXCLUSIONS = 8
"""Partitions that are excluded, one after another, where the whole plan errs too much."""
MOST_UNBUILDABLE = 30
"""Computations that are excluded, one after another, since nobody had built them before and their target cannot."""
MOST_MISJUDGED = 3
"""So many plans on estimates that cannot be built, or err too much, are followed by another one; then by one of known costs."""
BUILD_OF_TRIAL = 1 / 3
"""Building a small partition takes that share of the quickest trial: most of that is timing."""
_FAILED_AT = {"numerics": "wrong", "run": "not run", "device": "not usable"}
"""Stage at which a partition failed → the beginning of what is said of it; at the others it was not built."""


def built_in_time(run: SearchedRun, decision: Decision) -> Decision:
    """Return `decision`, or that over known costs alone where the partitions that were not measured take too long to build.

    Unless the user says how long a run may take, a plan that is faster than every target alone, even if its estimates are as much too low
    as they may be, gets the time that was reserved for building it.
    """
    table, planned = run.loop.table, decision.planned
    guessed = {table.key(held) for held, cost in _costed(decision) if cost.is_guess}
    if not guessed:
        return decision
    alone_s = 0.0 if table.best_s is None or run.options.budget_s is not None else table.best_s
    if planned.final.total / FEMTOSECONDS + noise_s(planned) < alone_s:
        run.deadline.leave(run.reserved_s)
    builds_s = len(guessed) * BUILD_OF_TRIAL * (run.progress.quickest_s or 0.0)
    # A plan on estimates is worth its build only where time is left to time it beside the plans of known costs.
    if run.deadline.left_s >= BUILT_ON_ESTIMATES * run.reserved_s and builds_s <= BUILD_SHARE * run.deadline.left_s:
        return decision
    text = f"no time is left to build {counted(len(guessed), 'partition')} of estimated cost"
    return on_known_costs(run, decision, f"{text}: the search goes on without estimates from profiles") or decision


def build_until_right(run: SearchedRun, decision: Decision, record: RunRecord) -> Outcome:
    """Build the plan; where its error says so, another one, and at last each baseline in turn.

    Return what was decided last, with the record of the plan that is right; where none is, that of the last plan that was searched for.
    """
    correction, excluded = BudgetCorrection(), 0
    while True:
        outcome = _build_what_can_be(run, decision, record)
        decision, error = outcome.decision, outcome.record.document.verify.max_rel_error
        other = None if error is None or run.is_late() else correct_budget(run, decision, correction, error)
        if other is None and error is not None and not outcome.is_right and excluded < MOST_EXCLUSIONS and not run.is_late():
            other = exclude_worst(run, decision, error)
            excluded += 1
        if not outcome.is_right and run.options.is_measured and (other is None or excluded > MOST_MISJUDGED):
            other = on_known_costs(run, other or decision) or other
        if other is None:
            break
        decision, record = other, run.record(other)
    last = outcome
    while not last.is_right and (error := last.record.document.verify.max_rel_error) is not None:
        other = fall_back(run, last.decision, error)
        if other is None:
            return last._replace(record=outcome.record)
        last = build(run, other, run.record(other))
    return last


def _build_what_can_be(run: SearchedRun, decision: Decision, record: RunRecord) -> Outcome:
    """Build the plan, and where one of its partitions cannot be built, or does not run, a plan without that computation.

    A cost that is no measurement, or that no time was left to measure, says nothing of whether the toolchain takes it.
    """
    for number in range(MOST_UNBUILDABLE):
        try:
            return build(run, decision, record)
        except CollageError as error:
            if error.code != "toolchain":
                raise
            other = None if run.is_late() else exclude_failing(run, decision, error)
            if run.options.is_measured and (other is None or number >= MOST_MISJUDGED):
                other = on_known_costs(run, other or decision) or other
            if other is None:
                raise
            decision, record = other, run.record(other)
    return build(run, decision, record)


def correct_budget(run: SearchedRun, decision: Decision, correction: BudgetCorrection, error: float) -> Decision | None:
    """Search again where the whole plan's `error` is not what its partitions' errors add up to; None where that does not change it."""
    estimate, old = decision.estimated_error, run.plans.budget
    budget = correction.corrected(old, estimate, error)
    if budget is None:
        return None
    before = decision.best if budget.factor < old.factor else decision.planned
    run.plans.budget = budget
    planned = run.loop.again(before)
    if [item.id for item in planned.partitions] == [item.id for item in before.partitions]:
        return None
    text = f"the whole plan erred by {error:.3g}, its partitions by {estimate:.3g} in all, {run.found.accuracy():g} is allowed"
    run.emit(Note(f"{text}: the search goes on with errors counted {budget.factor:.2g} times"))
    return replace(run.decide(planned, decision.bodies), undecided=decision.undecided)


def exclude_worst(run: SearchedRun, decision: Decision, error: float) -> Decision | None:
    """Search again without the worst partition: the one that errs most. None where none errs, or there is no plan without it."""

    def erring_most(own: float) -> Cost:
        """Return the cost of a partition that errs by `own`, the most of all in the plan."""
        reason = f"the whole plan erred by {error:.3g}, {run.found.accuracy():g} is allowed"
        return replace(Cost.invalid("numerics", f"{reason}; of its partitions this one erred most: {own:.3g}"), error=own)

    # Costs that are no measurements say nothing of errors: those that are wrong alone go, and else the worst.
    tried = run.trials_alone.costs(_untried(run, decision))
    failed = {candidate: cost for candidate, cost in tried.items() if cost.is_invalid}
    if not run.options.is_measured and not failed:
        erring = {candidate: cost.error for candidate, cost in tried.items() if cost.error}
        if erring:
            most = max(erring, key=lambda candidate: erring[candidate])
            failed = {most: erring_most(erring[most])}
    if failed or not run.options.is_measured:
        return _go_without(run, decision, failed)
    costed = decision.planned.costed
    own = {item.held: item.cost.error or 0.0 for item in decision.planned.partitions}
    own |= {candidate: cost.error or 0.0 for candidate, cost in tried.items()}
    errors = {index: own[costed[index].held] for index in decision.planned.indices}
    index = max(errors, key=errors.__getitem__)
    worst = costed[index]
    if not errors[index]:
        return None
    wrong = erring_most(errors[index])
    text = f"{wrong.reason} ({_where(run, worst)}): the search goes on without it"
    return _go_on(run, decision, lambda: run.loop.with_costs(decision.planned, {index: wrong}), text)


def exclude_failing(run: SearchedRun, decision: Decision, error: CollageError) -> Decision | None:
    """Search again without the partition that `error` is about, or those that fail alone; None where there is no such plan."""
    if isinstance(error, PartitionBuildError):
        broken = [candidate for candidate in _placed(decision) if candidate.id == error.partition_id]
        return _go_without(run, decision, {candidate: Cost.invalid("build", error.reason) for candidate in broken})
    costs = run.trials_alone.costs(_untried(run, decision))
    return _go_without(run, decision, {candidate: cost for candidate, cost in costs.items() if cost.is_invalid})


def fall_back(run: SearchedRun, decision: Decision, error: float) -> Decision | None:
    """Take the next baseline for the plan, which errs by `error`, where no other plan could be searched for.

    Return None where none is left that may take its place.
    """
    reason = f"it errs by {error:.3g}, {run.found.accuracy():g} is allowed"
    if not run.options.is_measured:
        return None
    decision = decision.refuse(reason)
    others = finalists_of(run, decision, baselines_not_built(run, decision))
    left = [one for one in others if one.may_ship and not one.reason]
    if not left:
        return None
    run.emit(Note(f"the plan is out, {reason}: {next(iter(left[0].names))} is tried in its place"))
    return decision.take(left[0].chosen, run.plans)


def _placed(decision: Decision) -> list[CandidatePartition]:
    """Return the candidates of the plan."""
    return [held for held, _ in _costed(decision)]


def _costed(decision: Decision) -> list[tuple[CandidatePartition, Cost]]:
    return [(item.held, item.cost) for item in decision.planned.partitions if isinstance(item.held, CandidatePartition)]


def _untried(run: SearchedRun, decision: Decision) -> list[CandidatePartition]:
    """Return the candidates of the plan that no trial of the run has built: all of them where nothing is measured."""
    return [candidate for candidate, cost in _costed(decision) if not run.options.is_measured or cost.is_guess]


def on_known_costs(
    run: SearchedRun, decision: Decision, text: str = "the search goes on without estimates from profiles"
) -> Decision | None:
    """Search again over known costs alone, and say `text`; None where the plan does not rest on estimates."""
    if not any(item.cost.is_guess for item in decision.planned.partitions):
        return None
    run.loop.table.drop_estimates()
    return _go_on(run, decision, lambda: run.loop.again(decision.planned), text)


def _go_without(run: SearchedRun, decision: Decision, failed: Mapping[CandidatePartition, Cost]) -> Decision | None:
    """Search again without the computations that failed, and without what holds a node that fails alone where nobody measured that."""
    if not failed:
        return None
    table, texts = run.loop.table, []
    for candidate, cost in failed.items():
        texts.append(f"{_FAILED_AT.get(cost.stage, 'not built')} ({_where(run, candidate)}): {cost.reason}")
        table.fail(candidate, cost)
        if not run.options.is_measured and len(candidate.inside) > 1:
            for nodes, alone in run.trials_alone.failing_nodes(candidate, table.candidates):
                name = run.found.graph.nodes[nodes.first()].name
                reason = f"it holds a node that fails alone, as {name!r} does: {alone.reason}"
                table.fail_nodes(candidate.target, nodes, replace(alone, reason=reason))
    return _go_on(run, decision, lambda: run.loop.again(decision.planned), f"{'; '.join(texts)}; the search goes on without it")


def _go_on(run: SearchedRun, decision: Decision, search: Callable[[], Planned], text: str) -> Decision | None:
    """Return the decision for the plan of `search`, and say `text`; None where there is no plan."""
    try:
        with run.budget.counting():
            planned = search()
    except InfeasibleError:
        return None
    run.emit(Note(text))
    decision = run.decide(planned, decision.bodies)
    return replace(decision, undecided=run.loop.undecided(decision.planned))


def _where(run: SearchedRun, item: CostedCandidate | CandidatePartition) -> str:
    return f"{item.target}, {counted(len(item.inside), 'node')} from {run.found.graph.nodes[item.inside.base].name!r}"
