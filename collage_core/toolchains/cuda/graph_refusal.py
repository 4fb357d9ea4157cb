"""Says which sub-graphs cannot be part of a CUDA graph, since a node waits for the host. Imports no library, since rules do not."""

from __future__ import annotations

from ...graph.dataflow_graph import DataflowGraph
from ...graph.index_set import IndexSet


def graph_refusal(graph: DataflowGraph, inside: IndexSet) -> str:
    """Return why the work of the sub-graph `inside` cannot be captured as a graph; empty where no node is known to wait for the host."""
    for node in (graph.nodes[index] for index in inside):
        if node.inner:
            return f"waits for the host: condition of {node.op}"
        if any(tensor.type.open_axes or tensor.type.is_opaque for tensor in node.outputs):
            return f"waits for the host: shape of {node.op}"
    return ""
