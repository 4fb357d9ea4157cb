"""Which calls ncnn computes right, and why not the others: one check an operator, on plain graph data. ncnn is not imported.

A call of a graph enters; a reason in words leaves, empty where ncnn takes the call. `ncnn_import` asks the same checks before it converts a
call, and the functions that plan a call (`pads_of`, `reduced_axes` … here, and those of `ncnn_mats`) are the ones that it converts by.

ncnn has no batch axis. Most operators need none: their tensors are viewed with neighbouring axes merged, the batch among them. A
convolution does, and refuses a batch other than 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ...graph.dataflow_graph import HOST, DataflowGraph, Node, TensorType
from ...graph.value_policy import ANY, FINITE
from ...graph.value_ranges import ranges_of
from ...rules.operators import attribute_of, type_of
from ..values.contracts import NCNN_VALUES
from .ncnn_mats import Shape, broadcast, broadcast_shape, groups_of, image, merged_permutation, product_shapes

Check = Callable[["Call"], str]


@dataclass(frozen=True)
class Call:
    """A node of a graph, and what its checks ask of it."""

    graph: DataflowGraph
    node: Node

    def has(self, slot: int) -> bool:
        """Return whether the optional input is given."""
        return slot < len(self.node.inputs) and self.node.inputs[slot] != ""

    def is_constant(self, slot: int) -> bool:
        return self.has(slot) and self.node.inputs[slot] in self.graph.constants

    def type(self, slot: int) -> TensorType:
        known = type_of(self.graph, self.node.inputs[slot])
        if known is None:
            raise KeyError(self.node.inputs[slot])
        return known

    def shape(self, slot: int = 0) -> Shape:
        return self.type(slot).shape

    @property
    def shapes(self) -> list[Shape]:
        """Shapes of the inputs that are given."""
        return [self.shape(slot) for slot in range(len(self.node.inputs)) if self.has(slot)]

    @property
    def out(self) -> Shape:
        return self.node.outputs[0].type.shape

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute, or ONNX's default for it, or `default`."""
        value = attribute_of(self.graph, self.node, name)
        return default if value is None else value

    def values(self, slot: int) -> tuple[int | float | bool, ...] | None:
        """Return the values of a constant input; None where it is not given or its values are not in the graph."""
        return self.graph.constants[self.node.inputs[slot]].value if self.is_constant(slot) else None

    def scalar(self, slot: int, fallback: float) -> float:
        """Return the value of a constant of one element; `fallback` where it is not given."""
        values = self.values(slot)
        return float(values[0]) if values else fallback

    def integers(self, slot: int, attribute: str) -> tuple[int, ...] | None:
        """Return a list of integers that older opsets have as an attribute and newer ones as an input; None where there is neither."""
        given = self.attribute(attribute)
        values = self.values(slot) if given is None else [given] if isinstance(given, int) else given
        return None if values is None else tuple(map(int, values))

    def axis(self, default: int) -> int:
        """Return the attribute ``axis``, counted from 0."""
        axis = int(self.attribute("axis", default))
        return axis + len(self.shape()) if axis < 0 else axis


def refusal(graph: DataflowGraph, node: Node) -> str:
    """Return why ncnn does not compute `node` right; empty where it does."""
    check = CHECKS.get(node.op)
    if check is None:
        return f"ncnn has no layer for {node.op}"
    call = Call(graph, node)
    return _general_refusal(call) or check(call)


def refusal_of_values(graph: DataflowGraph, node: Node) -> str:
    """Return why ncnn does not compute `node` right, by what the whole model shows of the values that arrive; a part shows less of them."""
    return refusal(graph, node) or _near_zero(graph, node) or NCNN_VALUES.refusal(graph, node, FINITE)


def refusal_of_any_values(graph: DataflowGraph, node: Node) -> str:
    """Return the same where NaN and infinities count, too."""
    return refusal(graph, node) or NCNN_VALUES.refusal(graph, node, ANY)


