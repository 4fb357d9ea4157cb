"""`ValueRanges`: the least and the largest value that each tensor of a graph can hold, as far as the graph shows it.

A graph enters; ranges leave. Constants, shapes, indices that operators make, and arithmetic on these have known ranges. So have
tensors that an operator reads as indices or as a shape: a larger value is an error of the model. NaN is in no range.

`may_be_infinite` names the tensors that may hold infinities or NaN although every input of the model is finite. Constants hold some, as
masks of attention do; divisions, logarithms and exponentials make some unless the ranges of what they read exclude it. That sums and
products of ordinary numbers overflow is left out: it takes numbers beyond 1e19.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .dataflow_graph import HOST, DataflowGraph, Node, TensorType

Range = tuple[float, float]
"""The least and the largest value: integers are exact, and infinities stand for no bound."""

ANY: Range = (-math.inf, math.inf)
LARGEST_SIZE = 2**31 - 1
"""No dimension, and no number of elements, is larger."""
_SIZES: Range = (0, LARGEST_SIZE)
_INDICES: Range = (-LARGEST_SIZE - 1, LARGEST_SIZE)


@dataclass(frozen=True)
class ValueRanges:
    """Bounds of all tensors of a graph.

    Attributes:
        held: Tensor or constant name → the range of its values.
        wrapping: Tensors whose exact values may lie outside their integer type: ONNX wraps these around.
    """

    held: Mapping[str, Range]
    wrapping: frozenset[str]


def ranges_of(graph: DataflowGraph) -> ValueRanges:
    """Return the ranges of all tensors and constants; call it by `DataflowGraph.derive`, which keeps the answer."""
    used = _ranges_by_use(graph)
    held: dict[str, Range] = {}
    wrapping: set[str] = set()
    for name, constant in graph.constants.items():
        few = constant.value
        held[name] = (min(few), max(few)) if few else constant.range or type_range(constant.type.dtype)
    for tensor in graph.inputs:
        held[tensor.name] = _both(type_range(tensor.type.dtype), used.get(tensor.name, ANY))
    for node in graph.nodes:
        for slot, tensor in enumerate(node.outputs):
            exact, whole = _exact(_Call(graph, node, held), slot), type_range(tensor.type.dtype)
            if "int" in tensor.type.dtype and not _is_within(exact, whole):
                wrapping.add(tensor.name)
                exact = whole
            held[tensor.name] = _both(_both(exact, whole), used.get(tensor.name, ANY))
    return ValueRanges(held, frozenset(wrapping))


def type_range(dtype: str) -> Range:
    """Return the range of all values of a dtype; without bounds unless it is an integer or boolean type."""
    if dtype == "bool":
        return 0, 1
    if "int" in dtype and "(" not in dtype:
        bits, is_unsigned = int(dtype.removeprefix("u").removeprefix("int")), dtype.startswith("u")
        return (0, 2**bits - 1) if is_unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return ANY


def _both(one: Range, other: Range) -> Range:
    """Return the values in both ranges; `one` where there are none, which happens only in models that fail."""
    both = max(one[0], other[0]), min(one[1], other[1])
    return both if both[0] <= both[1] else one


def _either(*ranges: Range) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _is_within(inner: Range, outer: Range) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


# Ranges that follow from how a tensor is read.

_INDEX_SLOTS = """
    Gather GatherElements GatherND Scatter ScatterElements ScatterND: 1
    BlackmanWindow ConstantOfShape HammingWindow HannWindow: 0
    CenterCropPad CumProd CumSum Expand OneHot Pad Reshape Split SplitToSequence Squeeze Tile TopK Trilu Unsqueeze: 1
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare: 1
    Loop: 0
    DFT: 1
    DFT NonMaxSuppression RoiAlign: 2
    GRU LSTM RNN: 4
    Pad Resize: 3
    AffineGrid Col2Im MaxUnpool NegativeLogLikelihoodLoss ReverseSequence SequenceAt SequenceErase SoftmaxCrossEntropyLoss STFT: 1
    Col2Im MaxUnpool SequenceInsert TensorScatter: 2
    RotaryEmbedding STFT: 3
    Attention: 6
    com.microsoft.EmbedLayerNormalization: 0
    com.microsoft.EmbedLayerNormalization com.microsoft.RotaryEmbedding: 1
    com.microsoft.GroupQueryAttention: 5
    com.microsoft.GroupQueryAttention: 6
    Slice: 1
    Slice: 2
    Slice: 3
    Slice: 4
