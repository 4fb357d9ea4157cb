"""Regret of a candidate: how much the best plan that holds it costs more than the best plan.

A sweep forward over all states gives the least weight to each state, a sweep backward the least weight from each; the best plan
with a candidate is the lightest path over one of its moves. That is exact. When that plan has a cycle between its partitions, or
when there are too many states for a sweep, the candidate gets a search of its own. When time runs out, its regret is an interval:
dual prices bound the plans with a candidate from below, and every plan that was met bounds those of its candidates from above.

An unknown cost is not 0. Plans are compared by their nodes of unknown cost first, so the best plan with a candidate has only known
costs wherever such a plan exists: the exact regrets come from the candidates of known cost alone. Every other candidate has
no exact regret. The same problem with each unknown cost set to 0, the least that it can be, bounds it from below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from ..constraints.constraints import Constraint, allowed_indices, with_staying
from ..plan_properties import cycle, may_loop
from ..problem import SearchProblem
from ..searcher import QUIET, SearchResult, SearchRun
from ..searchers.cover import Cover, Move, State, moves_from
from .forced_candidate import ForcedCandidateSearch

Edge = tuple[State, Move, int, State]
"""(state, move, weight of the move, state after it)."""

MOST_EDGES = 2_000_000
"""Edges past which a sweep would not fit in memory, so that each candidate gets a search of its own."""

MOST_STATES_ALONE = 2048
"""Longest search for the regret of one candidate, where the answer must not depend on the machine."""

RANKED_STATES = 4096
"""A candidate that is the n-th nearest to the best plan at one of its nodes gets a search of at most this many states divided by n."""

LEAST_STATES = 16
"""States that take about as long as it takes to begin a search: none is begun that may not take more."""


@dataclass(frozen=True, slots=True)
class Regret:
    """Femtoseconds by which the best plan with a candidate is above the best plan: at least `low`, at most `high`.

    `high` is None when no such plan is known, and when the best plan with the candidate, or the best plan itself, rests on an unknown
    cost, which `rests_on_unknown` tells; `low` is what is proven all the same, at least 0.
    """

    low: int
    high: int | None
    rests_on_unknown: bool = False

    @property
    def is_exact(self) -> bool:
        return self.low == self.high


def regret_intervals(
    problem: SearchProblem, constraints: Sequence[Constraint], best: SearchResult, run: SearchRun = QUIET
) -> list[Regret | None]:
    """Return the regret of every candidate; None for one that is in no plan that holds the constraints.

    A regret is exact, unless it rests on an unknown cost, `best` is not proven to be a best plan, or `run` is stopped before.
    """
    problem = with_staying(problem, constraints)
    regrets = regrets_within(problem, constraints, best, MOST_EDGES, run) if best.optimal else None
    if regrets is None:
        least = best.total if best.optimal else best.lower_bound
        return Regrets(problem, constraints, best.chosen, best.total, least).of(range(len(problem.candidates)), run)
    if any(regret is not None and regret.rests_on_unknown for regret in regrets):
        floors = _least_totals(_optimistic(problem), allowed_indices(problem, constraints), {}, MOST_EDGES, run)
        if floors is not None:
            for index, regret in enumerate(regrets):
                if regret is not None and regret.rests_on_unknown:
                    regrets[index] = _unknown_regret(problem, best.chosen, best.total, floors[index]) if index in floors else None
    return regrets


def regrets_within(
    problem: SearchProblem, constraints: Sequence[Constraint], best: SearchResult, most_edges: int, run: SearchRun = QUIET
) -> list[Regret | None] | None:
    """Return the regret of every candidate, exact unless it rests on an unknown cost; None for one that is in no plan.

    The whole is None when the sweep would meet more than `most_edges` edges, or when it was stopped. A sweep over candidates of
    unknown cost would be the longest of all, so dual prices alone bound the regrets that rest on one.

    Args:
        best: A plan that is proven to be a best one.
    """
    problem, usable = with_staying(problem, constraints), allowed_indices(problem, constraints)
    known = _of_known_cost(problem, usable)
    regrets: list[Regret | None] = [None] * len(problem.candidates)
    if len(known) < len(usable):
        cover = Cover(_optimistic(problem), usable)
        for index, weight in cover.least_weights():
            regrets[index] = _unknown_regret(problem, best.chosen, best.total, cover.weights.total((cover.bound or 0) + weight))
    if not _rests_on_unknown(problem, best.chosen):
        totals = _least_totals(problem, known, dict.fromkeys(best.chosen, best.total), most_edges, run)
        if totals is None:
            return None
        for index, total in totals.items():
            regrets[index] = Regret(total - best.total, total - best.total)
    return regrets


def _of_known_cost(problem: SearchProblem, usable: Sequence[int]) -> list[int]:
    return [index for index in usable if not problem.candidates[index].is_unknown]


def _rests_on_unknown(problem: SearchProblem, chosen: Sequence[int]) -> bool:
    return any(problem.candidates[index].is_unknown for index in chosen)


def _optimistic(problem: SearchProblem) -> SearchProblem:
    """Return the problem in which every unknown cost is 0: none of its plans is dearer than the same plan with the true costs."""
    return problem.with_candidates([replace(item, cost=0) if item.is_unknown else item for item in problem.candidates])


def _unknown_regret(problem: SearchProblem, chosen: Sequence[int], total: int, floor: int) -> Regret:
    """Return what is proven of a regret that rests on an unknown cost, where no plan of the candidate takes less than `floor`.

    Nothing is where the plan `chosen` itself rests on an unknown cost: it may take any time more than its `total`.
    """
    return Regret(0 if _rests_on_unknown(problem, chosen) else max(0, floor - total), None, rests_on_unknown=True)


def _least_totals(
    problem: SearchProblem, usable: Sequence[int], known: Mapping[int, int], most_edges: int, run: SearchRun
) -> dict[int, int] | None:
    """Return candidate → femtoseconds of the best plan over `usable` with it, for each that is in one; all costs are known.

    None when a sweep would meet more than `most_edges` edges, or when it was stopped.

    Args:
        known: The candidates whose total is known already.
    """
    cover = Cover(problem, usable)
    sweep = _Sweep(cover, most_edges, run)
    if not sweep.is_complete:
        return None
    loops = _Loops(problem, sweep, may_loop(problem, usable))
    forced_search: ForcedCandidateSearch | None = None
    totals = dict(known)
    for index in usable:
        weight = sweep.weight(index)
        if index in totals or weight is None:
            continue
        if loops.in_plan_with(index):
            forced_search = forced_search or ForcedCandidateSearch(problem, usable)
            forced = forced_search.plan_with(index, run)
            if forced.is_feasible:
                totals[index] = forced.total
        else:
            totals[index] = cover.weights.total((cover.bound or 0) + weight)
    return totals


class Regrets:
    """Regrets of single candidates on demand, each by a search of its own.

    Args:
        chosen: Indices of the candidates of the best known plan.
        total: Femtoseconds of that plan.
        least: Lower bound of all plans of known costs; equal to `total` when that plan is proven best, else every regret is an interval.
    """

    def __init__(self, problem: SearchProblem, constraints: Sequence[Constraint], chosen: Sequence[int], total: int, least: int):
        self._problem = problem = with_staying(problem, constraints)
        self._chosen = chosen
        self._total = total
        self._least = least
        self._usable = allowed_indices(problem, constraints)
        self._has_unknown = _rests_on_unknown(problem, self._usable)
        is_unknown = _rests_on_unknown(problem, chosen)
        self._known: dict[int, Regret | None] = {}
        self._searched: set[int] = set()
        cover = Cover(_optimistic(problem) if self._has_unknown else problem, self._usable)
        for index, weight in cover.least_weights():
            known = _unknown_regret(problem, chosen, total, cover.weights.total((cover.bound or 0) + weight))
            self._known[index] = known if is_unknown or problem.candidates[index].is_unknown else Regret(known.low, None)
        if not is_unknown:
            self._learn(chosen, total - least)
        self._first = dict(self._known)
        self._alone: dict[int, Regret | None] = {}

    def of(self, indices: Sequence[int], run: SearchRun = QUIET) -> list[Regret | None]:
        """Return the regrets of the candidates `indices`: intervals for those that are not known exactly when `run` is stopped.

        Candidates that the dual prices put nearest to the best plan are searched first.
        """
        open_ = [index for index in indices if self._is_open(index)]
        for index in sorted(open_, key=lambda index: self._known[index].low):  # type: ignore[union-attr]
            if run.should_stop():
                break
            if self._is_open(index):
                self._known[index], is_over = self._by_search(index, self._known[index], run, is_alone=False)
                if is_over:
                    self._searched.add(index)
        return [self._known.get(index) for index in indices]

    def alone(self, indices: Sequence[int]) -> list[Regret | None]:
        """Return what searches of limited length tell of the regrets of the candidates `indices`.

        The answer for a candidate depends on the problem alone: not on the machine, nor on what else is asked for, or was before. The
        nearer the dual prices put it to the best plan, among the candidates of each of its nodes, the longer its search may be. So all
        candidates of a node together take few states, however many they are.
        """
        return [self._alone_of(index) for index in indices]

    def bounds(self) -> dict[int, Regret]:
        """Return what dual prices tell without any search: lower bounds; candidates that are in no plan are left out."""
        return {index: known for index, known in self._first.items() if known is not None}

    def _alone_of(self, index: int) -> Regret | None:
        known = self._first.get(index)
        if known is None or known.is_exact:
            return known
        if index not in self._alone:
            most_states = min(MOST_STATES_ALONE, RANKED_STATES // self._ranks[index])
            run = SearchRun(most_states=most_states)
            self._alone[index] = self._by_search(index, known, run, is_alone=True)[0] if most_states > LEAST_STATES else known
        return self._alone[index]

    @cached_property
    def _ranks(self) -> dict[int, int]:
        """Candidate → how many of those at one of its nodes the dual prices put as near to the best plan, itself counted; the largest."""
        nearer = np.zeros(self._problem.nodes, np.int64)
        open_ = sorted((known.low, index) for index, known in self._first.items() if known is not None and not known.is_exact)
        ranks = {}
        for _, index in open_:
            inside = np.fromiter(self._problem.candidates[index].inside, np.int64)
            nearer[inside] += 1
            ranks[index] = int(nearer[inside].max())
        return ranks

    @cached_property
    def _forced_search(self) -> ForcedCandidateSearch:
        """The search for the best plan of known costs with a candidate."""
        return ForcedCandidateSearch(self._problem, _of_known_cost(self._problem, self._usable))

    @cached_property
    def _floor_search(self) -> ForcedCandidateSearch:
        """The search for the least that a plan with a candidate can take, whatever the unknown costs are."""
        return ForcedCandidateSearch(_optimistic(self._problem), self._usable)

    def _is_open(self, index: int) -> bool:
        known = self._known.get(index)
        return known is not None and not known.is_exact and index not in self._searched

    def _by_search(self, index: int, before: Regret | None, run: SearchRun, *, is_alone: bool) -> tuple[Regret | None, bool]:
        """Return the regret of a candidate by searches under `run`, and whether they came to their end; if not, `before` at worst.

        Args:
            is_alone: Whether the answer may not depend on other candidates, and is to be quick: what dual prices prove of a regret that
                rests on an unknown cost is enough.
        """
        assert before is not None
        if not before.rests_on_unknown:
            forced = self._forced_search.plan_with(index, run)
            if forced.is_feasible and not is_alone:
                self._learn(forced.chosen, forced.total - self._least)
                before = self._known[index] or before
            if forced.optimal:
                return Regret(max(0, forced.total - self._total), forced.total - self._least), True
            if forced.stopped:
                return before, False
        if not self._has_unknown:
            return None, True
        if is_alone:
            return replace(before, rests_on_unknown=True), True
        floor = self._floor_search.plan_with(index, run)
        if floor.optimal:
            return _unknown_regret(self._problem, self._chosen, self._total, floor.total), True
        return (replace(before, rests_on_unknown=True), False) if floor.stopped else (None, True)

    def _learn(self, chosen: Sequence[int], high: int) -> None:
        """Lower the upper bounds of the candidates of a plan of known costs that was met, whose regret is at most `high`."""
        for index in chosen:
            known = self._known.get(index)
            if known is not None and (known.high is None or high < known.high):
                self._known[index] = Regret(min(known.low, high), high)


class _Sweep:
    """Least weights to and from every state, and for each candidate the edge on the lightest plan with it.

    Attributes:
        edge_to: State → the last edge of the lightest way to it; without the start.
        edge_from: State → the first edge of the lightest way from it; without the end.
    """

    def __init__(self, cover: Cover, most_edges: int, run: SearchRun):
        self.is_complete = True
        self._most_edges = most_edges
        self._to: dict[State, int] = {cover.start: 0}
        self.edge_to: dict[State, Edge] = {}
        self._from: dict[State, int] = {}
        self.edge_from: dict[State, Edge] = {}
        self._lightest: dict[int, tuple[int, Edge]] = {}
        edges = self._forward(cover, run)
        if self.is_complete:
            self._backward(edges)

    def weight(self, index: int) -> int | None:
        """Return the weight of the lightest plan with candidate `index`; None when there is none."""
        known = self._lightest.get(index)
        return None if known is None else known[0]

    def edge(self, index: int) -> Edge:
        """Return the edge of candidate `index` on the lightest plan with it."""
        return self._lightest[index][1]

    def _forward(self, cover: Cover, run: SearchRun) -> list[list[Edge]]:
        """Return all edges by the first uncovered node of the state that they leave; every edge leads to a later one."""
        edges: list[list[Edge]] = [[] for _ in range(cover.problem.nodes)]
        states: list[dict[State, None]] = [{} for _ in range(cover.problem.nodes + 1)]
        states[0][cover.start] = None
        met = 0
        for first in range(cover.problem.nodes):
            met += len(edges[first - 1]) if first else 0
            if met > self._most_edges or run.should_stop():
                self.is_complete = False
                break
            for state in states[first]:
                weight = self._to[state]
                for move, step, after in moves_from(cover, state):
                    edge = (state, move, step, after)
                    edges[first].append(edge)
                    states[after[0]][after] = None
                    known = self._to.get(after)
                    if known is None or weight + step < known:
                        self._to[after] = weight + step
                        self.edge_to[after] = edge
        self._from.update(dict.fromkeys(states[-1], 0))
        return edges

    def _backward(self, edges: list[list[Edge]]) -> None:
        for leaving in reversed(edges):
            for edge in leaving:
                state, move, step, after = edge
                rest = self._from.get(after)
                if rest is None:
                    continue
                known = self._from.get(state)
                if known is None or step + rest < known:
                    self._from[state] = step + rest
                    self.edge_from[state] = edge
                whole = self._to[state] + step + rest
                lightest = self._lightest.get(move.index)
                if lightest is None or whole < lightest[0]:
                    self._lightest[move.index] = (whole, edge)


@dataclass(frozen=True, slots=True)
class _Way:
    """The lightest ways between each state and one end of the search.

    Attributes:
        edges: State → the next edge on its way.
        onward: Where in an edge the state after it stands.
        has_cycle: Whether the rest of the way from a state has a cycle, as far as that is known.
    """

    edges: Mapping[State, Edge]
    onward: Literal[0, 3]
    has_cycle: dict[State, bool] = field(default_factory=dict)


class _Loops:
    """Tells whether the lightest plan with a candidate has a cycle between its partitions.

    Where every node comes after all that it reads from, no cycle passes a state in which all nodes before the first uncovered one
    are covered, and no others. So only the stretch of the plan around the candidate, from one such state to the next, is the candidate's
    own; the way to the first of these states and that from the last are shared by many candidates, and looked at once.
    """

    def __init__(self, problem: SearchProblem, sweep: _Sweep, suspects: Set[int]):
        self._problem = problem
        self._sweep = sweep
        self._suspects = suspects
        self._is_ordered = all(tensor.maker < min(tensor.readers, default=problem.nodes) for tensor in problem.tensors)
        self._back, self._on = _Way(sweep.edge_to, 0), _Way(sweep.edge_from, 3)

    def in_plan_with(self, index: int) -> bool:
        """Return whether the lightest plan with candidate `index` has a cycle."""
        if not self._suspects:
            return False
        state, _, _, after = self._sweep.edge(index)
        before, first = (state, []) if self._is_clean(state) else self._stretch(self._back, state)
        behind, last = (after, []) if self._is_clean(after) else self._stretch(self._on, after)
        return self._has_cycle([*first, index, *last]) or self._on_way(self._back, before) or self._on_way(self._on, behind)

    def _is_clean(self, state: State) -> bool:
        return self._is_ordered and state[1] == 0

    def _stretch(self, way: _Way, state: State) -> tuple[State, list[int]]:
        """Return the next clean state of a way, or its end, and the candidates that are placed until there."""
        chosen: list[int] = []
        while (edge := way.edges.get(state)) is not None:
            chosen.append(edge[1].index)
            state = edge[way.onward]
            if self._is_clean(state):
                break
        return state, chosen

    def _on_way(self, way: _Way, state: State) -> bool:
        """Return whether the rest of a way has a cycle."""
        passed: list[tuple[State, list[int]]] = []
        while state not in way.has_cycle and state in way.edges:
            after, chosen = self._stretch(way, state)
            passed.append((state, chosen))
            state = after
        found = way.has_cycle.get(state, False)
        for state, chosen in reversed(passed):
            found = way.has_cycle[state] = found or self._has_cycle(chosen)
        return found

    def _has_cycle(self, chosen: Sequence[int]) -> bool:
        return not self._suspects.isdisjoint(chosen) and cycle(self._problem, chosen) is not None
