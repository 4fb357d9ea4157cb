"""Buffers that every toolchain can work on without a copy: aligned arrays, and arrays over memory of someone else."""

from __future__ import annotations

import ctypes
from math import prod

import numpy as np

from ..errors import CollageError
from ..graph import TensorType

ALIGNMENT = 64
"""Bytes to which TVM's kernels want their buffers aligned; numpy itself aligns to 16."""


def numpy_dtype(name: str) -> np.dtype:
    """The dtype of that name, ``bfloat16`` and the 8-bit floats included.

    Raises:
        CollageError: numpy has no such elements, or they are no plain memory (strings).
    """
    try:
        dtype = np.dtype(name)
    except TypeError:
        dtype = _extended_dtype(name)
    if dtype.hasobject or dtype.kind in "SU":
        raise CollageError(f"tensors of dtype {name!r} cannot be handed from one partition to another", "keep them inside one", "dtype")
    return dtype


def _extended_dtype(name: str) -> np.dtype:
    import ml_dtypes

    spelt = {"float8e4m3fn": "float8_e4m3fn", "float8e5m2": "float8_e5m2"}.get(name, name)
    found = getattr(ml_dtypes, spelt, None)
    if found is None or "int" in spelt:  # 4-bit integers lie packed in some toolchains and not in others
        raise CollageError(f"tensors of dtype {name!r} cannot be handed from one partition to another", "keep them inside one", "dtype")
    return np.dtype(found)


def aligned_empty(kind: TensorType) -> np.ndarray:
    """An uninitialised C-contiguous array whose data starts at a multiple of `ALIGNMENT` bytes."""
    dtype = numpy_dtype(kind.dtype)
    size = prod(kind.shape) * dtype.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(dtype).reshape(kind.shape)


def aligned_copy(array: np.ndarray) -> np.ndarray:
    """`array` itself where it is aligned and contiguous, else an aligned copy."""
    if array.flags.c_contiguous and array.ctypes.data % ALIGNMENT == 0:
        return array
    copy = aligned_empty(TensorType(array.shape, array.dtype.name))
    copy[...] = array
    return copy


def array_at(address: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array over the memory at `address`, which must outlive it. Nothing is copied."""
    size = prod(shape) * dtype.itemsize
    if not size:
        return np.empty(shape, dtype)
    memory = memoryview((ctypes.c_uint8 * size).from_address(address))
    return np.frombuffer(memory, np.uint8).view(dtype).reshape(shape)
