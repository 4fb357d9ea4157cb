"""Names of operators, nodes and tensors, and the opset versions of a model. A node has the name in the file, or a generated one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import onnx.defs
from onnx import ModelProto, NodeProto

from ..graph.value_ranges import INDEX_SLOTS
from .scopes import all_nodes, inner_graphs

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
    made = []
    for name in wished:
        if name not in seen:
            seen[name] = 1
            made.append(name)
            continue
        count = seen[name] + 1
        while f"{name}#{count}" in own:
            count += 1
        seen[name] = count
        made.append(f"{name}#{count}")
        own.add(made[-1])
    return made


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
