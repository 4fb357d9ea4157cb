"""`PlanRegrets`: by how much the best plan with each candidate of a run is slower than the plan that the run decided on.

A problem, the sources of its costs, the decided plan and what was timed end to end enter; a `KnownRegret` leaves. A heuristic bound is no
cost, so what rests on one is not known. A regret that rests on an estimate from a profile says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...search.alternatives.regret import Regrets, regrets_within
from ...search.constraints.constraints import Constraint, allowed_indices
from ...search.plan_properties import plan_total
from ...search.problem import FEMTOSECONDS, SearchProblem, femtoseconds
from ...search.searcher import SearchResult, SearchRun
from ...search.solve import solve
from .known_regret import KnownRegret

REGRET_STATES = 16_384
"""States of the search for the plan that regrets are told against, where the run's plan is not that.

A limit in seconds would give other answers to the same question at another time.
"""
SAME_TOTAL = 1e-9
"""Two sums that differ by no more than this share are one: seconds of a document are rounded."""
REGRET_EDGES = 50_000
"""Edges of a sweep for the regrets of all candidates at once, in about half a second."""


@dataclass(frozen=True)
class TimedRival:
    """A plan that was timed end to end beside that of the run.

    Attributes:
        chosen: The indices of its candidates.
        total: Its sum in femtoseconds.
        regret_s: By how much it is slower than the run's plan; 0 where it was not.
    """

    chosen: frozenset[int]
    total: int
    measured_s: float
    regret_s: float

    def ties_with(self, total: int) -> bool:
        """Return whether its sum is no greater than `total`."""
        return self.total <= total * (1 + SAME_TOTAL)


def bounds_of(sources: Iterable[str]) -> set[int]:
    """Return the indices of the costs that are heuristic bounds."""
    return {index for index, source in enumerate(sources) if source == "bound"}


def with_unknown(problem: SearchProblem, indices: Collection[int]) -> SearchProblem:
    """Return `problem` with the costs of these candidates as unknown ones."""
    if not indices:
        return problem
    rows = enumerate(problem.candidates)
    return problem.with_candidates([replace(item, cost=None, error=0) if index in indices else item for index, item in rows])


class PlanRegrets:
    """Regrets against the plan that a run decided on.

    Args:
        problem: What was searched.
        sources: Of the cost of each candidate of `problem`, as in `Cost.source`.
        chosen: The candidates of the plan; empty where `problem` lacks one of them.
        is_optimal: A search has proven that no plan has a lower sum than the one that it found.
        is_by_time: A plan of a lower sum is a better one: errors do not count, and time is the objective.
        rivals: Other plans that were timed end to end.
        known_s: Regrets in seconds that came with the plan.
    """

    def __init__(
        self,
        problem: SearchProblem,
        sources: Sequence[str],
        constraints: Sequence[Constraint],
        chosen: Sequence[int],
        *,
        is_optimal: bool,
        is_by_time: bool,
        rivals: Sequence[TimedRival] = (),
        known_s: Mapping[str, float | None] | None = None,
    ):
        self._names = [item.id for item in problem.candidates]
        bounds = bounds_of(sources)
        guesses = {index for index, source in enumerate(sources) if source in ("bound", "profile")}
        self._known_s = {} if guesses else known_s or {}
        decided = (constraints, chosen, is_optimal, is_by_time, rivals)
        self._by_costs = _Regrets(with_unknown(problem, bounds), *decided)
        self._by_measured = None if len(guesses) == len(bounds) else _Regrets(with_unknown(problem, guesses), *decided)

    @property
    def are_all_known(self) -> bool:
        """Return whether one sweep gives all of them."""
        return self._by_costs.sweep is not None

    def of(self, index: int) -> KnownRegret:
        """Return the regret of a candidate of the problem: the same whenever, and beside whatever else, it is asked for."""
        name = self._names[index]
        if name in self._known_s:
            return KnownRegret(self._known_s[name])
        known = self._by_costs.of(index)
        if self._by_measured is None or known.at_least_s is None or known.basis == "measured":
            return known
        proven = self._by_measured.of(index)
        if not known.is_exact:
            return replace(proven, is_exact=False) if proven.at_least_s is not None else known
        return known if proven.exact_s == known.at_least_s else replace(known, basis="estimated")

    def without_search(self, *, bounds: bool) -> dict[int, KnownRegret]:
        """Return those that came with the plan; with `bounds` also lower bounds of the others."""
        index_of = {name: index for index, name in enumerate(self._names)}
        known = {index_of[name]: KnownRegret(seconds) for name, seconds in self._known_s.items() if name in index_of}
        if not bounds or len(known) == len(self._names):
            return known
        return {**(self._by_measured or self._by_costs).bounds(), **known}


class _Regrets:
    """Regrets over one problem, as `PlanRegrets` takes it."""

    def __init__(
        self,
        problem: SearchProblem,
        constraints: Sequence[Constraint],
        chosen: Sequence[int],
        is_optimal: bool,
        is_by_time: bool,
        rivals: Sequence[TimedRival],
    ):
        self._problem, self._constraints, self._chosen = problem, constraints, chosen
        allowed = set(allowed_indices(problem, constraints))
        self._rivals = [rival for rival in rivals if rival.chosen <= allowed]
        self._is_optimal, self._is_by_time = is_optimal, is_by_time

    @cached_property
    def _best(self) -> SearchResult:
        """The plan of the least sum, whatever its errors."""
        if not self._is_optimal or not self._is_by_time or not self._chosen:
            return solve(self._problem, self._constraints, run=SearchRun(most_states=REGRET_STATES))
        total = plan_total(self._problem, self._chosen)
        return SearchResult("given", tuple(self._chosen), total, True, total, 0, 0, 0.0)

    @cached_property
    def sweep(self) -> list[KnownRegret] | None:
        """The regrets of all candidates; None where a sweep would take too long, or the best plan is not known."""
        if not self._best.optimal:
            return None
        values = regrets_within(self._problem, self._constraints, self._best, REGRET_EDGES)
        return None if values is None else [KnownRegret.of(value) for value in values]

    @cached_property
    def _single(self) -> Regrets:
        least = self._best.total if self._best.optimal else self._best.lower_bound
        return Regrets(self._problem, self._constraints, self._best.chosen, self._best.total, least)

    def of(self, index: int) -> KnownRegret:
        return self._against_plan(index, KnownRegret.of(self._single.alone([index])[0]) if self.sweep is None else self.sweep[index])

    def bounds(self) -> dict[int, KnownRegret]:
        return {index: self._against_plan(index, KnownRegret.of(bound)) for index, bound in self._single.bounds().items()}

    def _against_plan(self, index: int, regret: KnownRegret) -> KnownRegret:
        """Return a regret that was found against the plan of the least sum, against the plan that the run decided on.

        Where the best plan with the candidate was timed end to end, or no plan of known costs has it and another was timed, the measured
        times are compared. A lower sum than that of the plan says nothing: the run found that sums do not decide.
        """
        if not self._is_by_time or not self._chosen or regret.at_least_s is None:
            return regret
        if index in self._chosen:
            return KnownRegret(0.0)
        total = self._best.total + femtoseconds(regret.at_least_s)
        is_open = regret.rests_on_unknown
        whole = [rival.regret_s for rival in self._rivals if index in rival.chosen and (is_open or rival.ties_with(total))]
        if whole and (regret.is_exact or is_open):
            return KnownRegret(min(whole), basis="measured")
        if set(self._chosen) == set(self._best.chosen):
            return regret
        above_s = (total - plan_total(self._problem, self._chosen)) / FEMTOSECONDS
        is_unknown = any(self._problem.candidates[chosen].is_unknown for chosen in self._chosen)
        if above_s < 0 or is_unknown:
            return KnownRegret(0.0, is_exact=False, rests_on_unknown=True)
        return replace(regret, at_least_s=above_s)
