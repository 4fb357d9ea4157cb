"""Folds a model: evaluates constants and shape arithmetic, drops identities and zero states, and folds batch norms and scales into weights.

The user's normalised model enters (see `normalising`); a model that computes the same with fewer nodes leaves. ONNX Runtime's basic
optimisation level does the folding. Its changes for its own kernels are undone here: wherever possible a node is the user's. Which
node came from which is found by `provenance`.

torch always exports the first states of recurrent operators as constant zeros, which is what no state means, and ncnn takes an LSTM or a
GRU without them only (`drop_zero_states`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Container
from pathlib import Path

import onnx
from onnx import ModelProto, NodeProto, helper, numpy_helper

from ...base.isolation.shared import shared_worker
from ...base.isolation.worker_errors import WorkerError
from ...graph.dataflow_graph import TensorType
from ..files.external_data import external_tensors, is_external, make_paths_absolute, with_relative_paths, without_external
from ..nodes import (
    CAST_MARK,
    ONNX_DOMAINS,
    all_nodes,
    captured,
    domain_of,
    has_inner_graph,
    holds_graphs,
    inner_graphs,
    opset_versions,
    read_by,
)
from ..reference.ort_session import RUN_LIMIT_S, OrtSession, RuntimeRefusal
from ..shapes.inference import infer

_STATES = {"GRU": (5,), "LSTM": (5, 6), "RNN": (5,)}
"""Operator → the positions of its first states."""


def drop_zero_states(model: ModelProto) -> None:
    """Leave out first states of zeros whose shape is that of the states which the operator begins with anyway."""
    graph = model.graph
    constants = {tensor.name: tensor for tensor in graph.initializer if not is_external(tensor)}
    recurrent = [node for node in graph.node if node.op_type in _STATES and node.domain in ONNX_DOMAINS]
    given = [(node, slot) for node in recurrent for slot in _STATES[node.op_type] if slot < len(node.input)]
    known = [(node, slot) for node, slot in given if node.input[slot] in constants]
    zeros = [(node, slot) for node, slot in known if not numpy_helper.to_array(constants[node.input[slot]]).any()]
    if not zeros:
        return
    types = infer(model).types
    for node, slot in zeros:
        if tuple(constants[node.input[slot]].dims) == _shape_of_state(node, types.get(node.input[0])):
            node.input[slot] = ""
        while not node.input[-1]:
            node.input.pop()


def _shape_of_state(node: NodeProto, data: TensorType | None) -> tuple[int, ...] | None:
    """Return the shape of a first state of `node`, which reads `data`; None where it is not known."""
    attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    if data is None or len(data.shape) != 3 or "hidden_size" not in attributes:
        return None
    directions = 2 if attributes.get("direction") == b"bidirectional" else 1
    if attributes.get("layout", 0):
        return data.shape[0], directions, attributes["hidden_size"]
    return directions, data.shape[1], attributes["hidden_size"]


_LEFT_OUT = (
    # These rearrange the graph for ONNX Runtime's own kernels, under generated tensor names.
    "TransposeOptimizer",
    "MatMulAddFusion",
    "ConstantSharing",
    # These move, copy or add quantisation nodes, which each toolchain wants to arrange itself.
    "QDQPropagationTransformer",
    "EnsureUniqueDQForNodeUnit",
    "DoubleQDQPairsRemover",
    "WeightBiasQuantization",
    "WhereDummyDq",
)


def fold(model: ModelProto) -> ModelProto:
    """Return the folded form of `model`.

    Raises:
        RuntimeRefusal: ONNX Runtime does not load the model.
    """
    folded = _optimised(model)
    nodes, as_saved = _with_users_nodes(model, folded)
    del folded.graph.node[:]
    folded.graph.node.extend(nodes)
    drop_zero_states(folded)
    _tidy(model, folded)
    if as_saved:
        return folded
    try:
        OrtSession(folded)
    except RuntimeRefusal:
        # A folded graph with the user's nodes restored may need casts that are not there; then the user's model is kept.
        unfolded = ModelProto()
        unfolded.CopyFrom(model)
        return unfolded
    return folded


def _optimised(model: ModelProto) -> ModelProto:
    """Return `model` as ONNX Runtime optimises it; weights that it leaves as they are stay in the files that they are in."""
    try:
        return _saved(model)
    except RuntimeRefusal:
        external = external_tensors(model)
        if not external:
            raise
    # What follows from weights may be more than a message can hold: then nothing is folded into these.
    names = {tensor.name for tensor in external}
    folded = _saved(without_external(model))
    inputs = [value for value in folded.graph.input if value.name not in names]
    del folded.graph.input[:]
    folded.graph.input.extend(inputs)
    folded.graph.initializer.extend(external)
    return folded


def _saved(model: ModelProto) -> ModelProto:
    """Return `model` as ONNX Runtime saves it.

    Where a node holds graphs, that is done in a worker process: folding branches within branches may end it.
    """
    if not holds_graphs(model):
        return _save_optimised(model)
    try:
        with shared_worker("fold", imports=("onnxruntime",)) as worker:
            refusal, data = worker.call(optimised, model.SerializeToString(), timeout_s=RUN_LIMIT_S)
    except WorkerError as error:
        raise RuntimeRefusal(f"it {error.what}") from error
    if refusal:
        raise RuntimeRefusal(refusal)
    return ModelProto.FromString(data)


def optimised(data: bytes) -> tuple[str, bytes]:
    """Return the serialised model `data` as ONNX Runtime saves it, or why it does not load it; this is called in a worker process."""
    try:
        return "", _save_optimised(ModelProto.FromString(data)).SerializeToString()
    except RuntimeRefusal as refusal:
        return str(refusal), b""


def _save_optimised(model: ModelProto) -> ModelProto:
    """Return `model` as ONNX Runtime saves it. Raises RuntimeRefusal where it does not load the model."""
    with tempfile.TemporaryFile() as file:
        # A file without a name is removed when the process ends, however it ends.
        saved = Path(f"/proc/self/fd/{file.fileno()}")
        OrtSession(model, optimise=True, disabled=_LEFT_OUT, saved_to=saved)
        folded = onnx.load(saved, load_external_data=False)
    make_paths_absolute(folded, with_relative_paths(model)[1])
    return folded


def _with_users_nodes(model: ModelProto, folded: ModelProto) -> tuple[list[NodeProto], bool]:
    """Return the needed nodes of `folded`, the user's own where possible, and whether operators and inputs are still those of `folded`.

    ONNX Runtime replaces an operator that it has no kernel for by its definition, runs it in float32 between casts, and
    writes out default attributes. Other toolchains may run the operator itself better. The user's node can be used wherever
    the folded graph has all tensors that it reads, since tensors of the same name have the same value.
    """
    users = {name: node for node in model.graph.node for name in node.output if name}
    nodes = _without_copies([_without_casts(node) for node in folded.graph.node], users.keys())
    as_saved = len(nodes) == len(folded.graph.node)
    maker = {name: node for node in nodes for name in node.output if name}
    _restore_constants(model, folded, maker)
    given = {value.name for value in model.graph.input} | {tensor.name for tensor in folded.graph.initializer}
    if any(name.startswith(CAST_MARK) for node in folded.graph.node for name in node.output):
        _restore_casts(model, maker, given)
    available = given | maker.keys()
    same = _dropped_identities(model, available)
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    kept: dict[int, NodeProto] = {}
    outputs: set[str] = set()
    waiting = [value.name for value in folded.graph.output]
    while waiting:
        name = waiting.pop()
        if not name or name in given or name in outputs:
            continue
        if name not in maker:  # ONNX Runtime has folded its own cast of this constant.
            folded.graph.initializer.append(constants[name])
            given.add(name)
            continue
        node, user = maker[name], users.get(name)
        if user is not None and _may_stay(user, node, available):
            reads = [same.get(name, name) for name in user.input]
            if available.issuperset(filter(None, reads)):
                as_saved = as_saved and user.op_type == node.op_type and reads == node.input and not has_inner_graph(user)
                node = _reading(user, reads)
        kept[id(node)] = node
        outputs.update(node.output)
        waiting.extend(read_by(node))
    return list(kept.values()), as_saved


def _may_stay(user: NodeProto, node: NodeProto, available: Container[str]) -> bool:
    """Return whether `user` can take the place of `node`, as ONNX Runtime optimised it: inner graphs do where they got casts."""
    if not set(user.output).issuperset(node.output):  # Folding gave an output the name of an identity behind it.
        return False
    if not has_inner_graph(user):
        return True
    inside = (name for graph in inner_graphs(node) for inner in all_nodes(graph) for name in inner.output)
    return any(name.startswith(CAST_MARK) for name in inside) and all(name in available for name in captured(user))


def _restore_constants(model: ModelProto, folded: ModelProto, maker: dict[str, NodeProto]) -> None:
    """Add the user's `Constant` nodes, which folding made initializers, to `maker` again; normalising left only those that must stay."""
    stays = {node.output[0]: node for node in model.graph.node if node.op_type == "Constant" and domain_of(node) == ""}
    stays = {name: node for name, node in stays.items() if name not in maker}
    maker.update(stays)
    rest = [tensor for tensor in folded.graph.initializer if tensor.name not in stays]
    if len(rest) < len(folded.graph.initializer):
        del folded.graph.initializer[:]
        folded.graph.initializer.extend(rest)


