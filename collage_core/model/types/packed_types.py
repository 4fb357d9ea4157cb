"""Packs the elements of types that are smaller than a byte (``int4``, ``uint2`` …) into bytes as ONNX does, and unpacks them.

Arrays of `ml_dtypes`, which spend a byte on each element, enter and leave. The first element lies in the lowest bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np


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
