"""How two plans of one model differ that a page shows: the request has both plans, since one of them may be kept nowhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .statements import PlanTime


@dataclass(frozen=True, kw_only=True)
class ShownPart:
    """A partition of a plan that is compared: fields as in `PlanPartition`."""

    id: str
    target: str
    nodes: list[int]
    cost_s: float | None
    interval_s: float | None
    source: str


@dataclass(frozen=True, kw_only=True)
class ShownPlan:
    """A plan that is compared.

    Attributes:
        transitions_s: The part of its predicted time that transitions and copies take.
        run: The run in which it was timed end to end; empty where it was not.
        is_plan: It is the plan that `run` decided on, with which the other plans of that run were timed in turns.
    """

    parts: list[ShownPart]
    transitions_s: float
    time: PlanTime
    run: str
    is_plan: bool


@dataclass(frozen=True)
class CompareRequest:
    """Body of ``POST /api/v1/compare``; answered with a `TwoPlans`."""

    first: ShownPlan
    second: ShownPlan


@dataclass(frozen=True)
class TwoTimes:
    """A time of the first plan and of the second, and how they compare; `change` is `change_s` in words."""

    first_s: float | None
    second_s: float | None
    change_s: float | None
    change: str


@dataclass(frozen=True)
class TwoRegions:
    """A smallest set of nodes that is whole partitions of both plans, which are named by their ids.

    Attributes:
        kind: As in `ComparedRegion`.
        cost: Its cost in both plans.
        is_change: Targets, partitions or costs differ.
    """

    kind: Literal["moved", "recut", "same"]
    nodes: list[int]
    first: list[str]
    second: list[str]
    cost: TwoTimes
    is_change: bool


@dataclass(frozen=True)
class TwoPlans:
    """How the first plan compares with the second.

    Attributes:
        text: The change of the time in words, with what it rests on.
        is_faster: The first is; None where that is not decided.
        measured: None where one of them was not timed end to end.
        regions: The largest difference first.
        moved: The nodes whose target differs.
    """

    text: str
    is_faster: bool | None
    predicted: TwoTimes
    measured: TwoTimes | None
    transitions: TwoTimes
    regions: list[TwoRegions]
    moved: list[int]
