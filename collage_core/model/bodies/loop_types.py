"""`infer_with_loops`: inference that looks into the bodies of loops, where ONNX's own leaves the shapes of their results open.

What a `Loop` hands from turn to turn may change its shape, so ONNX's inference says nothing of it. Where one turn keeps the types, every
turn does, and so the results have them. The number of turns is known where it is a constant and nothing else ends the loop.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, numpy_helper

from ...errors import CollageError
from ...graph.control_flow import LOOP, ControlFlow
from ...graph.dataflow_graph import Tensor, TensorType
from ..shapes.inference import Inferred, infer, value_info
from ..types.dtypes import dtype_name
from .bodies import body_graph, body_proto, control_flow

MOST_ROUNDS = 4
"""Loops that read what another loop makes are looked into after that; longer chains stay open."""

Types = Mapping[str, TensorType]


def infer_with_loops(model: ModelProto) -> Inferred:
    """Return the types of inputs and of outputs of nodes, as far as they are known. Raises CollageError as `infer` does."""
    known: dict[str, ValueInfoProto] = {}
    found = infer(model)
    loops = [node for node in model.graph.node if node.op_type == LOOP]
    for _ in range(MOST_ROUNDS if loops else 0):
        types = found.types | constant_types(model)
        new: dict[str, ValueInfoProto] = {}
        for node in loops:
            if node.output[0] not in known:
                new |= _results(model, node, types)
        if not new:
            break
        known |= new
        found = infer(model, known.values())
    return found


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
