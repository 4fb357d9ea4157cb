"""`evolutionary`: the second level of the paper: a population of whole plans, bred for what the whole plan costs.

Seeds: RFC 62 (0.81), Appendix A, part 7. The paper's genes are a bit for each group of operators, "library or graph
compiler"; here a plan is its own genome, over any number of targets: crossing takes one parent's partitions in a stretch of
nodes and the other's elsewhere, mutating forces a candidate in somewhere, and what is left open is filled with candidates
that are cheap for each of their nodes. It proves nothing. The same seed gives the same plan.

The first plans are those of `op_dp` and `greedy`, so it is never worse than either.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..problem import SearchProblem
from ..searcher import QUIET, SearchResult, SearchRun
from .candidate_pool import CandidatePool, Value
from .greedy import greedy
from .op_dp import op_dp


@dataclass(frozen=True, slots=True)
class Evolution:
    """How long and how wildly plans are bred.

    Attributes:
        population: Plans that live at once (50 in the paper).
        most_plans: Plans that are tried in all (the paper's budget is 100,000 and some minutes).
        patience: Plans in a row without a better one after which it is over.
        contest: How many plans are drawn for each parent; the best of them is it.
        crossing: Share of the children that have two parents.
        cheapest: Share of the open nodes that are filled with the cheapest candidate and not with any.
    """

    population: int = 50
    most_plans: int = 20_000
    patience: int = 2_000
    contest: int = 3
    crossing: float = 0.6
    cheapest: float = 0.8


def evolutionary(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> SearchResult:
    """The best plan bred over the candidates `usable`; ``chosen`` is empty when not one plan was found."""
    return evolve(problem, usable, run, Evolution())


def evolve(problem: SearchProblem, usable: Sequence[int], run: SearchRun, how: Evolution) -> SearchResult:
    """As `evolutionary`, bred as `how` says."""
    began = time.perf_counter()
    brood = _Brood(problem, usable, run, how)
    brood.begin()
    while brood.goes_on():
        brood.add(brood.child())
    total = brood.least[1] if brood.least else 0
    seconds = time.perf_counter() - began
    result = SearchResult("evolutionary", brood.best, total, False, 0, brood.tried, brood.tried, seconds, brood.stopped)
    run.reporter.end(result)
    return result


class _Brood:
    """The living plans, the best first, and the best of all."""

    def __init__(self, problem: SearchProblem, usable: Sequence[int], run: SearchRun, how: Evolution):
        self._problem = problem
        self._usable = usable
        self._run = run
        self._how = how
        self._pool = CandidatePool(problem, usable)
        self._draw = random.Random(run.seed)
        self._living: list[tuple[Value, tuple[int, ...]]] = []
        self._improved_at = 0
        self.best: tuple[int, ...] = ()
        self.least: Value | None = None
        self.tried = 0
        self.stopped = False

    def begin(self) -> None:
        """The first plans: the other heuristics', the cheapest fill, and some drawn by lot."""
        for searcher in (op_dp, greedy):
            found = searcher(self._problem, self._usable, SearchRun(should_stop=self._run.should_stop))
            self.add(found.chosen or None)
        self.add(self._pool.complete((), lambda fitting: fitting[0]))
        while len(self._living) < self._how.population and self.tried < 2 * self._how.population and self.goes_on():
            self.add(self._pool.complete((), self._fill))

    def goes_on(self) -> bool:
        """Whether another plan is to be tried."""
        how, best = self._how, self.least[1] if self.least else None
        self._run.reporter.progress(self.tried, self.tried, len(self._living), self._problem.nodes, 0, best, lambda: self.best)
        self.stopped = self._run.should_stop()
        return not self.stopped and self.tried < how.most_plans and self.tried - self._improved_at < how.patience

    def add(self, plan: tuple[int, ...] | None) -> None:
        """Let `plan` live where it is better than the worst that does; twins don't."""
        self.tried += 1
        if plan is None:
            return
        value = self._pool.value(plan)
        if self.least is None or value < self.least:
            self.best, self.least, self._improved_at = plan, value, self.tried
            self._run.reporter.better_plan(plan, value[1])
        entry = (value, plan)
        if entry in self._living:
            return
        self._living.append(entry)
        if len(self._living) > self._how.population:
            self._living.remove(max(self._living))

    def child(self) -> tuple[int, ...] | None:
        """A plan made of one or two that live."""
        if not self._living:
            return self._pool.complete((), self._fill)
        mother = self._parent()
        crossed = self._cross(mother, self._parent()) if self._draw.random() < self._how.crossing else list(mother)
        return self._pool.complete(self._mutated(crossed), self._fill)

    def _parent(self) -> tuple[int, ...]:
        return min(self._draw.choice(self._living) for _ in range(self._how.contest))[1]

    def _cross(self, mother: tuple[int, ...], father: tuple[int, ...]) -> list[int]:
        """The mother's partitions that begin in a stretch of nodes, and what fits of the father's."""
        a, b = sorted(self._draw.randrange(self._problem.nodes + 1) for _ in range(2))
        candidates = self._problem.candidates
        return [*(index for index in mother if a <= candidates[index].inside.base < b), *father]

    def _mutated(self, plan: list[int]) -> list[int]:
        """`plan` with one to three candidates put in front of it, which push out what they overlap."""
        forced: list[int] = []
        for _ in range(self._draw.randint(1, 3)):
            row = self._pool.holding[self._draw.randrange(self._problem.nodes)]
            if row:
                forced.append(self._draw.choice(row))
        return [*forced, *plan]

    def _fill(self, fitting: list[int]) -> int:
        return fitting[0] if self._draw.random() < self._how.cheapest else self._draw.choice(fitting)
