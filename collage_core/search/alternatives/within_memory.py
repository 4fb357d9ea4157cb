"""`within_memory`: the best plan that fits into every location (`SearchProblem.locations`), or the proof that none does.

Where the best plan of all fits, it is the answer. Else bytes get a price, at the location and node where a plan exceeds the limit most: of
any plan, the weights at that location and what the partition of that node reads and makes there are no more than it holds at once. So with
the price p for each byte, the least of (total + p · these bytes) less p · limit is a lower bound of every plan that fits (Lagrangian
relaxation). Initializers that several partitions may hold are divided by how many can. Plans are then listed in the order of their value
under the best price, until the next one's bound shows that no better plan is left. That ends with a proof, or, past `MOST_PLANS` or
`LONGEST_S`, with the best plan so far and its gap.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...errors import InfeasibleError
from ...graph.index_set import IndexSet
from ..boundaries import boundaries_of
from ..copies import most_copied
from ..decomposition.exact import astar
from ..memory import Shortfall, shortfall
from ..plan_properties import plan_total
from ..problem import SearchCandidate, SearchProblem
from ..searcher import SearchReporter, SearchResult, SearchRun
from .k_best import plans_in_order
from .within_budget import exceeds_budget

MOST_PRICES = 24
"""Prices that are tried at most for one location and node."""
MOST_APPROACHES = 8
"""Prices that are tried for a first plan that fits; between the least and the greatest one lie sixty powers of two."""
MOST_RELAXATIONS = 4
"""Locations and nodes that get a price at most, one after another."""
MOST_PLANS = 20_000
LONGEST_S = 5.0
"""How many plans are listed at most to prove one, and how long that may take."""


def within_memory(problem: SearchProblem, usable: Sequence[int], found: SearchResult, run: SearchRun) -> SearchResult:
    """Return a best plan over `usable` that fits, and is within the error budget where there is one.

    Args:
        found: The best plan whatever its memory and its errors.

    Raises:
        InfeasibleError: no plan fits, or none was found that does; the message says which, and where the nearest one fails.
    """
    if shortfall(problem, found.chosen) is None:
        return found
    began = time.perf_counter()
    fitting = _Fitting(problem, usable, replace(run, reporter=SearchReporter()))
    result = fitting.result(found)
    run.reporter.better_plan(result.chosen, result.total)
    return replace(result, algorithm=found.algorithm, seconds=found.seconds + time.perf_counter() - began)


@dataclass(frozen=True)
class _Relaxation:
    """The bytes at one location and node, as a sum over candidates that is no more than any plan holds there.

    Attributes:
        used: The bytes of each candidate.
        limit: The bytes that the location may hold.
    """

    used: Sequence[int]
    limit: int

    def of(self, chosen: Sequence[int]) -> int:
        return sum(self.used[index] for index in chosen)


class _Fitting:
    """One search under limits of memory.

    Attributes:
        best: The best plan that fits, so far.
        bound: No plan that fits is below.
        nearest: The least of the largest shortfalls of all plans that were met.
    """

    def __init__(self, problem: SearchProblem, usable: Sequence[int], run: SearchRun):
        self._problem = problem
        self._run = run
        self._usable = [index for index in usable if self._fits_alone(index)]
        self._bounding: tuple[_Relaxation, int] | None = None
        self.best: SearchResult | None = None
        self.bound = 0
        self.nearest: Shortfall | None = None

    def result(self, found: SearchResult) -> SearchResult:
        self.bound = found.lower_bound
        self._meet(found)
        self._meet(astar(self._problem, self._elsewhere(), self._run))
        self._approach(found)
        is_none = self._relax(found)
        is_over = is_none or self._list()
        if self.best is None:
            assert self.nearest is not None
            raise self._error(self.nearest, is_proven=is_over)
        total = self.best.total
        return replace(self.best, optimal=is_over, lower_bound=total if is_over else min(self.bound, total), stopped=not is_over)

    def _fits_alone(self, index: int) -> bool:
        candidate = self._problem.candidates[index]
        limit = self._problem.locations.get(self._problem.location(candidate.target))
        return limit is None or sum(self._problem.weights_of(candidate).values()) + self._around(candidate) <= limit

    def _around(self, candidate: SearchCandidate) -> int:
        """Return the bytes of the tensors that a candidate reads and makes, which are all at its location while it runs."""
        boundary, tensors = boundaries_of(self._problem).boundary(candidate.inside), self._problem.tensors
        crossing = (*boundary.host_reads, *(tensor for tensor, _ in boundary.reads), *(tensor for tensor, _, _ in boundary.makes))
        return sum(tensors[tensor].bytes for tensor in crossing if tensor < len(tensors))

    def _elsewhere(self) -> list[int]:
        """Return the candidates at locations without a limit: their plan is likely to fit."""
        candidates, locations = self._problem.candidates, self._problem.locations
        return [index for index in self._usable if locations.get(self._problem.location(candidates[index].target)) is None]

    def _worth(self, plan: SearchResult) -> tuple[int, int]:
        unknown = (self._problem.candidates[index] for index in plan.chosen)
        return sum(len(candidate.inside) for candidate in unknown if candidate.is_unknown), plan.total

    def _meet(self, plan: SearchResult) -> Shortfall | None:
        """Keep `plan` if it is the best that fits; return its shortfall."""
        if not plan.is_feasible:
            return None
        plan = replace(plan, total=plan_total(self._problem, plan.chosen))
        over = shortfall(self._problem, plan.chosen)
        if over is None:
            if not exceeds_budget(self._problem, plan.chosen) and (self.best is None or self._worth(plan) < self._worth(self.best)):
                self.best = plan
        elif self.nearest is None or over.bytes < self.nearest.bytes:
            self.nearest = over
        return over

    def _approach(self, found: SearchResult) -> None:
        """Look for a good plan that fits, by a price on all that each partition holds where `found` exceeds its limit.

        Partitions do not all hold their tensors at once, so this bounds nothing. The price is halved between one that is too low and one
        under which the plan fits.
        """
        over = shortfall(self._problem, found.chosen)
        assert over is not None
        relaxation, low, high = self._relaxation(over, everywhere=True), 1, self._dearest
        for _ in range(MOST_APPROACHES):
            price = math.isqrt(low * high)
            plan = astar(_with_price(self._problem, relaxation, price), self._usable, self._run)
            if not plan.is_feasible or self._run.should_stop():
                return
            low, high = (low, price) if self._meet(plan) is None else (price, high)

    def _relax(self, found: SearchResult) -> bool:
        """Improve the bound by prices; return whether that proves that no plan fits."""
        over, plan, tried = shortfall(self._problem, found.chosen), found, set[tuple[str, int]]()
        for _ in range(MOST_RELAXATIONS):
            if over is None or (over.location, over.at_node) in tried or self._run.should_stop():
                return False
            tried.add((over.location, over.at_node))
            relaxation = self._relaxation(over)
            least = self._priced(relaxation, self._dearest)
            if not least.is_feasible:
                return not least.stopped
            if relaxation.of(least.chosen) > relaxation.limit:
                return least.optimal and not any(self._problem.candidates[index].is_unknown for index in self._usable)
            within = self._move_price(relaxation, plan, least)
            over, plan = shortfall(self._problem, within.chosen), within
        return False

    def _move_price(self, relaxation: _Relaxation, over: SearchResult, within: SearchResult) -> SearchResult:
        """Try the price at which the two plans on both sides of the limit are worth the same, until it finds none between them.

        Return the plan within the limit.
        """
        for _ in range(MOST_PRICES):
            spared = relaxation.of(over.chosen) - relaxation.of(within.chosen)
            if relaxation.of(over.chosen) <= relaxation.limit or spared <= 0 or self._run.should_stop():
                break
            tried = self._priced(relaxation, max(0, (within.total - over.total) // spared))
            if relaxation.of(tried.chosen) > relaxation.limit:
                if relaxation.of(tried.chosen) >= relaxation.of(over.chosen):
                    break
                over = tried
            elif tried.total < within.total:
                within = tried
            else:
                break
        return within

    @property
    def _dearest(self) -> int:
        """A price at which one byte costs more than any plan."""
        largest = max((tensor.bytes for tensor in self._problem.tensors), default=0)
        paid = sum(transition.cost(largest) for transition in self._problem.transitions.values())
        readings = sum(len(tensor.readers) + 1 for tensor in self._problem.tensors)
        return 1 + sum(candidate.cost or 0 for candidate in self._problem.candidates) + paid * readings + most_copied(self._problem)

    def _priced(self, relaxation: _Relaxation, price: int) -> SearchResult:
        """Return the best plan under `price`, with its total; learn the bound that it proves."""
        answer = astar(_with_price(self._problem, relaxation, price), self._usable, self._run)
        if not answer.is_feasible:
            return answer
        bound = answer.lower_bound - price * relaxation.limit
        if bound > self.bound:
            self.bound, self._bounding = bound, (relaxation, price)
        answer = replace(answer, total=plan_total(self._problem, answer.chosen))
        self._meet(answer)
        return answer

    def _relaxation(self, over: Shortfall, *, everywhere: bool = False) -> _Relaxation:
        problem = self._problem
        limit = problem.locations[over.location]
        assert limit is not None
        at = [index for index in self._usable if problem.location(problem.candidates[index].target) == over.location]
        sharing = _most_sharing(problem, at)
        used = [0] * len(problem.candidates)
        for index in at:
            candidate = problem.candidates[index]
            if not candidate.is_unknown:
                used[index] = sum(size // sharing[name] for name, size in problem.weights_of(candidate).items())
                used[index] += self._around(candidate) if everywhere or over.at_node in candidate.inside else 0
        return _Relaxation(used, limit)

    def _list(self) -> bool:
        """List plans under the best price until no later one can be the best that fits; return whether that is proven."""
        relaxation, price = self._bounding or (_Relaxation([0] * len(self._problem.candidates), 0), 0)
        ends = time.perf_counter() + LONGEST_S
        run = replace(self._run, should_stop=lambda: time.perf_counter() > ends or self._run.should_stop())
        for number, plan in enumerate(plans_in_order(_with_price(self._problem, relaxation, price), self._usable, run)):
            bound = plan.total - price * relaxation.limit
            if self.best is not None and (self._worth(plan)[0], bound) >= self._worth(self.best):
                return True
            self.bound = max(self.bound, bound)
            if number == MOST_PLANS:
                return False
            self._meet(plan)
        return not run.should_stop()

    def _error(self, nearest: Shortfall, *, is_proven: bool) -> InfeasibleError:
        problem = self._problem
        name = problem.names[nearest.at_node] if problem.names else str(nearest.at_node)
        what = "no plan fits" if is_proven else "no plan was found that fits"
        message = (
            f"{what} into {nearest.location!r}, which holds {problem.locations[nearest.location]} bytes: "
            f"the nearest one needs {nearest.bytes} more, most while the partition of {' '.join(name.split())!r} runs"
        )
        return InfeasibleError(message, "give the location more bytes, or add a target at another one")


def _with_price(problem: SearchProblem, relaxation: _Relaxation, price: int) -> SearchProblem:
    """Return `problem` with `price` for each byte in the costs of its candidates, and without limits."""
    candidates = [
        replace(item, cost=(item.cost or 0) + price * used) if used else item
        for item, used in zip(problem.candidates, relaxation.used, strict=True)
    ]
    return replace(problem, candidates=tuple(candidates), error_budget=None)


def _most_sharing(problem: SearchProblem, usable: Sequence[int]) -> dict[str, int]:
    """Return initializer → how many partitions of one plan hold it at most: sets with a node in common are never in one plan."""
    common: dict[str, list[IndexSet]] = {}
    for index in usable:
        candidate = problem.candidates[index]
        for name in problem.weights_of(candidate):
            groups = common.setdefault(name, [])
            for number, inside in enumerate(groups):
                if not inside.isdisjoint(candidate.inside):
                    groups[number] = inside & candidate.inside
                    break
            else:
                groups.append(candidate.inside)
    return {name: len(groups) for name, groups in common.items()}