REFUSALS_OF_VALUES: Mapping[str, Callable[[DataflowGraph, Node], str]] = {FINITE: refusal_of_values, ANY: refusal_of_any_values}
"""Value policy → the function that says which calls ncnn must not get."""


LEAST_NORMAL = 1.2e-38
"""The least float32 of full precision."""

_NEAR_ZERO: Mapping[str, tuple[int, str]] = {
    "Div": (1, "divides by"),
    "Log": (0, "takes the logarithm of"),
    "Pow": (0, "takes the reciprocal of"),
    "Reciprocal": (0, "takes the reciprocal of"),
}
"""Operator → the input whose zeros ncnn answers with NaN in place of an infinity, and what the operator does with it."""


def _near_zero(graph: DataflowGraph, node: Node) -> str:
    """Return that ncnn makes NaN of a zero, where one may arrive: its divisions and logarithms are approximations."""
    if node.op not in _NEAR_ZERO or (node.op == "Pow" and Call(graph, node).scalar(1, 1.0) != -1.0):
        return ""
    slot, what = _NEAR_ZERO[node.op]
    low, high = graph.derive(ranges_of).held[node.inputs[slot]]
    if low >= LEAST_NORMAL or high <= -LEAST_NORMAL or _is_norm_of_dividend(graph, node):
        return ""
    return f"ncnn has NaN for the infinity of a zero, and {node.op} of float32 {what} {node.inputs[slot]!r}, which may hold one"


def _is_norm_of_dividend(graph: DataflowGraph, node: Node) -> bool:
    """Return whether a tensor is divided by its own norm: that is 0 only where the tensor is, and 0/0 is NaN everywhere."""
    maker = graph.producer.get(node.inputs[-1], HOST)
    return maker != HOST and graph.nodes[maker].op in ("ReduceL1", "ReduceL2") and graph.nodes[maker].inputs[0] == node.inputs[0]


def _general_refusal(call: Call) -> str:
    """Return what is wrong with the tensors of `call`, whatever the operator."""
    node, parameters = call.node, PARAMETERS.get(call.node.op, ())
    data = [slot for slot in range(len(node.inputs)) if call.has(slot) and slot not in parameters]
    types = [call.type(slot) for slot in data] + [tensor.type for tensor in node.outputs]
    odd = next((kind.dtype for kind in types if kind.dtype != "float32"), None)
    if odd:
        return f"ncnn computes in float32, and {node.op} has {odd}"
    if any(0 in kind.shape for kind in types):
        return f"ncnn has no empty tensors, and {node.op} has one"
    loose = next((slot for slot in parameters if call.has(slot) and not call.is_constant(slot)), None)
    if loose is not None:
        return f"input {loose} of {node.op} must be a constant"
    if all(call.is_constant(slot) for slot in data):
        return f"{node.op} reads constants alone"
    if node.op not in MANY_OUTPUTS and len(node.outputs) > 1:
        return f"ncnn gives only the first output of {node.op}"
    return ""


# Plans, which the checks and `ncnn_import` share.


