"""Folding: constants and shape arithmetic evaluated, identities dropped, batch norms and scales folded into weights.

Enters: the user's model, plain (see `normalising`). Leaves: a model that computes the same with fewer nodes, made by ONNX
Runtime's basic level, in which what ONNX Runtime did for its own sake is undone: nodes are the user's wherever the user's
can stand. Who became of whom is worked out in `provenance`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Container, Iterator
from pathlib import Path

import onnx
from onnx import ModelProto, NodeProto

from .naming import ONNX_DOMAINS
from .scopes import has_inner_graph, inner_graphs, read_by
from .sessions import OrtSession, RuntimeRefusal

_LEFT_OUT = (
    # These rearrange the graph for ONNX Runtime's own kernels, under tensor names that the user has never seen.
    "TransposeOptimizer",
    "MatMulAddFusion",
    "ConstantSharing",
    # These move, copy or add quantisation nodes; each toolchain has its own wishes there.
    "QDQPropagationTransformer",
    "EnsureUniqueDQForNodeUnit",
    "DoubleQDQPairsRemover",
    "WeightBiasQuantization",
    "WhereDummyDq",
)
_CAST_MARK = "InsertedPrecisionFreeCast_"
"""How ONNX Runtime names what it computes in float32 because it has no kernel for the smaller float."""


def fold(model: ModelProto) -> ModelProto:
    """The folded form of `model`.

    Raises:
        RuntimeRefusal: ONNX Runtime does not take the model.
    """
    with tempfile.TemporaryFile() as file:
        # A file without a name is gone with the process, however that ends.
        saved = Path(f"/proc/self/fd/{file.fileno()}")
        OrtSession(model, optimise=True, disabled=_LEFT_OUT, saved_to=saved)
        folded = onnx.load(saved)
    nodes, as_saved = _as_the_user_wrote(model, folded)
    del folded.graph.node[:]
    folded.graph.node.extend(nodes)
    _tidy(model, folded)
    if as_saved:
        return folded
    try:
        OrtSession(folded)
    except RuntimeRefusal:
        # Folding would need nodes in a type that the restored ones do not have: the user's model is right in any case.
        unfolded = ModelProto()
        unfolded.CopyFrom(model)
        return unfolded
    return folded


def _as_the_user_wrote(model: ModelProto, folded: ModelProto) -> tuple[list[NodeProto], bool]:
    """The nodes of `folded` that are needed, as the user wrote them where that is possible; and if nothing but that changed.

    ONNX Runtime replaces an operator that it has no kernel for by what defines it, runs it in float32 between casts, and
    writes out default attributes. Other toolchains may do better with the operator itself. A node of the user's can stand
    wherever the folded graph has all that it reads, since a tensor of one name has one value.
    """
    users = {name: node for node in model.graph.node for name in node.output if name}
    nodes = _without_copies([_without_casts(node) for node in folded.graph.node], users.keys())
    as_saved = len(nodes) == len(folded.graph.node)
    maker = {name: node for node in nodes for name in node.output if name}
    given = {value.name for value in model.graph.input} | {tensor.name for tensor in folded.graph.initializer}
    if any(name.startswith(_CAST_MARK) for node in folded.graph.node for name in node.output):
        _restore_casts(model, maker, given)
    available = given | maker.keys()
    same = _dropped_identities(model, available)
    kept: dict[int, NodeProto] = {}
    made: set[str] = set()
    waiting = [value.name for value in folded.graph.output]
    while waiting:
        name = waiting.pop()
        if not name or name in given or name in made:
            continue
        node, user = maker[name], users.get(name)
        if user is not None and not has_inner_graph(user):
            reads = [same.get(name, name) for name in user.input]
            if available.issuperset(filter(None, reads)):
                as_saved = as_saved and user.op_type == node.op_type and reads == node.input
                node = _reading(user, reads)
        kept[id(node)] = node
        made.update(node.output)
        waiting.extend(read_by(node))
    return list(kept.values()), as_saved


def _dropped_identities(model: ModelProto, available: Container[str]) -> dict[str, str]:
    """What the outputs of the user's identities are called, where the folded graph does without the identity."""
    same: dict[str, str] = {}
    for node in model.graph.node:
        if node.op_type == "Identity" and node.output[0] not in available:
            same[node.output[0]] = same.get(node.input[0], node.input[0])
    return same


