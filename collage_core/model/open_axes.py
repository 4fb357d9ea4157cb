"""Finds the tensors whose shapes may depend on data: those that a detector's `NonMaxSuppression` makes, and what is computed from them.

The nodes of a model enter; names of tensors leave. Which of their dimensions are open is a question for shape inference.
"""

from __future__ import annotations

from onnx import GraphProto, NodeProto

from .naming import op_name
from .scopes import inner_graphs, read_by

OPERATORS = frozenset({"Compress", "NonMaxSuppression", "NonZero", "Unique"})
"""Operators that decide by the values of their inputs how many elements they make."""


def names_after_data(graph: GraphProto) -> frozenset[str]:
    """Return the tensors that are made by one of `OPERATORS`, or computed from such tensors.

    A value that is computed from the shape of such a tensor may decide the shape of another, so every path counts.
    """
    found: set[str] = set()
    for node in graph.node:
        if _decides(node) or not found.isdisjoint(read_by(node)):
            found.update(name for name in node.output if name)
    return frozenset(found)


def _decides(node: NodeProto) -> bool:
    return op_name(node) in OPERATORS or any(_decides(inner) for graph in inner_graphs(node) for inner in graph.node)
