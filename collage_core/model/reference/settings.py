"""Values for inputs that are settings of the operators that read them: shapes, axes, sizes, scales, indices and counts.

A model with fixed input shapes enters; arrays leave for those of its inputs for which drawn numbers would make no sense. What an input
means follows from its position at the operator that reads it. All other inputs are drawn as numbers (`inputs`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from ...graph.dataflow_graph import Tensor
from ..nodes import op_name
from ..shapes.inference import infer
from ..types.dtypes import dtype_name, numpy_dtype

Shape = tuple[int, ...]

_PASSED_ON = frozenset({"Cast", "Concat", "Identity", "Squeeze", "Unsqueeze"})
"""Operators behind which a setting is still one."""
_PICKED = frozenset({"Gather", "Reshape"})
"""Further operators that hand on the element of a tensor that has only one."""
_INTEGER_TYPES = frozenset(
    {TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8, TensorProto.UINT16}
)
_DRAWN_BELOW = 10
"""Integers are drawn below this (`inputs`)."""
_TURNS, _LENGTH, _COUNT = 3, 10, 3
"""Turns of a loop, length of a window or a range, and how many elements are picked."""


@dataclass(frozen=True, slots=True)
class Use:
    """An input at an operator that reads it.

    Attributes:
        shape: Shape of the input.
        is_integer: Whether it holds integers.
        data: Shape of what the operator works on, its first input; None where it is not known.
        node: The operator's node.
    """

    shape: Shape
    is_integer: bool
    data: Shape | None
    node: NodeProto

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    def attribute(self, name: str, default: int) -> int:
        return next((item.i for item in self.node.attribute if item.name == name), default)

    def size(self, axis_default: int) -> int | None:
        """Return the size of the data along the node's axis."""
        axis = self.attribute("axis", axis_default)
        return None if self.data is None or not -len(self.data) <= axis < len(self.data) else self.data[axis]


Values = Sequence[float] | np.ndarray | float | None
Maker = Callable[[Use], Values]


def settings_of(model: ModelProto, inputs: Sequence[Tensor]) -> dict[str, np.ndarray]:
    """Return values for those `inputs` of `model` that are settings, by name."""
    uses = {tensor.name: list(_uses(model.graph, tensor.name)) for tensor in inputs}
    if not any((op_name(node), at) in MAKERS for found in uses.values() for node, at in found):
        return {}
    shapes = _shapes(model)
    made = ((tensor, _value(tensor, uses[tensor.name], shapes)) for tensor in inputs if not tensor.type.is_container)
    return {tensor.name: value for tensor, value in made if value is not None}


def compared_values(model: ModelProto) -> dict[str, np.ndarray]:
    """Return for integer inputs of one element the first value that `model` compares them with, such as a sample rate, by name.

    The constant is looked for behind operators that hand the element on.
    """
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    values: dict[str, np.ndarray] = {}
    for value in model.graph.input:
        shape, dtype = [dim.dim_value for dim in value.type.tensor_type.shape.dim], value.type.tensor_type.elem_type
        if dtype not in _INTEGER_TYPES or any(size != 1 for size in shape):
            continue
        others = (node.input[1 - at] for node, at in _comparisons(model.graph, value.name) if node.input[1 - at] in constants)
        known = next((number for name in others if (number := numpy_helper.to_array(constants[name])).size == 1), None)
        if known is not None and np.can_cast(np.min_scalar_type(known), numpy_dtype(dtype_name(dtype)), "same_kind"):
            values[value.name] = known.reshape(shape).astype(numpy_dtype(dtype_name(dtype)))
    return values


def _comparisons(graph: GraphProto, name: str) -> Iterator[tuple[NodeProto, int]]:
    """Yield the `Equal` nodes that read the only element of the tensor `name`, and at which input."""
    for node in graph.node:
        for at, read in enumerate(node.input):
            if read != name:
                continue
            if op_name(node) == "Equal":
                yield node, at
            elif at == 0 and op_name(node) in _PASSED_ON | _PICKED:
                yield from _comparisons(graph, node.output[0])


def _uses(graph: GraphProto, name: str) -> Iterator[tuple[NodeProto, int]]:
    """Yield the nodes that read the tensor `name`, also behind those that pass it on, with its position."""
    for node in graph.node:
        for at, read in enumerate(node.input):
            if read != name:
                continue
            yield node, at
            if op_name(node) in _PASSED_ON and at == 0:
                yield from _uses(graph, node.output[0])


def _shapes(model: ModelProto) -> dict[str, Shape]:
    constants = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    return constants | {name: kind.shape for name, kind in infer(model).types.items()}


def _value(tensor: Tensor, uses: Sequence[tuple[NodeProto, int]], shapes: Mapping[str, Shape]) -> np.ndarray | None:
    for node, at in uses:
        make, dtype = MAKERS.get((op_name(node), at)), numpy_dtype(tensor.type.dtype)
        values = make(Use(tensor.type.shape, dtype.kind in "iu", shapes.get(node.input[0]), node)) if make else None
        if values is not None and dtype.kind in "biuf":
            return np.broadcast_to(np.asarray(values), tensor.type.shape).astype(dtype)
    return None


