"""Partitionings, which are groupings of a model's nodes from elsewhere, such as the kernels of TVM's `FuseOps`; and names of baselines.

A partitioning's groups become candidates of its target (`with_partitionings`), so a plan is never worse than it; and the plan of exactly
these groups is a baseline (RFC 62, the user's own partitioning). The other baselines are a target alone, ``<target>+host`` where it leaves
nodes to others, greedy, and for several shapes the one plan for all, and that of a range of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..graph.dataflow_graph import DataflowGraph
from ..graph.index_set import IndexSet
from ..graph.sub_graph import SubGraph, SubGraphConfig
from .candidate import CandidatePartition, Rejection, RejectionLog

GREEDY = "greedy"
"""The baseline that takes the largest sub-graphs first, and its search."""
ALL_SHAPES = "all shapes"
"""The one plan that is best over several shapes, measured beside the plan of a single one."""
OF_RANGE = "its range"
"""The plan of the range that a shape lies in, where the shape alone would have another."""
_REST = "+host"
_SOURCE = ":"
"""Besides, only the device of a target has it (``onnxruntime:cuda:0``)."""
_DEVICE = re.compile(r":[A-Za-z]\w*:\d+")


def with_rest(target: str) -> str:
    """Return the name of the baseline in which only what `target` must leave goes elsewhere."""
    return f"{target}{_REST}"


def main_target(name: str) -> str | None:
    """Return the target of a baseline that `with_rest` named; None of any other."""
    return name.removesuffix(_REST) if name.endswith(_REST) else None


def partitioning_name(target: str, source: str) -> str:
    """Return the name of the baseline in which `target` takes exactly the groups that `source` made."""
    return f"{target}{_SOURCE}{source}"


def is_partitioning(name: str) -> bool:
    """Return whether `partitioning_name` made the name of a baseline."""
    return _SOURCE in _DEVICE.sub("", name)


def is_alone(name: str) -> bool:
    """Return whether the baseline `name` is one target for the whole model."""
    return name not in (GREEDY, ALL_SHAPES, OF_RANGE) and main_target(name) is None and not is_partitioning(name)


@dataclass(frozen=True)
class Partitioning:
    """A grouping of nodes.

    Attributes:
        source: What made it, such as ``FuseOps``.
        target: The target that takes the groups.
        groups: Sets of nodes without a common one. Together they need not hold every node.
        rest: Targets that take the other nodes, where these can; else any target does.
    """

    source: str
    target: str
    groups: tuple[IndexSet, ...]
    rest: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name as a baseline."""
        return partitioning_name(self.target, self.source)


def make_partitioning(
    graph: DataflowGraph,
    source: str,
    target: str,
    groups: Iterable[Iterable[str]],
    rest: Sequence[str],
    config: SubGraphConfig,
    log: RejectionLog,
) -> Partitioning:
    """Return the partitioning of `groups`, given as names of nodes; groups that are not valid are logged and left out.

    Names that the graph does not have are nodes that were folded; a group of nodes that only rename is none.
    """
    made, taken = [], 0
    for names in groups:
        inside = IndexSet(graph.index_by_name[name] for name in names if name in graph.index_by_name)
        if not inside or all(graph.nodes[index].is_host for index in inside):
            continue
        violation = SubGraph(graph, inside).violation(config)
        if violation is None and not inside.bits & taken:
            made.append(inside)
            taken |= inside.bits
        else:
            check, reason = (violation.check, violation.reason) if violation else ("overlap", "it shares a node with another group")
            log.add(Rejection(target, tuple(inside), source, "validity", f"{check}: {reason}"), check)
    return Partitioning(source, target, tuple(sorted(made, key=_order)), tuple(rest))


def with_partitionings(
    graph: DataflowGraph, partitionings: Iterable[Partitioning], by_target: Mapping[str, Sequence[CandidatePartition]]
) -> dict[str, list[CandidatePartition]]:
    """Return the candidates of each target, with those for the groups of `partitionings` that no rule found.

    One that a rule found keeps the path of its rules, and is deferred no more.
    """
    made = {target: list(found) for target, found in by_target.items()}
    for partitioning in partitionings:
        known = {candidate.inside: candidate for candidate in made[partitioning.target]}
        for inside in partitioning.groups:
            found = known.get(inside)
            if found is None:
                known[inside] = CandidatePartition(graph, partitioning.target, inside, f"{partitioning.target}.{partitioning.source}")
            elif found.deferred:
                known[inside] = CandidatePartition(graph, partitioning.target, inside, found.rule, found.composites)
        made[partitioning.target] = sorted(known.values(), key=lambda one: _order(one.inside))
    return made


def _order(inside: IndexSet) -> list[int]:
    return list(inside)
