"""`plans_in_order`: the plans of a problem one after another, the best first, each once.

Every plan is one way through the states of a `Cover`, so the k best plans are the k lightest ways: the walk of `best_first`
without its relaxation, where a state may be passed more than once. Equal plans come in the order that the design wants.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .best_first import REPORT_EVERY
from .cover import Cover, Move, State
from .problem import SearchProblem
from .result import cycle, plan_total
from .searcher import QUIET, SearchResult, SearchRun


class _Way(NamedTuple):
    """A way from the start: its last step, and the way before it."""

    move: Move
    before: _Way | None


def plans_in_order(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> Iterator[SearchResult]:
    """Every well-formed plan over the candidates `usable`, by (unknown nodes, total, priorities, partitions, order).

    Ends when there are no more, or when `run` stops it. Each result's ``lower_bound`` is its own total: no plan that is
    still to come is below it.
    """
    began = time.perf_counter()
    cover = Cover(problem, usable)
    group: list[tuple[int, ...]] = []
    group_weight = states = 0
    for weight, way, states in _ways(cover, run):
        if group and weight != group_weight:
            yield from (_result(problem, chosen, states, began) for chosen in sorted(group, key=cover.order_of_plan))
            group = []
        chosen = _chosen(way)
        if cycle(problem, chosen) is None:
            group.append(chosen)
            group_weight = weight
    yield from (_result(problem, chosen, states, began) for chosen in sorted(group, key=cover.order_of_plan))


def k_best(problem: SearchProblem, usable: Sequence[int], count: int, run: SearchRun = QUIET) -> list[SearchResult]:
    """The `count` best plans, fewer where there are fewer."""
    return [plan for plan, _ in zip(plans_in_order(problem, usable, run), range(count), strict=False)]


def _ways(cover: Cover, run: SearchRun) -> Iterator[tuple[int, _Way | None, int]]:
    """(weight, way, states taken so far) for each way to the end, the lightest first."""
    heap: list[tuple[int, int, int, State, _Way | None, int]] = [(0, 0, 0, cover.start, None, 0)]
    weights: dict[int, int] = {0: 0}
    pushed = taken = 0
    while heap and cover.bound is not None:
        key, _, number, state, way, position = heapq.heappop(heap)
        weight = weights[number]
        if state == cover.end:
            yield weight, way, taken
            continue
        taken += not position
        if taken % REPORT_EVERY == 0 and run.should_stop():
            return
        row = cover.row(state[0])
        while position < len(row):
            least, step = row[position]
            if weight + least > key:
                heapq.heappush(heap, (weight + least, state[0], number, state, way, position))
                break
            position += 1
            move = cover.move(step)
            placed = cover.place(state, move)
            if not isinstance(placed, str):
                pushed += 1
                weights[pushed] = weight + placed[0]
                heapq.heappush(heap, (weights[pushed], placed[1][0], pushed, placed[1], _Way(move, way), 0))


def _chosen(way: _Way | None) -> tuple[int, ...]:
    made = []
    while way is not None:
        made.append(way.move.index)
        way = way.before
    return tuple(made[::-1])


def _result(problem: SearchProblem, chosen: tuple[int, ...], states: int, began: float) -> SearchResult:
    total = plan_total(problem, chosen)
    return SearchResult("astar", chosen, total, True, total, states, 0, time.perf_counter() - began)
