"""`evolutionary`: a population of whole plans, bred for the cost of the whole plan, transitions included.

RFC 62 (Collage), Appendix A, part 7 (the second level of the paper). The paper's gene is one bit for each group of operators,
"library or graph compiler". Here a plan is its own genome, over any number of targets. Crossing takes one parent's partitions in
a range of nodes and the other's elsewhere; mutating forces a candidate in; open nodes are filled with candidates that are cheap
for each of their nodes. It proves nothing. The same seed gives the same plan.

The first plans are those of `op_dp` and `greedy`, so the result is never worse than either.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...errors import CollageError
from ..problem import SearchProblem
from ..searcher import QUIET, SearchResult, SearchRun
from .candidate_pool import CandidatePool, Value
from .greedy import greedy
from .op_dp import op_dp

CONTEST = 3
"""Plans that are drawn for each parent; the best of them is the parent."""
CROSSING = 0.6
"""Share of the children that have two parents."""
CHEAPEST = 0.8
"""Share of the open nodes that are filled with the cheapest candidate, not with any."""


@dataclass(frozen=True, slots=True)
class Evolution:
    """The effort of the search.

    Attributes:
        population: Plans that are kept at once (50 in the paper).
        most_plans: Plans that are tried in all (100,000 in the paper, within some minutes).
        patience: Plans in a row without a better one after which the search ends.
    """

    population: int = 50
    most_plans: int = 20_000
    patience: int = 2_000


_SETTINGS = {"population": "population", "plans": "most_plans", "patience": "patience"}
"""Word of a user → field."""


def parse_evolution(text: str) -> Evolution:
    """Return the settings that `text` gives, such as ``population=100,plans=50000,patience=5000``; the others are the usual ones.

    Raises:
        CollageError: a setting is not known, or its value is no whole number from 1 on.
    """
    given = {}
    for part in text.split(","):
        word, _, number = part.partition("=")
        if word not in _SETTINGS or not number.isdecimal() or int(number) < 1:
            hint = f"the settings are {', '.join(_SETTINGS)}, such as evolutionary:population=100,plans=50000"
            raise CollageError(f"{part!r} is not a setting of the search 'evolutionary'", hint, "unknown_search")
        given[_SETTINGS[word]] = int(number)
    return replace(Evolution(), **given)


def evolutionary(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> SearchResult:
    """Return the best plan bred over the candidates `usable`; ``chosen`` is empty when no plan was found."""
    return evolve(problem, usable, run, Evolution())


def evolve(problem: SearchProblem, usable: Sequence[int], run: SearchRun, settings: Evolution) -> SearchResult:
    """Return the result of `evolutionary` with the effort of `settings`."""
    began = time.perf_counter()
    population = _Population(problem, usable, run, settings)
    population.begin()
    while population.goes_on():
        population.add(population.child())
    total = population.least[1] if population.least else 0
    seconds = time.perf_counter() - began
    tried = population.tried
    result = SearchResult("evolutionary", population.best, total, False, 0, tried, tried, seconds, population.stopped)
    run.reporter.end(result)
    return result


class _Population:
    """The plans that are kept, and the best of all that were tried."""

    def __init__(self, problem: SearchProblem, usable: Sequence[int], run: SearchRun, settings: Evolution):
        self._problem = problem
        self._usable = usable
        self._run = run
        self._settings = settings
        self._pool = CandidatePool(problem, usable)
        self._random = random.Random(run.seed)
        self._plans: list[tuple[Value, tuple[int, ...]]] = []
        self._improved_at = 0
        self.best: tuple[int, ...] = ()
        self.least: Value | None = None
        self.tried = 0
        self.stopped = False

    def begin(self) -> None:
        """Add the first plans: those of the other heuristics, the cheapest fill, and random ones."""
        for searcher in (op_dp, greedy):
            found = searcher(self._problem, self._usable, SearchRun(should_stop=self._run.should_stop))
            self.add(found.chosen or None)
        self.add(self._pool.complete((), lambda fitting: fitting[0]))
        size = self._settings.population
        while len(self._plans) < size and self.tried < 2 * size and self.goes_on():
            self.add(self._pool.complete((), self._fill))

    def goes_on(self) -> bool:
        """Return whether another plan is to be tried; report progress."""
        settings, best = self._settings, self.least[1] if self.least else None
        self._run.reporter.progress(self.tried, self.tried, len(self._plans), self._problem.nodes, 0, best, lambda: self.best)
        self.stopped = self._run.should_stop()
        return not self.stopped and self.tried < settings.most_plans and self.tried - self._improved_at < settings.patience

    def add(self, plan: tuple[int, ...] | None) -> None:
        """Insert `plan` if it is better than the worst of the population and not in it already; None only counts as tried."""
        self.tried += 1
        if plan is None:
            return
        value = self._pool.value(plan)
        if self.least is None or value < self.least:
            self.best, self.least, self._improved_at = plan, value, self.tried
            self._run.reporter.better_plan(plan, value[1])
        entry = (value, plan)
        if entry in self._plans:
            return
        self._plans.append(entry)
        if len(self._plans) > self._settings.population:
            self._plans.remove(max(self._plans))

    def child(self) -> tuple[int, ...] | None:
        """Return a plan bred from one or two of the population; None when the attempt failed."""
        if not self._plans:
            return self._pool.complete((), self._fill)
        mother = self._parent()
        crossed = self._cross(mother, self._parent()) if self._random.random() < CROSSING else list(mother)
        return self._pool.complete(self._mutated(crossed), self._fill)

    def _parent(self) -> tuple[int, ...]:
        return min(self._random.choice(self._plans) for _ in range(CONTEST))[1]

    def _cross(self, mother: tuple[int, ...], father: tuple[int, ...]) -> list[int]:
        """Return the mother's partitions that begin in a random range of nodes, followed by all of the father's."""
        a, b = sorted(self._random.randrange(self._problem.nodes + 1) for _ in range(2))
        candidates = self._problem.candidates
        return [*(index for index in mother if a <= candidates[index].inside.base < b), *father]

    def _mutated(self, plan: list[int]) -> list[int]:
        """Return `plan` with one to three random candidates in front, which displace those that they overlap."""
        forced: list[int] = []
        for _ in range(self._random.randint(1, 3)):
            row = self._pool.holding[self._random.randrange(self._problem.nodes)]
            if row:
                forced.append(self._random.choice(row))
        return [*forced, *plan]

    def _fill(self, fitting: list[int]) -> int:
        return fitting[0] if self._random.random() < CHEAPEST else self._random.choice(fitting)