def _all(value: float) -> Maker:
    return lambda use: value


def _axes(use: Use) -> Values:
    return np.arange(use.count).reshape(use.shape)


def _squeezed(use: Use) -> Values:
    ones = [axis for axis, size in enumerate(use.data or ()) if size == 1]
    return ones[: use.count] if len(ones) >= use.count else None


def _same_shape(use: Use) -> Values:
    """A shape with as many elements as the data: its own where it has as many dimensions."""
    if use.data is not None and len(use.data) == use.count:
        return list(use.data)
    return [-1, *[1] * (use.count - 1)] if use.count else None


def _expanded(use: Use) -> Values:
    known = use.data or ()
    return [1] * (use.count - len(known)) + list(known) if len(known) <= use.count else [1] * use.count


def _doubled(use: Use) -> Values:
    return None if use.data is None or len(use.data) != use.count else [2 * size for size in use.data]


def _region(use: Use) -> Values:
    return [0] * (use.count // 2) + [1] * (use.count - use.count // 2)


def _picked(use: Use) -> Values:
    size = use.size(-1)
    return None if size is None else min(size, _COUNT)


def _parts(use: Use) -> Values:
    size, count = use.size(0), use.count
    return None if size is None or not count else [size // count] * (count - 1) + [size - size // count * (count - 1)]


def _leading(use: Use) -> Values:
    return None if use.data is None or len(use.data) < use.count else list(use.data[: use.count])


def _indices(use: Use) -> Values:
    """Each index of a short axis in turn; indices of a long one are drawn like other integers, which are small."""
    size = use.size(0)
    return np.arange(use.count).reshape(use.shape) % size if size and size < _DRAWN_BELOW else None


def _divisors(use: Use) -> Values:
    """Integers other than 0; floats are drawn like others."""
    return 1 + np.arange(use.count).reshape(use.shape) % 7 if use.is_integer else None


def _index_rows(use: Use) -> Values:
    """Rows of indices, each of which addresses an element of the data, or a slice of it."""
    width = use.shape[-1] if use.shape else 0
    if use.data is None or not 0 < width <= len(use.data) or 0 in use.data[:width]:
        return None
    rows = np.arange(use.count // width) % math.prod(use.data[:width])
    return np.stack(np.unravel_index(rows, use.data[:width]), axis=-1).reshape(use.shape)


def _whole(axis: int) -> Maker:
    """The size of the data along `axis`: a sequence of full length."""
    return lambda use: None if use.data is None or axis >= len(use.data) else use.data[axis]


_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
_FAR = 2**31 - 1

MAKERS: Mapping[tuple[str, int], Maker] = {
    **{(f"Reduce{name}", 1): _axes for name in _REDUCTIONS},
    ("CenterCropPad", 1): _leading,
    ("Clip", 1): lambda use: 1 if use.is_integer else -1,
    ("Clip", 2): lambda use: 7 if use.is_integer else 1,
    ("ConstantOfShape", 0): _all(2),
    ("CumSum", 1): _all(0),
    ("DequantizeLinear", 1): _all(0.125),
    ("DFT", 1): _whole(1),
    ("DFT", 2): _all(1),
    ("Div", 1): _divisors,
    ("Expand", 1): _expanded,
    ("Gather", 1): _indices,
    ("GatherElements", 1): _indices,
    ("GatherND", 1): _index_rows,
    ("GRU", 4): _whole(0),
    ("HammingWindow", 0): _all(_LENGTH),
    ("HannWindow", 0): _all(_LENGTH),
    ("BlackmanWindow", 0): _all(_LENGTH),
    ("LSTM", 4): _whole(0),
    ("Loop", 0): _all(_TURNS),
    ("Loop", 1): _all(1),
    ("Mod", 1): _divisors,
    ("NonMaxSuppression", 2): _all(_COUNT),
    ("NonMaxSuppression", 3): _all(0.5),
    ("NonMaxSuppression", 4): _all(0),
    ("OneHot", 1): _all(_LENGTH),
    ("Pad", 1): _all(1),
    ("Pad", 3): _axes,
    ("QuantizeLinear", 1): _all(0.125),
    ("RNN", 4): _whole(0),
    ("Range", 0): _all(0),
    ("Range", 1): _all(_LENGTH),
    ("Range", 2): _all(1),
    ("Reshape", 1): _same_shape,
    ("Resize", 1): _region,
    ("Resize", 2): _all(2),
    ("Resize", 3): _doubled,
    ("RoiAlign", 2): _all(0),
    ("STFT", 1): _all(4),
    ("STFT", 3): _all(8),
    ("Scatter", 1): _indices,
    ("ScatterElements", 1): _indices,
    ("ScatterND", 1): _index_rows,
    ("Slice", 1): _all(0),
    ("Slice", 2): _all(_FAR),
    ("Slice", 3): _axes,
    ("Slice", 4): _all(1),
    ("Split", 1): _parts,
    ("Squeeze", 1): _squeezed,
    ("Tile", 1): _all(2),
    ("TopK", 1): _picked,
    ("Trilu", 1): _all(0),
    ("Unsqueeze", 1): _axes,
    ("Upsample", 1): _all(2),
}
"""Operator and position of an input → its values there."""
