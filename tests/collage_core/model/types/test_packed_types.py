"""Types of less than a byte are packed as ONNX packs them, and come back as they were."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import numpy_helper

from collage_core.model.types.packed_types import packed, unpacked


@pytest.mark.parametrize(("name", "bits"), [("int4", 4), ("uint4", 4), ("int2", 2), ("uint2", 2), ("float4_e2m1fn", 4)])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 7, 8])
def test_elements_are_packed_as_onnx_does_and_come_back(name: str, bits: int, count: int) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    drawn = np.random.default_rng(count).integers(0, 1 << bits, count)
    values = drawn.astype(np.uint8).view(dtype)
    inside = packed(values, bits)
    assert inside.tobytes() == numpy_helper.from_array(values).raw_data
    back = unpacked(inside, bits, (count, 1), dtype)
    assert (back.dtype, back.shape) == (dtype, (count, 1))
    np.testing.assert_array_equal(back.reshape(-1), values)
