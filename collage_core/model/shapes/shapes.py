"""Fixes the shapes of a model's inputs, from the user's shapes, the values of symbols, and a batch of one.

A model and the user's shapes by input name enter; in the same model every dimension of every input is a number afterwards.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from onnx import ModelProto, TensorShapeProto, ValueInfoProto

from ...base.counted import counted
from ...base.open_inputs import OpenInput, OpenShapes
from ...errors import CollageError
from ..types.dtypes import type_name

Shape = tuple[int, ...]

_BATCH = re.compile(r"^(n|b|bs|bsz)$|batch", re.IGNORECASE)
# A first dimension that is named after a length is not the batch: setting it to 1 would be a guess.
_LENGTH = re.compile(r"seq|len|time|frame|token|height|width", re.IGNORECASE)
# Exporters write these for unknown dimensions; two of them need not be equal.
_NOT_A_NAME = {"", "?", "*", "-1", "None", "none"}

CLASSIFIER_SIDE, DETECTOR_SIDE = 224, 640
"""Likely widths of a picture, for an example. Detectors join features of several strides, up to 32 and more: their pictures are larger."""

LENGTH = 128
"""A likely size of any other dynamic dimension."""
MOST_EXAMPLES = 6
"""The most options that an example shows."""

MOST_ELEMENTS = 16
"""Most elements of an input whose value can be fixed."""
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")

_OF_DETECTORS = {"NonMaxSuppression", "Resize", "Upsample"}


def fix_shapes(model: ModelProto, said: Mapping[str, Sequence[int]], brought: Mapping[str, Shape] | None = None) -> dict[str, Shape]:
    """Fix the shapes of all inputs of `model`, in their order.

    A dynamic dimension gets the given size; else the size that its symbol has in another input; else 1 where it is the batch, which
    is the first dimension or one of that name. Any other dynamic dimension is an error.

    Args:
        said: Shapes that the user says. A first size of 0 is taken for a slip of the pen; another may be an empty cache.
        brought: Shapes of the user's own input arrays, for inputs whose shape is not given. May be empty.

    Returns:
        The shapes by input name.

    Raises:
        CollageError: an input without a shape, a dynamic dimension, or a given shape that does not fit.
    """
    inputs = {value.name: value for value in model.graph.input if not _is_container(value)}
    for name, shape in said.items():
        hint = f"its inputs are {describe_inputs(model)}"
        if name not in inputs:
            known = next((value for value in model.graph.input if value.name == name), None)
            what = "the model has no input" if known is None else f"no shape can be given for a {type_name(known.type)}, the input"
            raise CollageError(f"{what} {name!r}", hint, "shape")
        if any(size < 0 for size in shape) or 0 in shape[:1]:
            text = ",".join(map(str, shape))
            wanted = "a positive number, and then numbers of 0 or more"
            raise CollageError(f"the shape {text!r} of input {name!r} must be {wanted}", hint, "shape")
    given = {**(brought or {}), **said}
    dimensions = input_dimensions(model)
    symbols: dict[str, int] = {}
    for name, shape in given.items():
        _apply_given(model, inputs[name], tuple(shape), symbols)
    for value in inputs.values():
        _bind_batch(value, symbols)
    side = DETECTOR_SIDE if any(node.op_type in _OF_DETECTORS for node in model.graph.node) else CLASSIFIER_SIDE
    rest = [value for name, value in inputs.items() if name not in given]
    try:
        closed = {value.name: _close(value, rest[position:], symbols, side) for position, value in enumerate(rest)}
    except OpenShapes as error:
        left = {name: value for name, value in inputs.items() if name not in given}
        error.inputs = tuple(_open_input(value, dimensions.get(name), symbols, side) for name, value in left.items())
        raise
    return {name: tuple(given[name]) if name in given else closed[name] for name in inputs}


def assumed_sizes(model: ModelProto, said: Collection[str]) -> dict[str, int]:
    """Return the dynamic dimensions that `fix_shapes` sets to 1 since they have no given size: symbol, or ``input[axis]`` → 1.

    Args:
        model: The model as it is before its shapes are fixed.
        said: The inputs whose shapes are known from the user.
    """
    inputs = [value for value in model.graph.input if value.type.WhichOneof("value") == "tensor_type"]
    known = {_symbol(dim) for value in inputs if value.name in said for dim in _dims(value)}
    open_ones = [(value.name, axis, dim) for value in inputs if value.name not in said for axis, dim in enumerate(_dims(value))]
    return {
        _symbol(dim) or f"{name}[{axis}]": 1
        for name, axis, dim in open_ones
        if not _is_fixed(dim) and (not _symbol(dim) or _symbol(dim) not in known)
    }


def assumed_texts(sizes: Mapping[str, int]) -> tuple[str, ...]:
    """Return a note for each of the `assumed_sizes`."""
    return tuple(f"{name} was not given and is {size}" for name, size in sizes.items())


def _is_container(value: ValueInfoProto) -> bool:
    """Return whether an input is a sequence, an optional or a map, which need no shape.

    Raises:
        CollageError: it is something else than these or a tensor.
    """
    kind = value.type.WhichOneof("value") or "value without a type"
    if kind in ("sparse_tensor_type", "opaque_type", "value without a type"):
        what = kind.removesuffix("_type").replace("_", " ")
        hint = "export it with tensors, sequences or optionals as its inputs"
        raise CollageError(f"input {value.name!r} is a {what}, which no toolchain takes", hint, "unsupported")
    return kind != "tensor_type"


def shapes_of(model: ModelProto, arrays: Mapping[str, np.ndarray]) -> dict[str, Shape]:
    """Return the shapes of the user's `arrays` for inputs of `model`; what fits no input is found when they are checked."""
    tensors = [value for value in model.graph.input if value.type.WhichOneof("value") == "tensor_type"]
    ranks = {value.name: len(_dims(value)) if value.type.tensor_type.HasField("shape") else None for value in tensors}
    return {name: array.shape for name, array in arrays.items() if name in ranks and ranks[name] in (None, array.ndim)}


