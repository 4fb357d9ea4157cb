"""`other_terms`: the best plan of a run under other terms, what comes in and what it brings; candidates that nobody timed can be measured.

A record and `Terms` enter (constraints, an accuracy, costs typed in); plain data leaves. Where the model is given, candidates are measured
that erred too much for the run and are accurate enough now; else nothing is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

from ..documents.plan import PlanPartition
from ..documents.statement_text import predicted_text
from ..documents.statements import compared, time_beside, time_of_plan, under_restriction
from ..documents.what_if import ExplainedTerms, OtherTerms, TargetUnderTerms
from ..errors import InfeasibleError
from ..events import Emit, ignore
from ..graph.index_set import IndexSet
from ..pipeline.loop.search_and_merge import SearchSettings
from ..pipeline.plan_documents import plan_document
from ..pipeline.record.record import CostedCandidate, RunRecord, search_candidates
from ..rewrite.plan import Plan
from ..rules.candidate import CandidatePartition
from ..rules.spec import HOST_TARGET
from ..search.plan_properties import plan_total
from ..search.problem import FEMTOSECONDS
from .compare import Side, compare_sides
from .plan_difference import SAME
from .plan_times import best_of_known_costs, time_of_result
from .terms import Terms
from .trial_setup import check_measurable, measuring, model_of
from .typed_costs import typed_costs
from .what_if import WhatIfResult, change_of, effects, replanned, under_accuracy, under_terms, untimed, untimed_candidates

LONGEST_S = 5.0
"""Longest that each search for what a target brings may take."""


def brought_by_terms(record: RunRecord, terms: Terms) -> OtherTerms:
    """Return what `terms` bring, target by target. Raises as `other_terms`."""
    return _brought(record, record, terms, replanned(record, terms))


def other_terms(record: RunRecord, terms: Terms, model: str | Path | None = None, emit: Emit = ignore) -> ExplainedTerms:
    """Return the best plan under `terms`, how it differs from the plan of the run, and what each term does.

    Args:
        model: The model's file or sample: candidates that are accurate enough now and were not when the run measured get measured.

    Raises:
        CollageError: a term is malformed, or the model cannot be measured here.
        InfeasibleError: no plan holds the terms.
    """
    known = record if model is None else _with_untimed(record, terms, model, emit)
    found = replanned(known, terms)
    constraints = tuple(terms.constraints)
    compared = compare_sides(Side("under these terms", found.plan, found.record), Side("the plan of the run", record.plan, record))
    brought = _brought(record, known, terms, found)
    return ExplainedTerms(
        **{one.name: getattr(brought, one.name) for one in fields(brought)},
        measured_s=record.document.verify.measured_s if found.kept is record else None,
        plan=plan_document(found.plan),
        optimal=found.planned.final.optimal,
        untimed=untimed(known, terms.accuracy),
        keeps_plan=found.kept is record,
        accuracy=found.plan.accuracy,
        constraints=constraints,
        effects=effects(known, terms, [[index] for index in range(len(constraints))]).groups,
        regions=tuple(region for region in compared.regions if region.kind != SAME),
    )


def _brought(record: RunRecord, known: RunRecord, terms: Terms, found: WhatIfResult) -> OtherTerms:
    """Return what `terms` bring in the plan `found`; `known` is the run `record` with what was measured for them."""
    change, text = change_of(record, terms, found)
    return OtherTerms(
        total_s=record.plan.total_s,
        change=change,
        change_text=text,
        predicted_text=predicted_text(found.plan),
        kept_s=_kept_s(found.record, record.plan),
        typed=typed_costs(record, terms.costs),
        targets=_targets(known, terms, found.plan, record.plan),
    )


def _kept_s(record: RunRecord, plan: Plan) -> float | None:
    """Return the total of `plan` on the costs of `record`; None where a partition of it is not usable there."""
    index_of = {candidate.id: index for index, candidate in enumerate(record.problem.candidates)}
    ids = [part.id for part in plan.partitions]
    return plan_total(record.problem, [index_of[id] for id in ids]) / FEMTOSECONDS if index_of.keys() >= set(ids) else None


def _targets(record: RunRecord, terms: Terms, now: Plan, before: Plan) -> tuple[TargetUnderTerms, ...]:
    counts = [_nodes(plan.partitions) for plan in (now, before)]
    open_ones = Counter(item.target for item in untimed_candidates(record, terms.accuracy))
    names = [name for name in dict.fromkeys(item.target for item in record.candidates) if name != HOST_TARGET]
    return tuple(
        TargetUnderTerms(
            target=name,
            nodes=counts[0][name],
            nodes_before=counts[1][name],
            untimed=open_ones[name],
            brings_s=_brings_s(record, terms, name, now) if counts[0][name] else None,
        )
        for name in names
    )


def _nodes(partitions: Sequence[PlanPartition]) -> Counter[str]:
    made: Counter[str] = Counter()
    for part in partitions:
        made[part.target] += len(part.nodes)
    return made


def _brings_s(record: RunRecord, terms: Terms, target: str, plan: Plan) -> float | None:
    """Return by how much the best plan without `target` is slower than `plan`; None where there is none, or that is not known in time."""
    without = replace(terms, switched_off=[*terms.switched_off, target])
    judged = under_terms(record, without)
    settings = SearchSettings.given(record.plan.options).within(LONGEST_S)
    try:
        result = best_of_known_costs(judged, without.parse(judged.problem), settings)
    except InfeasibleError:
        return None
    has_own_costs = not terms.changes_costs and not record.has_newer_costs
    placed = plan_document(plan)
    own = time_beside(record.document, placed) if has_own_costs else time_of_plan(placed)
    other = time_of_result(judged, result, has_own_costs=has_own_costs)
    return None if result.stopped else under_restriction(compared(other, own)).change_s


def _with_untimed(record: RunRecord, terms: Terms, source: str | Path, emit: Emit) -> RunRecord:
    """Return `record` under the accuracy of `terms`, with the costs of what is accurate enough now and was not before."""
    wanted = untimed_candidates(record, terms.accuracy)
    if not wanted or terms.accuracy is None:
        return record
    targets = list(dict.fromkeys(item.target for item in wanted))
    for target in targets:
        check_measurable(record, target)
    model = model_of(record, source)
    asked = [CandidatePartition(model.graph, item.target, IndexSet(item.inside), item.candidate["rule"]) for item in wanted]
    with measuring(record, model, targets, emit, accuracy=terms.accuracy) as estimator:
        costs = {candidate.id: cost for candidate, cost, _ in estimator.estimate(model.graph, asked)}
    costed = [CostedCandidate(item.held, costs.get(item.id, item.cost)) for item in record.candidates]
    problem = record.problem.with_candidates(search_candidates(costed, record.problem.lowered))
    return under_accuracy(replace(record, candidates=costed, problem=problem, has_newer_costs=True), terms.accuracy)