"""


def _slots(table: str) -> frozenset[tuple[str, int]]:
    rows = (line.partition(":") for line in table.splitlines() if line.strip())
    return frozenset((op, int(slot)) for ops, _, slot in rows for op in ops.split())


INDEX_SLOTS = _slots(_INDEX_SLOTS)
"""Operators and positions of inputs that hold indices, axes, counts or shapes."""


def is_index(node: Node, slot: int) -> bool:
    """Return whether a node reads an input as indices, axes, counts or a shape, itself or in its inner graphs."""
    return (node.op, slot) in INDEX_SLOTS or slot in node.index_slots


_PASS_ALL_ON = frozenset({"Concat", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})
"""Operators whose output holds every element of their data."""


def _ranges_by_use(graph: DataflowGraph) -> dict[str, Range]:
    """Return the ranges of integers that some operator reads as indices or as a shape, also behind operators that pass all elements on."""
    ranges: dict[str, Range] = {}
    for node in reversed(graph.nodes):
        for slot, name in enumerate(node.inputs):
            kind = graph.types.get(name)
            if kind is None or "int" not in kind.dtype:
                continue
            if is_index(node, slot):
                ranges[name] = _both(ranges.get(name, ANY), _index_range(graph, node, slot))
            elif node.op in _PASS_ALL_ON and (slot == 0 or node.op == "Concat") and node.outputs[0].name in ranges:
                ranges[name] = _both(ranges.get(name, ANY), ranges[node.outputs[0].name])
    return ranges


def _index_range(graph: DataflowGraph, node: Node, slot: int) -> Range:
    data = graph.types.get(node.inputs[0]) or _constant_type(graph, node.inputs[0])
    if node.op in ("Gather", "GatherElements") and slot == 1 and data is not None and not data.open_axes:
        axis = node.attributes.get("axis", 0)
        if -len(data.shape) <= axis < len(data.shape):
            return -data.shape[axis], data.shape[axis] - 1
    return _INDICES


def _constant_type(graph: DataflowGraph, name: str) -> TensorType | None:
    constant = graph.constants.get(name)
    return None if constant is None else constant.type


# Ranges that follow from how a tensor is made.


@dataclass(frozen=True)
class _Call:
    """A node, and what is known of what it reads."""

    graph: DataflowGraph
    node: Node
    held: Mapping[str, Range]

    def read(self, slot: int) -> Range:
        """Return the range of an input; no bounds where it is not given."""
        return self.held.get(self.node.inputs[slot], ANY) if self.has(slot) else ANY

    def has(self, slot: int) -> bool:
        return slot < len(self.node.inputs) and self.node.inputs[slot] != ""

    def type(self, slot: int = 0) -> TensorType | None:
        name = self.node.inputs[slot]
        return self.graph.types.get(name) or _constant_type(self.graph, name)

    def all(self) -> Range:
        return _either(*(self.read(slot) for slot in range(len(self.node.inputs)) if self.has(slot)))

    def size(self, axis: Any, slot: int = 0) -> int:
        """Return the largest size of an input along `axis`; how many elements it has where `axis` is None."""
        data = self.type(slot)
        if data is None or (axis is not None and not -len(data.shape) <= axis < len(data.shape)):
            return LARGEST_SIZE
        sizes = [size if size is not None else LARGEST_SIZE for size in data.largest_shape] if data.largest_shape else list(data.shape)
        if data.open_axes and not data.largest_shape:
            return LARGEST_SIZE
        return sizes[axis] if axis is not None else math.prod(sizes)


def _exact(call: _Call, slot: int) -> Range:
    """Return the range of the exact result of an output, which may lie outside its type."""
    rule = _RULES.get(call.node.op)
    if call.node.op in _INDICES_MADE:
        of_output, axis = _INDICES_MADE[call.node.op]
        if slot == of_output:
            return 0, max(call.size(call.node.attributes.get("axis", axis) if axis is not None else None) - 1, 0)
    return rule(call) if rule is not None and (slot == 0 or call.node.op == "Split") else ANY


_INDICES_MADE: Mapping[str, tuple[int, int | None]] = {
    "ArgMax": (0, 0), "ArgMin": (0, 0), "NonZero": (0, None), "TopK": (1, -1), "MaxPool": (1, None), "Unique": (1, None),
}  # fmt: skip
"""Operator → which output holds indices, and the axis that they count unless an attribute names another; None for all elements."""


def _add(call: _Call) -> Range:
    (low, high), (other_low, other_high) = call.read(0), call.read(1)
    return _sum(low, other_low, -math.inf), _sum(high, other_high, math.inf)


def _subtract(call: _Call) -> Range:
    (low, high), (other_low, other_high) = call.read(0), call.read(1)
    most = _sum(high, -other_low, math.inf)
    producer = call.graph.producer.get(call.node.inputs[1], HOST)
    maximum = call.graph.nodes[producer] if producer != HOST else None
    if maximum is not None and maximum.op == "ReduceMax" and maximum.inputs[0] == call.node.inputs[0]:
        most = min(most, 0)  # As a softmax of its parts begins.
    return _sum(low, -other_high, -math.inf), most


def _sum(one: float, other: float, unknown: float) -> float:
    """Return a sum of two bounds; `unknown` for that of infinities of both signs."""
    total = one + other
    return total if total == total else unknown


def _multiply(call: _Call) -> Range:
    if call.node.inputs[0] == call.node.inputs[1]:
        return _square(call.read(0))
    products = [_product(end, other) for end in call.read(0) for other in call.read(1)]
    return min(products), max(products)


def _product(one: float, other: float) -> float:
    return 0 if one == 0 or other == 0 else one * other


def _square(of: Range) -> Range:
    low, high = _absolute(of)
    return low * low, high * high


def _absolute(of: Range) -> Range:
    low, high = of
    return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _divide(call: _Call) -> Range:
    """Integers are divided by numbers of at least 1; for floats that is known only of constants."""
    (low, high), (least, most) = call.read(0), call.read(1)
    dtype = call.node.outputs[0].type.dtype
    if "int" in dtype:
        size = max(abs(low), abs(high))
        return (-size, size) if least <= 0 else (min(low, 0), max(high, 0))
    if least <= 0:
        return type_range(dtype)
    ends = [0.0 if math.isinf(divisor) else end / divisor for end in (low, high) for divisor in (least, most)]
    return min(ends), max(ends)


def _remainder(call: _Call) -> Range:
    (low, high), (least, most) = call.read(0), call.read(1)
    size = max(abs(least), abs(most))
    if call.node.attributes.get("fmod", 0):
        return max(min(low, 0), -size), min(max(high, 0), size)
    return (0 if least >= 0 else -size), (0 if most <= 0 else size)


def _power(call: _Call) -> Range:
    low, high = call.read(1)
    if low == high and low in (2, 4):
        square = _square(call.read(0))
        return square if low == 2 else _square(square)
    if low == high == 0.5:
        return _root(call)
    return (0, math.inf) if call.read(0)[0] >= 0 and "float" in call.node.outputs[0].type.dtype else ANY


def _root(call: _Call) -> Range:
    low, high = call.read(0)
    return math.sqrt(max(low, 0)), math.sqrt(max(high, 0))


def _exponential(call: _Call) -> Range:
    low, high = call.read(0)
    return math.exp(max(low, -1000)) if low < 700 else math.inf, math.exp(high) if high < 700 else math.inf


def _cast(call: _Call) -> Range:
    """A float loses what follows the point; an integer that the new type cannot hold wraps around, so that any may come."""
    low, high = call.read(0)
    dtype = call.node.outputs[0].type.dtype
    if dtype == "bool" or "int" not in dtype:
        return type_range(dtype) if dtype == "bool" else (low, high)
    source = call.type()
    if source is not None and "float" in source.dtype:
        low, high = (math.trunc(end) if math.isfinite(end) else end for end in (low, high))
    return (low, high) if _is_within((low, high), type_range(dtype)) else type_range(dtype)


def _shape(call: _Call) -> Range:
    known = call.type()
    if known is None or known.open_axes:
        return _SIZES
    return (min(known.shape, default=0), max(known.shape, default=0)) if call.node.op == "Shape" else (call.size(None),) * 2


def _clip(call: _Call) -> Range:
    low, high = call.read(0)
    least = call.read(1) if call.has(1) else (_number(call.node, "min", -math.inf),) * 2
    most = call.read(2) if call.has(2) else (_number(call.node, "max", math.inf),) * 2
    return min(max(low, least[0]), most[0]), min(max(high, least[1]), most[1])


def _number(node: Node, name: str, fallback: float) -> float:
    value = node.attributes.get(name, fallback)
    return value if isinstance(value, int | float) else fallback


def _extremum(choose: Callable[..., float]) -> Callable[[_Call], Range]:
    def rule(call: _Call) -> Range:
        ranges = [call.read(slot) for slot in range(len(call.node.inputs))]
        return choose(low for low, _ in ranges), choose(high for _, high in ranges)

    return rule


def _added_up(call: _Call) -> Range:
    """Of a sum over several elements, whatever the axes are."""
    low, high = call.read(0)
    count = max(call.size(None), 1)
    return min(_product(low, count), low, 0), max(_product(high, count), high, 0)


def _padded(call: _Call) -> Range:
    return _either(call.read(0), call.read(2) if call.has(2) else (0, 0))


def _with_zero(call: _Call) -> Range:
    return _either(call.read(0), (0, 0))


def _positive_part(call: _Call) -> Range:
    low, high = call.read(0)
    return max(low, 0), max(high, 0)


def _from_start_to_limit(call: _Call) -> Range:
    return _either(call.read(0), call.read(1))


def _negated(call: _Call) -> Range:
    low, high = call.read(0)
    return -high, -low


def _first(call: _Call) -> Range:
    return call.read(0)


def _both_branches(call: _Call) -> Range:
    return _either(call.read(1), call.read(2))


def _scattered(call: _Call) -> Range:
    if call.node.attributes.get("reduction", "none") != "none":
        return ANY
    return _either(call.read(0), call.read(2))


def _always(low: float, high: float) -> Callable[[_Call], Range]:
    return lambda call: (low, high)


_MOVING = """
    Compress DepthToSpace Expand Flatten Gather GatherElements GatherND Identity MaxPool Reshape ReverseSequence Slice SpaceToDepth
    Split Squeeze Tile TopK Transpose Unique Unsqueeze ReduceMax ReduceMin ReduceMean GlobalMaxPool GlobalAveragePool
