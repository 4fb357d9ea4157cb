"""`why_not_alone`: why a target cannot have the whole model: the operators that it leaves, and its own words about the first of them.

`why_not_partitioned`: the same of a partitioning.

The costed candidates and the rejections of a run enter; a sentence leaves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ...base.counted import counted
from ...graph.dataflow_graph import DataflowGraph, Node
from ...rules.candidate import Rejection
from ...rules.partitionings import Partitioning
from ...rules.spec import HOST_TARGET
from ..record.record import CostedCandidate

MOST_NAMED = 3
"""Most operators that are counted by name."""


def why_not_alone(graph: DataflowGraph, target: str, costed: Sequence[CostedCandidate], rejections: Iterable[Rejection]) -> str:
    """Return why `target` cannot have the model alone: "ncnn cannot take 2 of 90 nodes (Gather, TopK): no layer for Gather ('pick')".

    Args:
        costed: Candidates with their costs; one that failed takes nothing.
        rejections: Of the rules, with the nodes that they are about.
    """
    mine = [item for item in costed if item.target == target or (item.target == HOST_TARGET and item.cost.seconds == 0)]
    taken = {index for item in mine if not item.cost.is_invalid for index in item.inside}
    left = [node for node in graph.nodes if node.index not in taken]
    whole = next((item.cost for item in mine if item.cost.is_invalid and len(item.inside) == len(graph) and not item.is_merged), None)
    if not left and whole:
        return f"{target} takes every node, but not the whole model at once: {whole.reason}"
    if not left:
        return f"{target} takes every node, but the parts that work do not make up the model"
    failed = {next(iter(item.inside)): item.cost.reason for item in mine if item.cost.is_invalid and len(item.inside) == 1}
    refused = {one.nodes[0]: one.reason for one in rejections if one.target == target and len(one.nodes) == 1}
    told = next((node for node in left if node.index in failed or node.index in refused), left[0])
    reason = failed.get(told.index) or refused.get(told.index) or f"no rule of it takes {told.op}"
    return f"{target} cannot take {_counted(left, len(graph))}: {reason} ({told.name!r})"


def why_not_partitioned(partitioning: Partitioning, costed: Sequence[CostedCandidate]) -> str:
    """Return why there is no plan of the groups of `partitioning`: "2 of 30 groups are not usable: TVM makes 2 kernels of it, not one"."""
    groups = set(partitioning.groups)
    mine = [item for item in costed if item.target == partitioning.target and item.inside in groups]
    failed = [item for item in mine if item.cost.is_invalid]
    missing = len(groups) - len(mine) + len(failed)
    if not missing:
        return "no target takes the nodes beside its groups"
    why = f": {failed[0].cost.reason}" if failed else ""
    return f"{missing} of its {counted(len(groups), 'group')} are not usable{why}"


def _counted(left: Sequence[Node], count: int) -> str:
    ops = [op for op, _ in Counter(node.op for node in left).most_common()]
    named = ", ".join(ops[:MOST_NAMED]) + (" …" if len(ops) > MOST_NAMED else "")
    return f"{len(left)} of {counted(count, 'node')} ({named})"