def _reading(node: NodeProto, reads: list[str]) -> NodeProto:
    """`node` with other inputs."""
    if reads == node.input:
        return node
    made = NodeProto()
    made.CopyFrom(node)
    made.input[:] = reads
    return made


def _restore_casts(model: ModelProto, maker: dict[str, NodeProto], given: set[str]) -> None:
    """Give `maker` the user's casts again: beside its own, ONNX Runtime had no use for them."""
    for node in model.graph.node:
        known = all(name in maker or name in given for name in node.input)
        if node.op_type in ("Cast", "CastLike") and known and node.output[0] not in maker:
            maker[node.output[0]] = node


def _without_copies(nodes: list[NodeProto], known: Container[str]) -> list[NodeProto]:
    """`nodes` without casts from a tensor to itself, and without the copies that ONNX Runtime makes of dequantise nodes."""
    first: dict[bytes, NodeProto] = {}
    same: dict[str, str] = {}
    kept = []
    for node in nodes:
        if node.op_type == "Cast" and node.input[0] == node.output[0]:
            continue
        renamed = any(name in same for name in node.input)
        if renamed:
            node.input[:] = [same.get(name, name) for name in node.input]
        twin = first.setdefault(_content(node), node)
        if twin is not node and not any(name in known for name in node.output):
            same.update(zip(node.output, twin.output, strict=True))
            continue
        kept.append(node)
    return kept


def _content(node: NodeProto) -> bytes:
    """What `node` computes, whatever it and its outputs are called."""
    made = NodeProto()
    made.CopyFrom(node)
    made.ClearField("name")
    made.output[:] = [str(bool(name)) for name in node.output]
    return made.SerializeToString(deterministic=True)


def _domain(node: NodeProto) -> str:
    return "" if node.domain in ONNX_DOMAINS else node.domain


def _without_casts(node: NodeProto) -> NodeProto:
    if not any(name.startswith(_CAST_MARK) for name in (*node.input, *node.output)):
        return node
    made = NodeProto()
    made.CopyFrom(node)
    made.input[:] = [name.removeprefix(_CAST_MARK) for name in node.input]
    made.output[:] = [name.removeprefix(_CAST_MARK) for name in node.output]
    return made


def _tidy(model: ModelProto, folded: ModelProto) -> None:
    """Keep of the opsets what is used, of the initializers what is read; drop what ONNX Runtime noted for itself."""
    graph = folded.graph
    used = {_domain(node) for node in _all(folded)} | {""}
    versions = {("" if entry.domain in ONNX_DOMAINS else entry.domain): entry.version for entry in folded.opset_import}
    versions |= {("" if entry.domain in ONNX_DOMAINS else entry.domain): entry.version for entry in model.opset_import}
    del folded.opset_import[:]
    folded.opset_import.extend(onnx.helper.make_opsetid(domain, versions[domain]) for domain in sorted(used))
    folded.ir_version = model.ir_version
    del graph.value_info[:]
    wanted = {name for node in graph.node for name in read_by(node)} | {value.name for value in graph.output}
    constants = [tensor for tensor in graph.initializer if tensor.name in wanted]
    if len(constants) < len(graph.initializer):
        del graph.initializer[:]
        graph.initializer.extend(constants)


def _all(model: ModelProto) -> Iterator[NodeProto]:
    graphs = [model.graph]
    while graphs:
        for node in graphs.pop().node:
            yield node
            graphs.extend(inner_graphs(node))
