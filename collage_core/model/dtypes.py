"""Element types: ONNX's numbers, the names that the graph uses, and numpy's dtypes, each from the other.

The graph says numpy's name where numpy has the type, else ONNX's in lower case (``bfloat16``, ``float8e4m3fn``, ``int4``,
``string``).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from onnx import TensorProto, helper

SUB_BYTE = frozenset({"int4", "uint4", "int2", "uint2", "float4e2m1", "float6e2m3", "float6e3m2"})
"""Types that ONNX packs into parts of a byte; arrays of them cannot be handed to ONNX Runtime."""


@cache
def dtype_name(elem_type: int) -> str:
    """The graph's name of ONNX's element type `elem_type`; ``undefined`` for what ONNX does not know."""
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
    """ONNX's number for a dtype name of the graph."""
    return _elem_types()[name]


def numpy_dtype(name: str) -> np.dtype:
    """The numpy dtype in which arrays of the graph's dtype `name` are kept (strings are objects)."""
    return np.dtype(object) if name == "string" else np.dtype(helper.tensor_dtype_to_np_dtype(elem_type(name)))
