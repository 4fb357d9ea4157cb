"""`astar` and `dijkstra`: exact best-first search over the states of a `Cover`.

Seeds: RFC 62 (0.81), "Phase 3" (Dijkstra with relaxation, ending at the first full state). A* adds a bound on the rest; it
is admissible and consistent, so both end with the same plan. Weights of moves are positive, and states are taken by
(weight + bound, weight): by the time a state is taken every path to it of equal weight has been seen, so the choice
between equal plans (design, "Cost of a plan") is exact too.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from .cover import Cover, Move, State, total_of
from .problem import SearchProblem
from .result import cycle
from .searcher import QUIET, SearchResult, SearchRun

REPORT_EVERY = 512
"""States between two looks at the clock and at the reporter."""


@dataclass
class _Walk:
    """The best way to every state met so far."""

    weight: dict[State, int]
    came: dict[State, tuple[State, Move]] = field(default_factory=dict)
    states: int = 0
    transitions: int = 0
    stopped: bool = False

    def path(self, state: State) -> list[Move]:
        """The moves that lead to `state`, in order."""
        moves = []
        while state in self.came:
            state, move = self.came[state]
            moves.append(move)
        return moves[::-1]


def astar(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> SearchResult:
    """A best plan, found with a bound on the rest."""
    return best_first(problem, usable, run, guided=True)


def dijkstra(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> SearchResult:
    """A best plan, as the seeds find it."""
    return best_first(problem, usable, run, guided=False)


def best_first(problem: SearchProblem, usable: Sequence[int], run: SearchRun, *, guided: bool) -> SearchResult:
    """A best plan over the candidates `usable`, proven; ``chosen`` is empty when there is none.

    A plan whose partitions make a cycle is no plan: the combination is forbidden and the search goes on, until the best
    plan has none.

    Args:
        guided: A* (True) or plain Dijkstra.
    """
    name = "astar" if guided else "dijkstra"
    began = time.perf_counter()
    forbidden: list[frozenset[int]] = []
    states = transitions = 0
    while True:
        cover = Cover(problem, usable, forbidden)
        walk, end, bound = _walk(cover, guided, run)
        states += walk.states
        transitions += walk.transitions
        chosen = tuple(move.index for move in walk.path(end)) if end is not None else ()
        looped = cycle(problem, chosen) if chosen else None
        if looped is None:
            total = total_of(walk.weight[end]) if end is not None else 0
            seconds = time.perf_counter() - began
            return SearchResult(name, chosen, total, bool(chosen), total_of(bound), states, transitions, seconds, walk.stopped)
        forbidden.append(looped)


def _walk(cover: Cover, guided: bool, run: SearchRun) -> tuple[_Walk, State | None, int]:
    """Search until the first full state is taken: the walk, that state (None if there is none), and the bound reached."""
    start = cover.start
    walk = _Walk({start: 0})
    bound = cover.bound(start) if guided else 0
    heap: list[tuple[int, int, int, State]] = [(bound, 0, 0, start)]
    done: set[State] = set()
    pushed = 0
    while heap:
        bound, weight, _, state = heapq.heappop(heap)
        if state in done:
            continue
        if cover.is_end(state):
            return walk, state, bound
        done.add(state)
        walk.states += 1
        if walk.states % REPORT_EVERY == 0:
            if run.should_stop():
                walk.stopped = True
                return walk, None, bound
            run.reporter.progress(walk.states, walk.transitions, len(heap), state[0], total_of(bound), None)
        for move, step, after in cover.expand(state):
            walk.transitions += 1
            if _relax(walk, state, move, weight + step, after):
                pushed += 1
                rest = cover.bound(after) if guided else 0
                heapq.heappush(heap, (weight + step + rest, weight + step, pushed, after))
    return walk, None, bound


def _relax(walk: _Walk, state: State, move: Move, weight: int, after: State) -> bool:
    """Take the way over `state` to `after` if it is better; True when `after` got lighter and must be looked at again."""
    known = walk.weight.get(after)
    if known is not None and (weight > known or (weight == known and not _is_earlier(walk, state, move, after))):
        return False
    walk.weight[after] = weight
    walk.came[after] = (state, move)
    return known is None or weight < known


def _is_earlier(walk: _Walk, state: State, move: Move, after: State) -> bool:
    """Whether the way over `state` comes before the known way to `after`, of equal weight, in the order of plans."""
    known_state, known_move = walk.came[after]
    if known_state == state:
        return False
    mine = [step.order for step in (*walk.path(state), move)]
    known = [step.order for step in (*walk.path(known_state), known_move)]
    return mine < known