def _dropped_identities(model: ModelProto, available: Container[str]) -> dict[str, str]:
    """Return the name in the folded graph for each output of a user's identity that folding removed."""
    same: dict[str, str] = {}
    for node in model.graph.node:
        if node.op_type == "Identity" and node.output[0] not in available:
            same[node.output[0]] = same.get(node.input[0], node.input[0])
    return same


def _reading(node: NodeProto, reads: list[str]) -> NodeProto:
    """Return `node` with the inputs `reads`."""
    if reads == node.input:
        return node
    reader = NodeProto()
    reader.CopyFrom(node)
    reader.input[:] = reads
    return reader


def _restore_casts(model: ModelProto, maker: dict[str, NodeProto], given: set[str]) -> None:
    """Add the user's casts to `maker` again, which ONNX Runtime removed beside its own."""
    for node in model.graph.node:
        known = all(name in maker or name in given for name in node.input)
        if node.op_type in ("Cast", "CastLike") and known and node.output[0] not in maker:
            maker[node.output[0]] = node


def _without_copies(nodes: list[NodeProto], known: Container[str]) -> list[NodeProto]:
    """Return `nodes` without casts from a tensor to itself, and without ONNX Runtime's copies of dequantise nodes."""
    first: dict[bytes, NodeProto] = {}
    same: dict[str, str] = {}
    kept = []
    for node in nodes:
        if node.op_type == "Cast" and node.input[0] == node.output[0]:
            continue
        renamed = any(name in same for name in node.input)
        if renamed:
            node.input[:] = [same.get(name, name) for name in node.input]
        original = first.setdefault(_computation_key(node), node)
        if original is not node and not any(name in known for name in node.output):
            same.update(zip(node.output, original.output, strict=True))
            continue
        kept.append(node)
    return kept


