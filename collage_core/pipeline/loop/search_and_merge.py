"""Phase 3 with its rounds of merging: from costed candidates to a plan, and the plans that it is compared with.

It takes costed candidates, and gives plans (`Planned`) and events about them. A function of the caller gives the costs of merged
partitions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, permutations
from typing import Any

from ...cost.cost import Cost
from ...errors import CollageError
from ...events import Emit, PlanConsidered, PlanImproved, SearchProgress, ignore
from ...graph.dataflow_graph import DataflowGraph
from ...rules.candidate import CandidatePartition
from ...rules.spec import HOST_TARGET
from ...search.alternatives.regret import regrets_within
from ...search.constraints.constraints import Constraint, allowed_indices, parse_constraints
from ...search.merge import mergeable_neighbours
from ...search.objective_search import solve_for
from ...search.objectives import Objective, parse_objective
from ...search.plan_properties import plan_total, plan_transitions
from ...search.problem import FEMTOSECONDS, FlowTensor, SearchProblem, Transition
from ...search.searcher import Newest, SearchReporter, SearchResult, SearchRun, after, never, nothing
from ...search.solve import DEFAULT
from ...toolchains.abilities import conflicts_of, location_of
from ...toolchains.described import DescribedToolchain
from ...toolchains.device_tensors import HOST_LOCATION
from ...toolchains.toolchain import Toolchain
from ..record.record import CostedCandidate, flow_tensors, indices_of, search_candidates, weights_of
from .error_budget import ErrorBudget

PAUSE_S = 0.025
"""From one event of a search's progress to the next at least: more than a page can draw."""

LAST_SEARCH_S = 1.0
"""Longest search that begins after the user has stopped the run: it is for the plan to keep."""

MOST_REGRET_EDGES = 20_000
"""Past this many moves regrets are not computed with the plan, which would have to wait, but node by node when asked for."""


@dataclass(frozen=True)
class SearchSettings:
    """How plans are searched for: the searcher's name, what plans are chosen by, and what may end a search early."""

    search: str = DEFAULT
    objective: Objective = field(default_factory=Objective)
    should_stop: Callable[[], bool] = never
    limit_s: float | None = None

    @classmethod
    def given(cls, options: Mapping[str, Any], should_stop: Callable[[], bool] = never) -> SearchSettings:
        """As the options of a plan say."""
        return cls(options.get("search", DEFAULT), parse_objective(options.get("objective", "time")), should_stop)

    def within(self, limit_s: float | None) -> SearchSettings:
        """Return the same with searches of `limit_s` seconds at most; None for no other limit than there is."""
        limits = [seconds for seconds in (limit_s, self.limit_s) if seconds is not None]
        return replace(self, limit_s=min(limits, default=None))

    def run(self, reporter: SearchReporter | None = None) -> SearchRun:
        """Return the circumstances of a search that begins now."""
        if self.should_stop():
            return SearchRun(
                reporter or SearchReporter(), after(LAST_SEARCH_S if self.limit_s is None else min(LAST_SEARCH_S, self.limit_s))
            )
        if self.limit_s is None:
            return SearchRun(reporter or SearchReporter(), self.should_stop)
        is_over = after(self.limit_s)
        return SearchRun(reporter or SearchReporter(), lambda: is_over() or self.should_stop())


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
    def indices(self) -> list[int]:
        """The indices in `costed` of the plan's candidates."""
        return indices_of(self.final.chosen, self.costed)

    @property
    def partitions(self) -> list[CostedCandidate]:
        """The plan's candidates."""
        return [self.costed[index] for index in self.indices]


SearchOver = Callable[[list[CostedCandidate]], Planned]
"""The best plan over candidates, as both the first and the final one."""


