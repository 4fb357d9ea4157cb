"""Regret: for every candidate, what the best plan that holds it costs more than the best plan.

Design, "Why". One sweep forward over all states gives the least weight to each, one sweep backward the least weight from
each; the best plan through a candidate is the lightest way over one of its moves: exact. Where that plan would have a cycle
between its partitions, or where the states are too many for a sweep, the candidate is asked of a search of its own. When
time runs out, what is proven by then is an interval: the prices bound each candidate's plans from below, and every plan
that was met on the way bounds those of its candidates from above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..constraints.constraints import Constraint, allowed_indices
from ..problem import SearchProblem
from ..result import cycle, may_loop
from ..searcher import QUIET, SearchResult, SearchRun
from ..searchers.cover import Cover, Move, State, steps
from .forced_candidate import BestWith

Edge = tuple[State, Move, int, State]

MOST_EDGES = 2_000_000
"""Past this many moves a sweep would not fit in memory, and each candidate is asked of a search of its own."""


@dataclass(frozen=True, slots=True)
class Regret:
    """Femtoseconds by which the best plan that holds a candidate is above the best plan: at least `low`, at most `high`.

    `high` is None where no such plan is known.
    """

    low: int
    high: int | None

    @property
    def is_exact(self) -> bool:
        return self.low == self.high


def regrets(problem: SearchProblem, constraints: Sequence[Constraint], best: SearchResult) -> list[int | None]:
    """For every candidate: the least total of a plan that holds it, less the least total, in femtoseconds. Exact.

    None for one that is in no plan that holds the constraints.
    """
    return [None if regret is None else regret.low for regret in regret_intervals(problem, constraints, best)]


def regret_intervals(
    problem: SearchProblem, constraints: Sequence[Constraint], best: SearchResult, run: SearchRun = QUIET
) -> list[Regret | None]:
    """As `regrets`, of a plan that need not be proven the best; when `run` stops it, intervals where it is not known exactly by then."""
    values = regrets_within(problem, constraints, best, MOST_EDGES, run) if best.optimal else None
    if values is not None:
        return [None if value is None else Regret(value, value) for value in values]
    least = best.total if best.optimal else best.lower_bound
    return Regrets(problem, constraints, best.chosen, best.total, least).of(range(len(problem.candidates)), run)


def regrets_within(
    problem: SearchProblem, constraints: Sequence[Constraint], best: SearchResult, most_edges: int, run: SearchRun = QUIET
) -> list[int | None] | None:
    """As `regrets`, or None where the sweep would meet more than `most_edges` moves or is stopped."""
    usable = allowed_indices(problem, constraints)
    cover = Cover(problem, usable)
    sweep = _Sweep(cover, most_edges, run)
    if not sweep.is_complete:
        return None
    loose = may_loop(problem, usable)
    made: list[int | None] = [None] * len(problem.candidates)
    for index in usable:
        if index in best.chosen:
            made[index] = 0
            continue
        weight = sweep.weight(index)
        if weight is None:
            continue
        plan = sweep.plan(index) if loose else []
        if not loose.isdisjoint(plan) and cycle(problem, plan) is not None:
            held = BestWith(problem, usable).plan_with(index, run.should_stop)
            made[index] = held.total - best.total if held.is_feasible else None
        else:
            made[index] = cover.weights.total((cover.bound or 0) + weight) - best.total
    return made


class Regrets:
    """Regrets of single candidates, on demand: each is asked of a search of its own.

    Args:
        chosen: Indices of the candidates of the best plan that is known.
        total: Femtoseconds of that plan.
        least: No plan is below; as many where the plan is proven to be the best. Less makes every regret an interval.
    """

    def __init__(self, problem: SearchProblem, constraints: Sequence[Constraint], chosen: Sequence[int], total: int, least: int):
        self._total = total
        self._least = least
        self._best_with = BestWith(problem, allowed_indices(problem, constraints))
        cover = Cover(problem, self._best_with.usable)
        self._known: dict[int, Regret | None] = {}
        self._asked: set[int] = set()
        for index, weight in cover.least_weights():
            self._known[index] = Regret(max(0, cover.weights.total((cover.bound or 0) + weight) - total), None)
        self._learn(chosen, total - least)

    def of(self, indices: Sequence[int], run: SearchRun = QUIET) -> list[Regret | None]:
        """As `regrets` for the candidates `indices`: intervals for those that are not known exactly when `run` stops it.

        Those that the prices put nearest to the best plan are asked first.
        """
        open_ = [index for index in indices if self._is_open(index)]
        for index in sorted(open_, key=lambda index: self._known[index].low):  # type: ignore[union-attr]
            if run.should_stop():
                break
            if self._is_open(index):
                self._ask(index, run)
        return [self._known.get(index) for index in indices]

    def _is_open(self, index: int) -> bool:
        known = self._known.get(index)
        return known is not None and not known.is_exact and index not in self._asked

    def _ask(self, index: int, run: SearchRun) -> None:
        held = self._best_with.plan_with(index, run.should_stop)
        if held.is_feasible:
            self._learn(held.chosen, held.total - self._least)
        if held.optimal:
            self._known[index] = Regret(max(0, held.total - self._total), held.total - self._least)
        elif not held.stopped:
            self._known[index] = None
        if not held.stopped:
            self._asked.add(index)

    def _learn(self, chosen: Sequence[int], high: int) -> None:
        """A plan was met: the best plans of those that it holds are no worse."""
        for index in chosen:
            known = self._known.get(index)
            if known is not None and (known.high is None or high < known.high):
                self._known[index] = Regret(min(known.low, high), high)


class _Sweep:
    """Least weights to and from every state, and the lightest edge of every candidate."""

    def __init__(self, cover: Cover, most_edges: int, run: SearchRun):
        self.is_complete = True
        self._most_edges = most_edges
        self._to: dict[State, int] = {cover.start: 0}
        self._came: dict[State, Edge] = {}
        self._from: dict[State, int] = {}
        self._goes: dict[State, Edge] = {}
        self._lightest: dict[int, tuple[int, Edge]] = {}
        edges = self._forth(cover, run)
        if self.is_complete:
            self._back(edges)

    def weight(self, index: int) -> int | None:
        """The weight of the lightest plan through candidate `index`; None when there is none."""
        known = self._lightest.get(index)
        return None if known is None else known[0]

    def plan(self, index: int) -> list[int]:
        """The lightest plan through candidate `index`, in any order."""
        edge = self._lightest[index][1]
        plan = [edge[1].index]
        state = edge[0]
        while state in self._came:
            step = self._came[state]
            plan.append(step[1].index)
            state = step[0]
        state = edge[3]
        while state in self._goes:
            step = self._goes[state]
            plan.append(step[1].index)
            state = step[3]
        return plan

    def _forth(self, cover: Cover, run: SearchRun) -> list[list[Edge]]:
        """Every edge, by the first uncovered node of the state that it leaves: moves only ever lead to later ones."""
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
                for move, step, after in steps(cover, state):
                    edge = (state, move, step, after)
                    edges[first].append(edge)
                    states[after[0]][after] = None
                    known = self._to.get(after)
                    if known is None or weight + step < known:
                        self._to[after] = weight + step
                        self._came[after] = edge
        self._from.update(dict.fromkeys(states[-1], 0))
        return edges

    def _back(self, edges: list[list[Edge]]) -> None:
        for leaving in reversed(edges):
            for edge in leaving:
                state, move, step, after = edge
                rest = self._from.get(after)
                if rest is None:
                    continue
                known = self._from.get(state)
                if known is None or step + rest < known:
                    self._from[state] = step + rest
                    self._goes[state] = edge
                whole = self._to[state] + step + rest
                lightest = self._lightest.get(move.index)
                if lightest is None or whole < lightest[0]:
                    self._lightest[move.index] = (whole, edge)
