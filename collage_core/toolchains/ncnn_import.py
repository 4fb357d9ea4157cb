"""Converts a sub-model to a network of ncnn: calls that `ncnn_operators` refuses are an error, the others become layers.

It takes a `SubModel` and gives an `ImportedNetwork`. ncnn itself is not imported, neither here nor in the files that convert each operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onnx import ModelProto

from ..errors import CollageError
from ..graph.dataflow_graph import DataflowGraph, Node, Tensor
from ..graph.op_pattern_kind import OpPatternKind
from ..model.attributes import attributes_of, constant_of
from ..model.base import SubModel
from ..model.inference import infer
from ..model.naming import op_name, opset_versions
from ..model.scopes import read_by
from . import ncnn_elementwise, ncnn_norms, ncnn_products, ncnn_shapes, ncnn_windows
from .base import ToolchainError
from .ncnn_calls import Conversion, Emitter, ImportCall
from .ncnn_network import FinishedNetwork, MatShape
from .ncnn_operators import refusal, usual_shape

_EMITTERS: Mapping[str, Emitter] = {
    **ncnn_elementwise.EMITTERS,
    **ncnn_norms.EMITTERS,
    **ncnn_products.EMITTERS,
    **ncnn_shapes.EMITTERS,
    **ncnn_windows.EMITTERS,
}


@dataclass(frozen=True)
class ImportedNetwork:
    """A sub-model as a network of ncnn.

    Attributes:
        inputs: For each input of the sub-model its blob; None for one that no output depends on.
        shapes: Shape of the Mat of each input.
        outputs: Shape of the Mat of each output.
    """

    network: FinishedNetwork
    inputs: tuple[str | None, ...]
    shapes: tuple[MatShape, ...]
    outputs: tuple[MatShape, ...]


def imported(model: SubModel) -> ImportedNetwork:
    """Return `model` as a network.

    Raises:
        ToolchainError: at stage ``import``; ncnn would not compute the model right.
    """
    proto = ModelProto.FromString(model.onnx)
    weights = {tensor.name: tensor for tensor in proto.graph.initializer}
    conversion = Conversion(graph_of(proto, model.outputs), weights, opset_versions(proto).get("", 1))
    given = [conversion.network.add("Input", [], usual_shape(tensor.type.shape)) for tensor in model.inputs]
    conversion.tensors.update({tensor.name: value for tensor, value in zip(model.inputs, given, strict=True)})
    for node in conversion.graph.nodes:
        _convert(conversion, node)
    left = [conversion.tensors[tensor.name] for tensor in model.outputs]
    finished = conversion.network.finished(left)
    blobs = tuple(value.blob if value.blob in finished.index_of else None for value in given)
    return ImportedNetwork(finished, blobs, tuple(value.shape for value in given), tuple(value.shape for value in left))


def _convert(conversion: Conversion, node: Node) -> None:
    """Add the layers of `node`."""
    reason = refusal(conversion.graph, node)
    if reason:
        raise ToolchainError("import", reason)
    call = ImportCall(conversion.graph, node, conversion)
    made = [call.data()] if node.index in conversion.fused else _EMITTERS[node.op](call)
    conversion.tensors.update({tensor.name: value for tensor, value in zip(node.outputs, made, strict=True)})


_KEEP_THE_TYPE = frozenset({"GroupNormalization", "RMSNormalization"})
"""Operators that ONNX's inference does not know, whose output has the type of their first input."""


def graph_of(proto: ModelProto, outputs: Sequence[Tensor]) -> DataflowGraph:
    """Return the graph of a model that was cut out, as plain data; the kinds of its nodes are not worked out.

    Raises:
        ToolchainError: the shape of a tensor is not known.
    """
    try:
        types = infer(proto).types | {tensor.name: tensor.type for tensor in outputs}
    except CollageError as error:
        raise ToolchainError("import", error.message) from error
    nodes = []
    for index, node in enumerate(proto.graph.node):
        if node.op_type in _KEEP_THE_TYPE and node.input[0] in types:
            types.setdefault(node.output[0], types[node.input[0]])
        lost = next((name for name in node.output if name and name not in types), None)
        if lost is not None:
            raise ToolchainError("import", f"the shape of {lost!r}, which {op_name(node)} makes, is not known")
        made = tuple(Tensor(name, types[name]) for name in node.output if name)
        nodes.append(Node(index, node.name, op_name(node), OpPatternKind.OPAQUE, tuple(read_by(node)), made, attributes_of(node)))
    inputs = tuple(Tensor(value.name, types[value.name]) for value in proto.graph.input)
    constants = {tensor.name: constant_of(tensor) for tensor in proto.graph.initializer}
    return DataflowGraph(tuple(nodes), inputs, tuple(value.name for value in proto.graph.output), constants)
