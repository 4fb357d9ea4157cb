"""Nodes that no input of the model reaches, such as weights that are dequantised.

A compiler computes them when it builds what reads them, if it gets both together. A graph enters; nodes leave.
"""

from __future__ import annotations

from collections.abc import Collection

from .dataflow_graph import HOST, DataflowGraph
from .index_set import IndexSet


def fed(graph: DataflowGraph) -> list[bool]:
    """Return for each node whether an input of the model reaches it; all do where none would."""
    is_fed: list[bool] = []
    for node, sources in zip(graph.nodes, graph.sources, strict=True):
        is_fed.append(any(graph.producer.get(name) == HOST for name in node.inputs) or any(is_fed[source] for source in sources))
    return is_fed if any(is_fed) else [True] * len(is_fed)


def constant_fed_nodes(graph: DataflowGraph) -> set[int]:
    """Return the nodes that no input of the model reaches; none where it reaches none at all."""
    return {index for index, is_fed in enumerate(fed(graph)) if not is_fed}


def with_constant_fed(graph: DataflowGraph, inside: IndexSet, constant_fed: Collection[int]) -> IndexSet:
    """Return `inside` with those of `constant_fed` that nothing else reads, and those that nothing but these reads."""
    held, waiting = set(inside), list(inside)
    while waiting:
        for source in graph.sources[waiting.pop()]:
            is_alone = source in constant_fed and not graph.ends[source] and held.issuperset(graph.consumers[source])
            if is_alone and source not in held:
                held.add(source)
                waiting.append(source)
    return IndexSet(held) if len(held) > len(inside) else inside