def describe_inputs(model: ModelProto) -> str:
    """Return the names and shapes of the inputs of `model` as text."""
    return ", ".join(f"{value.name} {_written(value)}" for value in model.graph.input)


def input_dimensions(model: ModelProto) -> dict[str, list[str]]:
    """Return the dimensions of each input as `model` has them: a size, a symbol, or ``?``; no input whose rank it does not say."""
    constants = {value.name for value in model.graph.initializer}
    shaped = [value for value in model.graph.input if value.name not in constants and value.type.tensor_type.HasField("shape")]
    return {value.name: [str(dim.dim_value) if _is_fixed(dim) else (_symbol(dim) or "?") for dim in _dims(value)] for value in shaped}


def dynamic_inputs(model: ModelProto) -> list[str]:
    """Return the names of the inputs of `model` whose shape can be given: a dimension is dynamic, or the rank is unknown."""
    tensors = [value for value in model.graph.input if value.type.WhichOneof("value") == "tensor_type"]
    has_shape = {value.name: value.type.tensor_type.HasField("shape") for value in tensors}
    return [value.name for value in tensors if not has_shape[value.name] or not all(map(_is_fixed, _dims(value)))]


def sizes_hint(sizes: Mapping[str, Sequence[int]], values: Mapping[str, object]) -> str:
    """Return the hint for a model that is refused with these shapes of its dynamic inputs; it has branches for such `values` of others."""
    shown = " ".join(filter(None, [_joined([_option(name, shape) for name, shape in sizes.items()]), value_options(values)]))
    return f"the sizes of its inputs may not fit each other, give others: {shown}; else check the model with `onnx.checker`"


def value_options(values: Mapping[str, object]) -> str:
    """Return ``--value`` for each of `values`, as a shell reads them."""
    return _joined([f"--value {shlex.quote(f'{name}={value}')}" for name, value in values.items()])


def _written(value: ValueInfoProto) -> str:
    """Return the shape of `value` as text, such as ``[N, 3, ?, 224]``."""
    if not value.type.tensor_type.HasField("shape"):
        return "[unknown]"
    return "[" + ", ".join(str(dim.dim_value) if _is_fixed(dim) else (dim.dim_param or "?") for dim in _dims(value)) + "]"


def _dims(value: ValueInfoProto) -> Sequence[TensorShapeProto.Dimension]:
    return value.type.tensor_type.shape.dim


def _is_fixed(dim: TensorShapeProto.Dimension) -> bool:
    return dim.HasField("dim_value") and dim.dim_value > 0


def _symbol(dim: TensorShapeProto.Dimension) -> str:
    return "" if dim.dim_param in _NOT_A_NAME else dim.dim_param


def _apply_given(model: ModelProto, value: ValueInfoProto, shape: Shape, symbols: dict[str, int]) -> None:
    sizes = ",".join(map(str, shape))
    hint = f"its inputs are {describe_inputs(model)}"
    if value.type.tensor_type.HasField("shape"):
        dims = _dims(value)
        if len(dims) != len(shape):
            raise CollageError(
                f"the shape {sizes!r} of input {value.name!r} has {counted(len(shape), 'dimension')}, not {len(dims)}",
                hint,
                "shape",
            )
        for index, (dim, size) in enumerate(zip(dims, shape, strict=True)):
            if _is_fixed(dim) and dim.dim_value != size:
                message = (
                    f"the shape {sizes!r} of input {value.name!r} has {size} in dimension {index}, the model fixes it to {dim.dim_value}"
                )
                raise CollageError(message, hint, "shape")
            if not _is_fixed(dim) and _symbol(dim):
                symbols.setdefault(_symbol(dim), size)
    set_shape(value, shape)


