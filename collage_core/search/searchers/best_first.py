"""The walk of `astar` and `dijkstra`: exact best-first search over the states of a `Cover`.

Seeds: RFC 62 (0.81), "Phase 3" (Dijkstra with relaxation, ending at the first full state). A* is the same walk with the
costs reduced by `Prices`: then the steps of a best plan weigh next to nothing, and what cannot be in a nearly best plan is
never looked at. The moves of a state are tried one after another, the lightest first, only when their turn has come.

Of equal plans the walk finds the one that the design wants: states of equal weight are taken in the order of the model, so
all ways of equal weight to a state are known before it is taken.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..problem import SearchProblem
from ..result import cycle, plan_total
from ..searcher import SearchResult, SearchRun
from .cover import Cover, Move, State

REPORT_EVERY = 256
"""States between two looks at the clock and at the reporter."""
DIVE_EVERY = 64
"""Looks at the clock between two attempts to complete the newest state to a plan."""
NEW = -1
"""In place of the position of the next move: the state was not taken yet."""


@dataclass
class Walk:
    """A search over one cover: the lightest way to every state met so far, and how far the search is.

    Attributes:
        weight: Of the lightest way to a state, without the cover's bound.
        came: The step by which it ends.
        settled: States that no lighter way leads to.
        reached: No plan that was not found yet weighs less.
    """

    cover: Cover
    run: SearchRun
    weight: dict[State, int] = field(default_factory=dict)
    came: dict[State, tuple[State, Move]] = field(default_factory=dict)
    settled: set[State] = field(default_factory=set)
    heap: list[tuple[int, int, int, State, int]] = field(default_factory=list)
    numbers: dict[State, int] = field(default_factory=dict)
    first_number: int = 0
    best: tuple[int, ...] = ()
    best_weight: int | None = None
    pushed: int = 0
    transitions: int = 0
    reached: int = 0
    stopped: bool = False

    def to_end(self) -> bool:
        """Search until the full state is settled; False when there is no way there, or when it was stopped."""
        start, end = self.cover.start, self.cover.end
        self._meet(start, 0)
        if self.run.reporter.traces:
            self.run.reporter.pushed(self.numbers[start], -1, -1, 0)
        while self.heap:
            self.reached, _, _, state, position = heapq.heappop(self.heap)
            if position == NEW:
                if state in self.settled:
                    continue
                self.settled.add(state)
                if self.run.reporter.traces:
                    self.run.reporter.popped(self.numbers[state], state[0] + state[1].bit_count(), self.reached)
                if state == end:
                    return True
                if self._must_stop(state):
                    return False
            self._expand(state, max(position, 0))
        return False

    def dive(self, state: State) -> None:
        """Complete `state` by the lightest moves that fit: a plan early, for whoever waits or must stop."""
        weight, moves = self.weight.get(state, 0), self.path(state)
        while state != self.cover.end:
            for _, number in self.cover.row(state[0]):
                move = self.cover.move(number)
                placed = self.cover.place(state, move)
                if not isinstance(placed, str):
                    weight, state = weight + placed[0], placed[1]
                    moves.append(move)
                    break
            else:
                return
        chosen = tuple(move.index for move in moves)
        if (self.best_weight is None or weight < self.best_weight) and cycle(self.cover.problem, chosen) is None:
            self.best, self.best_weight = chosen, weight
            self.run.reporter.better_plan(chosen, plan_total(self.cover.problem, chosen))

    def path(self, state: State) -> list[Move]:
        """The moves that lead to `state`, in order."""
        moves = []
        while state in self.came:
            state, move = self.came[state]
            moves.append(move)
        return moves[::-1]

    def _expand(self, state: State, position: int) -> None:
        """Try the moves of `state` from `position` on whose turn it is, and come back to the others later."""
        cover, reporter = self.cover, self.run.reporter
        weight, row = self.weight[state], cover.row(state[0])
        while position < len(row):
            least, number = row[position]
            if weight + least > self.reached:
                self._push(weight + least, state, position)
                return
            position += 1
            move = cover.move(number)
            self.transitions += 1
            placed = cover.place(state, move)
            if not isinstance(placed, str):
                self._relax(state, move, weight + placed[0], placed[1])
            elif reporter.traces:
                reporter.considered(self.numbers[state], move.index, placed)

    def _relax(self, state: State, move: Move, weight: int, after: State) -> None:
        """Take the way over `state` to `after` if it is better than the known one."""
        known, reporter = self.weight.get(after), self.run.reporter
        if known is not None and (weight > known or (weight == known and not self._is_earlier(state, move, after))):
            if reporter.traces:
                reporter.considered(self.numbers[state], move.index, "no better")
            return
        self.came[after] = (state, move)
        if known is None or weight < known:
            self._meet(after, weight)
        if reporter.traces:
            tell = reporter.pushed if known is None else reporter.improved
            tell(self.numbers[after], self.numbers[state], move.index, weight)

    def _meet(self, state: State, weight: int) -> None:
        self.weight[state] = weight
        if self.run.reporter.traces:
            self.numbers.setdefault(state, self.first_number + len(self.numbers))
        self._push(weight, state, NEW)

    def _push(self, weight: int, state: State, position: int) -> None:
        self.pushed += 1
        heapq.heappush(self.heap, (weight, state[0], self.pushed, state, position))

    def _is_earlier(self, state: State, move: Move, after: State) -> bool:
        """Whether the way over `state` comes before the known way to `after`, of equal weight, in the order of plans.

        Both ways are followed back to where they part; what they do first from there decides.
        """
        known_state, known_move = self.came[after]
        while state != known_state:
            if state[0] >= known_state[0]:
                state, move = self.came[state]
            else:
                known_state, known_move = self.came[known_state]
        return move is not known_move and self.cover.order_of(move.index) < self.cover.order_of(known_move.index)

    def _must_stop(self, state: State) -> bool:
        """Look at the clock and tell how it goes, now and then."""
        if len(self.settled) % REPORT_EVERY:
            return False
        self.stopped = self.run.should_stop()
        if len(self.settled) % (REPORT_EVERY * DIVE_EVERY) == 0:
            self.dive(state)
        bound = self.cover.weights.total((self.cover.bound or 0) + self.reached)
        best = None if not self.best else plan_total(self.cover.problem, self.best)
        newest = lambda: [move.index for move in self.path(state)]  # noqa: E731
        self.run.reporter.progress(len(self.settled), self.transitions, len(self.heap), state[0], bound, best, newest)
        return self.stopped


def walk_whole(name: str, problem: SearchProblem, usable: Sequence[int], run: SearchRun, *, is_guided: bool) -> SearchResult:
    """A best plan over the candidates `usable`, proven; ``chosen`` is empty when there is none.

    A plan whose partitions make a cycle is no plan: the combination is forbidden and the search goes on, until the best
    plan has none.
    """
    began = time.perf_counter()
    forbidden: list[frozenset[int]] = []
    states = transitions = met = 0
    while True:
        cover = Cover(problem, usable, forbidden, is_guided=is_guided)
        walk = Walk(cover, run, first_number=met)
        if cover.bound is not None:
            walk.dive(cover.start)
        found = cover.bound is not None and walk.to_end()
        states += len(walk.settled)
        transitions += walk.transitions
        met += len(walk.numbers)
        chosen = tuple(move.index for move in walk.path(cover.end)) if found else walk.best
        looped = cycle(problem, chosen) if found else None
        if looped is None:
            total = plan_total(problem, chosen) if chosen else 0
            if found and chosen != walk.best:
                run.reporter.better_plan(chosen, total)
            bound = cover.weights.total((cover.bound or 0) + walk.reached)
            seconds = time.perf_counter() - began
            return SearchResult(name, chosen, total, found, total if found else bound, states, transitions, seconds, walk.stopped)
        forbidden.append(looped)
