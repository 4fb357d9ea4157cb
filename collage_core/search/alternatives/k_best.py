"""`plans_in_order`: the plans of a problem one after another, the best first, each once; `k_best` returns the first k.

Every plan is one path through the states of a `Cover`, so the k best plans are the k lightest paths. States are met up to some
weight, each once, as in `best_first`; a sweep backward gives for each the least weight of the rest of a path. With these known,
paths are extended in the order of their whole weight, and none that leads nowhere. When all paths up to that weight are listed,
it is raised.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..plan_properties import cycle, plan_total
from ..problem import SearchProblem
from ..searcher import QUIET, SearchResult, SearchRun
from ..searchers.best_first import NEW, REPORT_EVERY
from ..searchers.cover import Cover, Move, State

FIRST_RAISE = 1000
"""The weight limit is first raised by the bound divided by this, and then by twice as much each time."""

Edge = tuple[int, Move, State]
"""(weight of the move, the move, the state after it)."""


def plans_in_order(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> Iterator[SearchResult]:
    """Yield every well-formed plan over the candidates `usable`, by (unknown nodes, total, priorities, partitions, order).

    It ends after the last plan, or when `run` is stopped. The ``lower_bound`` of each result is its own total: no later plan is
    below it.
    """
    began = time.perf_counter()
    cover = Cover(problem, usable)
    if cover.bound is None:
        return
    explored = _Explored(cover, run)
    listed, limit, more = -1, 0, max(1, cover.bound // FIRST_RAISE)
    while explored.go_on(limit):
        for path in _paths(explored, listed, limit if explored.next_weight is not None else None, run):
            chosen = path.chosen()
            if cycle(problem, chosen) is None:
                total = plan_total(problem, chosen)
                seconds = time.perf_counter() - began
                yield SearchResult("astar", chosen, total, True, total, len(explored.settled), explored.moves, seconds)
        if explored.next_weight is None or run.should_stop():
            return
        listed, limit, more = limit, max(limit + more, explored.next_weight), 2 * more


def k_best(problem: SearchProblem, usable: Sequence[int], count: int, run: SearchRun = QUIET) -> list[SearchResult]:
    """Return the `count` best plans; fewer when there are fewer, or when `run` is stopped."""
    return [plan for plan, _ in zip(plans_in_order(problem, usable, run), range(count), strict=False)]


class _Explored:
    """The states up to some weight, and all edges between them.

    Attributes:
        settled: State → the edges that leave it.
        moves: Number of tried moves.
    """

    def __init__(self, cover: Cover, run: SearchRun):
        self.cover = cover
        self.settled: dict[State, list[Edge]] = {}
        self.moves = 0
        self._run = run
        self._weight: dict[State, int] = {cover.start: 0}
        self._heap: list[tuple[int, int, int, State, int]] = [(0, 0, 0, cover.start, NEW)]
        self._pushed = 0

    @property
    def next_weight(self) -> int | None:
        """Weight of the lightest edge that was not tried yet; None when all were."""
        return self._heap[0][0] if self._heap else None

    def go_on(self, limit: int) -> bool:
        """Meet all states and edges up to the weight `limit`; return False when the run was stopped."""
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
            self.moves += 1
            stepped = self.cover.step(state, move)
            if not isinstance(stepped, str):
                step, after = stepped
                self.settled[state].append((step, move, after))
                known = self._weight.get(after)
                if known is None or weight + step < known:
                    self._weight[after] = weight + step
                    self._push(weight + step, after, NEW)

    def _push(self, weight: int, state: State, position: int) -> None:
        self._pushed += 1
        heapq.heappush(self._heap, (weight, state[0], self._pushed, state, position))

    def rests(self) -> dict[State, int]:
        """Return state → the least weight of the rest of a path, for those from which the end was met."""
        rests = {self.cover.end: 0}
        for state in sorted(self.settled, key=_first, reverse=True):
            least = min((step + rests[after] for step, _, after in self.settled[state] if after in rests), default=None)
            if least is not None:
                rests[state] = least
        return rests


def _first(state: State) -> int:
    return state[0]


class _Prefix(NamedTuple):
    """The beginning of a path: its last move, and the path before it."""

    move: Move
    before: _Prefix | None


@dataclass(frozen=True, slots=True, eq=False)
class _Path:
    """The lightest path that begins with `prefix` and goes on with the edge of `state` at `position`; `whole` is its weight.

    Attributes:
        weight: Weight of `prefix` alone.
    """

    whole: int
    cover: Cover
    prefix: _Prefix | None
    weight: int
    state: State
    position: int = 0

    def __lt__(self, other: _Path) -> bool:
        """Return whether this path is lighter, or as light and earlier in the order of plans."""
        return (self.whole, self._order()) < (other.whole, other._order()) if self.whole == other.whole else self.whole < other.whole

    def _order(self) -> list[tuple[int, tuple[int, int, tuple[int, ...]]]]:
        return self.cover.order_of_plan(self.chosen())

    def chosen(self) -> tuple[int, ...]:
        """Return the candidates of `prefix`."""
        chosen, prefix = [], self.prefix
        while prefix is not None:
            chosen.append(prefix.move.index)
            prefix = prefix.before
        return tuple(reversed(chosen))


def _paths(explored: _Explored, listed: int, limit: int | None, run: SearchRun) -> Iterator[_Path]:
    """Yield the paths to the end that weigh more than `listed` and at most `limit` (None for any), in their order."""
    cover, rests = explored.cover, explored.rests()
    sorted_edges: dict[State, list[tuple[int, Edge]]] = {}

    def edges(state: State) -> list[tuple[int, Edge]]:
        """Return the edges of a state by the weight of the rest of the path over them; of equals the first in the order of plans."""
        if state not in sorted_edges:
            leading = [(edge[0] + rests[edge[2]], edge) for edge in explored.settled[state] if edge[2] in rests]
            sorted_edges[state] = sorted(leading, key=lambda item: (item[0], cover.order_of(item[1][1].index)))
        return sorted_edges[state]

    heap = [_Path(rests[cover.start], cover, None, 0, cover.start)] if cover.start in rests else []
    popped = 0
    while heap and (limit is None or heap[0].whole <= limit):
        path = heapq.heappop(heap)
        popped += 1
        if popped % REPORT_EVERY == 0 and run.should_stop():
            return
        if path.state == cover.end:
            if path.whole > listed:
                yield path
            continue
        row = edges(path.state)
        step, move, after = row[path.position][1]
        if path.position + 1 < len(row):
            next_whole = path.weight + row[path.position + 1][0]
            heapq.heappush(heap, _Path(next_whole, cover, path.prefix, path.weight, path.state, path.position + 1))
        heapq.heappush(heap, _Path(path.whole, cover, _Prefix(move, path.prefix), path.weight + step, after))
