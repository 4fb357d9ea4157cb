"""`PartitionTimes`: how long each node takes inside a partition of a plan, as plain data.

A toolchain's own profiler gives the times (`profile_nodes`). A profiler slows down what it watches, so only the shares of its times are
kept: they are scaled to the cost of the partition. `times_of_plan` fills in what no profiler gave from the costs of single nodes, and
says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ...base.counted import counted
from ...rewrite.plan import PlacedPartition, Plan

if TYPE_CHECKING:
    from ...toolchains.profiling import NodeTime

PROFILER, CANDIDATES, COST, NONE = "profiler", "candidates", "cost", "none"
"""Sources of times: the toolchain's profiler; candidates of single nodes; the cost of a partition of one node; nobody."""


@dataclass(frozen=True)
class NodeGroup:
    """Nodes that one kernel computes together, or a single node.

    Attributes:
        nodes: Their indices in the model, ascending.
        share: Their share of the time of the partition, from 0 to 1.
        seconds: That share of the partition's cost; None where the cost is not known.
        kernel: The toolchain's word for what it runs; empty where nobody told.
    """

    nodes: tuple[int, ...]
    share: float
    seconds: float | None
    kernel: str = ""


@dataclass(frozen=True)
class PartitionTimes:
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
    source: str
    groups: tuple[NodeGroup, ...] = ()
    rest_share: float = 0.0
    profiled_s: float | None = None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return lists and numbers alone, equal to what a file of them reads back."""
        groups = [asdict(group) | {"nodes": list(group.nodes)} for group in self.groups]
        return asdict(self) | {"groups": groups}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PartitionTimes:
        """Read what `to_json` gave. Raises KeyError, TypeError or ValueError where `data` is something else."""
        groups = tuple(
            NodeGroup(
                tuple(map(int, group["nodes"])), _share(group["share"]), _seconds_or_none(group["seconds"]), str(group.get("kernel", ""))
            )
            for group in data["groups"]
        )
        if data["source"] not in (PROFILER, CANDIDATES, COST, NONE):
            raise ValueError(f"the source {data['source']!r}")
        return cls(
            str(data["partition"]),
            data["source"],
            groups,
            _share(data["rest_share"]),
            _seconds_or_none(data["profiled_s"]),
            str(data["reason"]),
        )


def times_of_plan(plan: Plan, profiled: Iterable[PartitionTimes], alone_s: Mapping[tuple[int, str], float]) -> list[PartitionTimes]:
    """Return the times of every partition of `plan`: as profiled, or from the costs of its nodes alone.

    Args:
        alone_s: (node, target) → the cost of the candidate that holds this node alone.
    """
    known = {one.partition: one for one in profiled}
    return [_times_of(partition, known.get(partition.id), alone_s) for partition in plan.partitions]


def scaled(partition: PlacedPartition, found: Sequence[NodeTime]) -> PartitionTimes:
    """Return the profile `found`, whose nodes count from 0 in the partition, as shares of its cost."""
    total_s = sum(one.seconds for one in found)
    if not total_s > 0 or not math.isfinite(total_s):
        return PartitionTimes(partition.id, NONE, reason="the profile has no times")
    groups = tuple(
        _group(partition, tuple(partition.nodes[node] for node in one.nodes), one.seconds / total_s, one.kernel)
        for one in found
        if one.nodes
    )
    rest = sum(one.seconds for one in found if not one.nodes) / total_s
    return PartitionTimes(partition.id, PROFILER, groups, rest, total_s)


def _times_of(partition: PlacedPartition, known: PartitionTimes | None, alone_s: Mapping[tuple[int, str], float]) -> PartitionTimes:
    if known is not None and known.source == PROFILER:
        return known
    if len(partition.nodes) == 1:
        return PartitionTimes(partition.id, COST, (_group(partition, partition.nodes, 1.0),))
    reason = known.reason if known is not None else "it was not profiled"
    costs = [alone_s.get((node, partition.target)) for node in partition.nodes]
    seconds = [cost for cost in costs if cost is not None]
    total_s = sum(seconds)
    if len(seconds) < len(costs) or not total_s > 0:
        lacking = f"{len(costs) - len(seconds)} of its {counted(len(costs), 'node')} have no cost alone on {partition.target}"
        return PartitionTimes(partition.id, NONE, reason=f"{reason}, and {lacking}" if len(seconds) < len(costs) else reason)
    groups = tuple(_group(partition, (node,), cost / total_s) for node, cost in zip(partition.nodes, seconds, strict=True))
    return PartitionTimes(partition.id, CANDIDATES, groups, profiled_s=total_s, reason=reason)


def _group(partition: PlacedPartition, nodes: tuple[int, ...], share: float, kernel: str = "") -> NodeGroup:
    return NodeGroup(nodes, share, None if partition.cost_s is None else share * partition.cost_s, kernel)


def _share(value: Any) -> float:
    number = float(value)
    if not 0 <= number <= 1 + 1e-9:
        raise ValueError(f"the share {number}")
    return number


def _seconds_or_none(value: Any) -> float | None:
    if value is None:
        return None
    number = float(value)
    if not 0 <= number < math.inf:
        raise ValueError(f"{number} seconds")
    return number


def read_times(document: Mapping[str, Any]) -> list[PartitionTimes]:
    """Return the profiled times in the document of a run; none where it has none, or something else."""
    with suppress(KeyError, TypeError, ValueError, AttributeError):
        return [PartitionTimes.from_json(item) for item in document.get("node_times") or []]
    return []
