"""`drop_zero_states`: leaves out first states of recurrent operators that are constant zeros, which is what no state means.

A folded model enters and is changed in place. torch always exports these states, and ncnn takes an LSTM or a GRU without them only.
"""

from __future__ import annotations

from onnx import ModelProto, NodeProto, helper, numpy_helper

from ...graph.dataflow_graph import TensorType
from ..files.external_data import is_external
from ..naming import ONNX_DOMAINS
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