"""
"""Operators whose first output holds elements of their data, or numbers between these."""

_RULES: Mapping[str, Callable[[_Call], Range]] = {
    **dict.fromkeys(_MOVING.split(), _first),
    **dict.fromkeys(("ReduceSum", "CumSum"), _added_up),
    **dict.fromkeys(("ReduceL1", "ReduceL2", "ReduceSumSquare", "Softplus"), _always(0, math.inf)),
    **dict.fromkeys(("Sigmoid", "Softmax", "HardSigmoid"), _always(0, 1)),
    **dict.fromkeys(("Tanh", "Erf", "Sin", "Cos", "Sign"), _always(-1, 1)),
    **dict.fromkeys(("Shape", "Size"), _shape),
    **dict.fromkeys(("ScatterElements", "ScatterND"), _scattered),
    "Abs": lambda call: _absolute(call.read(0)),
    "Add": _add,
    "BitShift": _always(*ANY),
    "Cast": _cast,
    "Clip": _clip,
    "Concat": _Call.all,
    "Div": _divide,
    "Exp": _exponential,
    "Max": _extremum(max),
    "Min": _extremum(min),
    "Mod": _remainder,
    "Mul": _multiply,
    "Neg": _negated,
    "NonMaxSuppression": lambda call: (0, max(call.size(0), call.size(1, slot=1), call.size(2, slot=1))),
    "Pad": _padded,
    "Pow": _power,
    "Range": _from_start_to_limit,
    "Relu": _positive_part,
    "Sqrt": _root,
    "Sub": _subtract,
    "Trilu": _with_zero,
    "Where": _both_branches,
}
"""Operator → the range of its first output; of all others nothing is known but their type."""


LARGEST_EXPONENT = 88.0
"""The exponential of a larger number is no finite float32."""

_BOUNDED = frozenset({"Erf", "HardSigmoid", "Hardmax", "Sigmoid", "Sign", "Softmax", "Softsign", "Tanh"})
"""Operators with finite results for any input. NaN passes some of them; their readers may then make NaN, too."""

_ZERO_SLOTS: Mapping[str, int] = {"Div": 1, "Log": 0, "Reciprocal": 0}


def may_be_infinite(graph: DataflowGraph) -> frozenset[str]:
    """Return the tensors and constants that may hold infinities; call it by `DataflowGraph.derive`, which keeps the answer."""
    ranges = graph.derive(ranges_of).held
    infinite = {name for name, constant in graph.constants.items() if _is_open(ranges[name], constant.type.dtype)}
    for node in graph.nodes:
        values = node.inputs[1:] if node.op == "Where" else node.inputs  # the condition decides on no value
        if _makes(node, ranges) or (node.op not in _BOUNDED and not infinite.isdisjoint(values)):
            infinite.update(tensor.name for tensor in node.outputs if "float" in tensor.type.dtype and not _is_bounded(ranges[tensor.name]))
    return frozenset(infinite)


def may_be_zero(held: Range) -> bool:
    return held[0] <= 0 <= held[1]


def _is_open(held: Range, dtype: str) -> bool:
    """Return whether a constant holds an infinity: its range is known, and ends in one."""
    return "float" in dtype and held != ANY and not _is_bounded(held)


def _is_bounded(held: Range) -> bool:
    return math.isfinite(held[0]) and math.isfinite(held[1])


def _makes(node: Node, ranges: Mapping[str, Range]) -> bool:
    """Return whether a call may make infinities of finite numbers."""
    if not node.inputs:
        return False
    held = ranges.get(node.inputs[0], ANY)
    if node.op in ("Exp", "Sinh", "Cosh"):
        return held[1] > LARGEST_EXPONENT
    if node.op == "Pow":
        exponent = ranges.get(node.inputs[1], ANY)
        return exponent[0] < 0 and may_be_zero(held)
    slot = _ZERO_SLOTS.get(node.op)
    return slot is not None and may_be_zero(ranges.get(node.inputs[slot], ANY))
