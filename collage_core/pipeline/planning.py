"""Phase 3 with its rounds of merging, and the plan that comes out: from costed candidates to a `Plan` and a document.

Design, "Well-formed plan". Plain data, but for the costs of merged partitions, which are asked of whoever the caller names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from ..cost.cost import Cost
from ..errors import InfeasibleError
from ..events import Emit, PlanConsidered, PlanImproved, SearchProgress
from ..graph.dataflow_graph import DataflowGraph
from ..rewrite.plan import PlacedPartition, PlacedTransition, Plan
from ..rules.spec import HOST_TARGET
from ..search.alternatives.regret import regrets_within
from ..search.constraints.constraints import Constraint
from ..search.merge import mergeable_neighbours
from ..search.objective_search import solve_for
from ..search.objectives import Objective, parse_objective
from ..search.plan_properties import plan_transitions
from ..search.problem import FEMTOSECONDS, SearchProblem, Transition
from ..search.searcher import SearchReporter, SearchResult, SearchRun, never
from ..search.solve import DEFAULT, solve
from ..toolchains.base import Toolchain
from .record import CostedCandidate, flow_tensors, places_of, search_candidates

MOST_REGRET_EDGES = 20_000
"""Past this many moves regrets are not computed with the plan, which would have to wait, but node by node when asked for."""


@dataclass(frozen=True)
class SearchSettings:
    """How plans are searched for: the searcher's name, what plans are chosen by, and who may end it early."""

    search: str = DEFAULT
    objective: Objective = field(default_factory=Objective)
    should_stop: Callable[[], bool] = never

    @classmethod
    def given(cls, options: Mapping[str, Any], should_stop: Callable[[], bool] = never) -> SearchSettings:
        """As the options of a plan say."""
        return cls(options.get("search", DEFAULT), parse_objective(options.get("objective", "time")), should_stop)


CostMore = Callable[[Sequence[tuple[str, int]]], list[CostedCandidate]]
"""Costs merged partitions, given as (target, nodes as bits)."""


@dataclass
class Planned:
    """The outcome of phase 3.

    Attributes:
        first: The first search, over the rules' own candidates.
        final: The last one.
        problem: Its problem, merged candidates included.
        costed: All candidates, merged ones included.
    """

    first: SearchResult
    final: SearchResult
    problem: SearchProblem
    costed: list[CostedCandidate]

    @property
    def places(self) -> list[int]:
        """Where in `costed` the candidates of the plan stand."""
        return places_of(self.final.chosen, self.costed)


SearchOver = Callable[[list[CostedCandidate]], Planned]
"""The best plan over candidates, as both the first and the final one."""


class _Teller(SearchReporter):
    """Passes the search's news on as events."""

    def __init__(self, emit: Emit, nodes: int):
        self._emit = emit
        self._nodes = nodes

    def progress(self, states: int, transitions: int, frontier: int, covered: int, lower_bound: int, best: int | None) -> None:
        best_s = None if best is None else best / FEMTOSECONDS
        self._emit(SearchProgress(states, transitions, frontier, covered, self._nodes, lower_bound / FEMTOSECONDS, best_s))


def make_problem(
    graph: DataflowGraph,
    costed: Sequence[CostedCandidate],
    transitions: Mapping[tuple[str, str], Transition],
    toolchains: Mapping[str, Toolchain],
) -> SearchProblem:
    """What is searched: the usable candidates over the graph's tensors; the toolchains are in the order of their priority."""
    return SearchProblem(
        nodes=len(graph),
        tensors=flow_tensors(graph),
        candidates=search_candidates(costed),
        transitions=transitions,
        exclusive=tuple((a, b) for a, b in combinations(toolchains, 2) if b in toolchains[a].conflicts or a in toolchains[b].conflicts),
        priorities=tuple(toolchains),
        names=tuple(node.name for node in graph.nodes),
        ops=tuple(node.op for node in graph.nodes),
    )


def search_first(problem: SearchProblem, constraints: Sequence[Constraint], how: SearchSettings, emit: Emit) -> SearchResult:
    """A search that tells how it goes, and its plan, as events."""
    result = searched(problem, constraints, how, emit)
    emit(plan_event(problem, result, 0))
    return result


