"""Resources of a run's candidates: those of a node, all of them, and the plans of the baselines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from collage_core.documents.node_times import PartitionNodeTimes

from .installation import RuleTree
from .live import ApiError
from .runs import PlanInfo


@dataclass(frozen=True)
class EstimateBasisJson:
    """The basis of an estimate for a target that is only described: the candidate's work, and the target's stated speed.

    The cost is `launch_s` and the longer of `operations` at `operations_per_s` and `bytes` at `bytes_per_s`.

    Attributes:
        operations_per_s, bytes_per_s: None where the description leaves them out; then they bound nothing.
    """

    operations: float
    bytes: int
    launch_s: float
    operations_per_s: float | None
    bytes_per_s: float | None


@dataclass(frozen=True)
class NodeCandidate:
    """One row of ``GET /api/v1/runs/<id>/candidates?node=<index>``: a candidate that holds the node.

    Attributes:
        cost: As `Cost.to_json` gives it.
        times: How many candidates of the target are this computation.
        estimate_basis: The basis of the cost, for a target that is only described.
        chosen: It is in the plan.
        regret_s: Least total of a plan that holds it, less the least total, never below 0; None where not known or in no plan.
        regret_at_least_s: A proven lower bound of it, where it is not known exactly; else the same.
        rests_on_unknown: It is not known exactly since a cost in one of the two plans is unknown; else since it takes too long.
        over_budget: Why the plan's errors leave no room for its own; empty where they do, or it computes in the model's precision.
    """

    id: str
    target: str
    label: str
    nodes: list[int]
    rule: str
    times: int
    cost: dict[str, Any]
    estimate_basis: EstimateBasisJson | None
    chosen: bool
    regret_s: float | None
    regret_at_least_s: float | None
    rests_on_unknown: bool = False
    over_budget: str = ""


@dataclass(frozen=True)
class NodeRejection:
    """A target that has no usable candidate for the node, or a sub-graph that was rejected, with the stage and the reason."""

    target: str
    nodes: list[int]
    stage: str
    reason: str


@dataclass(frozen=True)
class NodeCandidates:
    """``GET /api/v1/runs/<id>/candidates?node=<index>``."""

    node: int
    candidates: list[NodeCandidate]
    rejections: list[NodeRejection]


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
class CandidateRegret:
    """The regret of a candidate; fields as in `NodeCandidate` and `CostedRow`."""

    id: str
    regret_s: float | None
    regret_at_least_s: float | None
    rests_on_unknown: bool
    in_no_plan: bool


@dataclass(frozen=True)
class RegretRequest:
    """Body of ``POST /api/v1/runs/<id>/regrets``: ids of candidates, at most 200."""

    candidates: list[str]


@dataclass(frozen=True)
class RunRegrets:
    """Answers `RegretRequest`: worked out when asked for, within a second; those that cannot be used are left out."""

    run: str
    regrets: list[CandidateRegret]


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
class RunEstimates:
    """``GET /api/v1/runs/<id>/estimates``: the roofline estimates of the candidates that were measured. None of them is a cost.

    Attributes:
        machine: The machine whose speed they use: the server's, wherever the costs were measured.
        reason: The figures that the estimates rest on.
        seconds: Candidate's id → estimate.
    """

    run: str
    machine: str
    reason: str
    seconds: dict[str, float]


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
class RunNodeTimes:
    """``GET /api/v1/runs/<id>/node-times``: where the time goes inside the partitions of the run's plan.

    Attributes:
        alone_s: Target → for each node the cost of the candidate that holds it alone; None where that was not measured.
    """

    run: str
    partitions: list[PartitionNodeTimes]
    alone_s: dict[str, list[float | None]]


@dataclass(frozen=True)
class RunSpec:
    """A rule tree of a run, and the targets that share it: its rules ran once for all of them.

    Attributes:
        merged: Target → further candidates, made of neighbours after a search.
        invalid: Target → stage → how many of its candidates failed there.
    """

    targets: list[str]
    tree: RuleTree
    merged: dict[str, int]
    invalid: dict[str, dict[str, int]]


@dataclass(frozen=True)
class RunRules:
    """``GET /api/v1/runs/<id>/rules``: the specs of the run, the host's last."""

    run: str
    specs: list[RunSpec]


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
    error: ApiError | None = None
    conflict: list[int] = field(default_factory=list)
    off: list[str] = field(default_factory=list)
    uncovered: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Effect:
    """The effect of one of the terms.

    Attributes:
        alone_s: The best total under it alone, less the best total under none; None where no plan holds it.
        saves_s: The best total under all terms, less the best under all others; None where no plan holds them.
        refuses: How many candidates it forbids.
    """

    alone_s: float | None
    saves_s: float | None
    refuses: int


@dataclass(frozen=True)
class Effects:
    """The effects of the groups asked for, of each target that is switched off and each cost typed in, and of another accuracy.

    Those that took too long are missing: at the end of `groups`, among the targets or the costs, or None.
    """

    run: str
    groups: list[Effect]
    off: dict[str, Effect]
    accuracy: Effect | None
    costs: dict[str, Effect] = field(default_factory=dict)
