"""Extreme values for a model's inputs: the widest that its operators bear, by what reads each input.

A graph, drawn inputs and a function that judges inputs enter; arrays and notes on what was left milder leave. Image bytes and other
integers take the full range of their type, indices the size of what they index, floats several magnitudes with ties and exact zeros, and
what is quantised goes past its range. Everything is seeded.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...base.counted import counted
from ...graph.dataflow_graph import DataflowGraph, Node, Tensor, TensorType
from ...graph.value_ranges import is_index, ranges_of, type_range
from ..model import Arrays
from ..types.dtypes import numpy_dtype

MOST_ATTEMPTS = 16
"""Runs of the reference on inputs that may be too extreme; inputs that are not reached are left as drawn."""

Make = Callable[[np.random.Generator], np.ndarray]


@dataclass(frozen=True, slots=True)
class Level:
    """A way to fill an input with values that are further out than drawn ones.

    Attributes:
        text: The values in words, for notes.
    """

    text: str
    make: Make


def find_extreme(
    graph: DataflowGraph, drawn: Arrays, settings: Collection[str], why_not: Callable[[Arrays], str]
) -> tuple[dict[str, Any], list[str]]:
    """Return the most extreme inputs that the model bears, and a note on each input that is milder than its type and reader allow.

    Args:
        drawn: Inputs that the model bears.
        settings: Names of inputs whose values are settings of operators; they stay, unless they are indices.
        why_not: Says why the model does not bear some inputs; empty where it does.
    """
    groups: dict[tuple[str, ...], list[Tensor]] = {}
    levels: dict[str, Sequence[Level]] = {}
    notes = []
    for tensor in graph.inputs:
        levels[tensor.name] = levels_of(graph, tensor, tensor.name in settings)
        reason = _why_as_drawn(graph, tensor.name) if levels[tensor.name] else ""
        if reason:
            notes.append(f"{tensor.name!r} is as drawn, since {reason}")
        elif levels[tensor.name]:
            key = (tensor.type.dtype, *(level.text for level in levels[tensor.name]))
            groups.setdefault(key, []).append(tensor)
    if not groups:
        return dict(drawn), notes

    def filled(tensors: Sequence[Tensor], number: int) -> dict[str, np.ndarray]:
        return {tensor.name: _filled(tensor, levels[tensor.name][number]) for tensor in tensors}

    widest = {**drawn, **filled([tensor for tensors in groups.values() for tensor in tensors], 0)}
    reason = why_not(widest)
    if not reason:
        return widest, notes
    chosen, attempts = dict(drawn), 1
    for tensors in groups.values():
        tried = levels[tensors[0].name]
        reason = reason if len(groups) == 1 else ""
        for number in range(1 if len(groups) == 1 else 0, len(tried)):
            if attempts == MOST_ATTEMPTS:
                reason = reason or f"{counted(attempts, 'run')} were tried for the other inputs"
                break
            attempts += 1
            extreme = {**chosen, **filled(tensors, number)}
            refusal = why_not(extreme)
            reason = reason or refusal
            if not refusal:
                chosen = extreme
                if number:
                    notes.append(f"{_named(tensors)} {tried[number].text}, not {tried[0].text}: {reason}")
                break
        else:
            notes.append(f"{_named(tensors)} as drawn, not {tried[0].text}: {reason}")
    return chosen, notes


def _named(tensors: Sequence[Tensor]) -> str:
    return f"{tensors[0].name!r} is" if len(tensors) == 1 else f"{tensors[0].name!r} and {counted(len(tensors) - 1, 'input')} like it are"


def _filled(tensor: Tensor, level: Level) -> np.ndarray:
    random = np.random.default_rng([1, zlib.crc32(tensor.name.encode())])
    values = level.make(random).astype(numpy_dtype(tensor.type.dtype))
    return np.ascontiguousarray(values).reshape(tensor.type.shape)


def levels_of(graph: DataflowGraph, tensor: Tensor, is_setting: bool = False) -> Sequence[Level]:
    """Return ways to fill an input with extreme values, the widest first; none for what has no extremes, such as booleans and text."""
    kind = tensor.type
    if kind.is_opaque or 0 in kind.shape:
        return ()
    if "int" in kind.dtype:
        index = _index_level(graph, tensor)
        return (index,) if index else () if is_setting else _integer_levels(kind)
    return () if is_setting or kind.dtype not in _SPANS else _float_levels(graph, tensor)


# Integers.

_STEPS = ((-(2**40), 2**40), (0, 2**40), (-(2**31), 2**31 - 1), (0, 2**31 - 1), (0, 2**25), (0, 65535), (0, 8191), (0, 999), (0, 99))
"""Ranges of integers below the full one, the widest first. Powers of 8191 and 999 that fit into 32 bits are beyond what float32 holds."""
_EDGES = (0, 1, -1, 2**8, 2**15, 2**16, 2**24 + 1, -(2**24) - 1, 2**31 - 1, 2**31, -(2**31), 2**32 + 1, 2**53 + 1)
"""Values at which types of fewer bits, and float32 and float64, no longer hold every integer."""
_LOWER_HALVES = (0, 1, 2**31)


def _integer_levels(kind: TensorType) -> Sequence[Level]:
    low, high = (int(end) for end in type_range(kind.dtype))
    steps = [step for step in _STEPS if low <= step[0] and step[1] <= high and step != (low, high)]
    full = Level(f"over the full range of {kind.dtype}", partial(_integers, kind, low, high))
    return full, *(Level(f"from {least} to {most}", partial(_integers, kind, least, most)) for least, most in steps)


def _integers(kind: TensorType, low: int, high: int, random: np.random.Generator) -> np.ndarray:
    """Draw integers evenly from `low` to `high`; of types of more than 16 bits a third are edges of types, and a third are small.

    A third of these is made of few halves instead where the range holds both halves of 64 bits, at the same positions in every input.
    """
    dtype, size = numpy_dtype(kind.dtype), int(np.prod(kind.shape))
    values = random.integers(low, high, size, dtype, endpoint=True)
    if high - low >= 2**16:
        edges = np.array([edge for edge in (low, high, *_EDGES) if low <= edge <= high], dtype)
        which = random.integers(0, 3, size)
        values = np.where(which == 0, random.choice(edges, size), np.where(which == 1, values, random.integers(0, 10, size, dtype)))
    if high - low >= 2**34:
        values = np.where(np.random.default_rng(2).integers(0, 3, size) == 0, _of_few_halves(kind, low, high, random), values)
    for position, end in zip(random.permutation(size)[:2], (high, low), strict=False):
        values[position] = end
    return values


def _of_few_halves(kind: TensorType, low: int, high: int, random: np.random.Generator) -> np.ndarray:
    """Draw integers whose upper and lower 32 bits are each one of few, the same for every input.

    So two inputs have pairs that are equal in one half alone, which a comparison or a difference in fewer bits takes for equal.
    """
    dtype, size = numpy_dtype(kind.dtype), int(np.prod(kind.shape))
    upper = np.random.default_rng(2).integers(-(-low >> 32), (high + 1 >> 32) - 1, 3, dtype, endpoint=True)
    lower = np.array(_LOWER_HALVES, dtype)
    return random.choice(upper, size) << dtype.type(32) | random.choice(lower, size)


_INDEXED = {
    ("Gather", 1): (0, None), ("GatherElements", 1): (0, None), ("Scatter", 1): (0, None), ("ScatterElements", 1): (0, None),
    ("com.microsoft.EmbedLayerNormalization", 0): (2, 0), ("com.microsoft.EmbedLayerNormalization", 1): (4, 0),
    ("com.microsoft.RotaryEmbedding", 1): (2, 0), ("RotaryEmbedding", 3): (1, 0),
}  # fmt: skip
"""Operator and slot of indices → the slot that they index, and its axis; None for the operator's attribute."""
_INDEX_ROWS = frozenset({("GatherND", 1), ("ScatterND", 1)})
_EACH_ONCE = frozenset({"Scatter", "ScatterElements"})
"""Operators whose result is not defined where two indices are equal."""


