"""`pareto`: the plans of which no other is both faster and moves fewer bytes between targets.

Requirement 59. The epsilon-constraint method over `milp`: the fastest plan first, then again and again the fastest of those
that move fewer bytes than the one before, until there is none. Each plan's time and bytes are added up in whole numbers from
the plan itself; that nothing is missing is as sure as HiGHS's tolerances (see `milp`), and said by ``is_complete``. Where
tensors are so large and so unequal that "fewer bytes" drowns in these, the list is not called complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..objectives import PlanMeasures, measures
from ..problem import SearchProblem
from ..result import plan_total
from ..searcher import QUIET, SearchRun
from ..searchers.milp import Program, time_measure, unknown_measures
from ..searchers.objective_search import bytes_measure


@dataclass(frozen=True)
class ParetoPlan:
    """A plan of the list."""

    chosen: tuple[int, ...]
    measures: PlanMeasures


@dataclass(frozen=True)
class ParetoList:
    """Plans by time, the fastest first; each moves fewer bytes than the one before.

    Attributes:
        is_complete: Every step was proven: no plan is missing. False too where the run was stopped.
    """

    plans: tuple[ParetoPlan, ...]
    is_complete: bool


def pareto(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> ParetoList:
    """The list over the candidates `usable`; empty where there is no plan. Of equal plans one is listed.

    Only plans with the fewest nodes of unknown cost are looked at.
    """
    listed = [*unknown_measures(problem, usable), time_measure(problem), bytes_measure()]
    program = Program(problem, usable, listed, run)
    moved = len(listed) - 1
    limits: dict[int, int] = {}
    plans: list[ParetoPlan] = []
    is_complete = program.tells_apart(moved)
    while not run.should_stop():
        solutions = program.in_order(limits, insist=True)
        chosen = solutions[-1].chosen
        if not chosen or (plans and measures(problem, chosen).unknown_nodes > plans[0].measures.unknown_nodes):
            is_complete = is_complete and solutions[-1].is_over
            break
        is_complete = is_complete and program.proves(solutions)
        plan = ParetoPlan(chosen, measures(problem, chosen))
        if plans and plan.measures.bytes >= plans[-1].measures.bytes:
            is_complete = False
            break
        plans.append(plan)
        run.reporter.better_plan(chosen, plan_total(problem, chosen))
        if plan.measures.bytes == 0:
            break
        limits = {moved: plan.measures.bytes - 1}
    else:
        is_complete = False
    return ParetoList(_undominated(plans), is_complete)


def _undominated(plans: Sequence[ParetoPlan]) -> tuple[ParetoPlan, ...]:
    """Those of `plans`, which move fewer and fewer bytes, that no later one beats in time."""
    kept: list[ParetoPlan] = []
    for plan in reversed(plans):
        if not kept or plan.measures.time < kept[-1].measures.time:
            kept.append(plan)
    return tuple(reversed(kept))
