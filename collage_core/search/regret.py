"""Regret: for every candidate, what the best plan that holds it costs more than the best plan. Exact.

Design, "Why". One sweep forward over all states gives the least weight to each, one sweep backward the least weight from
each; the best plan through a candidate is the lightest way over one of its moves. Where that plan would have a cycle
between its partitions, the candidate is asked of a search of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from .best_first import astar
from .constraints import Constraint, allowed_indices
from .cover import Cover, Move, State, total_of
from .problem import SearchProblem
from .result import cycle, may_loop
from .searcher import SearchResult

Edge = tuple[State, Move, int, State]


def regrets(problem: SearchProblem, constraints: Sequence[Constraint], best: SearchResult) -> list[int | None]:
    """For every candidate: the least total of a plan that holds it, less the least total, in femtoseconds.

    None for one that is in no plan that holds the constraints.
    """
    made = regrets_within(problem, constraints, best, None)
    assert made is not None
    return made


def regrets_within(
    problem: SearchProblem, constraints: Sequence[Constraint], best: SearchResult, most_edges: int | None
) -> list[int | None] | None:
    """As `regrets`, or None where the sweep would meet more than `most_edges` moves."""
    usable = allowed_indices(problem, constraints)
    sweep = _Sweep(Cover(problem, usable), most_edges)
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
            made[index] = _pinned(problem, usable, index, best.total)
        else:
            made[index] = total_of(weight) - best.total
    return made


def regrets_of(problem: SearchProblem, constraints: Sequence[Constraint], indices: Sequence[int], best_total: int) -> list[int | None]:
    """As `regrets` for the candidates `indices` alone: each is asked of a search of its own.

    Args:
        best_total: Femtoseconds of the best plan.
    """
    usable = allowed_indices(problem, constraints)
    allowed = set(usable)
    return [_pinned(problem, usable, index, best_total) if index in allowed else None for index in indices]


def _pinned(problem: SearchProblem, usable: Sequence[int], index: int, best_total: int) -> int | None:
    bits = problem.candidates[index].bits
    held = astar(problem, [other for other in usable if other == index or not problem.candidates[other].bits & bits])
    return held.total - best_total if held.is_feasible else None


class _Sweep:
    """Least weights to and from every state, and the lightest edge of every candidate."""

    def __init__(self, cover: Cover, most_edges: int | None):
        self.is_complete = True
        self._most_edges = most_edges
        self._to: dict[State, int] = {cover.start: 0}
        self._came: dict[State, Edge] = {}
        self._from: dict[State, int] = {}
        self._goes: dict[State, Edge] = {}
        self._lightest: dict[int, tuple[int, Edge]] = {}
        edges = self._forth(cover)
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

    def _forth(self, cover: Cover) -> list[list[Edge]]:
        """Every edge, by the first uncovered node of the state that it leaves: moves only ever lead to later ones."""
        edges: list[list[Edge]] = [[] for _ in range(cover.problem.nodes)]
        states: list[dict[State, None]] = [{} for _ in range(cover.problem.nodes + 1)]
        states[0][cover.start] = None
        met = 0
        for first in range(cover.problem.nodes):
            met += len(edges[first - 1]) if first else 0
            if self._most_edges is not None and met > self._most_edges:
                self.is_complete = False
                break
            for state in states[first]:
                weight = self._to[state]
                for move, step, after in cover.expand(state):
                    edge = (state, move, step, after)
                    edges[first].append(edge)
                    states[after[0]][after] = None
                    if weight + step < self._to.get(after, weight + step + 1):
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
                if step + rest < self._from.get(state, step + rest + 1):
                    self._from[state] = step + rest
                    self._goes[state] = edge
                whole = self._to[state] + step + rest
                known = self._lightest.get(move.index)
                if known is None or whole < known[0]:
                    self._lightest[move.index] = (whole, edge)
