"""`pareto`: the Pareto list of plans by time and bytes moved: no other plan is both faster and moves fewer bytes.

It uses the epsilon-constraint method over `milp`: first the fastest plan, then repeatedly the fastest of those that move fewer
bytes than the one before, until there is none. Time and bytes of each plan are added up in whole numbers from the plan itself.
``is_complete`` says whether no plan is missing, as far as HiGHS's tolerances allow a proof (see `milp`); if tensors are so large
and unequal that one byte less is within these, the list is not called complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..objectives import PlanMeasures, measures
from ..plan_properties import plan_total
from ..problem import SearchProblem
from ..searcher import QUIET, SearchRun
from ..searchers.linear_program import bytes_measure, time_measure, unknown_measures
from ..searchers.milp import Program


@dataclass(frozen=True)
class ParetoPlan:
    """A plan of the list."""

    chosen: tuple[int, ...]
    measures: PlanMeasures


@dataclass(frozen=True)
class ParetoList:
    """Plans in the order of time, the fastest first; each moves fewer bytes than the one before.

    Attributes:
        is_complete: Whether every step was proven, so that no plan is missing; False when the run was stopped.
    """

    plans: tuple[ParetoPlan, ...]
    is_complete: bool


def pareto(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> ParetoList:
    """Return the list over the candidates `usable`; empty when there is no plan. Of equal plans one is listed.

    Only plans with the fewest nodes of unknown cost are considered.
    """
    listed = [*unknown_measures(problem, usable), time_measure(problem), bytes_measure()]
    program = Program(problem, usable, listed, run)
    moved = len(listed) - 1
    limits: dict[int, int] = {}
    plans: list[ParetoPlan] = []
    is_complete = program.resolves(moved)
    while not run.should_stop():
        solutions = program.in_order(limits, accept_unproven=True)
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
    """Return those of `plans`, each of which moves fewer bytes than the one before, that no later one beats in time."""
    kept: list[ParetoPlan] = []
    for plan in reversed(plans):
        if not kept or plan.measures.time < kept[-1].measures.time:
            kept.append(plan)
    return tuple(reversed(kept))
