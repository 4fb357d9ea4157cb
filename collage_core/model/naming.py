"""The names of nodes: the model's own, made up where it has none, and unique (design, "Node")."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import NodeProto

ONNX_DOMAINS = ("", "ai.onnx")
"""Both are ONNX's own operators."""


def op_name(node: NodeProto) -> str:
    """The operator as `Node.op` says it: with its domain in front where that is not ONNX's own."""
    return node.op_type if node.domain in ONNX_DOMAINS else f"{node.domain}.{node.op_type}"


def name_nodes(nodes: Sequence[NodeProto]) -> None:
    """Give every node a unique name, in place.

    An unnamed one is ``<Op>:<first non-empty output>``; the second of equal names gets ``#2``, and so on. A name that
    the model itself uses is never given to another node.
    """
    wished = [node.name or f"{op_name(node)}:{next(filter(None, node.output), '')}" for node in nodes]
    own = set(wished)
    seen: dict[str, int] = {}
    for node, name in zip(nodes, wished, strict=True):
        if name not in seen:
            seen[name] = 1
            node.name = name
            continue
        count = seen[name] + 1
        while f"{name}#{count}" in own:
            count += 1
        seen[name] = count
        node.name = f"{name}#{count}"
        own.add(node.name)
