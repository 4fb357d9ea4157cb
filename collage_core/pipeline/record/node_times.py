"""`times_of_plan`: how long each node takes inside each partition of a plan.

A toolchain's own profiler gives the times (`profile_nodes`). A profiler slows down what it watches, so only the shares of its times are
kept: they are scaled to the cost of the partition. `times_of_plan` fills in what no profiler gave from the costs of single nodes, and
says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ...base.counted import counted
from ...documents.node_times import NodeGroupTime, PartitionNodeTimes
from ...documents.plan import PlanPartition
from ...rewrite.plan import Plan

if TYPE_CHECKING:
    from ...toolchains.profiling import NodeTime

PROFILER: Final = "profiler"
CANDIDATES: Final = "candidates"
COST: Final = "cost"
NONE: Final = "none"
"""Sources of times: the toolchain's profiler; candidates of single nodes; the cost of a partition of one node; nobody."""


def times_of_plan(plan: Plan, profiled: Iterable[PartitionNodeTimes], alone_s: Mapping[tuple[int, str], float]) -> list[PartitionNodeTimes]:
    """Return the times of every partition of `plan`: as profiled, or from the costs of its nodes alone.

    Args:
        alone_s: (node, target) → the cost of the candidate that holds this node alone.
    """
    known = {one.partition: one for one in profiled}
    return [_times_of(partition, known.get(partition.id), alone_s) for partition in plan.partitions]


def scaled(partition: PlanPartition, times: Sequence[NodeTime]) -> PartitionNodeTimes:
    """Return the profile `times`, whose nodes count from 0 in the partition, as shares of its cost."""
    total_s = sum(one.seconds for one in times)
    if not total_s > 0 or not math.isfinite(total_s):
        return PartitionNodeTimes(partition.id, NONE, reason="the profile has no times")
    groups = tuple(
        _group(partition, tuple(partition.nodes[node] for node in one.nodes), one.seconds / total_s, one.kernel)
        for one in times
        if one.nodes
    )
    rest = sum(one.seconds for one in times if not one.nodes) / total_s
    return PartitionNodeTimes(partition.id, PROFILER, groups, rest, total_s)


def _times_of(partition: PlanPartition, known: PartitionNodeTimes | None, alone_s: Mapping[tuple[int, str], float]) -> PartitionNodeTimes:
    if known is not None and known.source == PROFILER:
        return known
    if len(partition.nodes) == 1:
        return PartitionNodeTimes(partition.id, COST, (_group(partition, partition.nodes, 1.0),))
    reason = known.reason if known is not None else "it was not profiled"
    costs = [alone_s.get((node, partition.target)) for node in partition.nodes]
    seconds = [cost for cost in costs if cost is not None]
    total_s = sum(seconds)
    if len(seconds) < len(costs) or not total_s > 0:
        lacking = f"{len(costs) - len(seconds)} of its {counted(len(costs), 'node')} have no cost alone on {partition.target}"
        return PartitionNodeTimes(partition.id, NONE, reason=f"{reason}, and {lacking}" if len(seconds) < len(costs) else reason)
    groups = tuple(_group(partition, (node,), cost / total_s) for node, cost in zip(partition.nodes, seconds, strict=True))
    return PartitionNodeTimes(partition.id, CANDIDATES, groups, profiled_s=total_s, reason=reason)


def _group(partition: PlanPartition, nodes: tuple[int, ...], share: float, kernel: str = "") -> NodeGroupTime:
    return NodeGroupTime(nodes, share, None if partition.cost_s is None else share * partition.cost_s, kernel)
