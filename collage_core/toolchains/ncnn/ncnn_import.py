"""Converts a sub-model to a network of ncnn: calls that `ncnn_operators` refuses are an error, the others become layers.

It takes a `SubModel` and gives an `ImportedNetwork`. ncnn itself is not imported, neither here nor in the files that convert each operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from onnx import ModelProto

from ...graph.dataflow_graph import Node
from ...model.model import SubModel
from ...model.nodes import opset_versions
from ..sub_model_graph import graph_of
from ..toolchain import ToolchainError
from . import ncnn_elementwise, ncnn_norms, ncnn_products, ncnn_shapes, ncnn_windows
from .ncnn_calls import Conversion, Emitter, ImportCall
from .ncnn_fusions import fused
from .ncnn_mats import usual_shape
from .ncnn_network import FinishedNetwork, MatShape
from .ncnn_operators import refusal

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
        computed_by: Node → the node whose layers compute it too.
    """

    network: FinishedNetwork
    inputs: tuple[str | None, ...]
    shapes: tuple[MatShape, ...]
    outputs: tuple[MatShape, ...]
    computed_by: Mapping[int, int]


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
    computed_by = {node: conversion.graph.producer[name] for node, name in conversion.fused.items()}
    return ImportedNetwork(finished, blobs, tuple(value.shape for value in given), tuple(value.shape for value in left), computed_by)


def _convert(conversion: Conversion, node: Node) -> None:
    """Add the layers of `node`."""
    reason = refusal(conversion.graph, node)
    if reason:
        raise ToolchainError("import", reason)
    conversion.network.node = node.index
    call = ImportCall(conversion.graph, node, conversion)
    passed_on = conversion.fused.get(node.index)
    values = [conversion.tensors[passed_on]] if passed_on is not None else fused(call) or _EMITTERS[node.op](call)
    conversion.tensors.update({tensor.name: value for tensor, value in zip(node.outputs, values, strict=True)})
