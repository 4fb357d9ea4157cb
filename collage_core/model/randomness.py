"""Says which node of a model draws random numbers: what depends on them differs from run to run, so no result of it can be checked."""

from __future__ import annotations

from onnx import ModelProto, NodeProto

from .naming import ONNX_DOMAINS
from .scopes import all_nodes, inner_graphs

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
