"""`measure_again`: measures one candidate of a run again, and finds the best plan with its new cost.

The record of a run, the model's file and a candidate's id enter; a new record leaves. The new cost is in it and in the cost database; the
given record is not changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ..base.durations import duration
from ..cost.cost import Cost
from ..cost.estimator import LazyEstimator, TuningEstimator
from ..documents.run import BaselineInfo
from ..errors import CollageError
from ..events import CandidateCosted, Emit, Note, ignore
from ..graph.index_set import IndexSet
from ..model.onnx_model import OnnxModel
from ..pipeline.discover import Phases
from ..pipeline.loop.search_and_merge import SearchSettings, known_total_s
from ..pipeline.record.record import CostedCandidate, RunRecord, search_candidates
from ..pipeline.whole.baselines import baseline
from ..rewrite.plan import source_label
from ..rules.candidate import CandidatePartition
from ..search.problem import SearchProblem
from .search_again import search_again
from .terms import Terms
from .trial_setup import check_measurable, measuring, model_of


def measure_again(record: RunRecord, source: str | Path, candidate: str, emit: Emit = ignore, terms: Terms | None = None) -> RunRecord:
    """Measure one candidate of a run again, and search again with its new cost.

    Args:
        terms: The constraints of the new plan; None for the constraints of the run.

    Raises:
        CollageError: the candidate cannot be measured here.
        InfeasibleError: the candidate is invalid now, and there is no plan without it.
    """
    renewed = _with_new_cost(record, source, candidate, emit)
    return search_again(renewed, Terms([dict(item) for item in record.plan.constraints]) if terms is None else terms, emit)


def _with_new_cost(record: RunRecord, source: str | Path, wanted: str, emit: Emit) -> RunRecord:
    """Return `record` with a new cost for the candidate `wanted` and for all of the same computation; the plan is the old one.

    Raises:
        CollageError: there is no such candidate, it cannot be measured here, or the file has another model.
        Cancelled: the user stopped the work.
    """
    item = next((item for item in record.candidates if item.id == wanted), None)
    if item is None:
        raise CollageError(f"the run has no candidate {wanted!r}", "GET …/candidates lists them", "unknown_candidate")
    check_measurable(record, item.target)
    phases = Phases(emit)
    with phases("load"):
        model = model_of(record, source)
    with phases("costs"):
        costs = _measured(record, model, item, emit)
    costed = [CostedCandidate(known.held, costs.get(known.id, known.cost)) for known in record.candidates]
    problem = record.problem.with_candidates(search_candidates(costed, record.problem.lowered))
    document = replace(record.document, baselines=baseline_rows(record, problem, costed))
    return replace(record, candidates=costed, problem=problem, document=document, regret_s={}, has_newer_costs=True)


def _measured(record: RunRecord, model: OnnxModel, item: CostedCandidate, emit: Emit) -> dict[str, Cost]:
    """Return candidate id → new cost."""
    with measuring(record, model, [item.target], emit, is_afresh=True) as estimator:
        group = _same_computation(record, model, item, estimator)
        if item.cost.tuned is not None and isinstance(estimator, TuningEstimator):
            estimator.take(group[0], record.plan.tuning.get(item.cost.tuned.digest, "").encode())
        costs = {candidate.id: _as_tuned(cost, item.cost) for candidate, cost, _ in estimator.estimate(model.graph, group)}
    label = item.candidate["label"]
    emit(CandidateCosted(item.target, tuple(costs), label, costs[item.id].to_json(), False, 1, 1))
    emit(Note(f"measured again: {label} on {item.target}, {_cost_text(item.cost)} before, {_cost_text(costs[item.id])} now"))
    return costs


def _as_tuned(cost: Cost, before: Cost) -> Cost:
    """Return a new `cost`, with what is known of its tuning."""
    return cost if cost.seconds is None else replace(cost, tuned=before.tuned)


def _cost_text(cost: Cost) -> str:
    if cost.seconds is None:
        return cost.source
    return f"{duration(cost.seconds)}{source_label(cost.source)}"


def _same_computation(record: RunRecord, model: OnnxModel, item: CostedCandidate, estimator: LazyEstimator) -> list[CandidatePartition]:
    """Return the candidates of the same target and the same computation, `item` first: one trial measures them all."""
    first = _candidate(model, item)
    same = [other for other in _of_target(record, item) if len(other.inside) == len(item.inside)]
    others = (_candidate(model, other) for other in same)
    key = estimator.computation_key(first)
    return [first, *(other for other in others if other.computation == first.computation and estimator.computation_key(other) == key)]


def _of_target(record: RunRecord, item: CostedCandidate) -> Iterable[CostedCandidate]:
    return (other for other in record.candidates if other.target == item.target and other is not item)


def _candidate(model: OnnxModel, item: CostedCandidate) -> CandidatePartition:
    return CandidatePartition(model.graph, item.target, IndexSet(item.candidate["nodes"]), item.candidate["rule"])


def baseline_rows(record: RunRecord, problem: SearchProblem, costed: Sequence[CostedCandidate]) -> tuple[BaselineInfo, ...]:
    """Return the rows of the baselines with their totals on the new costs; their end-to-end measurements stay."""
    settings = SearchSettings.given(record.plan.options)
    return tuple(replace(row, total_s=_total_s(problem, costed, row.name, settings)) for row in record.document.baselines)


def _total_s(problem: SearchProblem, costed: Sequence[CostedCandidate], name: str, settings: SearchSettings) -> float | None:
    found = baseline(name, problem, costed, settings)
    return None if found is None else known_total_s(costed, found)
