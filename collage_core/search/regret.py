"""Regret: for every candidate, what the best plan that holds it costs more than the best plan. Exact.

Design, "Why". One sweep forward over all states gives the least weight to each, one sweep backward the least weight from
each; the best plan through a candidate is the lightest way over one of its moves. Where that plan would have a cycle
between its partitions, the candidate is asked of a search of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from .best_first import best_first
from .constraints import Constraint, allowed_indices
from .cover import Cover, Move, State, total_of
from .problem import SearchProblem
from .result import SearchResult, cycle, may_loop

Edge = tuple[State, Move, int, State]


def regrets(problem: SearchProblem, constraints: Sequence[Constraint], best: SearchResult) -> list[int | None]:
    """For every candidate: the least total of a plan that holds it, less the least total, in femtoseconds.

    None for one that is in no plan that holds the constraints.
    """
    usable = allowed_indices(problem, constraints)
    sweep = _Sweep(Cover(problem, usable))
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
            bits = problem.candidates[index].bits
            held = best_first(problem, [other for other in usable if other == index or not problem.candidates[other].bits & bits])
            made[index] = held.total - best.total if held.is_feasible else None
        else:
            made[index] = total_of(weight) - best.total
    return made


class _Sweep:
    """Least weights to and from every state, and the lightest edge of every candidate."""

    def __init__(self, cover: Cover):
        self._to: dict[State, int] = {cover.start: 0}
        self._came: dict[State, Edge] = {}
        self._from: dict[State, int] = {}
        self._goes: dict[State, Edge] = {}
        self._lightest: dict[int, tuple[int, Edge]] = {}
        self._back(cover, self._forth(cover))

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
        for first in range(cover.problem.nodes):
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

    def _back(self, cover: Cover, edges: list[list[Edge]]) -> None:
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
