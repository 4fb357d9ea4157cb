"""How long each node takes inside a partition of a plan, as documents have it."""

from __future__ import annotations

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
