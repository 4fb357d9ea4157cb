"""Times inside the partitions of a plan, and of partitions inside the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from .json_form import Seconds

Share = Annotated[float, Field(ge=0, le=1 + 1e-9, allow_inf_nan=False)]


@dataclass(frozen=True)
class NodeGroupTime:
    """Nodes that one kernel computes together, or a single node.

    Attributes:
        nodes: Their indices in the model, ascending.
        share: Their share of the time of the partition, from 0 to 1.
        seconds: That share of the partition's cost; None where the cost is not known.
        kernel: The toolchain's word for what it runs; empty where nobody told.
    """

    nodes: tuple[int, ...]
    share: Share
    seconds: Seconds | None
    kernel: str = ""


@dataclass(frozen=True)
class PartitionNodeTimes:
    """Times inside one partition.

    Attributes:
        partition: Its id.
        source: Where the shares come from: ``profiler``, ``candidates`` (the costs of its nodes, each alone on its target, so without
            what the toolchain saves by fusing them), ``cost`` (it is a single node), or ``none``.
        groups: Every node is in one of them; none where the source is ``none``.
        rest_share: The share that belongs to no node.
        profiled_s: Seconds that the kernels took together while they were profiled, or the candidates take together; None without any.
        reason: Why no profiler gave the times; where one did, when it was, if that was not in the run.
    """

    partition: str
    source: Literal["profiler", "candidates", "cost", "none"]
    groups: tuple[NodeGroupTime, ...] = ()
    rest_share: Share = 0.0
    profiled_s: Seconds | None = None
    reason: str = ""


@dataclass(frozen=True)
class RunNodeTimes:
    """``GET /api/v1/runs/<id>/node-times``: where the time goes inside the partitions of the run's plan.

    Attributes:
        alone_s: Target → for each node the cost of the candidate that holds it alone; None where that was not measured.
    """

    partitions: tuple[PartitionNodeTimes, ...]
    alone_s: Mapping[str, tuple[float | None, ...]]


@dataclass(frozen=True)
class InsideTime:
    """A partition inside the whole, or several functions of the module in a row, which are timed together.

    Attributes:
        id: The ids of its partitions, joined by ``+``.
        nodes: How many.
        first: Name of its first node.
        partitions: How many.
        seconds: Measured inside the whole.
        predicted_s, interval_s: As the plan says; None where it does not.
        difference_s: The measured less the predicted time.
    """

    id: str
    target: str
    nodes: int
    first: str
    partitions: int
    seconds: float
    predicted_s: float | None
    interval_s: float | None
    difference_s: float | None


@dataclass(frozen=True)
class InsideTimes:
    """``POST /api/v1/runs/<id>/profile``: what ``collage run ARTIFACT --profile`` tells; the artifact is run for about a second.

    Attributes:
        whole_s: Of one inference.
        rest_s: What belongs to no partition: calls, and copies.
        predicted_between_s: What the plan counts for transitions.
    """

    whole_s: float
    rest_s: float
    predicted_s: float | None
    predicted_between_s: float | None
    partitions: tuple[InsideTime, ...]