def _computation_key(node: NodeProto) -> bytes:
    """Return a key that is equal for nodes that compute the same, whatever the names of the node and its outputs."""
    plain = NodeProto()
    plain.CopyFrom(node)
    plain.ClearField("name")
    plain.output[:] = [str(bool(name)) for name in node.output]
    return plain.SerializeToString(deterministic=True)


def _without_casts(node: NodeProto) -> NodeProto:
    if not any(name.startswith(CAST_MARK) for name in (*node.input, *node.output)):
        return node
    copy = NodeProto()
    copy.CopyFrom(node)
    copy.input[:] = [name.removeprefix(CAST_MARK) for name in node.input]
    copy.output[:] = [name.removeprefix(CAST_MARK) for name in node.output]
    return copy


def _tidy(model: ModelProto, folded: ModelProto) -> None:
    """Keep the opsets that are used and the initializers that are read; drop ONNX Runtime's own annotations."""
    graph = folded.graph
    used = {domain_of(node) for node in all_nodes(graph)} | {""}
    versions = opset_versions(folded) | opset_versions(model)
    del folded.opset_import[:]
    folded.opset_import.extend(onnx.helper.make_opsetid(domain, versions[domain]) for domain in sorted(used))
    folded.ir_version = model.ir_version
    del graph.value_info[:]
    wanted = {name for node in graph.node for name in read_by(node)} | {value.name for value in graph.output}
    constants = [tensor for tensor in graph.initializer if tensor.name in wanted]
    if len(constants) < len(graph.initializer):
        del graph.initializer[:]
        graph.initializer.extend(constants)