def set_shape(value: ValueInfoProto, shape: Shape) -> None:
    """Give `value` a shape of numbers."""
    fixed = value.type.tensor_type.shape
    del fixed.dim[:]
    fixed.SetInParent()
    for size in shape:
        fixed.dim.add().dim_value = size


def _bind_batch(value: ValueInfoProto, symbols: dict[str, int]) -> None:
    """Set the symbols of `value` that are its batch to 1, where they have no value yet."""
    for index, dim in enumerate(_dims(value)):
        if not _is_fixed(dim) and _symbol(dim) and _is_batch(dim, index):
            symbols.setdefault(_symbol(dim), 1)


def _is_batch(dim: TensorShapeProto.Dimension, index: int) -> bool:
    symbol = _symbol(dim)
    return bool(_BATCH.search(symbol)) or (index == 0 and not _LENGTH.search(symbol))


def _close(value: ValueInfoProto, rest: Sequence[ValueInfoProto], symbols: Mapping[str, int], side: int) -> Shape:
    """Fix the dimensions of `value` that are still dynamic, and return its shape.

    Args:
        rest: `value`, and the inputs behind it that are to be fixed.
        side: The likely width of a picture.
    """
    if not value.type.tensor_type.HasField("shape"):
        raise OpenShapes(f"input {value.name!r} has no shape", f"give it one, such as {_option(value.name, (1, 3, side, side))}")
    shape = []
    for index, dim in enumerate(_dims(value)):
        size = _size(dim, index, symbols)
        if size is None:
            raise _open(value, index, rest, symbols, side)
        shape.append(size)
    set_shape(value, tuple(shape))
    return tuple(shape)


def _size(dim: TensorShapeProto.Dimension, index: int, symbols: Mapping[str, int]) -> int | None:
    """Return the size of the dimension `index` of an input, 1 where it is the batch; None where it is dynamic."""
    if _is_fixed(dim):
        return dim.dim_value
    return symbols.get(_symbol(dim), 1 if _is_batch(dim, index) else None)


def _open(value: ValueInfoProto, index: int, rest: Sequence[ValueInfoProto], symbols: Mapping[str, int], side: int) -> OpenShapes:
    """Return the error for the dynamic dimension `index` of `value`, with an example of the options for all of `rest` that need one."""
    likely = dict(symbols)
    sizes = {other.name: _likely(other, likely, side) for other in rest if _is_asked(other, symbols)}
    called = f" ({_symbol(_dims(value)[index])!r})" if _symbol(_dims(value)[index]) else ""
    message = f"input {value.name!r} {_written(value)} has the dynamic dimension {index}{called}"
    return OpenShapes(message, shapes_hint(sizes))


def shapes_hint(sizes: Mapping[str, Sequence[int]]) -> str:
    """Return the hint that proposes `sizes` for inputs whose shapes must be said."""
    what = "its shape" if len(sizes) == 1 else "the shapes of the inputs"
    return f"say {what}, such as {_joined([_option(name, shape) for name, shape in sizes.items()])}"


def _is_asked(value: ValueInfoProto, symbols: Mapping[str, int]) -> bool:
    """Return whether sizes of `value` must be said; where not even their number is known, that has an error of its own."""
    has_shape = value.type.tensor_type.HasField("shape")
    return has_shape and None in [_size(dim, index, symbols) for index, dim in enumerate(_dims(value))]


def _likely(value: ValueInfoProto, symbols: dict[str, int], side: int) -> Shape:
    """Return likely sizes of `value`, which its symbols get in `symbols`, too."""
    dims = _dims(value)
    sizes = []
    for index, dim in enumerate(dims):
        sizes.append(_size(dim, index, symbols) or (side if len(dims) == 4 else LENGTH))
        if _symbol(dim):
            symbols.setdefault(_symbol(dim), sizes[-1])
    return tuple(sizes)


def _open_input(value: ValueInfoProto, dimensions: Sequence[str] | None, symbols: dict[str, int], side: int) -> OpenInput:
    """Return what can be said of an input, which may have got its sizes since its `dimensions` were read."""
    dtype = type_name(value.type)
    if dimensions is None:
        return OpenInput(value.name, dtype, None, (1, 3, side, side), True)
    is_asked, sizes = _is_asked(value, symbols), _likely(value, symbols, side)
    is_small = all(one.isdigit() for one in dimensions) and math.prod(sizes) <= MOST_ELEMENTS
    takes_value = is_small and (dtype in INTEGERS or dtype == "bool" or (not sizes and dtype in FLOATS))
    return OpenInput(value.name, dtype, tuple(dimensions), sizes, is_asked, takes_value)


def _option(name: str, shape: Sequence[int]) -> str:
    """Return ``--shape`` for an input, as a shell reads it."""
    sizes = ",".join(map(str, shape))
    return f"--shape {shlex.quote(f'{name}={sizes}')}"


def _joined(options: Sequence[str]) -> str:
    return " ".join(options[:MOST_EXAMPLES]) + (" …" if len(options) > MOST_EXAMPLES else "")
