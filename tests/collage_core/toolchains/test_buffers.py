"""Aligned buffers, and arrays over memory of someone else."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.errors import CollageError
from collage_core.graph.dataflow_graph import TensorType
from collage_core.toolchains.buffers import ALIGNMENT, aligned_copy, aligned_empty, array_at, buffer_dtype

DTYPES = ("float32", "float16", "bfloat16", "float8e4m3fn", "float64", "int64", "int8", "uint16", "bool")


@given(st.lists(st.integers(0, 5), max_size=4), st.sampled_from(DTYPES))
def test_new_arrays_are_aligned_contiguous_and_of_their_type(shape: list[int], dtype: str):
    array = aligned_empty(TensorType(tuple(shape), dtype))
    assert array.shape == tuple(shape)
    assert array.dtype == buffer_dtype(dtype)
    assert array.flags.c_contiguous
    assert array.ctypes.data % ALIGNMENT == 0


@given(st.lists(st.integers(0, 4), max_size=3), st.sampled_from(DTYPES))
def test_an_array_over_memory_is_that_memory(shape: list[int], dtype: str):
    array = aligned_empty(TensorType(tuple(shape), dtype))
    array[...] = 1
    over = array_at(array.ctypes.data, array.shape, array.dtype)
    assert (over.shape, over.dtype) == (array.shape, array.dtype)
    over[...] = 0
    assert not array.astype(np.float32).any()


def test_only_what_is_not_aligned_is_copied():
    aligned = aligned_empty(TensorType((3, 4), "float32"))
    aligned[...] = np.arange(12).reshape(3, 4)
    assert aligned_copy(aligned) is aligned
    for other in (aligned.T, aligned[1:]):
        copy = aligned_copy(other)
        assert copy.ctypes.data % ALIGNMENT == 0
        assert copy.flags.c_contiguous
        np.testing.assert_array_equal(copy, other)


def test_extended_dtypes_have_names():
    assert buffer_dtype("bfloat16") == ml_dtypes.bfloat16
    assert buffer_dtype("float8e5m2") == ml_dtypes.float8_e5m2


@pytest.mark.parametrize("name", ["string", "object", "int4", "uint4", "float1"])
def test_what_is_no_plain_memory_is_refused(name: str):
    with pytest.raises(CollageError, match=f"tensors of dtype '{name}' cannot be handed from one partition to another"):
        buffer_dtype(name)
