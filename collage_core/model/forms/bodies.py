"""The bodies of `If`, `Loop` and `Scan` as models of their own, and the types of what loops give.

A node of a model enters; a `ControlFlow`, or the body with the types of its inputs, leaves. What the body reads from around it becomes an
input of it, or an initializer where it is a constant. Nothing is run here.

What a `Loop` hands from turn to turn may change its shape, so ONNX's inference says nothing of it. Where one turn keeps the types, every
turn does, and so the results have them (`infer_with_loops`). The number of turns is known where it is a constant and nothing else ends the
loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, numpy_helper

from ...errors import CollageError
from ...graph.control_flow import CONTROL_OPS, IF, LOOP, SCAN, BodySignature, ControlFlow
from ...graph.dataflow_graph import Tensor, TensorType
from ..files.external_data import MOST_BYTES
from ..nodes import ONNX_DOMAINS, free_names, opset_versions
from ..shapes.inference import Inferred, infer, value_info
from ..types.dtypes import dtype_name
from .normalising import constant_value

ATTRIBUTES = ("body", "then_branch", "else_branch")
_OLDEST_SCAN = 9
"""Before this opset a `Scan` had a batch and lengths of sequences."""


def control_flow(model: ModelProto, node: NodeProto) -> ControlFlow | None:
    """Return what `node` says about its bodies; None where it is no `If`, `Loop` or `Scan` that the host could run."""
    if node.op_type not in CONTROL_OPS or node.domain not in ONNX_DOMAINS:
        return None
    if node.op_type == SCAN and opset_versions(model).get("", 1) < _OLDEST_SCAN:
        return None
    graphs = {attribute.name: attribute.g for attribute in node.attribute if attribute.HasField("g")}
    options = {attribute.name: tuple(attribute.ints) for attribute in node.attribute if attribute.ints}
    scanned = next((attribute.i for attribute in node.attribute if attribute.name == "num_scan_inputs"), 0)
    bodies = {name: _signature(graphs[name]) for name in ATTRIBUTES if name in graphs}
    flow = ControlFlow(node.op_type, _padded(node), tuple(node.output), bodies, int(scanned), options)
    return flow if _fits(flow) else None


def _padded(node: NodeProto) -> tuple[str, ...]:
    """Return the inputs of `node`; a `Loop` has two of them at least, which may be absent."""
    least = 2 if node.op_type == LOOP else 0
    return (*node.input, *[""] * max(0, least - len(node.input)))


def _signature(graph: GraphProto) -> BodySignature:
    captured = tuple(dict.fromkeys(free_names(graph)))
    return BodySignature(tuple(value.name for value in graph.input), captured, tuple(value.name for value in graph.output))


def _fits(flow: ControlFlow) -> bool:
    """Return whether each body takes as many tensors as the node hands over, and makes as many as it wants back."""
    wanted = {IF: ("then_branch", "else_branch")}.get(flow.op, ("body",))
    if set(flow.bodies) != set(wanted) or (flow.op == IF and not flow.inputs):
        return False
    extra = 1 if flow.op == LOOP else 0
    handed = {IF: 0, LOOP: 2 + flow.carried}.get(flow.op, len(flow.inputs))
    return (
        0 <= flow.carried <= len(flow.inputs)
        and all(len(body.inputs) == handed for body in flow.bodies.values())
        and all(len(flow.outputs) <= len(body.outputs) - extra for body in flow.bodies.values())
        and all(len(body.outputs) - extra >= flow.carried for body in flow.bodies.values())
    )


def body_graph(node: NodeProto, attribute: str) -> GraphProto:
    """Return the graph in the attribute `attribute` of `node`."""
    return next(found.g for found in node.attribute if found.name == attribute)


def passed_on(model: ModelProto, node: NodeProto, attribute: str) -> dict[str, str | TensorProto] | None:
    """Return, for a branch of an `If` that computes nothing, each output → the tensor around the node, or the constant, that it is.

    None where it computes something, and for bodies of other operators.
    """
    graph = body_graph(node, attribute)
    if node.op_type != IF or any(inner.op_type not in ("Constant", "Identity") for inner in graph.node):
        return None
    known: dict[str, str | TensorProto] = {tensor.name: tensor for tensor in graph.initializer}
    for inner in graph.node:
        value = constant_value(inner) if inner.op_type == "Constant" else known.get(inner.input[0], inner.input[0])
        if value is None:
            return None
        known[inner.output[0]] = value
    around = {tensor.name: tensor for tensor in model.graph.initializer}
    origin = {value.name: known.get(value.name, value.name) for value in graph.output}
    return {name: around.get(source, source) if isinstance(source, str) else source for name, source in origin.items()}


def body_proto(model: ModelProto, node: NodeProto, attribute: str, inputs: Iterable[Tensor]) -> ModelProto:
    """Return a body of `node`, a node of `model`, as a model of its own.

    Args:
        inputs: The body's inputs in order, and then those tensors that it captures and that are no constants of `model`.

    Raises:
        CollageError: the body computes nothing, or its weights are larger than an ONNX message can be.
    """
    graph = body_graph(node, attribute)
    if not graph.node:
        raise CollageError(f"the body {attribute!r} of {node.name!r} has no nodes", "", "no_nodes")
    proto = ModelProto(ir_version=model.ir_version, producer_name="collage")
    proto.opset_import.extend(model.opset_import)
    proto.graph.CopyFrom(graph)
    del proto.graph.input[:], proto.graph.output[:], proto.graph.value_info[:]
    proto.graph.name = f"{node.name}.{attribute}"
    proto.graph.input.extend(value_info(tensor.name, tensor.type) for tensor in inputs)
    proto.graph.output.extend(ValueInfoProto(name=value.name) for value in graph.output)
    constants = _captured_constants(model, graph)
    size = graph.ByteSize() + sum(tensor.ByteSize() for tensor in constants)
    if size > MOST_BYTES:
        raise CollageError(f"the body {attribute!r} of {node.name!r} reads {size / 2**30:.1f} GiB of weights", "", "too_big")
    proto.graph.initializer.extend(constants)
    return proto


def _captured_constants(model: ModelProto, graph: GraphProto) -> list[TensorProto]:
    known: Mapping[str, TensorProto] = {tensor.name: tensor for tensor in model.graph.initializer}
    return [known[name] for name in dict.fromkeys(free_names(graph)) if name in known]


MOST_ROUNDS = 4
"""Loops that read what another loop makes are looked into after that; longer chains stay open."""

Types = Mapping[str, TensorType]


def infer_with_loops(model: ModelProto) -> Inferred:
    """Return the types of inputs and of outputs of nodes, as far as they are known. Raises CollageError as `infer` does."""
    known: dict[str, ValueInfoProto] = {}
    inferred = infer(model)
    loops = [node for node in model.graph.node if node.op_type == LOOP]
    for _ in range(MOST_ROUNDS if loops else 0):
        types = inferred.types | constant_types(model)
        new: dict[str, ValueInfoProto] = {}
        for node in loops:
            if node.output[0] not in known:
                new |= _results(model, node, types)
        if not new:
            break
        known |= new
        inferred = infer(model, known.values())
    return inferred


def _results(model: ModelProto, node: NodeProto, types: Types) -> dict[str, ValueInfoProto]:
    """Return the types of what the loop `node` makes, by name; none where a turn does not keep the types of what it hands on."""
    flow = control_flow(model, node)
    if flow is None or any(name and name not in types for name in (*flow.inputs, *flow.bodies["body"].captured)):
        return {}
    signature, count = flow.bodies["body"], flow.carried
    handed = [TensorType((), "int64"), TensorType((), "bool"), *(types[name] for name in flow.inputs[2:])]
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [Tensor(name, kind) for name, kind in zip(signature.inputs, handed, strict=True)]
    inputs += [Tensor(name, types[name]) for name in signature.captured if name not in constants]
    try:
        body = body_proto(model, node, "body", inputs)
        made = infer_with_loops(body).types | constant_types(body) | {tensor.name: tensor.type for tensor in inputs}
    except CollageError:
        return {}
    if [made.get(name) for name in signature.outputs[1 : 1 + count]] != handed[2:]:
        return {}
    turns = _turns(model, node, flow)
    results = {}
    for index, (name, inside) in enumerate(zip(flow.outputs, signature.outputs[1:], strict=False)):
        kind = made.get(inside)
        if not name or kind is None:
            continue
        if index >= count:
            kind = TensorType((turns or 0, *kind.shape), kind.dtype, (0,) if turns is None else ())
        results[name] = value_info(name, kind)
    return results


def constant_types(model: ModelProto) -> dict[str, TensorType]:
    """Return the types of the initializers."""
    return {tensor.name: TensorType(tuple(tensor.dims), dtype_name(tensor.data_type)) for tensor in model.graph.initializer}


def _is_true(tensor: TensorProto) -> bool:
    return bool(numpy_helper.to_array(tensor).all())


def _turns(model: ModelProto, node: NodeProto, flow: ControlFlow) -> int | None:
    """Return how often the loop `node` turns; None where data may decide that."""
    values = {tensor.name: tensor for tensor in model.graph.initializer if np.prod(tensor.dims) == 1}
    most, goes = flow.inputs[:2]
    if most not in values or (goes and (goes not in values or not _is_true(values[goes]))):
        return None
    graph = body_graph(node, "body")
    same = {made.output[0]: made.input[0] for made in graph.node if made.op_type == "Identity"}
    name = flow.bodies["body"].outputs[0]
    while name in same:
        name = same[name]
    inside = {tensor.name: tensor for tensor in graph.initializer}
    goes_on = name == graph.input[1].name or (name in inside and _is_true(inside[name])) or (name in values and _is_true(values[name]))
    return max(0, int(numpy_helper.to_array(values[most]).reshape(-1)[0])) if goes_on else None
