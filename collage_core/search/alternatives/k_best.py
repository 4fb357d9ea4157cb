"""`plans_in_order`: the plans of a problem one after another, the best first, each once.

Every plan is one way through the states of a `Cover`, so the k best plans are the k lightest ways. States are met up to
some weight, each once, by the walk of `best_first`; a sweep back says for each how much the rest of the way weighs at least.
With that known, ways are spelt out in the order of their whole weight, and none that leads nowhere. When all ways up to that
weight are told, it is raised.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..problem import SearchProblem
from ..result import cycle, plan_total
from ..searcher import QUIET, SearchResult, SearchRun
from ..searchers.best_first import NEW, REPORT_EVERY
from ..searchers.cover import Cover, Move, State

FIRST_RAISE = 1000
"""The weight is first raised by this part of the bound, and then by twice as much each time."""

Edge = tuple[int, Move, State]
"""(what it weighs, the move, the state behind it)."""


def plans_in_order(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> Iterator[SearchResult]:
    """Every well-formed plan over the candidates `usable`, by (unknown nodes, total, priorities, partitions, order).

    Ends when there are no more, or when `run` stops it. Each result's ``lower_bound`` is its own total: no plan that is
    still to come is below it.
    """
    began = time.perf_counter()
    cover = Cover(problem, usable)
    if cover.bound is None:
        return
    explored = _Explored(cover, run)
    told, limit, more = -1, 0, max(1, cover.bound // FIRST_RAISE)
    while explored.go_on(limit):
        for way in _ways(explored, told, limit if explored.next_weight is not None else None, run):
            chosen = way.chosen()
            if cycle(problem, chosen) is None:
                total = plan_total(problem, chosen)
                seconds = time.perf_counter() - began
                yield SearchResult("astar", chosen, total, True, total, len(explored.settled), explored.transitions, seconds)
        if explored.next_weight is None or run.should_stop():
            return
        told, limit, more = limit, max(limit + more, explored.next_weight), 2 * more


def k_best(problem: SearchProblem, usable: Sequence[int], count: int, run: SearchRun = QUIET) -> list[SearchResult]:
    """The `count` best plans, fewer where there are fewer."""
    return [plan for plan, _ in zip(plans_in_order(problem, usable, run), range(count), strict=False)]


class _Explored:
    """The states up to some weight, and all edges between them.

    Attributes:
        settled: State → the edges that leave it.
        next_weight: Of the lightest edge that was not looked at yet; None where all were.
    """

    def __init__(self, cover: Cover, run: SearchRun):
        self.cover = cover
        self.settled: dict[State, list[Edge]] = {}
        self.transitions = 0
        self._run = run
        self._weight: dict[State, int] = {cover.start: 0}
        self._heap: list[tuple[int, int, int, State, int]] = [(0, 0, 0, cover.start, NEW)]
        self._pushed = 0

    @property
    def next_weight(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def go_on(self, limit: int) -> bool:
        """Meet all states and edges up to the weight `limit`; False when it was stopped."""
        heap = self._heap
        while heap and heap[0][0] <= limit:
            _, _, _, state, position = heapq.heappop(heap)
            if position == NEW:
                if state in self.settled:
                    continue
                self.settled[state] = []
                if len(self.settled) % REPORT_EVERY == 0 and self._run.should_stop():
                    return False
            if state != self.cover.end:
                self._expand(state, max(position, 0), limit)
        return True

    def _expand(self, state: State, position: int, limit: int) -> None:
        weight, row = self._weight[state], self.cover.row(state[0])
        while position < len(row):
            least, number = row[position]
            if weight + least > limit:
                self._push(weight + least, state, position)
                return
            position += 1
            move = self.cover.move(number)
            self.transitions += 1
            placed = self.cover.place(state, move)
            if not isinstance(placed, str):
                step, after = placed
                self.settled[state].append((step, move, after))
                known = self._weight.get(after)
                if known is None or weight + step < known:
                    self._weight[after] = weight + step
                    self._push(weight + step, after, NEW)

    def _push(self, weight: int, state: State, position: int) -> None:
        self._pushed += 1
        heapq.heappush(self._heap, (weight, state[0], self._pushed, state, position))

    def rests(self) -> dict[State, int]:
        """State → the least weight of the rest of a way, for those from which the end was met."""
        rests = {self.cover.end: 0}
        for state in sorted(self.settled, key=_first, reverse=True):
            least = min((step + rests[after] for step, _, after in self.settled[state] if after in rests), default=None)
            if least is not None:
                rests[state] = least
        return rests


def _first(state: State) -> int:
    return state[0]


class _Step(NamedTuple):
    """A way from the start: its last move, and the way before it."""

    move: Move
    before: _Step | None


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """The lightest way that begins with `done` and goes on with the edge at `place` of a state: `whole` is its weight.

    Attributes:
        weight: Of `done` alone.
    """

    whole: int
    cover: Cover
    done: _Step | None
    weight: int
    state: State
    place: int = 0

    def __lt__(self, other: _Way) -> bool:
        """Lighter, or as light and earlier in the order of plans."""
        return (self.whole, self._order()) < (other.whole, other._order()) if self.whole == other.whole else self.whole < other.whole

    def _order(self) -> list[tuple[int, tuple[int, int, tuple[int, ...]]]]:
        return self.cover.order_of_plan(self.chosen())

    def chosen(self) -> tuple[int, ...]:
        """Indices of the candidates of `done`."""
        made, step = [], self.done
        while step is not None:
            made.append(step.move.index)
            step = step.before
        return tuple(reversed(made))


def _ways(explored: _Explored, told: int, limit: int | None, run: SearchRun) -> Iterator[_Way]:
    """The ways to the end that weigh more than `told` and at most `limit` (None for any), in their order."""
    cover, rests = explored.cover, explored.rests()
    sorted_edges: dict[State, list[tuple[int, Edge]]] = {}

    def edges(state: State) -> list[tuple[int, Edge]]:
        """The edges of a state by the weight of the rest of the way over them, the earlier in the order of plans first."""
        if state not in sorted_edges:
            leading = [(edge[0] + rests[edge[2]], edge) for edge in explored.settled[state] if edge[2] in rests]
            sorted_edges[state] = sorted(leading, key=lambda item: (item[0], cover.order_of(item[1][1].index)))
        return sorted_edges[state]

    heap = [_Way(rests[cover.start], cover, None, 0, cover.start)] if cover.start in rests else []
    popped = 0
    while heap and (limit is None or heap[0].whole <= limit):
        way = heapq.heappop(heap)
        popped += 1
        if popped % REPORT_EVERY == 0 and run.should_stop():
            return
        if way.state == cover.end:
            if way.whole > told:
                yield way
            continue
        row = edges(way.state)
        step, move, after = row[way.place][1]
        if way.place + 1 < len(row):
            heapq.heappush(heap, _Way(way.weight + row[way.place + 1][0], cover, way.done, way.weight, way.state, way.place + 1))
        heapq.heappush(heap, _Way(way.whole, cover, _Step(move, way.done), way.weight + step, after))