def _index_level(graph: DataflowGraph, tensor: Tensor) -> Level | None:
    """Return how to fill an input that holds indices, from the first to the last of what they index; None for any other."""
    for node, slot in _readers_behind(graph, tensor.name):
        count = _indexed_count(graph, node, slot)
        if (node.op, slot) in _INDEX_ROWS:
            rows = _rows_of(graph, node, tensor.type)
            if rows is not None:
                return rows
        elif count is not None:
            axis = node.attributes.get("axis", 0)
            spreads = node.op in _EACH_ONCE and -len(tensor.type.shape) <= axis < len(tensor.type.shape)
            make = partial(_spread, tensor.type, count, axis) if spreads else partial(_integers, tensor.type, 0, count - 1)
            return Level(f"from 0 to {count - 1}", make)
    return None


def _indexed_count(graph: DataflowGraph, node: Node, slot: int) -> int | None:
    """Return how many values an index at this slot can have; None where it is none, or that is not known."""
    if node.op == "OneHot" and slot == 0:
        depth = graph.constants.get(node.inputs[1])
        return int(depth.value[0]) if depth is not None and depth.value and depth.value[0] > 0 else None
    if node.op == "BitShift" and slot == 1:
        return int(type_range(node.outputs[0].type.dtype)[1]).bit_length()
    if (node.op, slot) not in _INDEXED:
        return None
    source, axis = _INDEXED[node.op, slot]
    data = _type_of(graph, node.inputs[source]) if source < len(node.inputs) else None
    axis = node.attributes.get("axis", 0) if axis is None else axis
    if data is None or data.open_axes or not -len(data.shape) <= axis < len(data.shape):
        return None
    return data.shape[axis] or None


