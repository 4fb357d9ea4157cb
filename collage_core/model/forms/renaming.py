"""Gives tensors of a sub-model other names, also where the bodies of control flow read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from onnx import GraphProto, ModelProto

from ..model import SubModel


def renamed(model: SubModel, names: Mapping[str, str]) -> SubModel:
    """Return `model` with its tensors renamed: old name → new name. The other names stay."""
    if not names:
        return model
    proto = ModelProto.FromString(model.onnx)
    rename_tensors(proto.graph, names)
    for value in (*proto.graph.input, *proto.graph.output):
        value.name = names.get(value.name, value.name)
    inputs, outputs = (
        tuple(replace(tensor, name=names.get(tensor.name, tensor.name)) for tensor in side) for side in (model.inputs, model.outputs)
    )
    return replace(model, onnx=proto.SerializeToString(), inputs=inputs, outputs=outputs)


def rename_tensors(graph: GraphProto, names: Mapping[str, str]) -> None:
    """Rename, in place, what the nodes of `graph` read and make, but not its inputs and outputs."""
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                rename_tensors(body, names)
                for value in body.output:
                    value.name = names.get(value.name, value.name)
    for value in graph.value_info:
        value.name = names.get(value.name, value.name)