class _Teller(SearchReporter):
    """Passes the search's news on as events, its newest state among them, at most every `PAUSE_S`."""

    def __init__(self, emit: Emit, problem: SearchProblem, clock: Callable[[], float] = time.monotonic):
        self._emit = emit
        self._problem = problem
        self._clock = clock
        self._next_s = -math.inf

    def progress(
        self, states: int, transitions: int, frontier: int, covered: int, lower_bound: int, best: int | None, newest: Newest = nothing
    ) -> None:
        if self._emit is ignore or self._clock() < self._next_s:
            return
        candidates = [self._problem.candidates[index] for index in newest()]
        placed = tuple((candidate.target, tuple(candidate.inside.spans())) for candidate in candidates)
        best_s, bound_s = None if best is None else best / FEMTOSECONDS, lower_bound / FEMTOSECONDS
        placed_s = sum(candidate.cost or 0 for candidate in candidates) / FEMTOSECONDS
        self._emit(SearchProgress(states, transitions, frontier, covered, self._problem.nodes, bound_s, best_s, placed, placed_s))
        self._next_s = self._clock() + PAUSE_S


class PlanSearch:
    """The searches of one run: graph, transitions and constraints stay, the costs of the candidates change.

    Args:
        toolchains: In the order of their priority.
        transition_pairs: Asked for the transitions (maker, reader) that a plan rests on: → all that are known by then, each with fixed
            seconds, and seconds per byte. Before the first search it is asked for none. One that is not known counts as free.
        constraints: As the user wrote them.
        tensors: The tensors between nodes; those of `graph` unless given.

    Attributes:
        budget: How the errors of plans count.
    """

    def __init__(
        self,
        graph: DataflowGraph,
        toolchains: Mapping[str, Toolchain],
        transition_pairs: Callable[[Collection[tuple[str, str]]], Mapping[tuple[str, str], Any]],
        constraints: Sequence[Mapping[str, Any]],
        settings: SearchSettings,
        budget: ErrorBudget | None = None,
        tensors: Sequence[FlowTensor] | None = None,
    ):
        self.settings = settings
        self._tensors = tensors
        self.budget = budget or ErrorBudget()
        self._graph = graph
        self._toolchains = toolchains
        self._transition_pairs = transition_pairs
        self._constraints = constraints

        self._asked: set[tuple[str, str]] = set()

    @cached_property
    def _without_candidates(self) -> SearchProblem:
        devices = [target for target, toolchain in self._toolchains.items() if location_of(toolchain) != HOST_LOCATION]
        links = [pair for target in devices for pair in ((HOST_TARGET, target), (target, HOST_TARGET))]
        problem = make_problem(self._graph, (), self._transitions(links), self._toolchains)
        return problem if self._tensors is None else replace(problem, tensors=tuple(self._tensors))

    def _transitions(self, wanted: Collection[tuple[str, str]]) -> dict[tuple[str, str], Transition]:
        self._asked.update(wanted)
        pairs = self._transition_pairs(wanted)
        return {ends: Transition(pair.fixed_s * FEMTOSECONDS, pair.per_byte_s * FEMTOSECONDS) for ends, pair in pairs.items()}

    def problem(self, costed: Sequence[CostedCandidate]) -> SearchProblem:
        """Return the search problem over `costed`, with the error budget as it is now."""
        candidates = search_candidates(costed, self.budget.lowered)
        return self.budget.limited(self._without_candidates.with_candidates(candidates))

    def constraints(self, problem: SearchProblem) -> list[Constraint]:
        """Those of the user, for `problem`."""
        return parse_constraints([dict(item) for item in self._constraints], problem)

    def best(self, costed: list[CostedCandidate], emit: Emit, limit_s: float | None = None) -> Planned:
        """The best plan over `costed`, as both the first and the final one. Transitions that it rests on get known first.

        Args:
            limit_s: Longest that each search may take; as long as the settings allow where that is less. One that takes as long is the
                last one: its plan then costs what its transitions take, though another plan may be better.
        """
        settings = self.settings.within(limit_s)
        while True:
            problem = self.problem(costed)
            result = searched(problem, self.constraints(problem), settings, emit)
            if not self._learn_transitions({(maker, reader) for maker, reader, *_ in plan_transitions(problem, result.chosen)}):
                return Planned(result, result, problem, costed)
            if result.stopped and limit_s is not None:
                problem = self.problem(costed)
                result = replace(result, total=plan_total(problem, result.chosen))
                return Planned(result, result, problem, costed)

    def learn_all_transitions(self) -> None:
        """Get the transitions between all targets known, as far as the time allows."""
        self._learn_transitions(set(permutations(self._toolchains, 2)))

    def _learn_transitions(self, pairs: set[tuple[str, str]]) -> bool:
        """Get the transitions `pairs` known; return whether that changes any cost."""
        before = self._without_candidates
        wanted = sorted(pair for pair in pairs - self._asked if pair[0] != pair[1] and HOST_TARGET not in pair)
        if not wanted or before.transitions.keys() >= set(wanted):
            return False
        transitions = {ends: cost for ends, cost in self._transitions(wanted).items() if HOST_TARGET not in ends}
        self._without_candidates = replace(before, transitions=transitions)
        return transitions != before.transitions


