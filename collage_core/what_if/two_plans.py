"""`two_plans`: how two plans that a page shows differ: their times, and region by region their costs.

A request with both plans enters; plain data leaves. No record is needed, since the plans may be of several runs, or of none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..base.durations import signed
from ..documents.plan import PlanPartition
from ..documents.statement_text import change_text
from ..documents.statements import Statement, compared
from ..documents.two_plans import CompareRequest, ShownPart, ShownPlan, TwoPlans, TwoRegions, TwoTimes
from .plan_difference import Region, moved_nodes, regions_of

HOST = "host"


def two_plans(asked: CompareRequest) -> TwoPlans:
    """Return how the first of two plans of one model compares with the second."""
    first, second = asked.first, asked.second
    parts, others = _placed(first.parts), _placed(second.parts)
    half_s = _half_s(first.parts, second.parts)
    both = _statement(first, second, half_s)
    untimed: dict[str, Any] = {"measured_s": None, "unexplained_s": None}
    predicted = compared(replace(first.time, **untimed), replace(second.time, **untimed), interval_s=half_s)
    return TwoPlans(
        text=change_text(both),
        is_faster=None if both.change_s is None or both.is_decided is False else both.change_s < 0,
        predicted=TwoTimes(first.time.predicted_s, second.time.predicted_s, predicted.change_s, change_text(predicted)),
        measured=_times(both) if both.basis == "measured" else None,
        transitions=_apart(first.transitions_s, second.transitions_s),
        regions=[_region(region) for region in regions_of(parts, others)],
        moved=moved_nodes(parts, others),
    )


def _statement(first: ShownPlan, second: ShownPlan, half_s: float | None) -> Statement:
    """Return how the first compares with the second.

    The other plans of a run were timed in turns with the plan that it decided on: their interval is that of the ratio to it.
    """
    in_turns = first.run == second.run != "" and first.is_plan != second.is_plan
    time = first.time
    if in_turns and first.is_plan:
        time = replace(time, interval_s=second.time.interval_s, least_ratio=second.time.least_ratio)
    return compared(time, second.time, interval_s=half_s, in_turns=in_turns)


def _times(statement: Statement) -> TwoTimes:
    return TwoTimes(statement.seconds, statement.reference_s, statement.change_s, change_text(statement))


def _region(region: Region) -> TwoRegions:
    cost = TwoTimes(region.first_s, region.second_s, region.change_s, signed(region.change_s))
    kind: Any = region.kind
    first, second = ([part.id for part in parts] for parts in (region.first, region.second))
    return TwoRegions(kind, list(region.nodes), first, second, cost, region.is_change)


def _apart(first: float, second: float) -> TwoTimes:
    change = first - second
    return TwoTimes(first, second, change, signed(change))


def _half_s(first: Sequence[ShownPart], second: Sequence[ShownPart]) -> float | None:
    """Return half of the interval of the predicted difference; a partition of both plans is off by the same in both."""
    costs = [{(part.id, part.cost_s): part for part in parts if part.target != HOST} for parts in (first, second)]
    widths = [part.interval_s for key, part in (*costs[0].items(), *costs[1].items()) if not (key in costs[0] and key in costs[1])]
    return None if None in widths else math.hypot(*(width for width in widths if width is not None))


def _placed(parts: Sequence[ShownPart]) -> list[PlanPartition]:
    return [
        PlanPartition(id=part.id, target=part.target, nodes=tuple(part.nodes), names=(), ops=(), cost_s=part.cost_s, source=part.source)
        for part in parts
    ]
