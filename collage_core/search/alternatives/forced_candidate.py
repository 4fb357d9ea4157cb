"""`ForcedCandidateSearch`: the best plan that holds a given candidate, for many candidates of one problem.

It computes once what all candidates share: dual prices, and, when the problem can be decomposed, the best plans from the start to
each separator and from each separator to the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ..decomposition.separators import find_separators
from ..decomposition.subproblem import Makers, TooManyLeavings
from ..decomposition.subproblem_search import Step, SubproblemSearch
from ..plan_properties import cycle, plan_total
from ..problem import SearchProblem
from ..searcher import QUIET, SearchResult, SearchRun
from ..searchers.best_first import BestFirstSearch, search_whole
from ..searchers.cover import Cover

METHOD_STATES = 32_768
"""A decomposition that takes about so many states to solve is given up: no separator lies where the problem is hard."""


class _Method(Protocol):
    """A way to find the best plan with a candidate."""

    states: int
    """States of the last search; those that were known already count again."""

    def chosen_with(self, index: int, run: SearchRun) -> tuple[int, ...] | None:
        """Return the best plan that holds candidate `index`; it may have a cycle. None when there is none.

        Raises:
            _Stopped: the run was stopped.
        """
        ...


class _Stopped(Exception):
    """Raised when a search was stopped before it was done."""


class ForcedCandidateSearch:
    """A search of one problem for the best plan with each candidate that it is asked about.

    Args:
        usable: The candidates that may be used.
    """

    def __init__(self, problem: SearchProblem, usable: Sequence[int]):
        self.problem = problem
        self.usable = usable
        self._method = self._choose_method()

    def plan_with(self, index: int, run: SearchRun = QUIET) -> SearchResult:
        """Return the best plan that holds candidate `index`; ``chosen`` is empty when there is none, or when it was stopped.

        With a limit of states in `run` and no other, the answer does not depend on what was asked before.
        """
        run = SearchRun(should_stop=run.should_stop, most_states=run.most_states)
        try:
            chosen = self._method.chosen_with(index, run)
        except _Stopped:
            return SearchResult("astar", (), 0, False, 0, self._method.states, 0, 0.0, True)
        if chosen is None:
            return SearchResult("astar", (), 0, False, 0, self._method.states, 0, 0.0)
        if cycle(self.problem, chosen) is not None:
            return search_whole("astar", self.problem, self._fitting(index), run, is_guided=True)
        total = plan_total(self.problem, chosen)
        return SearchResult("astar", chosen, total, True, total, self._method.states, 0, 0.0)

    def _choose_method(self) -> _Method:
        used = {self.problem.candidates[index].target for index in self.usable}
        if not self.problem.staying and not any(set(pair) <= used for pair in self.problem.exclusive):
            separators = find_separators(self.problem, self.usable)
            search = SubproblemSearch(self.problem, self.usable, separators, QUIET)
            search.run = SearchRun(should_stop=lambda: search.tally.states >= METHOD_STATES, most_states=METHOD_STATES)
            try:
                if len(separators.positions) > 2 and search.solve() is not None:
                    return _BySubproblem(search)
            except (TooManyLeavings, _Stopped):
                pass  # The whole is searched, as in `exact`, and where the subproblems took too many states.
        return _Whole(self.problem, self.usable)

    def _fitting(self, index: int) -> list[int]:
        """Return candidate `index` and those that do not overlap it."""
        inside = self.problem.candidates[index].inside
        return [other for other in self.usable if other == index or self.problem.candidates[other].inside.isdisjoint(inside)]


class _Whole:
    """Searches the whole problem, with dual prices that are computed once."""

    def __init__(self, problem: SearchProblem, usable: Sequence[int]):
        self.states = 0
        self._cover = Cover(problem, usable)
        self._numbers = self._cover.move_numbers() if self._cover.bound is not None else {}

    def chosen_with(self, index: int, run: SearchRun) -> tuple[int, ...] | None:
        self.states = 0
        if index not in self._numbers:
            return None
        cover = self._cover.forcing(self._numbers[index])
        search = BestFirstSearch(cover, run)
        is_found = search.to_end()
        self.states = len(search.settled)
        if is_found:
            return tuple(move.index for move in search.path(cover.end))
        if search.stopped:
            raise _Stopped
        return None


class _Rest(NamedTuple):
    """The best plan from a separator to the end: its weight, and its first step."""

    weight: int
    step: Step | None


class _BySubproblem:
    """Searches only the subproblem that holds the candidate, and joins it with the known plans before and behind it."""

    def __init__(self, search: SubproblemSearch):
        self.states = 0
        self._search = search
        last = len(search.separators.positions) - 1
        self._rest: dict[tuple[int, Makers], _Rest | None] = {(last, ()): _Rest(0, None)}
        for separator in range(last - 1, -1, -1):
            for makers in search.reached[separator]:
                self._rest_from(separator, makers)

    def chosen_with(self, index: int, run: SearchRun) -> tuple[int, ...] | None:
        search = self._search
        search.run, before = run, search.tally.asked
        try:
            return self._best_with(index)
        finally:
            self.states = search.tally.asked - before

    def _best_with(self, index: int) -> tuple[int, ...] | None:
        search = self._search
        subproblem = search.subproblem_of(search.problem.candidates[index].inside.base)
        best: tuple[int, tuple[int, ...]] | None = None
        for makers, reached in search.reached[subproblem].items():
            steps = list(search.steps_with(subproblem, makers, index))
            self._check_stopped()
            for step in steps:
                rest = self._rest_from(step.separator, step.makers)
                if rest is None:
                    continue
                weight = reached.weight + step.weight + rest.weight
                if best is None or weight < best[0]:
                    before, behind = search.chosen_to(subproblem, makers), self._chosen_from(step.separator, step.makers)
                    best = weight, (*before, *step.chosen, *behind)
        self._check_stopped()
        return None if best is None else best[1]

    def _check_stopped(self) -> None:
        """Raise `_Stopped` where a search was stopped since the last call."""
        if self._search.tally.stopped:
            self._search.tally.stopped = False
            raise _Stopped

    def _rest_from(self, separator: int, makers: Makers) -> _Rest | None:
        """Return the best plan to the end; the rest after each separator that was reached is known, so one step is usually enough."""
        key = (separator, makers)
        if key not in self._rest:
            best: _Rest | None = None
            asked = self._search.tally.asked
            steps = list(self._search.steps(separator, makers))
            self._search.tally.asked = asked  # known once and for all candidates, it counts for none
            self._check_stopped()
            for step in steps:
                rest = self._rest_from(step.separator, step.makers)
                if rest is not None and (best is None or step.weight + rest.weight < best.weight):
                    best = _Rest(step.weight + rest.weight, step)
            self._rest[key] = best
        return self._rest[key]

    def _chosen_from(self, separator: int, makers: Makers) -> tuple[int, ...]:
        chosen: list[int] = []
        rest = self._rest_from(separator, makers)
        while rest is not None and rest.step is not None:
            chosen += rest.step.chosen
            rest = self._rest_from(rest.step.separator, rest.step.makers)
        return tuple(chosen)
