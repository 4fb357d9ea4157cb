"""`within_budget`: the best plan whose candidates' errors add up to no more than `SearchProblem.error_budget`.

Where the best plan of all is within the budget, it is the answer. Else errors get a price: with the price p for each part of error, the
least of (total + p · error) less p · budget is a lower bound of every plan within the budget (Lagrangian relaxation). The price is moved
until the best plan under it changes no more; plans are then listed in the order of their value under that price, until the next one's
bound shows that no better plan is left. That ends with a proof, or, past `MOST_PLANS` or `LONGEST_S`, with the best plan so far and the
bound. Where no plan at all is within the budget, the one of least error is returned, and it is not called optimal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..constraints.constraints import Constraint, allowed_indices
from ..copies import most_copied
from ..plan_properties import plan_total
from ..problem import SearchProblem
from ..searcher import SearchReporter, SearchResult, SearchRun
from .k_best import plans_in_order

MOST_PRICES = 24
"""Prices that are tried at most; each but the last finds another plan."""
MOST_PLANS = 500
LONGEST_S = 0.5
"""How many plans are listed at most to prove one, and how long that may take."""

Solve = Callable[[SearchProblem, SearchRun], SearchResult]


def plan_error(problem: SearchProblem, chosen: Sequence[int]) -> int:
    """Return the sum of the errors of a plan's candidates, in billionths."""
    return sum(problem.candidates[index].error for index in chosen)


def exceeds_budget(problem: SearchProblem, chosen: Sequence[int]) -> bool:
    """Return whether the errors of a plan add up to more than the budget."""
    return problem.error_budget is not None and plan_error(problem, chosen) > problem.error_budget


def within_budget(
    problem: SearchProblem, constraints: Sequence[Constraint], found: SearchResult, solve: Solve, run: SearchRun
) -> SearchResult:
    """Return a best plan within the budget, by way of `solve`.

    Args:
        found: The best plan whatever its errors.
        solve: Returns a best plan of a problem with other costs; it raises nothing, since there is a plan.
    """
    if not exceeds_budget(problem, found.chosen):
        return found
    began = time.perf_counter()
    relaxation = _Relaxation(problem, found, solve, run)
    result = relaxation.result(allowed_indices(problem, constraints))
    run.reporter.better_plan(result.chosen, result.total)
    return replace(result, seconds=found.seconds + time.perf_counter() - began)


class _Relaxation:
    """One search under a budget.

    Attributes:
        bound: No plan within the budget is below.
        price: The price that gave the bound.
        within: The best plan within the budget so far; at first the plan of least error.
    """

    def __init__(self, problem: SearchProblem, found: SearchResult, solve: Solve, run: SearchRun):
        assert problem.error_budget is not None
        self._problem = problem
        self._budget = problem.error_budget
        self._solve = solve
        self._run = replace(run, reporter=SearchReporter())
        self.bound, self.price = found.lower_bound, 0
        self.stopped = found.stopped
        self.within = self._at(self._dearest)
        self._move_price(found)

    def result(self, usable: Sequence[int]) -> SearchResult:
        """Return the best plan within the budget, after the rest of the proof; or the plan of least error where there is none."""
        if exceeds_budget(self._problem, self.within.chosen):
            return replace(self.within, optimal=False, lower_bound=min(self.bound, self.within.total), stopped=self.stopped)
        if self.bound < self.within.total and not self.stopped:
            self._list(usable)
        bound = min(self.bound, self.within.total)
        is_proven = bound == self.within.total and self.within.optimal
        return replace(self.within, optimal=is_proven, lower_bound=bound, stopped=self.stopped)

    @property
    def _dearest(self) -> int:
        """A price at which one part of error costs more than any plan."""
        largest = max((tensor.bytes for tensor in self._problem.tensors), default=0)
        paid = sum(transition.cost(largest) for transition in self._problem.transitions.values())
        readings = sum(len(tensor.readers) + 1 for tensor in self._problem.tensors)
        return 1 + sum(candidate.cost or 0 for candidate in self._problem.candidates) + paid * readings + most_copied(self._problem)

    def _at(self, price: int) -> SearchResult:
        """Return the best plan under `price`, with its total; learn the bound that it proves."""
        answer = self._solve(_priced(self._problem, price), self._run)
        self.stopped = self.stopped or answer.stopped
        bound = answer.lower_bound - price * self._budget
        if bound > self.bound:
            self.bound, self.price = bound, price
        return replace(answer, total=plan_total(self._problem, answer.chosen))

    def _move_price(self, over: SearchResult) -> None:
        """Try the price at which the two plans on both sides of the budget are worth the same, until it finds no plan between them."""
        for _ in range(MOST_PRICES):
            if exceeds_budget(self._problem, self.within.chosen) or self._run.should_stop():
                return
            spared = plan_error(self._problem, over.chosen) - plan_error(self._problem, self.within.chosen)
            # A heuristic's plan over the budget may be slower than one within it; a price below 0 would give no bound.
            tried = self._at(max(0, (self.within.total - over.total) // spared))
            if exceeds_budget(self._problem, tried.chosen):
                if plan_error(self._problem, tried.chosen) >= plan_error(self._problem, over.chosen):
                    return
                over = tried
            elif tried.total < self.within.total:
                self.within = tried
            else:
                return

    def _list(self, usable: Sequence[int]) -> None:
        """List plans under the price, the best first, until no later one can be better than the best one within the budget."""
        unknown = _unknown_nodes(self._problem, self.within.chosen)
        ends = time.perf_counter() + LONGEST_S
        run = replace(self._run, should_stop=lambda: time.perf_counter() > ends or self._run.should_stop())
        for number, plan in enumerate(plans_in_order(_priced(self._problem, self.price), usable, run)):
            bound = plan.total - self.price * self._budget
            if number == MOST_PLANS:
                return
            if bound >= self.within.total or _unknown_nodes(self._problem, plan.chosen) > unknown:
                self.bound = self.within.total
                return
            self.bound = max(self.bound, bound)
            total = plan_total(self._problem, plan.chosen)
            if total < self.within.total and not exceeds_budget(self._problem, plan.chosen):
                self.within = replace(plan, total=total)
        if not run.should_stop():
            self.bound = self.within.total


def _priced(problem: SearchProblem, price: int) -> SearchProblem:
    """Return `problem` with `price` for each part of error in the costs that are known, and no budget."""
    candidates = [
        replace(item, cost=item.cost + price * item.error) if item.cost is not None and item.error else item for item in problem.candidates
    ]
    return replace(problem, candidates=tuple(candidates), error_budget=None)


def _unknown_nodes(problem: SearchProblem, chosen: Sequence[int]) -> int:
    return sum(len(problem.candidates[index].inside) for index in chosen if problem.candidates[index].is_unknown)