def searched(problem: SearchProblem, constraints: Sequence[Constraint], how: SearchSettings, emit: Emit) -> SearchResult:
    """A search that tells how it goes as events."""
    return solve_for(problem, how.objective, constraints, how.search, SearchRun(_Teller(emit, problem.nodes), how.should_stop))


def merge_rounds(planned: Planned, search: SearchOver, cost_more: CostMore, emit: Emit) -> Planned:
    """Try neighbours on one target as one, search again, until nothing changes."""
    asked: set[tuple[str, int]] = set()
    for number in range(1, planned.problem.nodes + 1):
        wanted = [key for key in mergeable_neighbours(planned.problem, planned.final.chosen) if key not in asked]
        asked.update(wanted)
        more = cost_more(wanted) if wanted else []
        if not more:
            break
        before, planned = planned, replace(search([*planned.costed, *more]), first=planned.first)
        if planned.final.total > before.final.total and not planned.final.optimal:
            # A searcher that proves nothing, or was stopped, may do worse with more to choose from.
            return replace(planned, final=_found_again(before, planned.problem))
        if _ids(planned.problem, planned.final) == _ids(before.problem, before.final):
            break
        emit(plan_event(planned.problem, planned.final, number))
    return planned


def _found_again(before: Planned, problem: SearchProblem) -> SearchResult:
    """The plan of `before`, in a problem that has its candidates and more."""
    places = {(candidate.target, candidate.inside): index for index, candidate in enumerate(problem.candidates)}
    chosen = [before.problem.candidates[index] for index in before.final.chosen]
    return replace(before.final, chosen=tuple(places[candidate.target, candidate.inside] for candidate in chosen))


def _ids(problem: SearchProblem, result: SearchResult) -> list[str]:
    return [problem.candidates[index].id for index in result.chosen]


def plan_event(problem: SearchProblem, result: SearchResult, number: int) -> PlanImproved:
    """The plan of `result` as an event of round `number`."""
    chosen = [problem.candidates[index] for index in result.chosen]
    return PlanImproved(result.total / FEMTOSECONDS, tuple((c.target, tuple(c.inside)) for c in chosen), number)


def considered_event(planned: Planned, settled: Sequence[bool], best: int | None) -> PlanConsidered:
    """The plan of `planned` as an event, where not all of its costs need be measured; `best` in femtoseconds."""
    chosen = [planned.problem.candidates[index] for index in planned.final.chosen]
    partitions = tuple((c.target, tuple(c.inside.spans()), is_known) for c, is_known in zip(chosen, settled, strict=True))
    return PlanConsidered(planned.final.total / FEMTOSECONDS, None if best is None else best / FEMTOSECONDS, partitions)


def placed_partitions(
    graph: DataflowGraph, planned: Planned, stability: Mapping[str, float] | None = None, preferred: Collection[str] = ()
) -> tuple[PlacedPartition, ...]:
    """The chosen candidates, as a plan lists them.

    Args:
        stability: Id → share of the draws in which it is chosen.
        preferred: Ids of those that priority decided, since measuring could not.
    """
    chosen = [planned.problem.candidates[index] for index in planned.final.chosen]
    wanted = {candidate.inside for candidate in chosen}
    by_place = {(item.inside, item.target): item for item in planned.costed if item.inside in wanted}
    made = []
    for candidate in chosen:
        item = by_place[candidate.inside, candidate.target]
        nodes = tuple(item.inside)
        made.append(
            PlacedPartition(
                id=item.id,
                target=item.target,
                nodes=nodes,
                names=tuple(graph.nodes[node].name for node in nodes),
                ops=tuple(graph.nodes[node].op for node in nodes),
                cost_s=item.cost.seconds,
                spread_s=item.cost.spread_s,
                interval_s=item.cost.interval_s,
                samples=item.cost.samples,
                source=item.cost.source,
                decided_by="priority" if item.id in preferred or candidate.is_unknown else "cost",
                stability=(stability or {}).get(item.id),
            )
        )
    return tuple(made)


def priority_note(planned: Planned) -> str:
    """Which partitions were given out by priority, since their costs are not known; empty where there are none."""
    problem = planned.problem
    chosen = [problem.candidates[index] for index in planned.final.chosen]
    blind = [candidate for candidate in chosen if candidate.is_unknown]
    if not blind:
        return ""
    nodes = [problem.names[node] for candidate in blind for node in candidate.inside]
    listed = ", ".join(nodes[:3]) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")
    order = ", ".join(problem.priorities)
    return f"the costs of {len(blind)} of {len(chosen)} partitions are not known ({listed}): there the order {order} decided"


