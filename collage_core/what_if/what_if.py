"""`what_if`: the best plan under other terms, on the costs that a run knows, and `effects`: what each of the terms costs.

The record of a run and `Terms` enter; a plan, or differences between totals, leave. Nothing is measured, built or kept.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..documents.plan import PlanInfo
from ..documents.run import Alternative, BaselineInfo
from ..documents.statement_text import change_text, effect_text, predicted_text, transfers_text, typed_effect_text
from ..documents.statements import (
    NO_CHANGE,
    PlanTime,
    Statement,
    compared,
    of_plan,
    time_of_plan,
    time_of_run,
    under_restriction,
)
from ..documents.what_if import Effect, Effects, PlanUnderTerms
from ..errors import CollageError, InfeasibleError
from ..events import Emit, ignore
from ..pipeline.loop.certainty import recorded_interval_s
from ..pipeline.loop.search_and_merge import Planned, SearchSettings, plan_event
from ..pipeline.placement import placement
from ..pipeline.plan_documents import bodies_under, placed_partitions, placed_transitions, plan_document
from ..pipeline.record.record import CostedCandidate, RunRecord, usable
from ..pipeline.whole.baselines import baseline
from ..rewrite.plan import ONE_SHAPE, Plan
from ..search.constraints.constraints import Constraint, allowed_indices
from ..search.plan_properties import plan_total
from ..search.problem import FEMTOSECONDS, SearchProblem
from ..search.searcher import SearchResult
from .devices import with_devices
from .kept_plan import chosen_of, fastest_of_ties, is_accurate, keeps_plan, restricts
from .plan_times import best_of_known_costs, chosen_candidates, time_of_result
from .replan_bodies import refused_in_bodies, with_bodies_replanned
from .terms import Terms
from .typed_costs import TYPED, with_typed

LONGEST_S = 5.0
"""Seconds that the effects of terms may take; those that are not known by then are left out."""


def under_accuracy(record: RunRecord, accuracy: float | None) -> RunRecord:
    """Return `record` with the candidates whose error is over `accuracy` as invalid ones, and its error budget in proportion."""
    if accuracy is None or accuracy == record.plan.accuracy:
        return record
    costed = [CostedCandidate(item.held, item.cost.judged(accuracy)) for item in record.candidates]
    pairs = zip(record.problem.candidates, usable(record.candidates), strict=True)
    kept = [candidate for candidate, item in pairs if not item.cost.judged(accuracy).is_invalid]
    problem = record.problem.with_candidates(kept)
    if problem.error_budget is not None:
        problem = replace(problem, error_budget=round(problem.error_budget * accuracy / record.plan.accuracy))
    return replace(record, candidates=costed, problem=problem, plan=record.plan.model_copy(update={"accuracy": accuracy}))


def under_terms(record: RunRecord, terms: Terms) -> RunRecord:
    """Return `record` with the costs, devices and accuracy of `terms`. Raises CollageError as `with_typed` and `with_devices`."""
    return under_accuracy(_recosted(record, terms), terms.accuracy)


def _recosted(record: RunRecord, terms: Terms) -> RunRecord:
    """Return `record` with the costs that are typed in, and its devices as `terms` have them."""
    return with_devices(with_typed(record, terms.costs), terms.devices)


def untimed(record: RunRecord, accuracy: float | None) -> int:
    """Return how many candidates are accurate enough now and were not when the run measured, so that they have no cost."""
    return len(untimed_candidates(record, accuracy))


def untimed_candidates(record: RunRecord, accuracy: float | None) -> list[CostedCandidate]:
    """Return the candidates that `untimed` counts."""
    if accuracy is None:
        return []
    refused = [item for item in record.candidates if item.cost.is_invalid and item.cost.stage == "numerics"]
    return [item for item in refused if item.cost.error is not None and item.cost.error <= accuracy]


@dataclass(frozen=True)
class WhatIfResult:
    """The best plan under other terms, and the record in which it was found, without candidates whose error is too large.

    Attributes:
        kept: The run whose plan it is, as that run decided and measured it; None where a search found it.
        is_restricted: The terms only forbid: no plan that holds them is better than that of the run.
    """

    record: RunRecord
    planned: Planned
    constraints: list[Constraint]
    plan: Plan
    kept: RunRecord | None = None
    is_restricted: bool = False


def replanned(record: RunRecord, terms: Terms, emit: Emit = ignore, times: int = 1, own: RunRecord | None = None) -> WhatIfResult:
    """Return the best plan under `terms`: that of the run where they ask for nothing that it does not have (`keeps_plan`).

    Args:
        own: A search on the costs of `record`, whose plan is meant in place of that of `record`, unless it had costs typed in.
        times: How often the model ran while the runs of its bodies were counted: once, or as often as the body that it is.

    Raises:
        CollageError: a constraint is malformed.
        InfeasibleError: no plan holds them.
    """
    if own is not None and any(item.cost.source == TYPED for item in own.candidates):
        own = None  # its plan rests on other costs than those of the record
    kept = (own and _kept(own, terms, record)) or _kept(record, terms, record)
    if kept is not None:
        emit(plan_event(kept.planned.problem, kept.planned.final, 0))
        return kept
    typed = _recosted(_with_bodies(record, terms, times), terms)
    parsed = terms.parse(typed.problem)
    judged = under_accuracy(typed, terms.accuracy)
    result = _best_under(record, terms, judged, parsed, emit)
    emit(plan_event(judged.problem, result, 0))
    planned = Planned(result, result, judged.problem, judged.candidates)
    plan = _planned_as(judged, planned).model_copy(update={"constraints": terms.listed})
    return WhatIfResult(judged, planned, parsed, plan, is_restricted=_only_forbids(record, terms))


def _only_forbids(record: RunRecord, terms: Terms) -> bool:
    """Return whether `terms` only forbid, on the costs on which the run decided."""
    is_as_accurate = terms.accuracy is None or terms.accuracy <= record.plan.accuracy
    return is_as_accurate and not terms.changes_costs and not record.has_newer_costs and restricts(record, terms.parse(record.problem))


def _best_under(record: RunRecord, terms: Terms, judged: RunRecord, parsed: Sequence[Constraint], emit: Emit = ignore) -> SearchResult:
    """Return the best plan over the costs of `judged`, which is `record` under `terms`; of ties the fastest that the run timed."""
    result = best_of_known_costs(judged, parsed, SearchSettings.given(record.plan.options), emit)
    return fastest_of_ties(record, judged.problem, parsed, result) if _has_costs_of_run(record, terms) else result


def _has_costs_of_run(record: RunRecord, terms: Terms) -> bool:
    """Return whether a plan under `terms` has the costs that it had in the run: what was timed end to end there is known of it."""
    return not terms.changes_costs and not record.bodies and not record.has_newer_costs


def _kept(record: RunRecord, terms: Terms, costs: RunRecord) -> WhatIfResult | None:
    """Return the plan of `record` as the best one under `terms`; None where a search on `costs` has to find that.

    Raises:
        CollageError: a constraint is malformed.
    """
    if terms.changes_costs or record.has_newer_costs:
        return None
    parsed = terms.parse(costs.problem)  # a search under a smaller error has forgotten candidates that a constraint may name
    judged = under_accuracy(record, costs.plan.accuracy if terms.accuracy is None else terms.accuracy)
    chosen = chosen_of(judged.problem, record.plan)
    if chosen is None or not is_accurate(record, judged) or not keeps_plan(record, parsed, terms.listed):
        return None
    result = _given(judged.problem, chosen, record.document.search.final.optimal)
    plan = judged.plan.model_copy(update={**ONE_SHAPE, "constraints": terms.listed})
    return WhatIfResult(judged, Planned(result, result, judged.problem, judged.candidates), parsed, plan, record)


def _with_bodies(record: RunRecord, terms: Terms, times: int = 1) -> RunRecord:
    """Return `record` with its bodies as they are planned under `terms`."""

    def replan(body: RunRecord, constraints: tuple[dict[str, Any], ...], runs: int) -> RunRecord:
        found = replanned(body, Terms(constraints, terms.accuracy), ignore, runs)
        rows = bodies_under(found.record.document.bodies, found.plan)
        return replace(found.record, plan=found.plan, document=replace(found.record.document, plan=plan_document(found.plan), bodies=rows))

    return with_bodies_replanned(record, terms.listed, replan, times)


def _planned_as(record: RunRecord, planned: Planned) -> Plan:
    """Return the plan of `record` with the partitions of `planned`, which is for the shape of the record alone."""
    changes = {
        **ONE_SHAPE,
        "total_s": planned.final.total / FEMTOSECONDS,
        "total_interval_s": recorded_interval_s(record.graph, planned.partitions),
        "partitions": placed_partitions(record.graph, planned),
        "transitions": placed_transitions(planned),
        **placement(planned.problem, planned.final.chosen),
    }
    return record.plan.model_copy(update=changes)


def what_if(record: RunRecord, terms: Terms, own: RunRecord | None = None) -> PlanUnderTerms:
    """Return the best plan under `terms`.

    Args:
        own: As in `replanned`; the plan is kept where it is that of `own`.

    Raises:
        CollageError: as in `replanned`.
    """
    found = replanned(record, terms, own=own)
    keeps_plan = found.kept is (own or record)
    change, text = change_of(own or record, terms, found)
    plan = plan_document(found.plan)
    return PlanUnderTerms(
        plan=plan,
        optimal=found.planned.final.optimal,
        untimed=untimed(record, terms.accuracy),
        keeps_plan=keeps_plan,
        change=change,
        change_text=text,
        predicted_text=predicted_text(plan),
    )


def change_of(record: RunRecord, terms: Terms, result: WhatIfResult) -> tuple[Statement, str]:
    """Return how the plan `result` under `terms` compares with that of `record`, and the same in words.

    With costs typed in, nothing timed end to end holds.
    """
    plan, before = plan_document(result.plan), record.document
    if terms.changes_costs:
        change = compared(time_of_plan(plan), replace(time_of_run(before), measured_s=None, unexplained_s=None))
    else:
        change = of_plan(before, plan, is_restricted=result.is_restricted)
    free = dict.fromkeys([*(plan.free_transfers or ()), *(before.plan.free_transfers or ())])
    return change, change_text(change) + transfers_text(free)


def effects(record: RunRecord, terms: Terms, groups: Sequence[Sequence[int]]) -> Effects:
    """Return the effect of each of `terms`.

    Args:
        groups: Groups of indices in ``terms.constraints``; the constraints of a group are taken back together.

    Raises:
        CollageError: a constraint is malformed.
    """
    found = _Effects(record, terms)
    of_groups = (found.of_group(group) for group in groups)
    of_targets = ((target, found.of_target(target)) for target in terms.switched_off)
    of_costs = ((candidate, found.of_cost(candidate)) for candidate in terms.costs)
    return Effects(
        tuple(effect for effect in of_groups if effect is not None),
        {target: effect for target, effect in of_targets if effect is not None},
        found.of_accuracy(),
        {candidate: effect for candidate, effect in of_costs if effect is not None},
    )


@dataclass(frozen=True)
class _Best:
    """The best plan under some terms: the ids of its partitions, and what is known of its time."""

    ids: frozenset[str]
    time: PlanTime


class _Effects:
    """Computes effects of terms one after another until the time is over; each plan is searched once."""

    def __init__(self, record: RunRecord, terms: Terms):
        self._record = record
        self._terms = terms
        self._deadline = time.monotonic() + LONGEST_S
        self._known: dict[str, _Best | None] = {}

    def of_group(self, group: Sequence[int]) -> Effect | None:
        """Return the effect of the constraints at these indices; None, here and below, where the time is over."""
        listed = self._terms.constraints
        alone = Terms([listed[index] for index in group])
        return self._effect(alone, replace(self._terms, constraints=[item for index, item in enumerate(listed) if index not in group]))

    def of_target(self, target: str) -> Effect | None:
        """Return the effect of switching `target` off."""
        others = [name for name in self._terms.switched_off if name != target]
        return self._effect(Terms(switched_off=(target,)), replace(self._terms, switched_off=others))

    def of_accuracy(self) -> Effect | None:
        """Return the effect of the accuracy; None where the terms set none."""
        accuracy = self._terms.accuracy
        return None if accuracy is None else self._effect(Terms(accuracy=accuracy), replace(self._terms, accuracy=None))

    def of_cost(self, candidate: str) -> Effect | None:
        """Return the effect of the cost that is typed in for `candidate`."""
        costs = self._terms.costs
        others = {id: seconds for id, seconds in costs.items() if id != candidate}
        return self._effect(Terms(costs={candidate: costs[candidate]}), replace(self._terms, costs=others))

    def _effect(self, alone: Terms, others: Terms) -> Effect | None:
        if time.monotonic() > self._deadline:
            return None
        first, second = self._change(alone, Terms()), self._change(self._terms, others)
        refuses = self._refused_by(alone)
        text = typed_effect_text(first, second) if alone.costs else effect_text(first, second, refuses)
        return Effect(first, second, refuses, text)

    def _change(self, terms: Terms, others: Terms) -> Statement | None:
        """Return how the best plan under `terms` compares with that under fewer, the `others`; None where one of them has none."""
        own, other = self._best(terms), self._best(others)
        if own is None or other is None:
            return None
        if own == other:
            return NO_CHANGE
        statement = compared(own.time, other.time)
        has_same_costs = (terms.costs, terms.devices) == (others.costs, others.devices)
        only_forbids = has_same_costs and (terms.accuracy or 0.0) <= (others.accuracy or self._record.plan.accuracy)
        return under_restriction(statement) if only_forbids else statement

    def _best(self, terms: Terms) -> _Best | None:
        """Return the plan of `replanned` under `terms`; None where no plan holds them."""
        if terms.key not in self._known:
            self._known[terms.key] = self._search(terms)
        return self._known[terms.key]

    def _search(self, terms: Terms) -> _Best | None:
        document = self._record.document
        kept = _kept(self._record, terms, self._record)
        if kept is not None:
            return _Best(frozenset(part.id for part in document.plan.partitions), time_of_run(document))
        typed = _recosted(_with_bodies(self._record, terms), terms)
        parsed = terms.parse(typed.problem)
        judged = under_accuracy(typed, terms.accuracy)
        try:
            result = _best_under(self._record, terms, judged, parsed)
        except InfeasibleError:
            return None
        ids = frozenset(item.id for item in chosen_candidates(judged, result))
        return _Best(ids, time_of_result(judged, result, has_own_costs=_has_costs_of_run(self._record, terms)))

    def _refused_by(self, terms: Terms) -> int:
        """Return how many candidates `terms` forbid, in bodies too."""
        judged = under_accuracy(self._record, terms.accuracy).problem
        own = len(self._record.problem.candidates) - len(allowed_indices(judged, terms.parse(self._record.problem)))
        return own + refused_in_bodies(self._record, terms.constraints)


def baseline_plan(record: RunRecord, name: str) -> PlanInfo:
    """Return `plan_of_baseline` as documents have it. Raises as that."""
    return plan_document(plan_of_baseline(record, name))


def plan_of_baseline(record: RunRecord, name: str) -> Plan:
    """Return the plan of the baseline `name` on the costs of `record`.

    It is the one that the run wrote down where it did, as it does of a partitioning from elsewhere and of each plan that it timed whole.

    Raises:
        CollageError: there is none, since a target cannot take the whole model.
    """
    result = _written_down(record, name) or baseline(name, record.problem, record.candidates, SearchSettings.given(record.plan.options))
    if result is None:
        raise CollageError(f"{name} has no plan: it cannot take the whole model", "compare with another one", "no_plan")
    return plan_of_result(record, result)


def plan_of_result(record: RunRecord, result: SearchResult) -> Plan:
    """Return the plan that `result` is over the candidates of `record`."""
    return _planned_as(record, Planned(result, result, record.problem, record.candidates))


def given_result(record: RunRecord, ids: Iterable[str]) -> SearchResult | None:
    """Return the plan of the candidates `ids` as the result of a search that proved nothing; None where `record` lacks one of them."""
    index_of = {candidate.id: index for index, candidate in enumerate(record.problem.candidates)}
    chosen = tuple(index_of.get(id, -1) for id in ids)
    if not chosen or -1 in chosen:
        return None
    return _given(record.problem, chosen)


def _given(problem: SearchProblem, chosen: tuple[int, ...], optimal: bool = False) -> SearchResult:
    """Return a plan as the result of a search; where it is `optimal`, somebody else has proven that."""
    total = plan_total(problem, chosen)
    return SearchResult("given", chosen, total, optimal, lower_bound=total if optimal else 0, states=0, moves=0, seconds=0.0)


def _written_down(record: RunRecord, name: str) -> SearchResult | None:
    rows: list[Alternative | BaselineInfo] = [*record.document.alternatives, *record.document.baselines]
    parts = next((row.partitions for row in rows if row.name == name and row.partitions), None)
    return None if parts is None else given_result(record, [partition.id for partition in parts])
