"""The names of tensors that nodes read, and the nodes of a graph; inner graphs are included."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto


def inner_graphs(node: NodeProto) -> Iterator[GraphProto]:
    """Yield the graphs in the attributes of `node` (`If`, `Loop`, `Scan` …)."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH or attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def has_inner_graph(node: NodeProto) -> bool:
    """Return whether `node` holds a graph of its own."""
    return next(inner_graphs(node), None) is not None


def holds_graphs(model: ModelProto) -> bool:
    """Return whether a node of `model` holds a graph of its own."""
    return any(has_inner_graph(node) for node in model.graph.node)


def captured(node: NodeProto) -> list[str]:
    """Return the tensors from outside that the inner graphs of `node` read, each once, in the order in which they occur."""
    found: dict[str, None] = {}
    for graph in inner_graphs(node):
        found.update(dict.fromkeys(free_names(graph)))
    return list(found)


def read_by(node: NodeProto) -> list[str]:
    """Return every tensor that `node` reads: its inputs in their positions (``""`` where absent), then further ones that it captures."""
    own = list(node.input)
    return own + [name for name in captured(node) if name not in own]


def all_nodes(graph: GraphProto | FunctionProto) -> Iterator[NodeProto]:
    """Yield the nodes of `graph`, or of a function, and of its inner graphs."""
    for node in graph.node:
        yield node
        for inner in inner_graphs(node):
            yield from all_nodes(inner)


def free_names(graph: GraphProto) -> Iterator[str]:
    """Yield the tensors from outside that `graph` reads or passes on, in the order in which they occur; one may come more than once."""
    made = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    made |= {sparse.values.name for sparse in graph.sparse_initializer}
    for node in graph.node:
        yield from (name for name in read_by(node) if name and name not in made)
        made.update(node.output)
    yield from (value.name for value in graph.output if value.name and value.name not in made)
