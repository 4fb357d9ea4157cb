"""`best_of_known_costs`: the best plan on the costs that a run knows; `time_of_result`: what the run knows of the time of such a plan.

A record enters; the result of a search and its `PlanTime` leave. Nothing is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..documents.statements import NOT_KNOWN, PlanTime, measured_whole
from ..events import Emit, ignore
from ..pipeline.loop.search_and_merge import SearchSettings, searched
from ..pipeline.record.record import CostedCandidate, RunRecord, usable
from ..pipeline.record.regrets import bounds_of, with_unknown
from ..search.constraints.constraints import Constraint
from ..search.plan_properties import plan_total
from ..search.problem import FEMTOSECONDS
from ..search.searcher import SearchResult


def chosen_candidates(record: RunRecord, result: SearchResult) -> list[CostedCandidate]:
    """Return the candidates that a search over the problem of `record` chose, with their costs."""
    costed = usable(record.candidates)
    return [costed[index] for index in result.chosen]


def best_of_known_costs(
    record: RunRecord, constraints: Sequence[Constraint], settings: SearchSettings, emit: Emit = ignore
) -> SearchResult:
    """Return the best plan over the problem of `record`; one whose costs are known, where the best one rests on heuristic bounds.

    Bounds are there so that measuring can leave out what they rule out. A plan that rests on one has no time that could be told.

    Raises:
        InfeasibleError: no plan holds the constraints.
    """
    problem = record.problem
    result = searched(problem, constraints, settings, emit)
    bounds = bounds_of(item.cost.source for item in usable(record.candidates))
    if bounds.isdisjoint(result.chosen):
        return result
    known = searched(with_unknown(problem, bounds), constraints, settings, emit)
    return replace(known, total=plan_total(problem, known.chosen), optimal=False, lower_bound=result.lower_bound)


def time_of_result(record: RunRecord, result: SearchResult, *, has_own_costs: bool = True) -> PlanTime:
    """Return what is known of the time of the plan in `result`.

    Args:
        has_own_costs: The costs are those that the run knows: then a plan that it timed end to end counts with that time.
    """
    chosen, total_s = chosen_candidates(record, result), result.total / FEMTOSECONDS
    guessed = [item.cost.seconds or 0.0 for item in chosen if item.cost.source in NOT_KNOWN]
    measured_s, interval_s = measured_whole(record.document, [item.id for item in chosen]) if has_own_costs else (None, None)
    return PlanTime(
        predicted_s=None if guessed else total_s,
        at_least_s=max(0.0, total_s - sum(guessed)),
        measured_s=measured_s,
        interval_s=interval_s,
        unknown=len(guessed),
    )
