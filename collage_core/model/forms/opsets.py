"""Brings a model to operators that ONNX Runtime reads: newer ones are lowered, and very old ones raised where they must be.

A normalised model enters; the same model leaves, with another version of ONNX's operators where it needs one. A model none of whose
operators has changed since is only marked. Any other goes through ONNX's version converter, in a worker process, since that may crash.
"""

from __future__ import annotations

import re
from functools import cache

import onnx.defs
from onnx import ModelProto, NodeProto, helper

from ...base.isolation.worker import Worker
from ...base.isolation.worker_errors import WorkerError
from ...errors import CollageError
from ..nodes import ONNX_DOMAINS, all_nodes, op_name, opset_versions, since_version
from ..reference.ort_session import OrtSession, RuntimeRefusal
from ..refusals import error_text
from ..shapes.inference import infer
from .normalising import normalise

OLDEST = 7
"""Oldest version that ONNX Runtime promises to read; it reads most models of older ones too."""
RAISED_TO = 13
LONGEST_S = 60.0


def with_known_opset(model: ModelProto) -> ModelProto:
    """Return `model` in a version of ONNX's operators that ONNX Runtime reads.

    Raises:
        CollageError: it needs a newer one, and cannot be lowered.
    """
    version = opset_versions(model).get("", 0)
    if version > (newest := newest_opset()) > 0:
        return _lowered(model, version, newest)
    return _raised(model) if 0 < version < OLDEST else model


@cache
def newest_opset() -> int:
    """Return the newest version of ONNX's operators that ONNX Runtime reads; 0 where it does not say so."""
    node = helper.make_node("Relu", ["x"], ["y"])
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in ("x", "y")]
    graph = helper.make_graph([node], "newest", ends[:1], ends[1:])
    try:
        OrtSession(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 1 << 20)], ir_version=8))
    except RuntimeRefusal as refusal:
        match = re.search(r"till opset (\d+)", str(refusal))
        return int(match[1]) if match else 0
    return 0


def _lowered(model: ModelProto, version: int, newest: int) -> ModelProto:
    if version > onnx.defs.onnx_opset_version():
        return model  # nobody here knows its operators
    changed = next((node for node in all_nodes(model.graph) if since_version(node, version) > newest), None)
    if changed is None:
        return _marked(model, newest)
    try:
        return _converted(model, newest)
    except (CollageError, WorkerError) as error:
        message = (
            f"the model needs opset {version} of the ONNX operators, newer than the {newest} that ONNX Runtime reads here: node "
            f"{changed.name!r} is a {op_name(changed)!r} of opset {since_version(changed, version)}, and it cannot be lowered: "
            f"{error_text(error)}"
        )
        raise CollageError(message, "update onnxruntime, or export the model with an older opset", "opset") from error


def _raised(model: ModelProto) -> ModelProto:
    """Return `model` in a newer version where ONNX Runtime does not read it as it is, and reads that."""
    try:
        OrtSession(model)
    except RuntimeRefusal:
        try:
            raised = _converted(with_aligned_operands(model), RAISED_TO)
            OrtSession(raised)
        except (CollageError, WorkerError, RuntimeRefusal):
            return model  # what ONNX Runtime says of the user's own model is the better message
        return raised
    return model


def _marked(model: ModelProto, version: int) -> ModelProto:
    marked = ModelProto()
    marked.CopyFrom(model)
    for entry in marked.opset_import:
        if entry.domain in ONNX_DOMAINS:
            entry.version = version
    return marked


def _converted(model: ModelProto, version: int) -> ModelProto:
    """Return `model` as ONNX's converter makes it, normalised again.

    Raises:
        CollageError: the converter fails, in its own words, or makes another model.
        WorkerError: it crashes or hangs.
    """
    with Worker() as worker:
        converted = ModelProto.FromString(worker.call(convert, model.SerializeToString(), version, timeout_s=LONGEST_S))
    _check_outputs(model, converted)
    return normalise(converted)[0]


def with_aligned_operands(model: ModelProto) -> ModelProto:
    """Return `model` with the second operands of old broadcasts aligned at the end, where today's begin: the converter mistakes their axis.

    Up to opset 6 the attribute ``axis`` says which dimension of the first operand is the first of the second one.
    """
    made = ModelProto()
    made.CopyFrom(model)
    ranks = {tensor.name: len(tensor.dims) for tensor in made.graph.initializer}
    ranks |= {name: len(kind.shape) for name, kind in infer(made).types.items()}
    ranks |= {value.name: len(value.type.tensor_type.shape.dim) for value in made.graph.input if value.name not in ranks}
    nodes: list[NodeProto] = []
    for node in made.graph.node:
        axis = next((one for one in node.attribute if one.name == "axis"), None)
        if axis is not None and any(one.name == "broadcast" and one.i for one in node.attribute) and ranks.keys() >= {*node.input}:
            first, second = (ranks[name] for name in node.input)
            missing = first - axis.i % max(first, 1) - second
            if missing > 0:
                aligned = f"{node.output[0]}/aligned"
                nodes.append(helper.make_node("Unsqueeze", [node.input[1]], [aligned], axes=[*range(second, second + missing)]))
                node.input[1] = aligned
            node.attribute.remove(axis)
        nodes.append(node)
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    return made


def _check_outputs(model: ModelProto, made: ModelProto) -> None:
    """Check that the outputs of `made` have the shapes that `model` declares.

    Raises:
        CollageError: they have not.
    """
    inferred = infer(made).types
    for value in model.graph.output:
        dims = value.type.tensor_type.shape.dim
        wanted, known = tuple(dim.dim_value for dim in dims), inferred.get(value.name)
        if known is not None and all(dim.HasField("dim_value") for dim in dims) and wanted and known.shape != wanted:
            found = f"the converter makes {value.name!r} {list(known.shape)}, not {list(wanted)}"
            raise CollageError(found, "export the model with another opset", "opset")


def convert(model: bytes, version: int) -> bytes:
    """Return the serialised `model` in another version, by ONNX's converter; it runs in a worker process.

    Raises:
        CollageError: the converter's own words.
    """
    from onnx import version_converter

    try:
        return bytes(version_converter.convert_version(ModelProto.FromString(model), version).SerializeToString())
    except Exception as error:
        raise CollageError(error_text(error), "", "opset") from error
