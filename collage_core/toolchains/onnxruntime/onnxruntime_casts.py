"""Gives the casts that ONNX Runtime puts into inner graphs names of their own, so that it can read a model again that it wrote itself.

A model in half precision as it was saved enters; the same with other names of such tensors leaves. ONNX Runtime runs operators without
a kernel for half precision in float32 between casts, and calls these alike in an `If`, in its branches and around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onnx import GraphProto, ModelProto

from ...model.nodes import CAST_MARK, inner_graphs


def with_unique_casts(model: bytes) -> bytes:
    """Return the serialised `model` with the tensors that `CAST_MARK` begins renamed where inner graphs make them."""
    if CAST_MARK.encode() not in model:
        return model
    proto = ModelProto.FromString(model)
    graphs = list(_inner(proto.graph))
    for number, graph in enumerate(graphs):
        names = {tensor.name for tensor in graph.initializer} | {name for node in graph.node for name in node.output}
        _rename(graph, {name: f"{name}/{number}" for name in names if name.startswith(CAST_MARK)})
    return proto.SerializeToString() if graphs else model


def _inner(graph: GraphProto) -> Iterator[GraphProto]:
    """Yield the graphs within `graph`, the innermost first: what an outer one renames they read by its new name."""
    for node in graph.node:
        for inner in inner_graphs(node):
            yield from _inner(inner)
            yield inner


def _rename(graph: GraphProto, names: Mapping[str, str]) -> None:
    for tensor in (*graph.initializer, *graph.output):
        tensor.name = names.get(tensor.name, tensor.name)
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for inner in inner_graphs(node):
            _rename(inner, names)