def make_problem(
    graph: DataflowGraph,
    costed: Sequence[CostedCandidate],
    transitions: Mapping[tuple[str, str], Transition],
    toolchains: Mapping[str, Toolchain],
) -> SearchProblem:
    """Make the search problem: the usable candidates over the graph's tensors, with toolchains in the order of their priority."""
    conflicts = {name: conflicts_of(toolchain) for name, toolchain in toolchains.items()}
    problem = SearchProblem(
        nodes=len(graph),
        tensors=flow_tensors(graph),
        candidates=search_candidates(costed),
        transitions=transitions,
        exclusive=tuple((a, b) for a, b in combinations(toolchains, 2) if b in conflicts[a] or a in conflicts[b]),
        priorities=tuple(toolchains),
        names=tuple(node.name for node in graph.nodes),
        ops=tuple(node.op for node in graph.nodes),
        inner={node.index: node.inner for node in graph.nodes if node.inner},
        weights=weights_of(graph),
    )
    return with_locations(problem, toolchains)


def with_locations(problem: SearchProblem, toolchains: Mapping[str, Toolchain]) -> SearchProblem:
    """Return `problem` with the locations of those of `toolchains` that have one, and the copies from and to the host.

    A transition between the host and a toolchain with the memory of a device is such a copy: of two toolchains there, that of the first.

    Raises:
        CollageError: a target describes a location otherwise than another one.
    """
    target_locations = {target: name for target, name in problem.target_locations.items() if target not in toolchains}
    locations = {name: limit for name, limit in problem.locations.items() if name in target_locations.values()}
    copies = {pair: cost for pair, cost in problem.copies.items() if {*pair} <= {HOST_TARGET, *target_locations.values()}}
    transitions = dict(problem.transitions)
    for target, toolchain in toolchains.items():
        if location_of(toolchain) != HOST_LOCATION:
            target_locations[target] = name = location_of(toolchain)
            locations.setdefault(name, None)
            for pair, ends in (((HOST_TARGET, name), (HOST_TARGET, target)), ((name, HOST_TARGET), (target, HOST_TARGET))):
                copies.setdefault(pair, transitions.pop(ends, problem.copies.get(pair, Transition())))
            continue
        location = toolchain.location if isinstance(toolchain, DescribedToolchain) else {}
        if not location:
            continue
        target_locations[target] = name = location["name"]
        limit = None if "bytes" not in location else int(location["bytes"])
        for pair, link in (((HOST_TARGET, name), location["from_host"]), ((name, HOST_TARGET), location["to_host"])):
            cost = Transition(link.get("fixed_s", 0) * FEMTOSECONDS, link.get("per_byte_s", 0) * FEMTOSECONDS)
            if copies.setdefault(pair, cost) != cost or locations.setdefault(name, limit) != limit:
                raise CollageError(
                    f"the target {target!r} describes the location {name!r} otherwise than another target does",
                    "give both the same bytes, from_host and to_host, or another name to one of the locations",
                    "bad_rule",
                )
    return replace(problem, transitions=transitions, locations=locations, target_locations=target_locations, copies=copies)


