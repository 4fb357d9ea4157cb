"""Resources of a run's candidates as they travel, all of them in one table; plans of baselines, and under other terms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from collage_core.documents.candidates import NodeCandidate, NodeRejection
from collage_core.documents.plan import PlanInfo
from collage_core.documents.statements import PlanTime, Statement

from .live import ApiError


@dataclass(frozen=True)
class NodeRows:
    """The rows of a node in `PackedNodeCandidates`, by index."""

    candidates: list[int]
    rejections: list[int]


@dataclass(frozen=True)
class PackedNodeCandidates:
    """Of a report: `NodeCandidates` of every node, with each candidate and each rejection once.

    Attributes:
        nodes: In the order of the nodes.
    """

    candidates: list[NodeCandidate]
    rejections: list[NodeRejection]
    nodes: list[NodeRows]


@dataclass(frozen=True)
class CostedRow:
    """One row of `RunCandidates`: a candidate that was costed, the invalid ones too.

    Attributes:
        spans: Its nodes, in pairs of the first and the last one of a run without gaps: ``[0, 3, 7, 7]`` is 0, 1, 2, 3 and 7.
        times: How many candidates of the target are this computation.
        cost: As `Cost.to_json` gives it.
        chosen: It is in the plan.
        regret_s: Least total of a plan that holds it, less the least total; None where that is not known or there is no such plan.
        in_no_plan: It is known that no plan holds it.
    """

    id: str
    target: str
    label: str
    rule: str
    spans: list[int]
    times: int
    cost: dict[str, Any]
    chosen: bool
    regret_s: float | None
    in_no_plan: bool


@dataclass(frozen=True)
class RejectedRow:
    """A sub-graph that became no candidate; `spans` as in `CostedRow`. Of equal rejections only a sample is kept.

    Attributes:
        rule: Names of the rules from the one that rejected it down.
        pattern: Of a pattern rule, the label of its pattern, or the pattern itself; empty for the others.
    """

    target: str
    spans: list[int]
    rule: str
    stage: str
    reason: str
    pattern: str


@dataclass(frozen=True)
class CandidateColumns:
    """The columns of `PackedCandidates`: fields as in `CostedRow`, one value a row.

    Attributes:
        target, label, rule, cost: Indices in the lists of `PackedCandidates`.
        chosen, in_no_plan: The rows of which that is true.
    """

    id: list[str]
    target: list[int]
    label: list[int]
    rule: list[int]
    spans: list[list[int]]
    times: list[int]
    cost: list[int]
    chosen: list[int]
    regret_s: list[float | None]
    in_no_plan: list[int]


@dataclass(frozen=True)
class PackedCandidates:
    """``GET /api/v1/runs/<id>/candidates``: every candidate that was costed, and what the rules rejected.

    Rows as columns: there may be tens of thousands, which share few costs, labels and rules.

    Attributes:
        targets, labels, rules, costs: Each that occurs, once; `columns` has indices in them.
    """

    run: str
    targets: list[str]
    labels: list[str]
    rules: list[str]
    costs: list[dict[str, Any]]
    columns: CandidateColumns
    rejections: list[RejectedRow]


@dataclass(frozen=True)
class RunCandidates:
    """`PackedCandidates` unpacked, as the page keeps it."""

    run: str
    candidates: list[CostedRow]
    rejections: list[RejectedRow]


@dataclass(frozen=True)
class BaselinePlan:
    """``GET /api/v1/runs/<id>/baselines/<name>/plan``: how such a baseline cuts the model (`Baseline`)."""

    run: str
    name: str
    plan: PlanInfo


@dataclass(frozen=True)
class WhatIf:
    """The best plan on a run's costs under other terms. Nothing of it is kept: ``POST /api/v1/runs`` with a `base` keeps it.

    Attributes:
        plan: None where no plan holds the terms.
        optimal: It is proven that no better plan holds them.
        untimed: How many candidates are accurate enough now, and were not when the run measured: their costs are not known.
        keeps_plan: It is the plan of the run, since the terms ask for nothing that it does not have: what was measured of it holds.
        time: What is known of its time; None where there is no plan.
        change, change_text, predicted_text: As in `PlanUnderTerms`; None and empty where there is no plan.
        error: Why there is no plan.
        conflict: Indices in the request's constraints of a minimal set that cannot hold together.
        off: Targets that are switched off and belong to that set.
        uncovered: Nodes that no usable candidate holds.
    """

    run: str
    plan: PlanInfo | None
    optimal: bool = False
    untimed: int = 0
    keeps_plan: bool = False
    time: PlanTime | None = None
    change: Statement | None = None
    change_text: str = ""
    predicted_text: str = ""
    error: ApiError | None = None
    conflict: list[int] = field(default_factory=list)
    off: list[str] = field(default_factory=list)
    uncovered: list[int] = field(default_factory=list)
