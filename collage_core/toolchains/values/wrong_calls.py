"""Says which calls OpenVINO and TVM take and compute wrong, so that their rules refuse them. Imports no library, since rules do not.

A sub-graph enters; a reason in words leaves, empty where none of its calls is such a call. ONNX's node tests found them, each with a
result that is far from the expected one. Which integers and element types are computed exactly is in a table of each toolchain
(`exact_values`). ncnn, which is wrong more often than not, has a list of what it takes right instead (`ncnn_operators`). The scales of a
Resize are in no graph: `tvm_import` refuses those that TVM computes wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf

from ...graph.dataflow_graph import DataflowGraph, Node
from ...graph.index_set import IndexSet
from ...graph.value_policy import ANY, FINITE
from ...graph.value_ranges import ranges_of
from ...rules.operators import attribute_of, type_of
from .contracts import ONNXRUNTIME_VALUES, OPENVINO_VALUES, TVM_VALUES
from .exact_values import Contract

Check = Callable[[DataflowGraph, Node], str]
Refusal = Callable[[DataflowGraph, IndexSet], str]


def openvino_refusal(graph: DataflowGraph, inside: IndexSet) -> str:
    """Return which call of the sub-graph `inside` OpenVINO computes wrong, and how; empty where there is none."""
    return _first(_OPENVINO, OPENVINO_VALUES, graph, inside, FINITE)


def openvino_refusal_of_any(graph: DataflowGraph, inside: IndexSet) -> str:
    """Return the same where NaN and infinities count, too."""
    return _first(_OPENVINO, OPENVINO_VALUES, graph, inside, ANY)


def tvm_refusal(graph: DataflowGraph, inside: IndexSet) -> str:
    """Return which call of the sub-graph `inside` TVM computes wrong, and how; empty where there is none."""
    return _without_elements(graph, inside) or _first(_TVM, TVM_VALUES, graph, inside, FINITE)


def tvm_refusal_of_any(graph: DataflowGraph, inside: IndexSet) -> str:
    """Return the same where NaN and infinities count, too."""
    return _without_elements(graph, inside) or _first(_TVM, TVM_VALUES, graph, inside, ANY)


def onnxruntime_refusal_of_any(graph: DataflowGraph, inside: IndexSet) -> str:
    """Return in which call of the sub-graph `inside` optimisations of ONNX Runtime change NaN or infinities; empty where there is none."""
    return _first({}, ONNXRUNTIME_VALUES, graph, inside, ANY)


OPENVINO_REFUSALS: Mapping[str, Refusal] = {FINITE: openvino_refusal, ANY: openvino_refusal_of_any}
TVM_REFUSALS: Mapping[str, Refusal] = {FINITE: tvm_refusal, ANY: tvm_refusal_of_any}
"""Value policy → the function that says which calls a toolchain must not get."""


def _without_elements(graph: DataflowGraph, inside: IndexSet) -> str:
    for node in (graph.nodes[index] for index in inside):
        for name in (*node.inputs, *(tensor.name for tensor in node.outputs)):
            kind = graph.types.get(name)  # A constant may be empty, as that of an input that is not used.
            if kind is not None and 0 in kind.shape:
                return f"TVM has no tensors without elements, and {name!r} of {node.op} is {kind}"
    return ""


def _first(checks: Mapping[str, Check], values: Contract, graph: DataflowGraph, inside: IndexSet, value_policy: str) -> str:
    for node in (graph.nodes[index] for index in inside):
        reason = (checks[node.op](graph, node) if node.op in checks else "") or values.refusal(graph, node, value_policy)
        if reason:
            return reason
    return ""


def _has(node: Node, slot: int) -> bool:
    """Return whether the optional input is given."""
    return slot < len(node.inputs) and node.inputs[slot] != ""


def _attention(graph: DataflowGraph, node: Node) -> str:
    """With a mask and past keys OpenVINO hides other keys than those after the query."""
    if attribute_of(graph, node, "is_causal") and _has(node, 3) and _has(node, 4):
        return "OpenVINO computes a causal Attention wrong that has a mask and past keys"
    mask = type_of(graph, node.inputs[3]) if _has(node, 3) else None
    if mask is None or mask.dtype != "float32":
        return ""
    lowest = graph.derive(ranges_of).held[node.inputs[3]][0]
    if lowest > LOWEST or (lowest == -inf and node.inputs[3] in graph.constants):
        return ""
    return f"OpenVINO computes an Attention wrong whose mask hides all keys by the lowest float32, as {node.inputs[3]!r} may"


def _average_pool(graph: DataflowGraph, node: Node) -> str:
    """Of a window that reaches beyond the pads OpenVINO counts what lies there, if there are pads at all."""
    data, pads = type_of(graph, node.inputs[0]), attribute_of(graph, node, "pads") or []
    if data is None or not (attribute_of(graph, node, "ceil_mode") and attribute_of(graph, node, "count_include_pad") and any(pads)):
        return ""
    image, sizes = data.shape[2:], node.outputs[0].type.shape[2:]
    windows = zip(sizes, *(attribute_of(graph, node, name) for name in ("strides", "kernel_shape", "dilations")), strict=True)
    ends = [(count - 1) * step + (size - 1) * apart + 1 for count, step, size, apart in windows]
    if any(end > size + sum(pads[axis :: len(image)]) for axis, (end, size) in enumerate(zip(ends, image, strict=True))):
        return "OpenVINO counts too many elements in the last windows of an AveragePool with ceil_mode, count_include_pad and pads"
    return ""


_FLOAT8 = "float8"
_FLOAT8_OF_OPENVINO = ("float8e4m3fn", "float8e5m2")


def _openvino_cast(graph: DataflowGraph, node: Node) -> str:
    """From float8 to wider types OpenVINO is exact."""
    source, result = type_of(graph, node.inputs[0]), node.outputs[0].type.dtype
    read = source.dtype if source is not None else ""
    if read.startswith(_FLOAT8) and read not in _FLOAT8_OF_OPENVINO:
        return f"OpenVINO does not take {read}"
    if result.startswith(_FLOAT8):
        return f"OpenVINO does not saturate in a {node.op} to {result}, and rounds float32 to float16 first"
    return ""


def _tvm_cast(graph: DataflowGraph, node: Node) -> str:
    """TVM drops a pair of casts, there and back; its buffers hold no float8 that another toolchain made or reads."""
    source, result = type_of(graph, node.inputs[0]), node.outputs[0].type.dtype
    read = source.dtype if source is not None else ""
    narrow = next((each for each in (result, read) if each.startswith(_FLOAT8)), "")
    return f"TVM leaves the rounding of casts to {narrow} and back out, and has no buffers of {narrow}" if narrow else ""


def _max_pool(graph: DataflowGraph, node: Node) -> str:
    if len(node.outputs) > 1 and attribute_of(graph, node, "storage_order"):
        return "OpenVINO counts the indices of a MaxPool by rows, and its storage_order asks for columns"
    return ""


def _tile(graph: DataflowGraph, node: Node) -> str:
    """Of four dimensions of which several are repeated OpenVINO then writes nothing."""
    is_known = node.inputs[1] in graph.constants
    return "" if is_known else "OpenVINO leaves outputs of a Tile unwritten whose repeats change from run to run"


def _non_max_suppression(graph: DataflowGraph, node: Node) -> str:
    """A threshold that is known is raised to the next number when OpenVINO reads the model."""
    if _has(node, 3) and node.inputs[3] not in graph.constants:
        return "OpenVINO suppresses boxes whose overlap equals the threshold, and that of this NonMaxSuppression changes from run to run"
    return ""


def _negative_scale(slot: int) -> Check:
    def check(graph: DataflowGraph, node: Node) -> str:
        name = node.inputs[slot]
        if graph.derive(ranges_of).held[name][0] >= 0:
            return ""
        return f"OpenVINO computes {node.op} wrong where the scale of the result is negative, and {name!r} may be"

    return check


LOWEST = -3.4e38
"""OpenVINO does not compute a row of an Attention right whose mask is the lowest float32 everywhere; with −∞ it does."""


def _dft(graph: DataflowGraph, node: Node) -> str:
    """From opset 20 on the axis is an input, -2 unless given; OpenVINO goes by the default of older opsets, 1, whatever it is."""
    if "axis" in node.attributes:
        return ""
    data, given = type_of(graph, node.inputs[0]), graph.constants.get(node.inputs[2]) if _has(node, 2) else None
    rank = len(data.shape) if data is not None else 0
    axis = int(given.value[0]) if given is not None and given.value else -2
    is_known = (given is not None and given.value is not None) or not _has(node, 2)
    if is_known and rank and axis % rank == 1:
        return ""
    return "OpenVINO transforms the axis 1 whatever axis the input of DFT names"


def _lstm(graph: DataflowGraph, node: Node) -> str:
    return "OpenVINO leaves the peepholes of an LSTM out" if _has(node, 7) else ""


def _rotary_embedding(graph: DataflowGraph, node: Node) -> str:
    if attribute_of(graph, node, "interleaved"):
        return "OpenVINO computes an interleaved RotaryEmbedding wrong"
    if not attribute_of(graph, node, "rotary_embedding_dim"):
        return "OpenVINO computes a RotaryEmbedding wrong that does not say its rotary_embedding_dim"
    return ""


def _resize(library: str) -> Check:
    def check(graph: DataflowGraph, node: Node) -> str:
        left_out = next((name for name in ("antialias", "exclude_outside") if attribute_of(graph, node, name)), "")
        return f"{library} leaves {left_out} of Resize out" if left_out else ""

    return check


def _openvino_resize(graph: DataflowGraph, node: Node) -> str:
    """OpenVINO is built for the sizes of one run: on others it writes past its output, or leaves a part of it as it was."""
    if node.outputs[0].type.open_axes:
        return "OpenVINO computes a Resize wrong, or crashes, whose sizes change from run to run"
    return _resize("OpenVINO")(graph, node)


def _batch_normalization(graph: DataflowGraph, node: Node) -> str:
    return "TVM computes a BatchNormalization in training mode as in inference" if attribute_of(graph, node, "training_mode") else ""


def _dropout(graph: DataflowGraph, node: Node) -> str:
    """A ratio of 0 drops nothing in either mode; TVM computes that right."""
    ratio, mode = (graph.constants.get(node.inputs[slot]) if _has(node, slot) else None for slot in (1, 2))
    is_off = mode is not None and mode.value is not None and not mode.value[0]
    drops_nothing = ratio is not None and ratio.value is not None and not ratio.value[0]
    return "TVM computes a Dropout in training mode as in inference" if _has(node, 2) and not is_off and not drops_nothing else ""


def _is_inf(graph: DataflowGraph, node: Node) -> str:
    finds_both = attribute_of(graph, node, "detect_negative") and attribute_of(graph, node, "detect_positive")
    return "" if finds_both else "TVM finds the infinities of both signs, and IsInf asks for one"


TVM_UNWRITTEN = frozenset({"RoiAlign"})
"""Operators of which TVM leaves elements as they lay in memory, here for boxes that are reversed or lie outside of the image."""


def _unwritten(graph: DataflowGraph, node: Node) -> str:
    return f"TVM leaves elements of a {node.op} unwritten"


_OPENVINO: Mapping[str, Check] = {
    "Attention": _attention,
    "AveragePool": _average_pool,
    "Cast": _openvino_cast,
    "CastLike": _openvino_cast,
    "DFT": _dft,
    "LSTM": _lstm,
    "MaxPool": _max_pool,
    "NonMaxSuppression": _non_max_suppression,
    "QLinearMatMul": _negative_scale(6),
    "QuantizeLinear": _negative_scale(1),
    "Resize": _openvino_resize,
    "RotaryEmbedding": _rotary_embedding,
    "Tile": _tile,
}

_TVM: Mapping[str, Check] = {
    "BatchNormalization": _batch_normalization,
    "Cast": _tvm_cast,
    "CastLike": _tvm_cast,
    "Dropout": _dropout,
    "IsInf": _is_inf,
    "Resize": _resize("TVM"),
    **dict.fromkeys(TVM_UNWRITTEN, _unwritten),
}
