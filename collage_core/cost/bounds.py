"""Compute an upper bound for the cost of a candidate in any best plan: a trial may end as soon as it is sure to exceed it.

If the candidate were replaced by its nodes, each on the target where it is cheapest alone, the plan would stay well formed. It would
cost the sum of these, and at most the most expensive transitions in and out. A candidate that costs more is in no best plan. Plain
data.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..graph.dataflow_graph import HOST, DataflowGraph
from ..graph.index_set import IndexSet
from ..rules.spec import HOST_TARGET
from .cost import TransitionModel

Cheapest = Mapping[int, tuple[str, float]]
"""Node → the target on which it is cheapest alone, and its seconds there."""


def upper_bound_s(
    graph: DataflowGraph, inside: IndexSet, cheapest: Cheapest, transitions: TransitionModel, targets: Collection[str]
) -> float | None:
    """Return the seconds that a candidate over `inside` may cost at most to be in a best plan; None while a node has no known cost.

    Args:
        targets: Targets that the nodes around it could be on.
    """
    if any(index not in cheapest for index in inside):
        return None
    total = sum(cheapest[index][1] for index in inside)
    around = (*targets, HOST_TARGET)
    for index in inside:
        own = cheapest[index][0]
        for name in dict.fromkeys(graph.nodes[index].inputs):
            if name in graph.producer:
                makers = _targets_of(graph.producer[name], inside, cheapest, around)
                size, dtype = graph.types[name].bytes, graph.types[name].dtype
                total += max(transitions.cost_s(maker, own, size, dtype) for maker in makers)
        total += _leaving_s(graph, index, inside, own, transitions, around)
    return total


def _targets_of(index: int, inside: IndexSet, cheapest: Cheapest, around: tuple[str, ...]) -> tuple[str, ...]:
    """Return the targets on which node `index` may be: its cheapest where it is inside, else any."""
    if index == HOST:
        return (HOST_TARGET,)
    return (cheapest[index][0],) if index in inside else around


def _leaving_s(
    graph: DataflowGraph, index: int, inside: IndexSet, own: str, transitions: TransitionModel, around: tuple[str, ...]
) -> float:
    """Return the cost of the most expensive transitions from node `index` to its readers outside, each in a partition of its own."""
    total = 0.0
    for tensor in graph.nodes[index].outputs:
        size, dtype = tensor.type.bytes, tensor.type.dtype
        outside = sum(reader not in inside for reader in graph.readers[tensor.name])
        total += outside * max(transitions.cost_s(own, reader, size, dtype) for reader in around)
        if tensor.name in graph.outputs:
            total += transitions.cost_s(own, HOST_TARGET, size, dtype)
    return total