def window(call: Call, kernel: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Return kernel, strides and dilations of a window over two axes; one over a single axis becomes one over rows of one."""
    strides, dilations = call.attribute("strides") or [1] * len(kernel), call.attribute("dilations") or [1] * len(kernel)
    lead = [1] * (2 - len(kernel))
    return [*lead, *kernel], [*lead, *strides], [*lead, *dilations]


def pads_of(call: Call, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> list[int]:
    """Return the pads of a window as top, left, bottom, right; ``auto_pad`` is worked out."""
    mode = call.attribute("auto_pad", "NOTSET")
    if mode == "NOTSET":
        given = list(call.attribute("pads") or [0, 0, 0, 0])
        return given if len(given) == 4 else [0, given[0], 0, given[1]]
    if mode == "VALID":
        return [0, 0, 0, 0]
    ins = image(call.shape())[1:]
    totals = [
        max((-(-size // stride) - 1) * stride + (side - 1) * dilation + 1 - size, 0)
        for size, stride, side, dilation in zip(ins, strides, kernel, dilations, strict=True)
    ]
    small = [total // 2 for total in totals]
    large = [total - half for total, half in zip(totals, small, strict=True)]
    return [*small, *large] if mode == "SAME_UPPER" else [*large, *small]


# Checks.


def _taken(call: Call) -> str:
    return ""


def _rank_of_image(call: Call) -> str:
    rank = len(call.shape())
    return "" if rank in (3, 4) else f"{call.node.op} needs rank 3 or 4, and this has {rank}"


def _convolution(call: Call) -> str:
    if _rank_of_image(call):
        return _rank_of_image(call)
    if call.shape()[0] != 1:
        return f"ncnn has no batch axis, and {call.node.op} has a batch of {call.shape()[0]}"
    return _window(call)


def _window(call: Call) -> str:
    pads = call.attribute("pads") or ()
    if min(pads, default=0) < 0:
        return f"{call.node.op} has negative pads"
    if call.attribute("auto_pad", "NOTSET") not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        return f"{call.node.op} has the unknown auto_pad {call.attribute('auto_pad')!r}"
    return ""


def _transposed_convolution(call: Call) -> str:
    if call.attribute("auto_pad", "NOTSET") != "NOTSET" or call.attribute("output_shape") is not None:
        return "ConvTranspose must have explicit pads"
    _, strides, _ = window(call, call.shape(1)[2:])
    extra = call.attribute("output_padding") or [0]
    if any(more >= stride for more, stride in zip(extra, strides[-len(extra) :], strict=True)):
        return "ConvTranspose has an output_padding that is not below its stride"
    return _convolution(call)


def _pool(call: Call) -> str:
    if _rank_of_image(call):
        return _rank_of_image(call)
    if set(call.attribute("dilations") or [1]) != {1}:
        return f"{call.node.op} has dilations"
    kernel, strides, dilations = window(call, call.attribute("kernel_shape"))
    pads = pads_of(call, kernel, strides, dilations)
    if any(pad >= side for pad, side in zip(pads, kernel * 2, strict=True)):
        return f"{call.node.op} has pads as large as its window"
    sizes = [size + pads[axis] + pads[axis + 2] - kernel[axis] for axis, size in enumerate(image(call.shape())[1:])]
    ceil = call.attribute("ceil_mode") and any(size % stride for size, stride in zip(sizes, strides, strict=True))
    if ceil and call.node.op == "AveragePool":
        return "AveragePool has windows that are cut off (ceil_mode)"
    outs = tuple((-(-size // stride) if ceil else size // stride) + 1 for size, stride in zip(sizes, strides, strict=True))
    if outs != image(call.out)[1:]:
        return f"{call.node.op} leaves out its last windows"
    return _window(call)


def _prelu(call: Call) -> str:
    shape, slope = call.shape(), call.shape(1)
    aligned = (1,) * (len(shape) - len(slope)) + slope
    if prod(slope) == 1:
        return ""
    channel = [axis for axis, size in enumerate(aligned) if size != 1]
    if len(channel) == 1 and aligned[channel[0]] == shape[channel[0]] and prod(shape[: channel[0]]) == 1:
        return ""
    return "PRelu must have one slope, or one a channel, and no batch"


def _batch_norm(call: Call) -> str:
    if call.attribute("training_mode"):
        return "BatchNormalization is in training mode"
    if call.node.attributes.get("spatial", 1) != 1:
        return "BatchNormalization is not spatial"
    return "" if len(call.shape()) > 1 else "BatchNormalization has no channels"


def _binary(call: Call) -> str:
    return _checked_broadcast(call.out, call.shapes, call.node.op)


def _variadic(call: Call) -> str:
    out: Shape = call.shape(0)
    for shape in call.shapes[1:]:
        both = broadcast_shape(out, shape)
        wrong = _checked_broadcast(both, [out, shape], call.node.op)
        if wrong:
            return wrong
        out = both
    return ""


def _checked_broadcast(out: Shape, shapes: Sequence[Shape], op: str) -> str:
    return "" if broadcast(out, shapes) is not None else f"{op} broadcasts over more than four axes"


POWERS = (0.5, 1.0, 2.0, 3.0, -1.0)
"""Exponents that are written as other layers: ncnn's own power is wrong on negative bases."""


def _power(call: Call) -> str:
    exponent = call.values(1)
    if exponent is None or len(exponent) != 1 or float(exponent[0]) not in POWERS:
        return f"Pow must have one constant exponent of {', '.join(f'{power:g}' for power in POWERS)}"
    return "" if call.out == call.shape() else "Pow broadcasts its base"


def _dropout(call: Call) -> str:
    is_training = call.values(2) if call.has(2) else (False,)
    return "" if is_training is not None and not any(is_training) else "Dropout is in training mode"


def _bounds(call: Call) -> str:
    unknown = [slot for slot in (1, 2) if call.has(slot) and call.values(slot) is None]
    return "Clip has bounds that are not finite numbers" if unknown else ""


def _slice(call: Call) -> str:
    lists = [call.integers(slot, name) for slot, name in ((1, "starts"), (2, "ends"), (3, "axes"))]
    if lists[0] is None or lists[1] is None or (call.has(3) and lists[2] is None):
        return "Slice has bounds that the graph does not know"
    steps = call.values(4) if call.has(4) else (1,)
    if steps is None or set(steps) != {1}:
        return "Slice has a step other than 1"
    return ""


def _transpose(call: Call) -> str:
    shape = call.shape()
    order = call.attribute("perm") or list(range(len(shape)))[::-1]
    merged, _ = merged_permutation(shape, order)
    return "" if len(merged) <= 4 else f"Transpose moves {len(merged)} axes, and ncnn can move four"


PAD_TYPES = {"constant": 0, "edge": 1, "reflect": 2}


def pad_amounts(call: Call) -> tuple[list[int], list[int]] | None:
    """Return how much is added before and after each axis; None where the graph does not know."""
    pads, rank = call.integers(1, "pads"), len(call.shape())
    axes = call.values(3) if call.has(3) else range(rank)
    if pads is None or axes is None:
        return None
    before, after = [0] * rank, [0] * rank
    for index, axis in enumerate(axes):
        before[int(axis)], after[int(axis)] = pads[index], pads[len(pads) // 2 + index]
    return before, after


def _pad(call: Call) -> str:
    mode, amounts, shape = call.attribute("mode"), pad_amounts(call), call.shape()
    if mode not in PAD_TYPES:
        return f"Pad has the mode {mode}"
    if amounts is None or (call.has(2) and call.values(2) is None):
        return "Pad has amounts that the graph does not know"
    before, after = amounts
    if min(*before, *after) < 0:
        return "Pad takes away"
    if any(before[:-2]) or any(after[:-2]):
        return "Pad adds to other than the last two axes"
    if mode == "reflect" and any(amount >= size for amount, size in zip(before + after, shape * 2, strict=True)):
        return "Pad reflects more than there is"
    return ""


def _resize(call: Call) -> str:
    shape, out = call.shape(), call.out
    if len(shape) not in (3, 4) or shape[:2] != out[:2]:
        return f"{call.node.op} must be over the last one or two of three or four axes"
    mode = call.attribute("mode")
    if mode not in ("nearest", "linear"):
        return f"{call.node.op} has the mode {mode}"
    if call.attribute("antialias") or call.attribute("axes") or call.attribute("exclude_outside"):
        return f"{call.node.op} has an option that ncnn does not know"
    if call.attribute("keep_aspect_ratio_policy", "stretch") != "stretch":
        return f"{call.node.op} keeps an aspect ratio"
    return _coordinates(call, mode)


def _coordinates(call: Call, mode: str) -> str:
    """Return why the coordinates of a Resize are not those of ncnn."""
    where = call.node.attributes.get("coordinate_transformation_mode", "half_pixel")
    if call.node.op == "Upsample" or len(call.node.inputs) == 2:
        where = "asymmetric"
    if mode == "linear":
        if where == "pytorch_half_pixel" and 1 in call.out[2:]:
            return f"{call.node.op} interpolates to one element with coordinates {where}"
        known = where in ("half_pixel", "pytorch_half_pixel", "align_corners")
        return "" if known else f"{call.node.op} interpolates with coordinates {where}"
    rounding = call.node.attributes.get("nearest_mode", "round_prefer_floor")
    if call.node.op == "Upsample" or len(call.node.inputs) == 2:
        rounding = "floor"
    grows = [out % size == 0 for out, size in zip(call.out[2:], call.shape()[2:], strict=True)]
    if where == "asymmetric" and rounding == "floor" and all(grows):
        return ""
    return f"{call.node.op} takes the nearest element by {where} and {rounding}, or to no multiple of the size"


def _group_norm(call: Call) -> str:
    shape, groups = call.shape(), int(call.attribute("num_groups"))
    if prod(shape[1:]) == groups:
        return "GroupNormalization has groups of one element"
    if len(shape) < 2 or call.shape(1) not in ((shape[1],), (groups,)):
        return "GroupNormalization has another number of scales than of channels or groups"
    return ""


def _has_rows(call: Call) -> str:
    return "" if len(call.shape()) > 2 else f"{call.node.op} has no axes after the channels"


def _layer_norm(call: Call) -> str:
    axis = call.axis(-1)
    inner = call.shape()[axis:]
    given = [call.shape(slot) for slot in (1, 2) if call.has(slot)]
    if any(prod(shape) != prod(inner) for shape in given):
        return f"{call.node.op} broadcasts its scale"
    return ""


def _lrn(call: Call) -> str:
    if int(call.attribute("size")) % 2 == 0:
        return "LRN has an even size"
    return "" if len(call.shape()) > 2 and call.shape()[0] == 1 else "LRN needs channels, and no batch"


def reduced_axes(call: Call) -> tuple[int, ...] | None:
    """Return the axes that a reduction goes over, counted from 0; None where the graph does not know."""
    rank = len(call.shape())
    axes = call.integers(1, "axes")
    if axes is None and call.has(1):
        return None
    if not axes:
        return () if call.attribute("noop_with_empty_axes") else tuple(range(rank))
    return tuple(sorted(axis % rank for axis in axes))


def _reduction(call: Call) -> str:
    axes = reduced_axes(call)
    if axes is None:
        return f"{call.node.op} has axes that the graph does not know"
    runs = groups_of(call.shape(), axes)
    if not any(inside for _, inside in runs):
        return f"{call.node.op} reduces nothing"
    return "" if len(runs) <= 4 else f"{call.node.op} reduces axes that are not neighbours"


def _product(call: Call) -> str:
    return "" if product_shapes(call.shape(0), call.shape(1)) else "MatMul broadcasts its batch"


def _recurrent(call: Call) -> str:
    op, shape = call.node.op, call.shape()
    if shape[1] != 1 or call.attribute("layout"):
        return f"ncnn has no batch axis, and {op} has a batch of {shape[1]}, or its layout is not by time"
    if any(call.has(slot) for slot in (4, 5, 6, 7)):
        return f"{op} has lengths, first states or peepholes"
    if call.node.attributes.keys() & {"activations", "activation_alpha", "activation_beta", "clip"} or call.attribute("input_forget"):
        return f"{op} has activations of its own"
    if len(call.node.outputs) > 1 or call.node.outputs[0].type.shape != _sequence(call):
        return f"ncnn gives only the sequence of {op}, not its last state"
    if op == "GRU" and not call.attribute("linear_before_reset"):
        return "GRU has its reset before the product"
    return ""


def _sequence(call: Call) -> Shape:
    """Return the shape of the first output of a recurrent operator."""
    steps, batch, _ = call.shape()
    return steps, call.shape(1)[0], batch, call.shape(2)[2]


def _blocks(call: Call) -> str:
    if len(call.shape()) != 4 or call.shape()[0] != 1:
        return f"ncnn has no batch axis, and {call.node.op} has one"
    return ""


def _cumulative(call: Call) -> str:
    if call.attribute("exclusive") or call.attribute("reverse"):
        return "CumSum is exclusive or reverse"
    return "" if call.values(1) is not None else "CumSum has an axis that the graph does not know"


_PARAMETERS = """
    Conv ConvTranspose LayerNormalization InstanceNormalization GroupNormalization RMSNormalization: 1 2
    Clip: 1 2
    BatchNormalization: 1 2 3 4
    PRelu Pow Upsample Split Reshape Squeeze Unsqueeze CumSum: 1
    ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp: 1
    Pad Resize Slice: 1 2 3
    Slice: 1 2 3 4
    Dropout: 1 2
    LSTM GRU: 1 2 3
"""


def _read(table: str) -> dict[str, tuple[int, ...]]:
    lines = (line.partition(":") for line in table.splitlines() if line.strip())
    return {op: tuple(map(int, slots.split())) for ops, _, slots in lines for op in ops.split()}


PARAMETERS: Mapping[str, tuple[int, ...]] = _read(_PARAMETERS)
"""Operator → its inputs that must be constants: they are read when the network is made."""

MANY_OUTPUTS = frozenset({"Split", "LSTM", "GRU"})
"""Operators whose own check looks at the number of outputs."""

_PLAIN = """
    Abs Acos Asin Atan Cast Ceil Celu Concat Cos Elu Erf Exp Flatten Floor Gelu Gemm HardSigmoid HardSwish Identity LeakyRelu Log
    LogSoftmax Mish Neg Reciprocal Relu Reshape Round Selu Shrink Sigmoid Sin Softmax Softplus Split Sqrt Squeeze Tan Tanh Unsqueeze
"""
"""Operators of which ncnn takes every call that `_general_refusal` leaves."""
_REDUCTIONS = "Sum Mean Max Min Prod L1 L2 SumSquare LogSum LogSumExp"

CHECKS: Mapping[str, Check] = {
    **dict.fromkeys(_PLAIN.split(), _taken),
    **{f"Reduce{name}": _reduction for name in _REDUCTIONS.split()},
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _binary),
    **dict.fromkeys(("Max", "Min", "Sum", "Mean"), _variadic),
    "AveragePool": _pool,
    "BatchNormalization": _batch_norm,
    "Clip": _bounds,
    "Conv": _convolution,
    "ConvTranspose": _transposed_convolution,
    "CumSum": _cumulative,
    "DepthToSpace": _blocks,
    "Dropout": _dropout,
    "GlobalAveragePool": _has_rows,
    "GlobalMaxPool": _has_rows,
    "GroupNormalization": _group_norm,
    "GRU": _recurrent,
    "InstanceNormalization": _has_rows,
    "LRN": _lrn,
    "LSTM": _recurrent,
    "LayerNormalization": _layer_norm,
    "MatMul": _product,
    "MaxPool": _pool,
    "PRelu": _prelu,
    "Pad": _pad,
    "Pow": _power,
    "RMSNormalization": _layer_norm,
    "Resize": _resize,
    "Slice": _slice,
    "SpaceToDepth": _blocks,
    "Transpose": _transpose,
    "Upsample": _resize,
}
"""Operator → the check of its calls."""
