"""Buffers that every toolchain can use without a copy: aligned arrays, and arrays over existing memory."""

from __future__ import annotations

import ctypes
from math import prod

import numpy as np

from ..errors import CollageError
from ..graph.dataflow_graph import TensorType

ALIGNMENT = 64
"""Alignment in bytes that TVM's kernels need; numpy itself aligns to 16."""


_EXTENDED = {
    "bfloat16": "bfloat16",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
}
"""Dtypes that ml_dtypes adds to numpy: the graph's name → that of ml_dtypes."""
_PACKED = {"int4": "int4", "uint4": "uint4", "int2": "int2", "uint2": "uint2", "float4e2m1": "float4_e2m1fn"}
"""The same for those of less than a byte, which have no buffers."""


def buffer_dtype(name: str) -> np.dtype:
    """Return the dtype of buffers for the graph's dtype `name`, ``bfloat16`` and the 8-bit floats included.

    Raises:
        CollageError: its elements are not plain memory (strings), or are packed in some toolchains and not in others (4 bits).
    """
    extended = _EXTENDED.get(name)
    if extended is not None:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, extended))
    try:
        dtype = np.dtype(name)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind not in "biufc" or dtype.name.startswith(("int4", "uint4", "int2", "uint2")):
        raise CollageError(f"tensors of dtype {name!r} cannot be handed from one partition to another", "keep them inside one", "dtype")
    return dtype


def value_dtype(name: str) -> np.dtype:
    """Return the dtype of the arrays of a tensor whether or not it has a buffer: that of `ml_dtypes` for types of less than a byte."""
    if name == "string":
        return np.dtype(object)
    if name in _PACKED:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, _PACKED[name]))
    return buffer_dtype(name)


def aligned_empty(kind: TensorType) -> np.ndarray:
    """Return an uninitialised C-contiguous array whose data starts at a multiple of `ALIGNMENT` bytes."""
    return _aligned(kind.shape, buffer_dtype(kind.dtype))


def aligned_copy(array: np.ndarray) -> np.ndarray:
    """Return `array` itself where it is aligned and contiguous, else an aligned copy."""
    if array.flags.c_contiguous and array.ctypes.data % ALIGNMENT == 0:
        return array
    copy = _aligned(array.shape, array.dtype)
    copy[...] = array
    return copy


def array_at(address: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an array over the memory at `address`, which must outlive it. Nothing is copied."""
    size = prod(shape) * dtype.itemsize
    if not size:
        return _aligned(shape, dtype)
    memory = memoryview((ctypes.c_uint8 * size).from_address(address))
    return np.frombuffer(memory, np.uint8).view(dtype).reshape(shape)


def _aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    raw = np.empty(prod(shape) * dtype.itemsize + ALIGNMENT, np.uint8)
    return np.ndarray(shape, dtype, raw.data, -raw.ctypes.data % ALIGNMENT)
