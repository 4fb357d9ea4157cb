"""`time_of_result`: what a run knows of the time of a plan that a search over its costs found.

A record and the result of a search enter; a `PlanTime` leaves. Nothing is measured.
"""

from __future__ import annotations

from ..documents.statements import NOT_KNOWN, PlanTime, measured_whole
from ..pipeline.record.record import CostedCandidate, RunRecord, usable
from ..search.problem import FEMTOSECONDS
from ..search.searcher import SearchResult


def chosen_candidates(record: RunRecord, result: SearchResult) -> list[CostedCandidate]:
    """Return the candidates that a search over the problem of `record` chose, with their costs."""
    costed = usable(record.candidates)
    return [costed[index] for index in result.chosen]


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
