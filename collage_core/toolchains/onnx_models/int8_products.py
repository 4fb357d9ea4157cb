"""Says which sub-graphs hold a product that `dynamic_int8` can compute in int8. Imports no library, since rules do not."""

from __future__ import annotations

from ...graph.dataflow_graph import DataflowGraph, Node
from ...graph.index_set import IndexSet

PRODUCTS = ("MatMul", "Gemm")
"""Operators that can be computed in int8."""


def refusal(graph: DataflowGraph, inside: IndexSet) -> str:
    """Return why nothing of the sub-graph `inside` could be computed in int8; empty where something can."""
    if any(_is_product(graph, graph.nodes[index]) for index in inside):
        return ""
    return "there is nothing to quantise in it: it has no MatMul or Gemm by a constant float32 matrix"


def _is_product(graph: DataflowGraph, node: Node) -> bool:
    weights = graph.constants.get(node.inputs[1]) if node.op in PRODUCTS and len(node.inputs) > 1 else None
    return weights is not None and weights.type.dtype == "float32" and len(weights.type.shape) == 2
