"""The one plan that is best over several shapes: candidates correspond by target and nodes, and cost the weighted mean over the shapes.

The runs of all shapes enter, each with what it knows; the parts of the plan leave, or the reason why there is none. A candidate that is
invalid at one shape is in no such plan. The search is that of a single shape, over costs and sizes of tensors that are weighted means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...cost.cost import Cost
from ...errors import InfeasibleError
from ...events import ignore
from ...rules.candidate import CandidatePartition
from ...rules.spec import HOST_TARGET
from ...search.problem import FlowTensor
from ..loop.search_and_merge import PlanSearch
from ..record.record import CostedCandidate, flow_tensors
from .shape_run import Part, Parts, ShapeRun, parts_of

MOST_EXCHANGES = 4
"""Rounds in which shapes learn of each other's plans; most often the second brings nothing new."""
MOST_ROUNDS = 6
"""Searches, between which what the plan rests on is measured; then only what is known at all shapes may be in it."""


@dataclass(frozen=True)
class JointPlan:
    """The plan of all shapes.

    Attributes:
        parts: None where there is none.
        reason: Why there is none.
    """

    parts: Parts | None
    reason: str = ""


def learn_from_each_other(runs: Sequence[ShapeRun]) -> None:
    """Let each shape know what the plans of the others take there, and have the best plan over all that is known then.

    Fusing finds other candidates at each shape; one that was found at another may make a better plan here.
    """
    for _ in range(MOST_EXCHANGES):
        before = [run.own for run in runs]
        for run in runs:
            for plan in dict.fromkeys(one.own for one in runs if one.names == run.names):
                run.measure(plan)
        for run in runs:
            run.search_again()
        if [run.own for run in runs] == before:
            return


def joint_plan(runs: Sequence[ShapeRun]) -> JointPlan:
    """Return the plan that takes the least, as the weighted mean over the shapes of `runs`."""
    other = next((run for run in runs if run.names != runs[0].names), None)
    if other is not None:
        return JointPlan(None, f"the model has other nodes at {other.shape.name} than at {runs[0].shape.name}")
    search, shared = _search_over(runs), _shared(runs)
    for number in range(MOST_ROUNDS + 1):
        costed = _costed(runs, shared, settled_only=number == MOST_ROUNDS)
        try:
            found = parts_of(search.best(costed, ignore))
        except InfeasibleError:
            return JointPlan(None, "no plan is valid at every shape")
        if not any(run.is_open(part) for run in runs for part in found):
            return JointPlan(found)
        for run in runs:
            run.measure(found)
        shared = _shared(runs)
    return JointPlan(None, "no time was left to measure one plan at every shape")


def mean_tensors(tensors: Sequence[Sequence[FlowTensor]], weights: Sequence[float]) -> tuple[FlowTensor, ...]:
    """Return the tensors of a graph with the weighted means of the bytes that they have at each shape."""
    sizes = [sum(weight * one[index].bytes for weight, one in zip(weights, tensors, strict=True)) for index in range(len(tensors[0]))]
    return tuple(replace(tensor, bytes=round(size)) for tensor, size in zip(tensors[0], sizes, strict=True))


def weighted_cost(costs: Sequence[Cost], weights: Sequence[float]) -> Cost:
    """Return the weighted mean of the costs of one candidate at all shapes; invalid where one is, and unknown where one is not known."""
    bad = next((cost for cost in costs if cost.is_invalid), None)
    if bad is not None:
        return bad
    seconds = [cost.seconds for cost in costs]
    if None in seconds:
        return Cost.unknown("its cost is not known at every shape")
    total_s = sum(weight * (value or 0.0) for weight, value in zip(weights, seconds, strict=True))
    errors = [cost.error for cost in costs if cost.error is not None]
    if any(cost.is_bound for cost in costs):
        mean = Cost.bound(total_s)
    elif any(cost.is_guess for cost in costs):
        mean = Cost.from_profile(total_s, sum(weight * (cost.interval_s or 0.0) for weight, cost in zip(weights, costs, strict=True)))
    else:
        mean = Cost(total_s, costs[0].source)
    return replace(mean, error=max(errors, default=None))


def _search_over(runs: Sequence[ShapeRun]) -> PlanSearch:
    """Return a search as that of the first run, over tensors of mean size, and all transitions that a run knows."""
    first = runs[0].run
    tensors = mean_tensors([flow_tensors(one.run.found.graph) for one in runs], [one.shape.weight for one in runs])

    def pairs(wanted: object) -> Mapping[tuple[str, str], Any]:
        known: dict[tuple[str, str], Any] = {}
        for one in runs:
            known.update(one.run.transition_pairs(()))
        return known

    options, found = first.options, first.found
    return PlanSearch(found.graph, found.toolchains, pairs, options.constraints, first.plans.settings, first.plans.budget, tensors)


def _shared(runs: Sequence[ShapeRun]) -> list[Part]:
    """Return the parts that are there at every shape, in the order of the first run."""
    return [part for part in runs[0].parts if all(one.cost(part) is not None for one in runs[1:])]


def _costed(runs: Sequence[ShapeRun], parts: Sequence[Part], *, settled_only: bool) -> list[CostedCandidate]:
    weights = [run.shape.weight for run in runs]
    made = []
    for part in parts:
        if settled_only and any(run.is_open(part) for run in runs):
            continue
        costs = [cost for cost in (run.cost(part) for run in runs) if cost is not None]
        cost = weighted_cost(costs, weights) if part[0] != HOST_TARGET else costs[0]
        if cost.seconds is None and not cost.is_invalid:
            continue
        made.append(CostedCandidate(CandidatePartition(runs[0].run.found.graph, *part, ""), cost))
    return made