def _spread(kind: TensorType, count: int, axis: int, random: np.random.Generator) -> np.ndarray:
    """Return indices that differ along `axis`, as far as there are enough of them."""
    size = kind.shape[axis]
    along = np.linspace(0, count - 1, size).astype(np.int64) if 1 < size <= count else count - 1 - np.arange(size) % count
    shape = [1] * len(kind.shape)
    shape[axis] = size
    return np.broadcast_to(along.reshape(shape), kind.shape)


def _rows_of(graph: DataflowGraph, node: Node, kind: TensorType) -> Level | None:
    """Return how to fill rows of indices, from the first to the last element or slice of the data."""
    data, width = _type_of(graph, node.inputs[0]), kind.shape[-1] if kind.shape else 0
    skipped = node.attributes.get("batch_dims", 0)
    if data is None or data.open_axes or not 0 < width <= len(data.shape) - skipped:
        return None
    sizes = data.shape[skipped : skipped + width]
    if 0 in sizes:
        return None

    def make(random: np.random.Generator) -> np.ndarray:
        count, rows = int(np.prod(sizes)), int(np.prod(kind.shape)) // width
        flat = np.linspace(0, count - 1, rows).astype(np.int64) if 1 < rows <= count else count - 1 - np.arange(rows) % count
        return np.stack(np.unravel_index(flat, sizes), axis=-1).reshape(kind.shape)

    return Level(f"rows of indices up to {[size - 1 for size in sizes]}", make)


# Floats.

_SPANS: Mapping[str, Sequence[float]] = {
    "float16": (1e2, 10.0, 1.0),
    **dict.fromkeys(("float32", "bfloat16"), (1e4, 1e2, 10.0, 1.0)),
    "float64": (1e60, 1e4, 1e2, 10.0, 1.0),
}
"""Dtype → magnitudes that rows of an input go up to, and down to one over them. No double beyond 1e38 fits into float32."""
_ROWS_BY_SPAN = (1.0, 1.0, -1.0, 0.0, -0.5, 0.5)
"""Powers of the span that rows have in turn."""
_IMAGE_READERS = frozenset(
    {"Conv", "ConvTranspose", "com.microsoft.FusedConv", "BatchNormalization", "InstanceNormalization", "GroupNormalization"}
    | {"LayerNormalization", "RMSNormalization", "LpNormalization", "LRN", "MeanVarianceNormalization"}
)
_BEFORE_READER = frozenset(
    {"Add", "Cast", "Concat", "Div", "Flatten", "Identity", "Mul", "Pad", "Reshape", "Resize", "Squeeze", "Sub", "Transpose", "Unsqueeze"}
)
"""Operators behind which the first reader of an image is looked for."""
_PAST_RANGE = 4.0
"""Times that values of what is quantised go past the range of its type."""


def _float_levels(graph: DataflowGraph, tensor: Tensor) -> Sequence[Level]:
    kind, readers = tensor.type, list(_readers_behind(graph, tensor.name))
    spans = [Level(_span_text(span), partial(_magnitudes, kind, span)) for span in _SPANS[kind.dtype]]
    steps = (_step(graph, node) for node, slot in readers if node.op == "QuantizeLinear" and slot == 0)
    largest = next((step for step in steps if step), None)
    if largest is not None:
        return Level("past the range that it is quantised to", partial(_past, kind, largest)), spans[-1]
    first = {node.op for node, slot in _readers_behind(graph, tensor.name, _BEFORE_READER) if slot == 0}
    if first & _IMAGE_READERS:
        return Level("like the bytes of an image, from 0 to 255", partial(_image, kind)), spans[-1]
    return spans


def _span_text(span: float) -> str:
    return f"of magnitudes from {1 / span:g} to {span:g}" if span > 1 else "from -1 to 1"


def _step(graph: DataflowGraph, node: Node) -> float | None:
    """Return the largest value that a QuantizeLinear holds; None where its scale is not known."""
    scale = graph.constants.get(node.inputs[1])
    known = None if scale is None else max(scale.value) if scale.value else scale.range and scale.range[1]
    top = type_range(node.outputs[0].type.dtype)[1]
    return float(known) * top if known and np.isfinite(top) else None


