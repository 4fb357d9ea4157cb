"""Capsules of DLPack: their readers see the same memory, keep its owner, and let it go."""

from __future__ import annotations

import ctypes
import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

from collage_core.graph.dataflow_graph import TensorType
from collage_core.toolchains.buffers import aligned_empty, buffer_dtype
from collage_core.toolchains.device_tensors import DeviceTensor


class Owner:
    """Has the array that a tensor lies in."""

    def __init__(self, array: np.ndarray):
        self.array = array


def tensor(kind: TensorType) -> tuple[DeviceTensor, Owner]:
    owner = Owner(aligned_empty(kind))
    return DeviceTensor("cpu:0", owner.array.ctypes.data, kind, owner), owner


@pytest.mark.parametrize(
    ("shape", "dtype"), [((2, 3), "float32"), ((), "int64"), ((5,), "uint8"), ((1, 4), "bool"), ((2,), "float16"), ((0, 3), "float64")]
)
def test_a_reader_sees_the_same_memory(shape: tuple[int, ...], dtype: str):
    made, owner = tensor(TensorType(shape, dtype))
    read = np.from_dlpack(made)  # type: ignore[arg-type]
    assert (read.shape, read.dtype) == (shape, np.dtype(dtype))
    owner.array[...] = np.ones(shape)
    np.testing.assert_array_equal(read, owner.array)


def test_tvm_reads_what_numpy_cannot():
    tvm_ffi = pytest.importorskip("tvm_ffi")
    made, owner = tensor(TensorType((2, 2), "bfloat16"))
    owner.array[...] = np.full((2, 2), 3, ml_dtypes.bfloat16)
    read = tvm_ffi.from_dlpack(made)
    assert (tuple(read.shape), str(read.dtype), read.data_ptr()) == ((2, 2), "bfloat16", made.address)
    assert owner.array.dtype == buffer_dtype("bfloat16")


@pytest.mark.parametrize("is_read", [True, False])
def test_the_owner_lives_as_long_as_a_reader(is_read: bool, monkeypatch: pytest.MonkeyPatch):
    """Also where another library gave Python's functions argument types of its own."""
    monkeypatch.setattr(ctypes.pythonapi.PyCapsule_IsValid, "argtypes", (ctypes.py_object, ctypes.c_char_p))
    made, owner = tensor(TensorType((2, 3), "float32"))
    kept = weakref.ref(owner)
    capsule = np.from_dlpack(made) if is_read else made.__dlpack__()  # type: ignore[arg-type]
    del made, owner
    gc.collect()
    assert kept() is not None
    del capsule
    gc.collect()
    assert kept() is None


def test_a_location_is_a_device_of_dlpack():
    assert DeviceTensor("cuda:1", 64, TensorType((2,), "float32")).__dlpack_device__() == (2, 1)
