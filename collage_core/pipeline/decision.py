"""`Decision`: the plan of a run, and what the run knows of it. A step of the run takes a decision and returns another one.

The outcome of a search and its baselines enter (`decide`). Nothing is measured, built or told here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .bodies.plan_bodies import PlannedNode
from .loop.certainty import break_ties_by_priority, stability
from .loop.error_budget import estimated_error
from .loop.rivals import Rival
from .loop.search_and_merge import Planned, PlanSearch, regret_seconds
from .whole.baselines import BaselinePlan
from .whole.choose_finalists import another_plan, best_known

Chosen = tuple[int, ...]
"""A plan: the indices of its candidates in a search problem."""


@dataclass(frozen=True)
class Decision:
    """The decision of a run. All plans are of the problem of `planned`.

    Attributes:
        best: The plan of the least sum.
        searched: The same, with targets of higher priority where measurements cannot tell the two plans apart.
        planned: The plan of the run: `searched`, or another one that is faster, or right, as a whole.
        baselines: The plans that it is compared with.
        decided_by: Id of a partition of the plan → what decided on it, where that was not its cost.
        stability: Id of a partition of the plan → share of the draws in which it is chosen.
        regret_s: As `RunRecord.regret_s`.
        undecided: What measuring left undecided between the plan and others.
        refused: Plan → why it is out.
        bodies: Index of each node whose bodies were planned → their plans, and its cost on the host.
    """

    best: Planned
    searched: Planned
    planned: Planned
    baselines: tuple[BaselinePlan, ...]
    decided_by: Mapping[str, str]
    stability: Mapping[str, float]
    regret_s: Mapping[str, float | None]
    undecided: Sequence[Rival] = ()
    refused: Mapping[Chosen, str] = field(default_factory=dict)
    bodies: Mapping[int, PlannedNode] = field(default_factory=dict)

    @property
    def is_searched(self) -> bool:
        """Return whether the sum of costs decided, and no measurement of whole plans."""
        return self.planned is self.searched

    @property
    def baseline_plans(self) -> dict[str, Chosen]:
        """Name → plan of each baseline that may be built and timed beside the plan."""
        return {one.name: one.chosen for one in self.baselines if one.is_compared and one.chosen is not None}

    @property
    def estimated_error(self) -> float:
        """Return the sum of the errors of the plan's partitions, as far as they count (`ErrorBudget`)."""
        return estimated_error(self.planned.problem, self.planned.final.chosen)

    def take(self, chosen: Chosen, plans: PlanSearch) -> Decision:
        """Return the decision for another plan of the same problem, since the search's plan is slower, or wrong, as a whole."""
        planned = another_plan(self.searched, chosen)
        constraints = plans.constraints(planned.problem)
        return replace(
            self,
            planned=planned,
            decided_by=_decided_otherwise(planned, self.searched, "whole"),
            undecided=(),  # Timed end to end, plans are compared as they are: what their parts left open is of no interest.
            stability=stability(planned, constraints, plans.settings),
            regret_s=regret_seconds(planned, constraints),
        )

    def refuse(self, reason: str) -> Decision:
        """Return the decision in which the plan is out."""
        return replace(self, refused={**self.refused, self.planned.final.chosen: reason})

    def over_shapes(self, planned: Planned, baselines: Collection[BaselinePlan]) -> Decision:
        """Return the decision for the plan of the least sum in the problem of all that the plans of other shapes brought."""
        return replace(self, best=planned, searched=planned, planned=planned, baselines=tuple(baselines), undecided=())


def decide(planned: Planned, baselines: Collection[BaselinePlan], plans: PlanSearch) -> Decision:
    """Return the decision for the plan of a search.

    A search that was stopped may have missed a baseline that costs less: then that is the plan.
    """
    constraints, settings = plans.constraints(planned.problem), plans.settings
    compared = [one.chosen for one in baselines if one.is_compared and one.chosen is not None]
    best = best_known(planned, compared, constraints) if not planned.final.optimal and settings.objective.is_time else planned
    least_s = min((one.total_s for one in baselines if one.total_s is not None), default=None)
    searched = break_ties_by_priority(best, constraints, settings, least_s)
    return Decision(
        best=best,
        searched=searched,
        planned=searched,
        baselines=tuple(baselines),
        decided_by=_decided_otherwise(searched, best, "priority"),
        stability=stability(searched, constraints, settings),
        regret_s=regret_seconds(searched, constraints),
    )


def _decided_otherwise(planned: Planned, before: Planned, decided_by: str) -> dict[str, str]:
    """Id → `decided_by` of each partition that `planned` has, and `before`, a plan of the same problem, has not."""
    new = (index for index in planned.final.chosen if index not in before.final.chosen)
    return {planned.problem.candidates[index].id: decided_by for index in new}
