"""`milp`: phase 3 as a mixed-integer program, solved by HiGHS through SciPy: a way to the best plan that shares nothing with A*.

Design, "Cost of a plan". The measures of the design's order are minimised one after another, each with those before it held
at their least: nodes of unknown cost, total, priorities of the unknown, number of partitions. Which of the plans that are
equal in all four comes first is not asked. A solution with a cycle between partitions is forbidden, and the search goes on.

HiGHS computes with floating-point numbers and absolute tolerances. So the factors of a measure are divided by the largest
whole number that divides them all, and scaled down where they are still too large; a plan's measure is added up anew in
whole numbers; and HiGHS's bound is lowered by what its tolerances may amount to (`_tolerance`) and rounded up to the next
sum that there can be. Where the steps between sums are coarser than that, the proof is exact. With costs in femtoseconds as
they were measured it is not quite: then ``optimal`` is False, and the gap (some billionths) is what was not proven. Nor is
it where a measure that had to be scaled down is held while the next is minimised: HiGHS may lose plans at such a limit.

SciPy offers no way to interrupt HiGHS. Where the run may be stopped, it is solved in slices of growing time, each from the
start, and the question is asked in between: it ends after at most about twice the time that was allowed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..problem import SearchProblem
from ..result import cycle, plan_total, plan_transitions
from ..searcher import QUIET, SearchResult, SearchRun, never
from .linear_program import CoverProgram, Measure

LARGEST = 1e6
"""The largest factor that is handed to HiGHS; its tolerances are absolute."""
FIRST_SLICE_S = 1.0
_INFEASIBLE = 2
"""Status by which SciPy says that there is no solution."""


@dataclass(frozen=True)
class Solution:
    """What HiGHS found.

    Attributes:
        chosen: Empty where there is no plan, or none was found in time.
        value: The measure that was minimised, added up in whole numbers.
        bound: No plan within the limits has less of it, in whole numbers.
        is_over: HiGHS came to its end and was not stopped.
    """

    chosen: tuple[int, ...]
    value: int
    bound: int
    is_over: bool

    @property
    def is_proven(self) -> bool:
        """Whether no plan has less of the measure."""
        return bool(self.chosen) and self.value <= self.bound


def milp(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> SearchResult:
    """A best plan over the candidates `usable`; ``chosen`` is empty when there is none, or none was found in time."""
    began = time.perf_counter()
    measures = design_measures(problem, usable)
    program = Program(problem, usable, measures, run)
    solutions = program.in_order()
    last = solutions[-1]
    place = len(measures) - 3
    bound = max(0, solutions[place].bound) if len(solutions) > place else 0
    total = plan_total(problem, last.chosen) if last.chosen else 0
    if last.chosen:
        run.reporter.bound(bound)
        run.reporter.better_plan(last.chosen, total)
    is_best = program.proves(solutions)
    seconds = time.perf_counter() - began
    stopped = not all(solution.is_over for solution in solutions)
    result = SearchResult("milp", last.chosen, total, is_best, bound, program.relaxations, program.columns, seconds, stopped)
    run.reporter.end(result)
    return result


def design_measures(problem: SearchProblem, usable: Sequence[int]) -> list[Measure]:
    """What the design orders plans by. The last three are the total, the priorities, and the number of partitions."""
    return [*unknown_measures(problem, usable), time_measure(problem), priority_measure(problem), partitions_measure()]


def unknown_measures(problem: SearchProblem, usable: Sequence[int]) -> list[Measure]:
    """The nodes of unknown cost; nothing where every cost is known."""
    candidates = problem.candidates

    def unknown(index: int) -> int:
        return len(candidates[index].inside) if candidates[index].is_unknown else 0

    return [Measure(unknown)] if any(candidates[index].is_unknown for index in usable) else []


def time_measure(problem: SearchProblem) -> Measure:
    """Femtoseconds: the known costs, and the transitions."""
    return Measure(lambda index: problem.candidates[index].cost or 0, problem.transition)


def priority_measure(problem: SearchProblem) -> Measure:
    """The ranks of the targets of unknown cost, once for each node."""

    def priority(index: int) -> int:
        candidate = problem.candidates[index]
        return len(candidate.inside) * problem.priority(candidate.target) if candidate.is_unknown else 0

    return Measure(priority)


def partitions_measure() -> Measure:
    """How many partitions there are."""
    return Measure(lambda index: 1)


class Program:
    """A problem handed to HiGHS: one measure minimised at a time, within limits on the others.

    Attributes:
        relaxations: Linear relaxations that HiGHS solved so far.
        columns: Columns of the program.
    """

    def __init__(self, problem: SearchProblem, usable: Sequence[int], measures: Sequence[Measure], run: SearchRun):
        self._problem = problem
        self._measures = list(measures)
        self._run = run
        self._cover = CoverProgram(problem, usable, measures)
        self._units = [math.gcd(*factors) or 1 for factors in self._cover.factors]
        self._crossings = problem.nodes + sum(len(tensor.readers) for tensor in problem.tensors)
        self.columns = self._cover.columns
        self.relaxations = 0

    def value(self, place: int, chosen: Sequence[int]) -> int:
        """How much a plan has of a measure, added up from the plan itself."""
        measure = self._measures[place]
        own = sum(measure.own(index) for index in chosen)
        moved = plan_transitions(self._problem, chosen)
        return own + sum(measure.handed(a, b, self._problem.tensors[tensor].bytes) for a, b, tensor, _ in moved)

    def tells_apart(self, place: int) -> bool:
        """Whether a limit on a measure is told from the next sum by far more than HiGHS's tolerances: it was not scaled down."""
        return self._scale(place) == 1.0

    def proves(self, solutions: Sequence[Solution]) -> bool:
        """Whether `solutions` are of all measures, each proven, under limits on those before it that HiGHS tells apart."""
        held = range(len(self._measures) - 1)
        return (
            len(solutions) == len(self._measures)
            and all(solution.is_proven for solution in solutions)
            and all(self.tells_apart(place) for place in held)
        )

    def in_order(self, limits: Mapping[int, int] | None = None, *, insist: bool = False) -> list[Solution]:
        """Every measure minimised in its turn, with those before it held at their least; ends early where that fails.

        Args:
            limits: Measure → the most that a plan may have of it.
            insist: Go on to the next measure although the least of one was found but not quite proven.

        The last solution's plan is the one that counts: a later one whose held measures grew within HiGHS's tolerances is
        not taken.
        """
        held = dict(limits or {})
        solutions: list[Solution] = []
        for place in range(len(self._measures)):
            found = self.least(place, held, solutions[-1].chosen if solutions else ())
            if solutions and (not found.chosen or any(self.value(k, found.chosen) > most for k, most in held.items())):
                solutions.append(Solution(solutions[-1].chosen, self.value(place, solutions[-1].chosen), found.bound, found.is_over))
                break
            solutions.append(found)
            if not (found.chosen and found.is_over) or not (found.is_proven or insist):
                break
            held[place] = found.value
        return solutions

    def least(self, place: int, limits: Mapping[int, int], known: tuple[int, ...] = ()) -> Solution:
        """A plan with the least of one measure.

        Args:
            limits: Measure → the most that a plan may have of it.
            known: A plan within the limits.
        """
        if not all(columns for columns, _, least, _ in self._cover.rows if least == 1.0):
            return Solution((), 0, 0, True)
        if known and not any(self._cover.factors[place]):
            return Solution(known, 0, 0, True)
        while True:
            answer, is_over = self._solve(place, limits)
            if answer.x is None:
                return Solution((), 0, 0, is_over or answer.status == _INFEASIBLE)
            chosen = self._cover.chosen(answer.x)
            looped = cycle(self._problem, chosen)
            if looped is None:
                return Solution(chosen, self.value(place, chosen), self._bound(place, answer.mip_dual_bound), is_over)
            if not is_over:
                return Solution((), 0, self._bound(place, answer.mip_dual_bound), False)
            self._cover.forbid(looped)

    def _solve(self, place: int, limits: Mapping[int, int]) -> tuple[Any, bool]:
        """HiGHS's answer, and whether it came to its end."""
        # SciPy takes most of a second to import, and only this searcher needs it.
        from scipy.optimize import Bounds, LinearConstraint, milp

        rows = LinearConstraint(*self._matrix(limits))
        scale = self._scale(place) / self._units[place]
        given: dict[str, Any] = {
            "c": np.array([float(factor * scale) for factor in self._cover.factors[place]]),
            "integrality": np.array(self._cover.whole),
            "bounds": Bounds(0, 1),
            "constraints": rows,
        }
        slice_s = None if self._run.should_stop is never else FIRST_SLICE_S
        while True:
            options = {"mip_rel_gap": 0.0} if slice_s is None else {"mip_rel_gap": 0.0, "time_limit": slice_s}
            answer = milp(**given, options=options)
            self.relaxations += answer.mip_node_count or 0
            is_over = answer.status in (0, _INFEASIBLE)
            if is_over or slice_s is None or self._run.should_stop():
                return answer, is_over
            slice_s *= 2

    def _matrix(self, limits: Mapping[int, int]) -> tuple[Any, np.ndarray, np.ndarray]:
        from scipy.sparse import csr_array

        rows = [*self._cover.rows, *(self._limit(place, most) for place, most in limits.items())]
        sizes = [len(columns) for columns, _, _, _ in rows]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        columns = np.fromiter((column for row in rows for column in row[0]), dtype=np.int64, count=sum(sizes))
        factors = np.fromiter((factor for row in rows for factor in row[1]), dtype=np.float64, count=sum(sizes))
        matrix = csr_array((factors, columns, starts), shape=(len(rows), self.columns))
        return matrix, np.array([row[2] for row in rows]), np.array([row[3] for row in rows])

    def _limit(self, place: int, most: int) -> tuple[list[int], list[float], float, float]:
        """A row: no more than `most` of a measure, and half a step, so that the limit itself is safely inside."""
        unit, scale = self._units[place], self._scale(place)
        used = [(column, factor // unit * scale) for column, factor in enumerate(self._cover.factors[place]) if factor]
        room = max(0.5 * scale, 1e-6)
        return [column for column, _ in used], [factor for _, factor in used], -np.inf, most // unit * scale + room

    def _scale(self, place: int) -> float:
        """What a measure is multiplied by after its unit was taken out, so that no factor is larger than `LARGEST`."""
        largest = max(self._cover.factors[place], default=0) // self._units[place]
        return min(1.0, LARGEST / largest) if largest else 1.0

    def _bound(self, place: int, dual: float | None) -> int:
        """HiGHS's bound as a whole number of the measure that no plan is below."""
        if dual is None or not math.isfinite(dual):
            return 0
        return max(0, math.ceil((dual - self._tolerance(dual)) / self._scale(place))) * self._units[place]

    def _tolerance(self, dual: float) -> float:
        """How far HiGHS's bound may be off: 1e-6 between bound and plan, 1e-7 for each column that a plan takes, rounding."""
        return 1e-6 + 1e-7 * self._crossings + 1e-12 * abs(dual)
