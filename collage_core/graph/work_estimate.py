"""`WorkEstimate`: the operations that a sub-graph computes and the bytes that it must move, on any target. Plain data.

Operations are those of the direct method: a multiplication and an addition are two. Winograd's and other methods do with
fewer, so this is no bound on what a toolchain executes. Bytes are those of the tensors and weights at the boundary: what is
made and read inside may stay in a cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from .dataflow_graph import HOST, DataflowGraph, Node, TensorType
from .index_set import IndexSet
from .sub_graph import SubGraph


@dataclass(frozen=True, slots=True)
class WorkEstimate:
    """The work of one sub-graph.

    Attributes:
        operations: Floating-point or integer operations.
        bytes: Read from outside, written to outside, and of the weights.
    """

    operations: float
    bytes: int


class WorkEstimator:
    """Counts the work of sub-graphs of one graph; counts each node once."""

    def __init__(self, graph: DataflowGraph):
        self._graph = graph
        self._of_node: dict[int, float] = {}

    def operations(self, index: int) -> float:
        """Return the operations of node `index`."""
        if index not in self._of_node:
            self._of_node[index] = _operations(self._graph, self._graph.nodes[index])
        return self._of_node[index]

    def __call__(self, inside: IndexSet) -> WorkEstimate:
        """Return the work of the nodes `inside` together."""
        graph, sub_graph = self._graph, SubGraph(self._graph, inside)
        moved = sum(graph.types[name].bytes for name in (*sub_graph.input_tensors(), *sub_graph.output_tensors()))
        weights = {name for index in inside for name in graph.nodes[index].inputs if name in graph.constants}
        moved += sum(graph.constants[name].type.bytes for name in weights)
        return WorkEstimate(sum(self.operations(index) for index in inside), moved)


def _operations(graph: DataflowGraph, node: Node) -> float:
    types = [_type(graph, name) for name in node.inputs]
    elements = sum(prod(tensor.type.shape) for tensor in node.outputs)
    count = _COUNTS.get(node.op.rpartition(".")[2])
    if count is None or not node.outputs:
        return float(elements)
    return float(count(types, elements, node.attributes))


def _type(graph: DataflowGraph, name: str) -> TensorType | None:
    if name in graph.types:
        return graph.types[name]
    return graph.constants[name].type if name in graph.constants else None


Types = list[TensorType | None]
Count = Callable[[Types, int, Mapping[str, Any]], float]


def _shape(types: Types, index: int) -> tuple[int, ...]:
    known = types[index] if index < len(types) else None
    return known.shape if known is not None else ()


def _convolution(types: Types, made: int, attributes: Mapping[str, Any]) -> float:
    """Each output element sums over the kernel and the channels of its group."""
    return 2.0 * made * prod(_shape(types, 1)[1:])


def _convolution_of_integers(types: Types, made: int, attributes: Mapping[str, Any]) -> float:
    """As `_convolution`; the scale and the zero point of the input come before the weights."""
    return 2.0 * made * prod(_shape(types, 3)[1:])


def _transposed(types: Types, made: int, attributes: Mapping[str, Any]) -> float:
    """Each input element is spread over the kernel and the channels that its group makes."""
    return 2.0 * prod(_shape(types, 0)) * prod(_shape(types, 1)[1:])


def _product(types: Types, made: int, attributes: Mapping[str, Any]) -> float:
    left = _shape(types, 0)
    if not left:
        return float(made)
    return 2.0 * made * (left[0] if attributes.get("transA") and len(left) > 1 else left[-1])


def _recurrent(types: Types, made: int, attributes: Mapping[str, Any]) -> float:
    """Each step multiplies with the weights of the input and of the state, in every direction."""
    steps, batch = (*_shape(types, 0)[:2], 1, 1)[:2]
    return 2.0 * steps * batch * (prod(_shape(types, 1)) + prod(_shape(types, 2)))


def _pooled(types: Types, made: int, attributes: Mapping[str, Any]) -> float:
    return float(made * prod(attributes.get("kernel_shape") or (1,)))


def _read(types: Types, made: int, attributes: Mapping[str, Any]) -> float:
    return float(prod(_shape(types, 0)))


def _times(factor: int) -> Count:
    return lambda types, made, attributes: float(factor * made)


def _nothing(types: Types, made: int, attributes: Mapping[str, Any]) -> float:
    return 0.0


_CONVOLUTIONS = ("Conv", "ConvInteger", "QLinearConv", "FusedConv")
_DYNAMIC = ("MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul")
_PRODUCTS = ("MatMul", "Gemm", "QLinearMatMul", "FusedMatMul", "FusedGemm", *_DYNAMIC)
_ON_INTEGERS = ("ConvInteger", "QLinearConv", "QLinearMatMul")
_RECURRENT = ("LSTM", "GRU", "RNN", "DynamicQuantizeLSTM")
_REDUCING = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare")
_READING = ("GlobalAveragePool", "GlobalMaxPool", "ArgMax", "ArgMin", "TopK", "CumSum", "ReduceLogSumExp", *_REDUCING)
_DEAR = ("Softmax", "LogSoftmax", "Gelu", "Erf", "Tanh", "Sigmoid", "Exp", "Pow", "Log")
_NORMS = ("LayerNormalization", "BatchNormalization", "InstanceNormalization", "GroupNormalization", "RMSNormalization")
_SHAPING = (
    "Reshape",
    "Flatten",
    "Squeeze",
    "Unsqueeze",
    "Identity",
    "Expand",
    "Tile",
    "Pad",
    "Shape",
    "Size",
    "Constant",
    "ConstantOfShape",
)
_MOVING = ("Transpose", "Concat", "Split", "Slice", "Gather", "DepthToSpace", "SpaceToDepth", "Cast", "ScatterND")

_COUNTS: dict[str, Count] = {
    **dict.fromkeys(_CONVOLUTIONS, _convolution),
    "QLinearConv": _convolution_of_integers,
    "ConvTranspose": _transposed,
    **dict.fromkeys(_PRODUCTS, _product),
    **dict.fromkeys(_RECURRENT, _recurrent),
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), _pooled),
    **dict.fromkeys(_READING, _read),
    **dict.fromkeys(_DEAR, _times(5)),
    **dict.fromkeys(_NORMS, _times(8)),
    **dict.fromkeys((*_SHAPING, *_MOVING), _nothing),
}
"""Operator → function that counts its operations; an operator that is not named takes one for each element that it makes."""

WORK_KINDS = (
    "pointwise",
    "convolution",
    "grouped",
    "quantised_convolution",
    "product",
    "quantised_product",
    "dynamic_product",
    "recurrent",
    "moving",
    "light",
    "dear",
)
"""Kinds of work that machines do at different rates; of the last three the bytes count and not the operations."""
BY_BYTES = WORK_KINDS[-3:]


def work_kind(graph: DataflowGraph, node: Node) -> str:
    """Return which of `WORK_KINDS` the work of a node is."""
    op = node.op.rpartition(".")[2]
    if op in _DYNAMIC:
        return "dynamic_product"
    if op in _CONVOLUTIONS or op == "ConvTranspose":
        return _convolution_kind(graph, node, op)
    if op in _PRODUCTS:
        return "quantised_product" if _is_quantised(graph, node, op) else "product"
    if op in _RECURRENT:
        return "recurrent"
    if _COUNTS.get(op) is _nothing:
        return "moving"
    return "dear" if op in _DEAR or op in _NORMS else "light"


def _convolution_kind(graph: DataflowGraph, node: Node, op: str) -> str:
    if _is_quantised(graph, node, op):
        return "quantised_convolution"
    if node.attributes.get("group", 1) > 1:
        return "grouped"
    return "pointwise" if max(node.attributes.get("kernel_shape") or (3,)) == 1 else "convolution"


def _is_quantised(graph: DataflowGraph, node: Node, op: str) -> bool:
    """Return whether the node works on integers, or on what a node dequantises: toolchains compute that on integers where they can."""
    maker = graph.producer.get(node.inputs[0], HOST) if node.inputs else HOST
    return op in _ON_INTEGERS or (maker != HOST and graph.nodes[maker].op == "DequantizeLinear")