def _tied(kind: TensorType, random: np.random.Generator) -> np.ndarray:
    """Draw numbers from -1 to 1. About a third are exactly -1 or 1, and some are exactly zero."""
    values = np.clip(random.standard_normal(kind.shape), -1, 1)
    values = np.where(random.random(kind.shape) < 0.05, 0.0, values).reshape(-1)
    values[:2] = (1, -1)[: values.size]
    return values.reshape(kind.shape)


def _magnitudes(kind: TensorType, span: float, random: np.random.Generator) -> np.ndarray:
    """Draw numbers whose magnitude changes from row to row: from channel to channel, or in a single row from element to element."""
    shape = kind.shape
    axis = next((axis for axis in (1 if len(shape) > 2 else 0, len(shape) - 1) if shape and shape[axis] > 1), None)
    if axis is None:
        return _tied(kind, random) * span
    along = [1] * len(shape)
    along[axis] = shape[axis]
    rows = span ** np.resize(np.array(_ROWS_BY_SPAN), shape[axis])
    return _tied(kind, random) * rows.reshape(along)


def _image(kind: TensorType, random: np.random.Generator) -> np.ndarray:
    """Draw whole numbers from 0 to 255 around another mean in each channel, so that some stretches are saturated."""
    means = random.uniform(0, 255, kind.shape[:2] + (1,) * (len(kind.shape) - 2)) if len(kind.shape) > 2 else 127.0
    return np.clip(np.round(means + 80 * random.standard_normal(kind.shape)), 0, 255)


def _past(kind: TensorType, largest: float, random: np.random.Generator) -> np.ndarray:
    return random.uniform(-_PAST_RANGE * largest, _PAST_RANGE * largest, kind.shape)


# What reads an input.

_PASSED_ON = frozenset({"Cast", "Concat", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})


def _readers_behind(graph: DataflowGraph, name: str, passed_on: frozenset[str] = _PASSED_ON) -> Iterator[tuple[Node, int]]:
    """Yield the nodes that read a tensor, also behind those that pass its values on, with the slot; in the order of the graph."""
    behind = {name}
    for node in graph.nodes:
        for slot, read in enumerate(node.inputs):
            if read in behind:
                yield node, slot
                if node.op in passed_on and (slot == 0 or node.op in ("Concat", "Add", "Mul")):
                    behind.add(node.outputs[0].name)


def _type_of(graph: DataflowGraph, name: str) -> TensorType | None:
    constant = graph.constants.get(name)
    return graph.types.get(name) or (None if constant is None else constant.type)


_REFUSES_OUT_OF_RANGE = frozenset(op for op, _ in _INDEXED) | {"GatherND", "ScatterND", "OneHot"}
"""Operators that refuse or ignore an index that is too large."""
_VALUES_END = frozenset({"Shape", "Size"})
"""Operators whose outputs do not depend on the values that they read."""


def _why_as_drawn(graph: DataflowGraph, name: str) -> str:
    """Return why large values in an input may end the process or take all of its memory; empty where they may not."""
    ranges = graph.derive(ranges_of)
    behind = {name}
    for node in graph.nodes:
        slots = [slot for slot, read in enumerate(node.inputs) if read in behind]
        if not slots or node.op in _VALUES_END:
            continue
        if node.op in ("Loop", "Scan") or (node.inner and any(_is_integer(graph, node.inputs[slot]) for slot in slots)):
            return f"node {node.name!r} may run its body by them"
        sizes = [slot for slot in slots if is_index(node, slot) or (node.op, slot) in _FACTORS or node.op == "Range"]
        if sizes and (node.op not in _REFUSES_OUT_OF_RANGE or any((node.op, slot) == ("OneHot", 1) for slot in sizes)):
            return f"node {node.name!r} makes a size or a position of it"
        if node.op in ("Div", "Mod") and 1 in slots and _is_integer(graph, node.inputs[1]):
            low, high = ranges.held.get(node.inputs[1], (-1, 1))
            if low <= 0 and high >= -1:
                return f"node {node.name!r} may divide integers by zero"
        behind.update(tensor.name for tensor in node.outputs)
    return ""


_FACTORS = frozenset({("Resize", 2), ("Upsample", 1)})
"""Operators and slots of floats that a size is multiplied with."""


def _is_integer(graph: DataflowGraph, name: str) -> bool:
    kind = _type_of(graph, name)
    return kind is not None and "int" in kind.dtype
