"""Models with the blocked operators of ONNX Runtime (domain ``com.microsoft.nchwc``); it is not imported.

ONNX Runtime reorders what enters and leaves its blocked operators at the ends of a model. A pool of 1×1, which copies, is put at
every blocked end, so that it plans the whole model between them in the blocked layout; then the pools and the reorders that they brought
are taken out of the optimised model. A tensor keeps its shape (N, C, H, W) in either layout.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnx import ModelProto, NodeProto, helper

from ...graph.dataflow_graph import Tensor
from ...model.forms.cutting import rename_tensors
from ...model.model import SubModel

REORDER_TARGET = "onnxruntime"
"""The target that runs a `reorder_model`."""
DOMAIN = "com.microsoft.nchwc"
_INNER = "/inner"
_PLAIN = "/plain"


def reorder_model(tensor: Tensor, source: str, target: str, to_blocked: bool) -> SubModel:
    """Return a model that reorders `source`, of the type of `tensor`, to the blocked layout or back, and calls it `target`."""
    node = _to_blocked(source, target) if to_blocked else _to_plain(source, target, tensor.type.shape[1])
    ends = [helper.make_tensor_value_info(name, 1, tensor.type.shape) for name in (source, target)]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
    proto = helper.make_model(helper.make_graph([node], "reorder", ends[:1], ends[1:]), opset_imports=opsets, ir_version=8)
    return SubModel(proto.SerializeToString(), (Tensor(source, tensor.type),), (Tensor(target, tensor.type),))


def with_pools(model: SubModel, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> SubModel:
    """Return `model` with a pool of 1×1 after each of `inputs` and before each of `outputs`."""
    proto = ModelProto.FromString(model.onnx)
    names = {tensor.name: tensor.name + _INNER for tensor in (*inputs, *outputs)}
    rename_tensors(proto.graph, names)
    first = [_pool(tensor.name, names[tensor.name]) for tensor in inputs]
    last = [_pool(names[tensor.name], tensor.name) for tensor in outputs]
    nodes = [*first, *proto.graph.node, *last]
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    return SubModel(proto.SerializeToString(), model.inputs, model.outputs)


def without_pools(proto: ModelProto, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> ModelProto:
    """Return an optimised model of `with_pools` whose `inputs` and `outputs` are blocked, without the pools."""
    nodes: list[NodeProto] = list(proto.graph.node)
    for tensor in inputs:
        nodes = _with_blocked_input(nodes, tensor)
    for tensor in outputs:
        nodes = _with_blocked_output(nodes, tensor, {value.name for value in (*proto.graph.input, *proto.graph.output)})
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    if all(opset.domain != DOMAIN for opset in proto.opset_import):
        proto.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    return proto


def _with_blocked_input(nodes: list[NodeProto], tensor: Tensor) -> list[NodeProto]:
    """Return `nodes` with the pool that reads the input replaced by the input itself, reordered to plain where the pool is plain."""
    reorder = next((node for node in nodes if node.op_type == "ReorderInput" and node.input[0] == tensor.name), None)
    source = reorder.output[0] if reorder else tensor.name
    pool = next((node for node in nodes if node.op_type == "MaxPool" and node.input[0] == source), None)
    if pool is None:  # ONNX Runtime has moved it, behind a QuantizeLinear for example.
        plain = _to_plain(tensor.name, tensor.name + _PLAIN, tensor.type.shape[1])
        return [plain, *_renamed(nodes, tensor.name, tensor.name + _PLAIN)]
    if reorder is None:
        plain = _to_plain(tensor.name, pool.output[0], tensor.type.shape[1])
        return [plain if node is pool else node for node in nodes]
    return _renamed([node for node in nodes if node is not reorder and node is not pool], pool.output[0], tensor.name)


def _with_blocked_output(nodes: list[NodeProto], tensor: Tensor, ends: set[str]) -> list[NodeProto]:
    """Return `nodes` with the output made by what its pool reads; the pool stays as a copy where that is an end of the model itself."""
    last = next(node for node in nodes if tensor.name in node.output)
    if last.op_type == "MaxPool":  # a plain one
        return [_to_blocked(last.input[0], tensor.name) if node is last else node for node in nodes]
    pool = next((node for node in nodes if last.op_type == "ReorderOutput" and last.input[0] in node.output), None)
    if pool is None or pool.op_type != "MaxPool":  # ONNX Runtime has moved it, before a DequantizeLinear for example.
        return [*_renamed(nodes, tensor.name, tensor.name + _PLAIN), _to_blocked(tensor.name + _PLAIN, tensor.name)]
    inner = pool.input[0]
    if inner in ends:
        pool.output[0] = tensor.name
        return [node for node in nodes if node is not last]
    return _renamed([node for node in nodes if node is not last and node is not pool], inner, tensor.name)


def _renamed(nodes: list[NodeProto], old: str, new: str) -> list[NodeProto]:
    """Call the tensor `old` of these nodes `new`, and return them."""
    for node in nodes:
        node.input[:] = [new if name == old else name for name in node.input]
        node.output[:] = [new if name == old else name for name in node.output]
    return nodes


def _pool(source: str, target: str) -> NodeProto:
    return helper.make_node("MaxPool", [source], [target], kernel_shape=[1, 1])


def _to_blocked(source: str, target: str) -> NodeProto:
    return helper.make_node("ReorderInput", [source], [target], domain=DOMAIN)


def _to_plain(source: str, target: str, channels: int) -> NodeProto:
    return helper.make_node("ReorderOutput", [source], [target], domain=DOMAIN, channels=channels)