def check_constraints(
    graph: DataflowGraph,
    candidates: Iterable[CandidatePartition],
    toolchains: Mapping[str, Toolchain],
    constraints: Sequence[Mapping[str, Any]],
) -> None:
    """Raise ProblemMistake where one of the user's constraints is malformed, or names what does not exist. No cost need be known."""
    if constraints:
        costed = [CostedCandidate(candidate, Cost.unknown("not asked")) for candidate in candidates]
        parse_constraints(list(constraints), make_problem(graph, costed, {}, toolchains))


def refused_by_constraints(
    graph: DataflowGraph,
    candidates: Iterable[CandidatePartition],
    toolchains: Mapping[str, Toolchain],
    constraints: Sequence[Mapping[str, Any]],
) -> set[CandidatePartition]:
    """Return the candidates that no plan may hold, whatever they cost."""
    costed = [CostedCandidate(candidate, Cost.unknown("not asked")) for candidate in candidates] if constraints else []
    problem = make_problem(graph, costed, {}, toolchains)
    allowed = set(allowed_indices(problem, parse_constraints(list(constraints), problem)))
    held = (item.held for index, item in enumerate(costed) if index not in allowed)
    return {candidate for candidate in held if isinstance(candidate, CandidatePartition)}


def searched(problem: SearchProblem, constraints: Sequence[Constraint], settings: SearchSettings, emit: Emit) -> SearchResult:
    """Return the result of a search whose progress is told as events."""
    return solve_for(problem, settings.objective, constraints, settings.search, settings.run(_Teller(emit, problem)))


def merge_rounds(planned: Planned, search: SearchOver, cost_more: CostMore, emit: Emit) -> Planned:
    """Try to fuse adjacent partitions of one target, search again, until nothing changes."""
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
    indices = {(candidate.target, candidate.inside): index for index, candidate in enumerate(problem.candidates)}
    chosen = [before.problem.candidates[index] for index in before.final.chosen]
    return replace(before.final, chosen=tuple(indices[candidate.target, candidate.inside] for candidate in chosen))


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


def guessed_total_s(problem: SearchProblem, result: SearchResult) -> float | None:
    """Return the total of the plan in seconds, with bounds for what was not measured; None if a cost in it is not known."""
    is_known = all(problem.candidates[index].cost is not None for index in result.chosen)
    return result.total / FEMTOSECONDS if is_known else None


def known_total_s(costed: Sequence[CostedCandidate], result: SearchResult) -> float | None:
    """Return the total of the plan in seconds; None if a cost in it is not known, or a bound stands for it."""
    costs = [costed[index].cost for index in indices_of(result.chosen, costed)]
    is_known = all(cost.seconds is not None and not cost.is_bound for cost in costs)
    return result.total / FEMTOSECONDS if is_known else None


def regret_seconds(planned: Planned, constraints: Sequence[Constraint]) -> dict[str, float | None]:
    """Return candidate id → regret in seconds, None for one that is in no plan.

    Empty where that would take long, where the plan is not the fastest, or not known to be, where a cost is no measurement, and where
    errors count: then regrets are asked for one by one.
    """
    if not planned.final.optimal or planned.final.total > planned.final.lower_bound or planned.problem.counts_errors:
        return {}
    if any(item.cost.is_guess for item in planned.costed):
        return {}
    values = regrets_within(planned.problem, constraints, planned.final, MOST_REGRET_EDGES)
    if values is None or any(value is not None and not value.is_exact for value in values):
        return {}
    return {
        candidate.id: None if value is None else value.low / FEMTOSECONDS
        for candidate, value in zip(planned.problem.candidates, values, strict=True)
    }
