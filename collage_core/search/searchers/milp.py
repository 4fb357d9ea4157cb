"""`milp`: the problem as a mixed-integer program, solved by HiGHS through SciPy: a proof that shares nothing with A*.

The measures by which plans are compared are minimised one after another, each with those before it held at their least: nodes of
unknown cost, total, priorities of the unknown, number of partitions. Which of the plans that are equal in all four comes first
is left open. When a solution has a cycle between partitions, that combination is forbidden and the program is solved again.

HiGHS computes with floating-point numbers and absolute tolerances. So the factors of a measure are divided by their greatest
common divisor, and scaled down when they are still too large; the value of a plan is added up anew in whole numbers; and HiGHS's
bound is lowered by what its tolerances may amount to (`_tolerance`), and rounded up to the next possible sum. If the steps
between sums are coarser than that, the proof is exact. With measured costs in femtoseconds it is not quite: then ``optimal`` is
False, and the gap (some billionths) is what was not proven. Nor is it exact when a measure that had to be scaled down is held
while the next is minimised, because HiGHS may lose plans at such a limit.

SciPy offers no way to interrupt HiGHS. A run that may be stopped solves the program in slices of growing time, each from the start, and
asks `should_stop` in between. In a large program HiGHS looks at its own time limit rarely, so that is solved in a child process, which is
killed once `should_stop` says so: the best plan of the slices before it counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..plan_properties import cycle, plan_copies, plan_total, plan_transitions
from ..problem import SearchProblem
from ..searcher import QUIET, SearchResult, SearchRun, never
from .call_in_child import call_in_child
from .linear_program import CoverProgram, Measure, partitions_measure, priority_measure, time_measure, unknown_measures

SMALL_PROGRAM = 20_000
"""Coefficients up to which HiGHS looks at its time limit often enough to be called in this process."""
LARGEST = 1e6
"""Largest factor that is handed to HiGHS, whose tolerances are absolute."""
FIRST_SLICE_S = 1.0
_INFEASIBLE = 2
"""Status by which SciPy says that there is no solution."""


@dataclass(frozen=True)
class Solution:
    """The answer of HiGHS for one measure.

    Attributes:
        chosen: The plan; empty when there is none, or none was found in time.
        value: Its value of the measure, added up in whole numbers.
        bound: No plan within the limits has a lower value.
        is_over: Whether HiGHS came to its end and was not stopped.
    """

    chosen: tuple[int, ...]
    value: int
    bound: int
    is_over: bool

    @property
    def is_proven(self) -> bool:
        """Return whether no plan has a lower value."""
        return bool(self.chosen) and self.value <= self.bound


def milp(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> SearchResult:
    """Return a best plan over the candidates `usable`; ``chosen`` is empty when there is none, or none was found in time."""
    began = time.perf_counter()
    unknown = unknown_measures(problem, usable)
    measures = [*unknown, time_measure(problem), priority_measure(problem), partitions_measure()]
    program = Program(problem, usable, measures, run)
    solutions = program.in_order()
    last = solutions[-1]
    bound = max(0, solutions[len(unknown)].bound) if len(solutions) > len(unknown) else 0
    total = plan_total(problem, last.chosen) if last.chosen else 0
    if last.chosen:
        run.reporter.better_plan(last.chosen, total)
    is_best = program.proves(solutions)
    seconds = time.perf_counter() - began
    stopped = not all(solution.is_over for solution in solutions)
    result = SearchResult("milp", last.chosen, total, is_best, bound, program.relaxations, program.columns, seconds, stopped)
    run.reporter.end(result)
    return result


class Program:
    """A problem handed to HiGHS: one measure is minimised at a time, within limits of the others. Measures are given by index.

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

    def value(self, measure: int, chosen: Sequence[int]) -> int:
        """Return a plan's value of a measure, added up from the plan itself."""
        wanted = self._measures[measure]
        own = sum(wanted.own(index) for index in chosen)
        transitions = plan_transitions(self._problem, chosen)
        copied = wanted.copy * sum(copy.cost for copy in plan_copies(self._problem, chosen)) if wanted.copy else 0
        return own + copied + sum(wanted.transition(a, b, self._problem.tensors[tensor].bytes) for a, b, tensor, _ in transitions)

    def resolves(self, measure: int) -> bool:
        """Return whether HiGHS can hold a limit of the measure exactly: it was not scaled down, so steps exceed the tolerances."""
        return self._scale(measure) == 1.0

    def proves(self, solutions: Sequence[Solution]) -> bool:
        """Return whether `solutions` are of all measures, each proven, with exact limits of those before it."""
        held = range(len(self._measures) - 1)
        return (
            len(solutions) == len(self._measures)
            and all(solution.is_proven for solution in solutions)
            and all(self.resolves(measure) for measure in held)
        )

    def in_order(self, limits: Mapping[int, int] | None = None, *, accept_unproven: bool = False) -> list[Solution]:
        """Minimise every measure in turn, with those before it held at their least; end early when one fails.

        The plan of the last solution is the result. A later plan whose held measures grew within HiGHS's tolerances is not taken.

        Args:
            limits: Measure → the most that a plan may have of it.
            accept_unproven: Go on to the next measure when the least of one was found but not quite proven.
        """
        held = dict(limits or {})
        solutions: list[Solution] = []
        for measure in range(len(self._measures)):
            found = self.least(measure, held, solutions[-1].chosen if solutions else ())
            if solutions and (not found.chosen or any(self.value(k, found.chosen) > most for k, most in held.items())):
                previous = solutions[-1].chosen
                solutions.append(Solution(previous, self.value(measure, previous), found.bound, found.is_over))
                break
            solutions.append(found)
            if not (found.chosen and found.is_over) or not (found.is_proven or accept_unproven):
                break
            held[measure] = found.value
        return solutions

    def least(self, measure: int, limits: Mapping[int, int], known: tuple[int, ...] = ()) -> Solution:
        """Return a plan with the least value of one measure.

        Args:
            limits: Measure → the most that a plan may have of it.
            known: A plan within the limits.
        """
        if not all(columns for columns, _, least, _ in self._cover.rows if least == 1.0):
            return Solution((), 0, 0, True)
        if known and not any(self._cover.factors[measure]):
            return Solution(known, 0, 0, True)
        while True:
            answer, is_over = self._solve(measure, limits)
            if answer is None or answer.x is None:
                return Solution((), 0, 0, is_over)
            chosen = self._cover.chosen(answer.x)
            looped = cycle(self._problem, chosen)
            if looped is None:
                return Solution(chosen, self.value(measure, chosen), self._bound(measure, answer.mip_dual_bound), is_over)
            if not is_over:
                return Solution((), 0, self._bound(measure, answer.mip_dual_bound), False)
            self._cover.forbid(looped)

    def _solve(self, measure: int, limits: Mapping[int, int]) -> tuple[Any, bool]:
        """Return HiGHS's answer, None where there was no time for one, and whether it came to its end."""
        # SciPy takes most of a second to import, and only this searcher needs it.
        from scipy.optimize import Bounds, LinearConstraint, milp

        rows = LinearConstraint(*self._matrix(limits))
        scale = self._scale(measure) / self._units[measure]
        given: dict[str, Any] = {
            "c": np.array([float(factor * scale) for factor in self._cover.factors[measure]]),
            "integrality": np.array(self._cover.whole),
            "bounds": Bounds(0, 1),
            "constraints": rows,
        }
        if self._run.should_stop is never:
            answer = milp(**given, options={"mip_rel_gap": 0.0})
            self.relaxations += answer.mip_node_count or 0
            return answer, answer.status in (0, _INFEASIBLE)
        slice_s, best = FIRST_SLICE_S, None
        while True:
            options = {"mip_rel_gap": 0.0, "time_limit": slice_s}
            solve = partial(milp, **given, options=options)
            is_small = rows.A.nnz <= SMALL_PROGRAM
            answer = solve() if is_small else call_in_child(solve, self._run.should_stop)
            if answer is None:
                return best, False
            self.relaxations += answer.mip_node_count or 0
            is_over = answer.status in (0, _INFEASIBLE)
            if is_over or self._run.should_stop():
                return answer, is_over
            best = answer
            slice_s *= 2

    def _matrix(self, limits: Mapping[int, int]) -> tuple[Any, np.ndarray, np.ndarray]:
        from scipy.sparse import csr_array

        rows = [*self._cover.rows, *(self._limit(measure, most) for measure, most in limits.items())]
        sizes = [len(columns) for columns, _, _, _ in rows]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        columns = np.fromiter((column for row in rows for column in row[0]), dtype=np.int64, count=sum(sizes))
        factors = np.fromiter((factor for row in rows for factor in row[1]), dtype=np.float64, count=sum(sizes))
        matrix = csr_array((factors, columns, starts), shape=(len(rows), self.columns))
        return matrix, np.array([row[2] for row in rows]), np.array([row[3] for row in rows])

    def _limit(self, measure: int, most: int) -> tuple[list[int], list[float], float, float]:
        """Return a row: no more than `most` of a measure. Where factors are no whole numbers, a little more, so that `most` is inside.

        Half a step more between whole numbers would be as right, but HiGHS's presolve then finds some programs infeasible that are not.
        """
        unit, scale = self._units[measure], self._scale(measure)
        used = [(column, factor // unit * scale) for column, factor in enumerate(self._cover.factors[measure]) if factor]
        room = 0.0 if scale == 1.0 else max(0.5 * scale, 1e-6)
        return [column for column, _ in used], [factor for _, factor in used], -np.inf, most // unit * scale + room

    def _scale(self, measure: int) -> float:
        """Return the factor of a measure, after division by its unit, at which no factor exceeds `LARGEST`; at most 1."""
        largest = max(self._cover.factors[measure], default=0) // self._units[measure]
        return min(1.0, LARGEST / largest) if largest else 1.0

    def _bound(self, measure: int, dual: float | None) -> int:
        """Return HiGHS's bound as a whole number that no plan's value is below."""
        if dual is None or not math.isfinite(dual):
            return 0
        return max(0, math.ceil((dual - self._tolerance(dual)) / self._scale(measure))) * self._units[measure]

    def _tolerance(self, dual: float) -> float:
        """Return the possible error of HiGHS's bound: 1e-6 between bound and plan, 1e-7 a column in a plan, and rounding."""
        return 1e-6 + 1e-7 * self._crossings + 1e-12 * abs(dual)
