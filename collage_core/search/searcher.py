"""What every searcher takes and tells: one interface, so that they can be compared and swapped.

A searcher is a function of a problem, the candidates that may be used, and a `SearchRun`. It gives the best plan that it
found and what it proved of it. Plain data in, plain data out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .problem import SearchProblem

REASONS = ("overlaps", "excluded", "cycle", "no better")
"""Why a candidate is not placed: it overlaps what is covered, its target excludes one that is used, the plan would be one that
is forbidden for its cycle between partitions, or the state that it leads to is known by a way that is no worse."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The outcome of a search.

    Attributes:
        algorithm: Name of the searcher.
        chosen: Indices of the chosen candidates, in the order of their first nodes; empty when there is no plan.
        total: Femtoseconds of the known costs and the transitions.
        optimal: Proven to be a best plan.
        lower_bound: Femtoseconds that no plan is below, as far as the searcher proved; 0 where it proves nothing.
        states: States that were expanded (or plans that were tried, by searchers without states).
        transitions: Moves that were tried.
        seconds: Wall time.
        stopped: It was told to stop before it was done.
    """

    algorithm: str
    chosen: tuple[int, ...]
    total: int
    optimal: bool
    lower_bound: int
    states: int
    transitions: int
    seconds: float
    stopped: bool = False

    @property
    def is_feasible(self) -> bool:
        return bool(self.chosen)

    @property
    def gap(self) -> int:
        """Femtoseconds by which the plan may miss the best one."""
        return max(0, self.total - self.lower_bound) if self.chosen and not self.optimal else 0


Newest = Callable[[], Sequence[int]]


def nothing() -> Sequence[int]:
    """No candidate."""
    return ()


class SearchReporter:
    """Hears how a search goes. What it does not override costs nothing but a call; a trace not even that.

    States are numbered in the order in which they are met. The start is one without a parent (-1) or a candidate (-1);
    where a search begins again, because its plan had a cycle between partitions, there is another.

    Attributes:
        traces: Whether it wants `pushed`, `popped`, `improved` and `considered`, which come for every state and move.
    """

    traces = False

    def progress(
        self, states: int, transitions: int, frontier: int, covered: int, lower_bound: int, best: int | None, newest: Newest = nothing
    ) -> None:
        """Where the search stands, some hundred times a second; its newest state leaves open node `covered` and none before.

        Args:
            newest: Gives that state: the indices of the candidates that it has placed. It is worked out when it is called.
        """

    def better_plan(self, chosen: Sequence[int], total: int) -> None:
        """A plan better than all before; `total` in femtoseconds."""

    def bound(self, lower_bound: int) -> None:
        """No plan is below `lower_bound` femtoseconds: more is proven than before."""

    def pushed(self, state: int, parent: int, candidate: int, weight: int) -> None:
        """State `state` was met for the first time, by placing `candidate` in state `parent`; `weight` is that of the way there."""

    def popped(self, state: int, covered: int, weight: int) -> None:
        """State `state`, of `covered` nodes, is settled and expanded next."""

    def improved(self, state: int, parent: int, candidate: int, weight: int) -> None:
        """A lighter way to the known state `state` was found, or one as light that comes earlier in the order of plans."""

    def considered(self, state: int, candidate: int, reason: str) -> None:
        """`candidate` was tried in state `state` and not placed, for `reason`: one of `REASONS`."""

    def end(self, result: SearchResult) -> None:
        """The search is over."""


def never() -> bool:
    """Does not stop a search."""
    return False


def after(limit_s: float) -> Callable[[], bool]:
    """Stops a search `limit_s` seconds from now."""
    deadline = time.monotonic() + limit_s
    return lambda: time.monotonic() > deadline


@dataclass(frozen=True, slots=True)
class SearchRun:
    """How one search is run.

    Attributes:
        reporter: Hears of it.
        should_stop: Asked now and then; True ends the search with the best that it has.
        seed: For searchers that draw lots.
    """

    reporter: SearchReporter = field(default_factory=SearchReporter)
    should_stop: Callable[[], bool] = never
    seed: int = 0

    @classmethod
    def for_seconds(cls, limit_s: float, seed: int = 0) -> SearchRun:
        """One that ends with what it has `limit_s` seconds from now."""
        return cls(should_stop=after(limit_s), seed=seed)


QUIET = SearchRun()
"""Nobody listens, nothing stops it."""


class Searcher(Protocol):
    """A way to solve phase 3."""

    def __call__(self, problem: SearchProblem, usable: Sequence[int], run: SearchRun) -> SearchResult:
        """The best plan over the candidates `usable` that it can find; ``chosen`` is empty where it finds none."""
        ...
