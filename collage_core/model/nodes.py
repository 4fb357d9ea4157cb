"""Walks over the nodes of a model, inner graphs included: what they read, their names, their opset versions, and which draw random numbers.

A node has the name in the file, or a generated one. Nothing is inferred or run here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import onnx.defs
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto

from ..errors import CollageError
from ..graph.value_ranges import INDEX_SLOTS

MOST_NODES = 100_000
"""Most nodes of a model, those of inner graphs and inlined functions included. Everything that is found of a model grows with them."""


def check_size(nodes: int) -> None:
    """Raise CollageError if a model with this number of nodes is too large."""
    if nodes > MOST_NODES:
        count = f"more than {MOST_NODES} nodes" if nodes > 10 * MOST_NODES else f"{nodes} nodes, more than {MOST_NODES}"
        raise CollageError(f"the model has {count}", "split it, or export it in larger operators", "too_big")


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
    names: dict[str, None] = {}
    for graph in inner_graphs(node):
        names.update(dict.fromkeys(free_names(graph)))
    return list(names)


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
    names = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    names |= {sparse.values.name for sparse in graph.sparse_initializer}
    for node in graph.node:
        yield from (name for name in read_by(node) if name and name not in names)
        names.update(node.output)
    yield from (value.name for value in graph.output if value.name and value.name not in names)


ONNX_DOMAINS = ("", "ai.onnx")
"""Both stand for ONNX's own operators."""
CAST_MARK = "InsertedPrecisionFreeCast_"
"""Prefix of tensors that ONNX Runtime computes in float32 because it has no kernel for the smaller float."""


def domain_of(node: NodeProto) -> str:
    """Return the domain of the operator; ``""`` for ONNX's own."""
    return "" if node.domain in ONNX_DOMAINS else node.domain


def opset_versions(model: ModelProto) -> dict[str, int]:
    """Return domain → version, as `model` imports them; ONNX's own domain is ``""``."""
    return {"" if entry.domain in ONNX_DOMAINS else entry.domain: entry.version for entry in model.opset_import}


def since_version(node: NodeProto, version: int) -> int:
    """Return the version in which the operator of `node` last changed, up to `version`; 0 where it is none of ONNX's."""
    if node.domain not in ONNX_DOMAINS:
        return 0
    try:
        return int(onnx.defs.get_schema(node.op_type, version, "").since_version)
    except onnx.defs.SchemaError:
        return 0


def op_name(node: NodeProto) -> str:
    """Return the operator as in `Node.op`: with its domain in front where that is not ONNX's own."""
    domain = domain_of(node)
    return f"{domain}.{node.op_type}" if domain else node.op_type


def name_nodes(nodes: Sequence[NodeProto]) -> None:
    """Give every node a unique name, in place (`unique_names`)."""
    for node, name in zip(nodes, unique_names(nodes), strict=True):
        node.name = name


def unique_names(nodes: Sequence[NodeProto]) -> list[str]:
    """Return a unique name for each node.

    An unnamed node is called ``<Op>:<first non-empty output>``; the second of equal names gets ``#2``, and so on. A name that
    the model itself uses is never given to another node.
    """
    wished = [node.name or f"{op_name(node)}:{next(filter(None, node.output), '')}" for node in nodes]
    own = set(wished)
    seen: dict[str, int] = {}
    unique = []
    for name in wished:
        if name not in seen:
            seen[name] = 1
            unique.append(name)
            continue
        count = seen[name] + 1
        while f"{name}#{count}" in own:
            count += 1
        seen[name] = count
        unique.append(f"{name}#{count}")
        own.add(unique[-1])
    return unique


def inner_names(node: NodeProto) -> Iterator[tuple[str, str]]:
    """Yield name and operator of each node in the inner graphs of `node`, at any depth, named as in a model of its own; no constants."""
    for graph in inner_graphs(node):
        for inner, name in zip(graph.node, unique_names(graph.node), strict=True):
            if inner.op_type != "Constant":
                yield name, op_name(inner)
            yield from inner_names(inner)


def inner_indices(node: NodeProto) -> set[str]:
    """Return the tensors that nodes in the inner graphs of `node` read as indices or as a shape."""
    inner = [each for graph in inner_graphs(node) for each in all_nodes(graph)]
    return {name for each in inner for slot, name in enumerate(each.input) if (op_name(each), slot) in INDEX_SLOTS}


class FreeNames:
    """Gives names that no tensor of a model has, in whatever graph, and each of them once."""

    def __init__(self, model: ModelProto):
        graphs = [model.graph, *(inner for node in all_nodes(model.graph) for inner in inner_graphs(node))]
        self._taken = {name for graph in graphs for node in graph.node for name in (*node.input, *node.output)}
        self._taken.update(value.name for graph in graphs for value in (*graph.initializer, *graph.input))

    def __call__(self, wanted: str) -> str:
        """Return `wanted`, or a name like it that is not taken yet."""
        name, number = wanted, 0
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name


RANDOM_OPS = frozenset({"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"})


def random_notes(model: ModelProto) -> tuple[str, ...]:
    """Return a note that names the first node of `model`, or of a body in it, that draws random numbers; none where no node does."""
    for node in all_nodes(model.graph):
        if _draws(node):
            drawn = f"node {node.name!r} ({node.op_type}) draws random numbers at each run"
            return (f"{drawn}, so what depends on them cannot be checked; to plan this model, make them an input of it",)
    return ()


def is_random(node: NodeProto) -> bool:
    """Return whether `node`, or one in a body of it, draws random numbers."""
    return _draws(node) or any(_draws(inner) for graph in inner_graphs(node) for inner in all_nodes(graph))


def _draws(node: NodeProto) -> bool:
    return node.op_type in RANDOM_OPS and node.domain in ONNX_DOMAINS
