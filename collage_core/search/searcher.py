"""The interface of all searchers: what they take (`SearchRun`), report (`SearchReporter`) and return (`SearchResult`).

A searcher is a function of a problem, the candidates that may be used, and a `SearchRun`. It returns the best plan that it
found and what it proved about it. Since all are called alike, they can be compared and exchanged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .problem import SearchProblem

REASONS = ("overlaps", "excluded", "cycle", "copied", "no better")
"""Reasons why a candidate is not placed: it overlaps the covered nodes; its target excludes one that is used; the plan would hold
a combination that is forbidden for its cycle between partitions; a tensor that has to stay would be copied; the state after it is known
by a path that is no worse."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The outcome of a search.

    Attributes:
        algorithm: Name of the searcher.
        chosen: Indices of the chosen candidates, in the order of their first nodes; empty when there is no plan.
        total: Femtoseconds of the known costs and the transitions.
        optimal: Whether the plan is proven to be a best one.
        lower_bound: Femtoseconds that no plan is below, as far as the searcher proved; 0 when it proves nothing.
        states: Number of expanded states, or of tried plans for a searcher without states.
        moves: Number of tried moves; a move places one candidate in one state.
        seconds: Wall time.
        stopped: Whether it was told to stop before it was done.
    """

    algorithm: str
    chosen: tuple[int, ...]
    total: int
    optimal: bool
    lower_bound: int
    states: int
    moves: int
    seconds: float
    stopped: bool = False

    @property
    def is_feasible(self) -> bool:
        return bool(self.chosen)

    @property
    def gap(self) -> int:
        """Femtoseconds by which the plan may be above the best one."""
        return max(0, self.total - self.lower_bound) if self.chosen and not self.optimal else 0


Newest = Callable[[], Sequence[int]]
"""Returns the candidates of a search's newest state."""


def nothing() -> Sequence[int]:
    """Return no candidate."""
    return ()


class SearchReporter:
    """Receives news of a search; the methods here do nothing, and subclasses override those that they need.

    States are numbered in the order in which they are met. The start state has no parent (-1) and no candidate (-1). A search
    that begins again, because its plan had a cycle between partitions, has another start state.

    Attributes:
        traces: Whether `pushed`, `popped`, `improved` and `considered` are called, which happens for every state and move.
    """

    traces = False

    def progress(
        self, states: int, moves: int, frontier: int, covered: int, lower_bound: int, best: int | None, newest: Newest = nothing
    ) -> None:
        """Called some hundred times a second; the newest state covers all nodes before node `covered`, and not that one.

        Args:
            newest: Returns that state: the indices of the candidates that it has placed. It is worked out when it is called.
        """

    def better_plan(self, chosen: Sequence[int], total: int) -> None:
        """Called for each plan that is better than all before; `total` is in femtoseconds."""

    def pushed(self, state: int, parent: int, candidate: int, weight: int) -> None:
        """Called when `state` is met first, by placing `candidate` in state `parent`; `weight` is that of the path to it."""

    def popped(self, state: int, covered: int, weight: int) -> None:
        """Called when `state`, which covers `covered` nodes, is settled and expanded next."""

    def improved(self, state: int, parent: int, candidate: int, weight: int) -> None:
        """Called for a lighter path to the known `state`, or one as light that is earlier in the order of plans."""

    def considered(self, state: int, candidate: int, reason: str) -> None:
        """Called when `candidate` was tried in `state` and not placed; `reason` is one of `REASONS`."""

    def end(self, result: SearchResult) -> None:
        """Called once, when the search is over."""


def never() -> bool:
    """Return False: a search with this `should_stop` runs to its end."""
    return False


def after(limit_s: float) -> Callable[[], bool]:
    """Return a `should_stop` that is True from `limit_s` seconds after this call on."""
    deadline = time.monotonic() + limit_s
    return lambda: time.monotonic() > deadline


@dataclass(frozen=True, slots=True)
class SearchRun:
    """The circumstances of one search.

    Attributes:
        reporter: Receives its news.
        should_stop: Asked now and then; True ends the search with the best plan so far.
        most_states: A best-first search stops at about so many states, on whatever machine; None for no limit.
        seed: For searchers that draw random numbers.
    """

    reporter: SearchReporter = field(default_factory=SearchReporter)
    should_stop: Callable[[], bool] = never
    most_states: int | None = None
    seed: int = 0

    @classmethod
    def for_seconds(cls, limit_s: float, seed: int = 0) -> SearchRun:
        """Return a run that is stopped `limit_s` seconds from now."""
        return cls(should_stop=after(limit_s), seed=seed)


QUIET = SearchRun()
"""A run without a listener and without a limit."""


class Searcher(Protocol):
    """A function that searches a problem."""

    def __call__(self, problem: SearchProblem, usable: Sequence[int], run: SearchRun) -> SearchResult:
        """Return the best plan that it finds over the candidates `usable`; ``chosen`` is empty when it finds none."""
        ...
