"""Exact best-first search over the states of a `Cover`, which `astar` and `dijkstra` share.

Dijkstra's algorithm with relaxation ends when the full state is taken first (RFC 62 (Collage), "Phase 3"). A* is the same search
over weights reduced by `DualPrices`: the moves of a best plan weigh next to nothing, and what cannot be in a nearly best plan is
never tried. The moves of a state are tried one after another, the lightest first, each only when its weight is reached.

Where tensors are copied, a state may be dominated: another one covers the same nodes with the same makers, and its tensors exist at
other locations, as a rule at more of them; it is lighter by the most that any rest of a plan can weigh more after it. Then the state is
not expanded. More locations at the same weight are not enough: with a route over a third location, copies to two locations that went
different ways may be no help for a third reader, where a copy to one of them is (`CopyWeights.most_more`).

Of equal plans the search finds the first in the order of plans: states of equal weight are taken in the order of the model, so
all paths of equal weight to a state are known before it is taken.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..plan_properties import cycle, plan_total
from ..problem import SearchProblem
from ..searcher import SearchResult, SearchRun
from .cover import Cover, Move, State

REPORT_EVERY = 256
"""States between two looks at the clock and two reports."""
DIVE_EVERY = 64
"""Looks at the clock between two attempts to complete the newest state to a plan."""
NEW = -1
"""Position in its row of a state that was not expanded yet."""


@dataclass
class BestFirstSearch:
    """A search over one cover: the lightest path to every state met so far, and the progress of the search.

    Attributes:
        weight: Weight of the lightest path to each state, without the cover's bound.
        predecessor: The last step of that path.
        settled: States to which no lighter path exists.
        heap: (weight, first uncovered node, number, state, position in its row) of what is tried next.
        numbers: Numbers of the states, for a reporter that traces.
        best: The best plan that was completed by diving.
        popped_weight: Weight taken from the heap last; no plan that was not found yet weighs less.
        expanded: States that were expanded, by all but the locations of their tensors.
    """

    cover: Cover
    run: SearchRun
    weight: dict[State, int] = field(default_factory=dict)
    predecessor: dict[State, tuple[State, Move]] = field(default_factory=dict)
    settled: set[State] = field(default_factory=set)
    heap: list[tuple[int, int, int, State, int]] = field(default_factory=list)
    numbers: dict[State, int] = field(default_factory=dict)
    first_number: int = 0
    best: tuple[int, ...] = ()
    best_weight: int | None = None
    pushed: int = 0
    moves: int = 0
    popped_weight: int = 0
    stopped: bool = False
    expanded: dict[tuple[object, ...], list[State]] = field(default_factory=dict)

    def to_end(self) -> bool:
        """Search until the full state is settled; return False when no path leads there, or when the run was stopped."""
        start, end = self.cover.start, self.cover.end
        self._meet(start, 0)
        if self.run.reporter.traces:
            self.run.reporter.pushed(self.numbers[start], -1, -1, 0)
        while self.heap:
            self.popped_weight, _, _, state, position = heapq.heappop(self.heap)
            if position == NEW:
                if state in self.settled:
                    continue
                self.settled.add(state)
                if self.run.reporter.traces:
                    self.run.reporter.popped(self.numbers[state], state[0] + state[1].bit_count(), self.popped_weight)
                if state == end:
                    return True
                if self._must_stop(state):
                    return False
                if self._is_dominated(state):
                    continue
            self._expand(state, max(position, 0))
        return False

    def dive(self, state: State) -> None:
        """Complete `state` by the lightest moves that fit, so that there is a plan early, for users and for a stopped search."""
        weight, moves = self.weight.get(state, 0), self.path(state)
        while state != self.cover.end:
            for _, number in self.cover.row(state[0]):
                move = self.cover.move(number)
                stepped = self.cover.step(state, move)
                if not isinstance(stepped, str):
                    weight, state = weight + stepped[0], stepped[1]
                    moves.append(move)
                    break
            else:
                return
        chosen = tuple(move.index for move in moves)
        if (self.best_weight is None or weight < self.best_weight) and cycle(self.cover.problem, chosen) is None:
            self.best, self.best_weight = chosen, weight
            self.run.reporter.better_plan(chosen, plan_total(self.cover.problem, chosen))

    def path(self, state: State) -> list[Move]:
        """Return the moves of the lightest path to `state`, in order."""
        moves = []
        while state in self.predecessor:
            state, move = self.predecessor[state]
            moves.append(move)
        return moves[::-1]

    def _expand(self, state: State, position: int) -> None:
        """Try the moves of `state`, from `position` in its row on, whose weight is reached; put it back for the others."""
        cover, reporter = self.cover, self.run.reporter
        weight, row = self.weight[state], cover.row(state[0])
        while position < len(row):
            least, number = row[position]
            if weight + least > self.popped_weight:
                self._push(weight + least, state, position)
                return
            position += 1
            move = cover.move(number)
            self.moves += 1
            stepped = cover.step(state, move)
            if not isinstance(stepped, str):
                self._relax(state, move, weight + stepped[0], stepped[1])
            elif reporter.traces:
                reporter.considered(self.numbers[state], move.index, stepped)

    def _relax(self, state: State, move: Move, weight: int, after: State) -> None:
        """Take the path over `state` to `after` if it is better than the known one."""
        known, reporter = self.weight.get(after), self.run.reporter
        if known is not None and (weight > known or (weight == known and not self._is_earlier((state, move), self.predecessor[after]))):
            if reporter.traces:
                reporter.considered(self.numbers[state], move.index, "no better")
            return
        self.predecessor[after] = (state, move)
        if known is None or weight < known:
            self._meet(after, weight)
        if reporter.traces:
            report = reporter.pushed if known is None else reporter.improved
            report(self.numbers[after], self.numbers[state], move.index, weight)

    def _meet(self, state: State, weight: int) -> None:
        self.weight[state] = weight
        if self.run.reporter.traces:
            self.numbers.setdefault(state, self.first_number + len(self.numbers))
        self._push(weight, state, NEW)

    def _push(self, weight: int, state: State, position: int) -> None:
        self.pushed += 1
        heapq.heappush(self.heap, (weight, state[0], self.pushed, state, position))

    def _is_dominated(self, state: State) -> bool:
        """Return whether no rest of a plan is better, or as good and earlier in the order of plans, after `state` than after another."""
        key = self.cover.without_locations(state)
        if key is None:
            return False
        others = self.expanded.setdefault(key, [])
        for other in others:
            most = self.weight[other] + self.cover.most_more(other, state)
            if most < self.weight[state]:
                return True
            if most == self.weight[state] and self._is_earlier(self.predecessor[other], self.predecessor[state]):
                return True
        others.append(state)
        return False

    def _is_earlier(self, step: tuple[State, Move], known_step: tuple[State, Move]) -> bool:
        """Return whether the path with the last step `step` precedes that with `known_step`, of equal weight, in the order of plans.

        Both paths are followed back to where they part; their first moves from there decide.
        """
        (state, move), (known_state, known_move) = step, known_step
        while state != known_state:
            if state[0] >= known_state[0]:
                state, move = self.predecessor[state]
            else:
                known_state, known_move = self.predecessor[known_state]
        return move is not known_move and self.cover.order_of(move.index) < self.cover.order_of(known_move.index)

    def _must_stop(self, state: State) -> bool:
        """Look at the clock and report progress, once every `REPORT_EVERY` states."""
        if len(self.settled) % REPORT_EVERY:
            return False
        is_over = self.run.most_states is not None and len(self.settled) >= self.run.most_states
        self.stopped = is_over or self.run.should_stop()
        if len(self.settled) % (REPORT_EVERY * DIVE_EVERY) == 0:
            self.dive(state)
        bound = self.cover.weights.total((self.cover.bound or 0) + self.popped_weight)
        best = None if not self.best else plan_total(self.cover.problem, self.best)
        newest = lambda: [move.index for move in self.path(state)]  # noqa: E731
        self.run.reporter.progress(len(self.settled), self.moves, len(self.heap), state[0], bound, best, newest)
        return self.stopped


def search_whole(name: str, problem: SearchProblem, usable: Sequence[int], run: SearchRun, *, is_guided: bool) -> SearchResult:
    """Return a best plan over the candidates `usable`, proven; ``chosen`` is empty when there is none.

    A plan whose partitions make a cycle is no plan: then the combination on the cycle is forbidden and the search begins again.
    """
    began = time.perf_counter()
    forbidden: list[frozenset[int]] = []
    states = moves = met = 0
    while True:
        cover = Cover(problem, usable, forbidden, is_guided=is_guided)
        search = BestFirstSearch(cover, run, first_number=met)
        if cover.bound is not None:
            search.dive(cover.start)
        found = cover.bound is not None and search.to_end()
        states += len(search.settled)
        moves += search.moves
        met += len(search.numbers)
        chosen = tuple(move.index for move in search.path(cover.end)) if found else search.best
        looped = cycle(problem, chosen) if found else None
        if looped is None:
            total = plan_total(problem, chosen) if chosen else 0
            if found and chosen != search.best:
                run.reporter.better_plan(chosen, total)
            bound = cover.weights.total((cover.bound or 0) + search.popped_weight)
            seconds = time.perf_counter() - began
            return SearchResult(name, chosen, total, found, total if found else bound, states, moves, seconds, search.stopped)
        forbidden.append(looped)
