"""The candidates that hold a node and why other targets cannot take it; regrets and estimates of candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .cost import CostInfo


@dataclass(frozen=True)
class EstimateBasisJson:
    """The basis of an estimate for a target that is only described: the candidate's work, and the target's stated speed.

    The cost is `launch_s` and the longer of `operations` at `operations_per_s` and `bytes` at `bytes_per_s`.

    Attributes:
        operations_per_s, bytes_per_s: None where the description leaves them out; then they bound nothing.
        has_transfers: It says what transfers cost; else they count as free.
    """

    operations: float
    bytes: int
    launch_s: float
    operations_per_s: float | None
    bytes_per_s: float | None
    has_transfers: bool = False


@dataclass(frozen=True)
class NodeRequest:
    """Asks for the candidates that hold a node, by its index."""

    node: int


@dataclass(frozen=True)
class NodeCandidate:
    """One row of ``GET /api/v1/runs/<id>/candidates?node=<index>``: a candidate that holds the node.

    Attributes:
        times: How many candidates of the target are this computation.
        estimate_basis: The basis of the cost, for a target that is only described.
        chosen: It is in the plan.
        over_budget: Why the plan's errors leave no room for its own; empty where they do, or it computes in the model's precision.
        regret_s: Time of the best plan that holds it, less that of the run's plan, never below 0; None where not known or in no plan.
        regret_at_least_s: A proven lower bound of it, where it is not known exactly; else the same.
        rests_on_unknown: It is not known exactly since a cost in one of the two plans is unknown, or since the run found that sums do
            not decide and that plan was not timed end to end; else since it takes too long.
        regret_basis: ``measured`` where both plans were timed end to end, ``estimated`` where one of them rests on an estimate from a
            profile, else ``predicted``.
    """

    id: str
    target: str
    label: str
    nodes: tuple[int, ...]
    rule: str
    times: int
    cost: CostInfo
    estimate_basis: EstimateBasisJson | None
    chosen: bool
    over_budget: str
    regret_s: float | None
    regret_at_least_s: float | None
    rests_on_unknown: bool
    regret_basis: str


@dataclass(frozen=True)
class NodeRejection:
    """A target that has no usable candidate for the node, or a sub-graph that was rejected, with the stage and the reason."""

    target: str
    nodes: tuple[int, ...]
    stage: str
    reason: str


@dataclass(frozen=True)
class NodeCandidates:
    """``GET /api/v1/runs/<id>/candidates?node=<index>``."""

    node: int
    candidates: tuple[NodeCandidate, ...]
    rejections: tuple[NodeRejection, ...]


@dataclass(frozen=True)
class RegretRequest:
    """Asks for the regrets of candidates, by id; over the web API at most 200."""

    candidates: list[str]


@dataclass(frozen=True)
class CandidateRegret:
    """The regret of a candidate; fields as in `NodeCandidate`, and `in_no_plan`: it is known that no plan holds it."""

    id: str
    regret_s: float | None
    regret_at_least_s: float | None
    rests_on_unknown: bool
    in_no_plan: bool
    regret_basis: str


@dataclass(frozen=True)
class RunRegrets:
    """Answers `RegretRequest`: worked out when asked for, within a second; those that cannot be used are left out."""

    regrets: tuple[CandidateRegret, ...]


@dataclass(frozen=True)
class RunEstimates:
    """``GET /api/v1/runs/<id>/estimates``: the roofline estimates of the candidates that were measured. None of them is a cost.

    Attributes:
        machine: The machine whose speed they use: the one that answers, wherever the costs were measured.
        reason: The figures that the estimates rest on.
        seconds: Candidate's id → estimate.
    """

    machine: str
    reason: str
    seconds: Mapping[str, float]
