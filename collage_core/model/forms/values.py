"""Fixes the values of small inputs of a model (a sample rate, a flag): each becomes a constant, and what rests on it alone is folded.

A model with fixed shapes and the user's values by input name enter; afterwards the model has a constant in place of each of these
inputs. Nothing is folded here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, numpy_helper

from ...errors import CollageError
from ..shapes.shapes import FLOATS, INTEGERS, MOST_ELEMENTS, describe_inputs
from ..types.dtypes import dtype_name, numpy_dtype

Number = bool | int | float
Value = str | Number | Sequence[Number]
"""A value as the user gives it: text such as ``16000`` or ``0.5,1``, or numbers."""

_BOOLS = {"true": True, "false": False, "1": True, "0": False}
_SHOWN = 60


def implied_shapes(model: ModelProto, given: Mapping[str, Value]) -> dict[str, tuple[int, ...]]:
    """Return the shapes that follow from values: a vector of open length is as long as its value."""
    dims = {value.name: _dims(value) for value in model.graph.input}
    vectors = [name for name in given if len(dims.get(name, ())) == 1 and dims[name][0].dim_value <= 0]
    return {name: (len(_parts(given[name])),) for name in vectors}


def fix_values(model: ModelProto, given: Mapping[str, Value]) -> dict[str, Number | list[Number]]:
    """Turn the inputs `given` of `model`, whose shapes are fixed, into constants, in place.

    Returns:
        Name → the value as the model has it, in the order of the model's inputs: a number, or a list of all of its numbers. It can
        be given again.

    Raises:
        CollageError: there is no such input, or a value is of another type or size, out of range, or too large.
    """
    inputs = {value.name: value for value in model.graph.input}
    for name in given:
        if name not in inputs:
            raise CollageError(f"the model has no input {name!r}", f"its inputs are {describe_inputs(model)}", "value")
    arrays = {
        name: _array(name, given[name], dtype_name(value.type.tensor_type.elem_type), [dim.dim_value for dim in _dims(value)])
        for name, value in inputs.items()
        if name in given
    }
    del model.graph.input[:]
    model.graph.input.extend(value for name, value in inputs.items() if name not in given)
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    return {name: array.ravel().tolist() if array.ndim else array.item() for name, array in arrays.items()}


def check_not_fixed(fixed: Mapping[str, object], arrays: Iterable[str]) -> None:
    """Raise CollageError where a name among `arrays` is that of an input that was fixed."""
    for name in arrays:
        if name in fixed:
            raise CollageError(f"the input {name!r} is fixed to {fixed[name]}", "leave it out, or don't fix it", "inputs")


def _dims(value: Any) -> Sequence[Any]:
    dims: Sequence[Any] = value.type.tensor_type.shape.dim
    return dims


def _array(name: str, value: Value, dtype: str, shape: list[int]) -> np.ndarray:
    """Return `value` as an array of the type and shape of the input `name`."""
    if dtype not in ("bool", *INTEGERS, *FLOATS):
        raise CollageError(f"the input {name!r} is of type {dtype}: its value cannot be fixed", "fix numbers and flags", "value")
    size, parts = math.prod(shape), _parts(value)
    if size > MOST_ELEMENTS:
        message = f"the input {name!r} has {size} elements, the value of at most {MOST_ELEMENTS} can be fixed"
        raise CollageError(message, "leave it an input", "value")
    if len(parts) != size:
        message = f"the value {_shown(value)} of input {name!r} has {len(parts)} elements, its shape {shape} wants {size}"
        raise CollageError(message, f"give {size}, with commas between", "value")
    read = [_number(part, dtype) for part in parts]
    wrong = next((part for part, number in zip(parts, read, strict=True) if number is None), None)
    if wrong is not None:
        raise CollageError(f"the value {_shown(wrong)} of input {name!r} is no {dtype}", _hint(dtype), "value")
    with np.errstate(over="ignore"):
        array = np.array(read, numpy_dtype(dtype)).reshape(shape)
    if dtype in FLOATS and not np.isfinite(array.astype(np.float64)).all():
        raise CollageError(f"the value {_shown(value)} of input {name!r} is out of the range of {dtype}", _hint(dtype), "value")
    return array


def _parts(value: Value) -> list[Any]:
    """Return the elements of a value, as text or as numbers, in their order."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    if isinstance(value, np.ndarray | np.generic):
        return list(value.ravel().tolist())
    return list(value) if isinstance(value, list | tuple) else [value]


def _number(part: Any, dtype: str) -> Number | None:
    """Return an element as a number that fits `dtype`; None where it is none. A float that is too large for `dtype` is returned."""
    if dtype == "bool":
        return _BOOLS.get(str(part).lower())
    if not isinstance(part, str | int | float) or isinstance(part, bool):
        return None
    try:
        if dtype in FLOATS:
            real = float(part)
            return real if math.isfinite(real) else None
        whole = int(part) if isinstance(part, str | int) else None
    except (ValueError, OverflowError):
        return None
    limits = np.iinfo(dtype)
    return whole if whole is not None and limits.min <= whole <= limits.max else None


def _hint(dtype: str) -> str:
    if dtype == "bool":
        return "give true or false"
    if dtype in FLOATS:
        return "give a finite number, such as 0.5"
    limits = np.iinfo(dtype)
    return f"give a whole number from {limits.min} to {limits.max}"


def _shown(value: Value) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
