"""Converts between element types: ONNX's numbers, the names that the graph uses, and numpy's dtypes; packs elements of less than a byte.

The graph uses numpy's name where numpy has the type, else ONNX's in lower case (``bfloat16``, ``float8e4m3fn``, ``int4``,
``string``), and for all that is no tensor ONNX's own text (``seq(tensor(float))``), which ONNX Runtime writes, too. `packed` and `unpacked`
have the arrays of `ml_dtypes`, which spend a byte on each element, on one side and ONNX's bytes on the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod

import numpy as np
from onnx import TensorProto, TypeProto, helper

from ...graph.dataflow_graph import TensorType

BITS = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float4e2m1": 4, "float6e2m3": 6, "float6e3m2": 6}
"""Types that ONNX packs into parts of a byte → the bits of an element."""


@cache
def dtype_name(elem_type: int) -> str:
    """Return the graph's name of ONNX's element type `elem_type`; ``undefined`` for what ONNX does not know."""
    if elem_type == TensorProto.STRING:
        return "string"
    if elem_type not in TensorProto.DataType.values():
        return "undefined"
    dtype = helper.tensor_dtype_to_np_dtype(elem_type) if elem_type != TensorProto.UNDEFINED else None
    if dtype is not None and dtype.kind in "biufc" and dtype.type.__module__ == "numpy":
        return dtype.name
    return TensorProto.DataType.Name(elem_type).lower()


@cache
def _elem_types() -> dict[str, int]:
    return {dtype_name(number): number for number in TensorProto.DataType.values()}


def elem_type(name: str) -> int:
    """Return ONNX's number for the graph's dtype `name`."""
    return _elem_types()[name]


def numpy_dtype(name: str) -> np.dtype:
    """Return the numpy dtype of arrays of the graph's dtype `name` (object for strings)."""
    return np.dtype(object) if name == "string" else np.dtype(helper.tensor_dtype_to_np_dtype(elem_type(name)))


@cache
def _names() -> dict[np.dtype, str]:
    return {numpy_dtype(name): name for name in _elem_types() if name not in ("string", "undefined")}


def graph_dtype(dtype: np.dtype) -> str:
    """Return the graph's name of the type of an array."""
    return "string" if dtype.kind in "OUST" else _names()[dtype]


def array_type(value: np.ndarray) -> TensorType:
    """Return the type of an array as the graph names it."""
    return TensorType(value.shape, graph_dtype(value.dtype))


def type_name(kind: TypeProto) -> str:
    """Return the name of `kind`; empty where it says none."""
    which = kind.WhichOneof("value")
    return dtype_name(kind.tensor_type.elem_type) if which == "tensor_type" else _text(kind)


def _text(kind: TypeProto) -> str:
    which = kind.WhichOneof("value")
    if which == "tensor_type":
        return f"tensor({TensorProto.DataType.Name(kind.tensor_type.elem_type).lower()})"
    if which == "sequence_type":
        return f"seq({_text(kind.sequence_type.elem_type)})"
    if which == "optional_type":
        return f"optional({_text(kind.optional_type.elem_type)})"
    if which == "map_type":
        return f"map({TensorProto.DataType.Name(kind.map_type.key_type).lower()},{_text(kind.map_type.value_type)})"
    return "" if which is None else f"{which.removesuffix('_type')}()"


def type_proto(name: str, shape: Sequence[int | None] | None) -> TypeProto:
    """Return the type of this name. `shape` is that of a tensor; tensors inside of other types have none."""
    outer, _, inner = name.partition("(")
    inner = inner.removesuffix(")")
    if not inner:
        return helper.make_tensor_type_proto(elem_type(name), shape)
    if outer == "tensor":
        return helper.make_tensor_type_proto(TensorProto.DataType.Value(inner.upper()), None)
    if outer == "map":
        key, _, value = inner.partition(",")
        return helper.make_map_type_proto(TensorProto.DataType.Value(key.upper()), type_proto(value, None))
    make = helper.make_sequence_type_proto if outer == "seq" else helper.make_optional_type_proto
    return make(type_proto(inner, None))


def element_of(name: str) -> str:
    """Return the graph's dtype of the tensors in a sequence or an optional of this name; empty where they are in a map."""
    innermost = name.rpartition("(")[2].rstrip(")")
    return "" if "map(" in name else dtype_name(TensorProto.DataType.Value(innermost.upper()))


def element_shape(kind: TypeProto) -> tuple[int, ...]:
    """Return the shape that `kind` declares for a tensor in a sequence or an optional, with 1 for each dynamic dimension; else none."""
    while (which := kind.WhichOneof("value")) in ("sequence_type", "optional_type"):
        kind = getattr(kind, which).elem_type
    return tuple(max(dim.dim_value, 0) if dim.HasField("dim_value") else 1 for dim in kind.tensor_type.shape.dim)


def packed(array: np.ndarray, bits: int) -> np.ndarray:
    """Return the elements of `array`, of `bits` bits each, as a vector of bytes."""
    each = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    per_byte = 8 // bits
    filled = np.zeros(-(-each.size // per_byte) * per_byte, np.uint8)
    filled[: each.size] = each
    return np.bitwise_or.reduce(filled.reshape(-1, per_byte) << _shifts(bits), axis=1).astype(np.uint8)


def unpacked(data: np.ndarray, bits: int, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """Return the elements that lie in the bytes `data` as an array of `shape` and `dtype`."""
    each = ((data.reshape(-1, 1) >> _shifts(bits)) & ((1 << bits) - 1)).reshape(-1)[: prod(shape)]
    return each.astype(np.uint8).view(dtype).reshape(shape)


def _shifts(bits: int) -> np.ndarray:
    return np.arange(0, 8, bits, dtype=np.uint8)
