"""`proto_graph`: the dataflow graph of an ONNX model by shape inference alone, as plain data. Nothing is run, folded or checked."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import ModelProto

from ...errors import CollageError
from ...graph.dataflow_graph import DataflowGraph, Node, Tensor
from ...graph.op_pattern_kind import OpPatternKind
from ..naming import op_name
from ..scopes import read_by
from ..types.attributes import attributes_of, constant_of
from .inference import infer

_KEEP_THE_TYPE = frozenset({"GroupNormalization", "RMSNormalization"})
"""Operators that ONNX's inference does not know, whose output has the type of their first input."""


def proto_graph(proto: ModelProto, outputs: Sequence[Tensor] = ()) -> DataflowGraph:
    """Return the graph of `proto`; the kinds of its nodes are not worked out.

    Args:
        outputs: Outputs whose types are known, though inference may not find them.

    Raises:
        CollageError: the shape of a tensor is not known.
    """
    types = infer(proto).types | {tensor.name: tensor.type for tensor in outputs}
    nodes = []
    for index, node in enumerate(proto.graph.node):
        if node.op_type in _KEEP_THE_TYPE and node.input[0] in types:
            types.setdefault(node.output[0], types[node.input[0]])
        lost = next((name for name in node.output if name and name not in types), None)
        if lost is not None:
            raise CollageError(f"the shape of {lost!r}, which {op_name(node)} makes, is not known", "", "open_shape")
        made = tuple(Tensor(name, types[name]) for name in node.output if name)
        nodes.append(Node(index, node.name, op_name(node), OpPatternKind.OPAQUE, tuple(read_by(node)), made, attributes_of(node)))
    inputs = tuple(Tensor(value.name, types[value.name]) for value in proto.graph.input)
    constants = {tensor.name: constant_of(tensor) for tensor in proto.graph.initializer}
    return DataflowGraph(tuple(nodes), inputs, tuple(value.name for value in proto.graph.output), constants)
