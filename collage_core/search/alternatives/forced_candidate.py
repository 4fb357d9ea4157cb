"""The best plan through a candidate, again and again, each time at the price of little more than the candidate's surroundings.

`Regrets` and people ask this of many candidates of one problem. What is the same for all is made once: prices, and where
the problem falls apart, the best ways from the start to each cut and from each cut to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from ..decomposition.separators import find_separators
from ..decomposition.subproblem import Entry, TooManyWays
from ..decomposition.subproblem_search import Step, SubproblemSearch
from ..problem import SearchProblem
from ..result import cycle, plan_total
from ..searcher import SearchResult, SearchRun, never
from ..searchers.best_first import Walk, walk_whole
from ..searchers.cover import Cover


class ForcedCandidateSearch(Protocol):
    """Knows the best plan through each candidate."""

    def chosen_with(self, index: int) -> tuple[int, ...] | None:
        """The best plan that holds candidate `index`, cycles between its partitions not looked at; None when there is none.

        Raises:
            Stopped: it was stopped.
        """
        ...


class Stopped(Exception):
    """A search was stopped before it was done."""


class BestWith:
    """Searches for the best plan that holds a candidate.

    Args:
        usable: The candidates that may be used.
    """

    def __init__(self, problem: SearchProblem, usable: Sequence[int]):
        self.problem = problem
        self.usable = usable
        self._should_stop: Callable[[], bool] = never
        self._run = SearchRun(should_stop=lambda: self._should_stop())
        self._through = self._made()

    def plan_with(self, index: int, should_stop: Callable[[], bool] = never) -> SearchResult:
        """The best plan that holds candidate `index`; ``chosen`` is empty where there is none, or where it was stopped."""
        self._should_stop = should_stop
        try:
            chosen = self._through.chosen_with(index)
        except Stopped:
            return SearchResult("astar", (), 0, False, 0, 0, 0, 0.0, True)
        if chosen is None:
            return SearchResult("astar", (), 0, False, 0, 0, 0, 0.0)
        if cycle(self.problem, chosen) is not None:
            return walk_whole("astar", self.problem, self._fitting(index), self._run, is_guided=True)
        total = plan_total(self.problem, chosen)
        return SearchResult("astar", chosen, total, True, total, 0, 0, 0.0)

    def _made(self) -> ForcedCandidateSearch:
        used = {self.problem.candidates[index].target for index in self.usable}
        if not any(set(pair) <= used for pair in self.problem.exclusive):
            cuts = find_separators(self.problem, self.usable)
            search = SubproblemSearch(self.problem, self.usable, cuts, self._run)
            try:
                if len(cuts.positions) > 2 and search.solve() is not None:
                    return _ByParts(search)
            except TooManyWays:
                pass
        return _Whole(self.problem, self.usable, self._run)

    def _fitting(self, index: int) -> list[int]:
        inside = self.problem.candidates[index].inside
        return [other for other in self.usable if other == index or self.problem.candidates[other].inside.isdisjoint(inside)]


class _Whole:
    """Over the whole problem, with prices that are found once."""

    def __init__(self, problem: SearchProblem, usable: Sequence[int], run: SearchRun):
        self._run = run
        self._cover = Cover(problem, usable)
        self._numbers = self._cover.numbers() if self._cover.bound is not None else {}

    def chosen_with(self, index: int) -> tuple[int, ...] | None:
        if index not in self._numbers:
            return None
        cover = self._cover.holding(self._numbers[index])
        walk = Walk(cover, self._run)
        if walk.to_end():
            return tuple(move.index for move in walk.path(cover.end))
        if walk.stopped:
            raise Stopped
        return None


class _Rest(NamedTuple):
    """The best way from a cut to the end: its weight, and its first step."""

    weight: int
    step: Step | None


class _ByParts:
    """Part by part: only the part that holds the candidate is searched again."""

    def __init__(self, search: SubproblemSearch):
        self._search = search
        self._rest: dict[tuple[int, Entry], _Rest | None] = {(len(search.cuts.positions) - 1, ()): _Rest(0, None)}
        for cut in range(len(search.cuts.positions) - 2, -1, -1):
            for alive in search.reached[cut]:
                self._rest_from(cut, alive)

    def chosen_with(self, index: int) -> tuple[int, ...] | None:
        search = self._search
        part = search.part_of(search.problem.candidates[index].inside.base)
        best: tuple[int, tuple[int, ...]] | None = None
        for alive, reached in search.reached[part].items():
            for step in search.steps_with(part, alive, index):
                rest = self._rest_from(step.cut, step.alive)
                if rest is None:
                    continue
                weight = reached.weight + step.weight + rest.weight
                if best is None or weight < best[0]:
                    best = weight, (*search.chosen_to(part, alive), *step.chosen, *self._chosen_from(step.cut, step.alive))
        if search.tally.stopped:
            search.tally.stopped = False
            raise Stopped
        return None if best is None else best[1]

    def _rest_from(self, cut: int, alive: Entry) -> _Rest | None:
        """The best way to the end. What follows the cuts that were reached is known, so it is one step, seldom more."""
        key = (cut, alive)
        if key not in self._rest:
            best: _Rest | None = None
            for step in self._search.steps(cut, alive):
                rest = self._rest_from(step.cut, step.alive)
                if rest is not None and (best is None or step.weight + rest.weight < best.weight):
                    best = _Rest(step.weight + rest.weight, step)
            self._rest[key] = best
        return self._rest[key]

    def _chosen_from(self, cut: int, alive: Entry) -> tuple[int, ...]:
        made: list[int] = []
        rest = self._rest_from(cut, alive)
        while rest is not None and rest.step is not None:
            made += rest.step.chosen
            rest = self._rest_from(rest.step.cut, rest.step.alive)
        return tuple(made)
