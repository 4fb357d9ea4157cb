"""Converts between element types: ONNX's numbers, the names that the graph uses, and numpy's dtypes.

The graph uses numpy's name where numpy has the type, else ONNX's in lower case (``bfloat16``, ``float8e4m3fn``, ``int4``,
``string``).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from onnx import TensorProto, helper

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