def within_noise(count: int, above_s: float, noise: float) -> str:
    """What is said where priority decided because measuring could not."""
    return (
        f"{count} partitions were given out by priority: the plan is {above_s * 1e6:.3g} µs above the best one, "
        f"and its total is known to {noise * 1e6:.3g} µs"
    )


def placed_transitions(planned: Planned) -> tuple[PlacedTransition, ...]:
    """Every tensor that changes hands in the plan."""
    problem = planned.problem
    return tuple(
        PlacedTransition(
            maker=maker, reader=reader, tensor=problem.tensors[tensor].name, bytes=problem.tensors[tensor].bytes, cost_s=cost / FEMTOSECONDS
        )
        for maker, reader, tensor, cost in plan_transitions(problem, planned.final.chosen)
    )


def alone(problem: SearchProblem, target: str, how: SearchSettings) -> SearchResult | None:
    """The best plan on `target` alone (the host's nodes stay the host's), or None when it cannot take every node."""
    indices = [index for index, candidate in enumerate(problem.candidates) if candidate.target in (target, HOST_TARGET)]
    only = problem.with_candidates([problem.candidates[index] for index in indices])
    covered = {node for candidate in only.candidates for node in candidate.inside}
    if len(covered) < problem.nodes:
        return None
    try:
        result = solve_for(only, how.objective, (), how.search, SearchRun(should_stop=how.should_stop))
    except InfeasibleError:
        return None
    return replace(result, chosen=tuple(indices[index] for index in result.chosen))


def greedy_plan(problem: SearchProblem) -> SearchResult | None:
    """The greedy plan, or None when it does not cover the model."""
    try:
        return solve(problem, (), "greedy")
    except InfeasibleError:
        return None


def known_total_s(problem: SearchProblem, result: SearchResult) -> float | None:
    """What the plan takes, in seconds; None where a cost in it is not known."""
    is_known = all(problem.candidates[index].cost is not None for index in result.chosen)
    return result.total / FEMTOSECONDS if is_known else None


def regret_seconds(planned: Planned, constraints: Sequence[Constraint]) -> dict[str, float | None]:
    """Candidate id → regret in seconds, None for one that is in no plan.

    Empty where that would take long, and where the plan is not the fastest, or not known to be: then regrets are asked for
    one by one.
    """
    if not planned.final.optimal or planned.final.total > planned.final.lower_bound:
        return {}
    values = regrets_within(planned.problem, constraints, planned.final, MOST_REGRET_EDGES)
    if values is None:
        return {}
    return {
        candidate.id: None if value is None else value / FEMTOSECONDS
        for candidate, value in zip(planned.problem.candidates, values, strict=True)
    }


def search_document(planned: Planned) -> dict[str, Any]:
    """The `search` part of the `partition` document: the first search, and under ``final`` the last one."""
    return {**result_document(planned.first), "final": result_document(planned.final)}


def result_document(result: SearchResult) -> dict[str, Any]:
    """One search, as the documents say it; ``gap_s`` is by how much a better plan could be below it."""
    return {
        "algorithm": result.algorithm,
        "optimal": result.optimal,
        "gap_s": result.gap / FEMTOSECONDS,
        "stopped": result.stopped,
        "total_s": result.total / FEMTOSECONDS,
        "states": result.states,
        "transitions": result.moves,
        "seconds": result.seconds,
        "lower_bound_s": result.lower_bound / FEMTOSECONDS,
    }


def host_cost() -> Cost:
    """What the host's own nodes cost: they only reshuffle references."""
    return Cost(0.0, "host")


def not_verified(accuracy: float) -> dict[str, Any]:
    """The `verify` part of the `partition` document where nothing was built."""
    return {**dict.fromkeys(("measured_s", "additive_error_s", "max_rel_error", "reference")), "accuracy": accuracy, "reason": ""}


def plan_document(plan: Plan) -> dict[str, Any]:
    """The `plan` part of the `partition` document."""
    data = plan.to_json()
    return {key: data[key] for key in ("total_s", "total_interval_s", "partitions", "transitions")}
