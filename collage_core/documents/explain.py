"""The answer of `collage explain`: why a plan is as it is, by all alternatives for some nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .candidates import NodeCandidate, NodeRejection
from .node_times import PartitionNodeTimes
from .run import NodeWithBodies


@dataclass(frozen=True)
class ExplainRequest:
    """Asks why a node, by name or index, is where it is, or about a candidate, by its id; with neither, why every partition is."""

    node: str | None = None
    candidate: str | None = None


@dataclass(frozen=True)
class ExplainedCandidate(NodeCandidate):
    """A candidate; the best plan would hold it if its cost were less than `enters_below_s` seconds, None where not known or it does."""

    enters_below_s: float | None


@dataclass(frozen=True)
class NodeTime:
    """The time of a node inside its partition.

    Attributes:
        nodes: Those that share its kernel, the node itself among them.
        share: Of all of `nodes` in the time of the partition, from 0 to 1; None where not known.
        seconds: That share of the partition's cost; None where not known.
        kernel: The toolchain's word for what it runs; empty where nobody told.
        source: As in `PartitionNodeTimes`.
        alone_s: Target → seconds of the candidate that holds the node alone.
    """

    nodes: tuple[int, ...]
    share: float | None
    seconds: float | None
    kernel: str
    source: str
    alone_s: Mapping[str, float]


@dataclass(frozen=True)
class ExplainedNode:
    """A node, the candidates that hold it, and why other targets cannot take it."""

    node: int
    name: str
    op: str
    candidates: tuple[ExplainedCandidate, ...]
    rejections: tuple[NodeRejection, ...]
    time: NodeTime


@dataclass(frozen=True)
class ShownPartition:
    """A partition of one side of a region."""

    id: str
    target: str
    nodes: tuple[int, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True)
class SavingRegion:
    """Partitions of the plan, and those of a partitioning over the same nodes.

    Attributes:
        saves_s: By how many seconds the plan's are faster, transitions included; None where a cost is not known.
    """

    plan: tuple[ShownPartition, ...]
    instead: tuple[ShownPartition, ...]
    saves_s: float | None


@dataclass(frozen=True)
class PartitioningDifference:
    """How the plan differs from a partitioning that came from elsewhere.

    Attributes:
        name: That of the baseline.
        plan_partitions, partitions: How many the plan and the partitioning have; those of the host are not counted.
        total_s, measured_s: Seconds of the partitioning, predicted and timed end to end; None where not known.
        apparent_loss_s: The time of the plan less that of the partitioning; None where one is not known.
        is_measured: Both times of the loss are measured; else both are predicted.
        change_text: How the plan compares with it, in words.
        is_estimate: A cost of the partitioning is no measurement.
        regions: Those that differ, those that save most first.
    """

    name: str
    plan_partitions: int
    partitions: int
    total_s: float | None
    measured_s: float | None
    apparent_loss_s: float | None
    is_measured: bool
    change_text: str
    is_estimate: bool
    regions: tuple[SavingRegion, ...]


@dataclass(frozen=True)
class Explanation:
    """Why a plan is as it is.

    Attributes:
        total_s: Predicted seconds of the plan.
        decision: What decided that it is the plan, in one sentence; empty where nothing was timed end to end.
        nodes: Those that were asked about, or the first one of each partition.
        node_times: Of the partitions that hold them.
        bodies: Of these nodes, as in the document of the run.
        partitionings: Differences from partitionings that came from elsewhere; none where a node or a candidate was asked about.
    """

    total_s: float
    decision: str
    nodes: tuple[ExplainedNode, ...]
    node_times: tuple[PartitionNodeTimes, ...]
    bodies: tuple[NodeWithBodies, ...]
    partitionings: tuple[PartitioningDifference, ...]
