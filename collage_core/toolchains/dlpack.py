"""DLPack without a copy: `capsule` describes memory of any device to the libraries that read the protocol (numpy, TVM, PyTorch, CuPy).

An address, a type and a location enter; a capsule leaves, which keeps the owner of the memory until its reader lets it go.
"""

from __future__ import annotations

import ctypes
from itertools import count
from typing import Any

import numpy as np

from ..graph.dataflow_graph import TensorType
from .buffers import buffer_dtype

_DEVICE_TYPES = {"cpu": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "rocm": 10}
"""DLPack's numbers of the types of devices (``DLDeviceType``)."""
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
"""DLPack's codes of the kinds of numpy's dtypes (``DLDataTypeCode``); bfloat16 has one of its own."""
_BFLOAT16 = 4
_NAME = b"dltensor"


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("number", ctypes.c_int32))


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("rank", ctypes.c_int32),
        ("type", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    """DLPack's ``DLManagedTensor``; its context is the number under which `_kept` keeps the owner."""


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = (("tensor", _Tensor), ("context", ctypes.c_size_t), ("deleter", _Deleter))

_kept: dict[int, Any] = {}
"""The owner and the structures of each capsule that was not let go."""
_numbers = count(1)


@_Deleter
def _delete(managed: Any) -> None:
    _kept.pop(managed.contents.context, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _drop(address: int) -> None:
    """Let go of a capsule that nobody read; a reader renames the capsule and calls the deleter itself."""
    if _is_valid(address, _NAME):
        _delete(ctypes.cast(_pointer(address, _NAME), ctypes.POINTER(_Managed)))


# Prototypes of our own: `ctypes.pythonapi.NAME` is one object for the whole process, and other libraries set its argument types.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_New", ctypes.pythonapi))


def device_of(location: str) -> tuple[int, int]:
    """Return DLPack's (type, number) of a location such as ``cuda:0``."""
    kind, _, number = location.partition(":")
    return _DEVICE_TYPES[kind], int(number or 0)


def capsule(owner: Any, address: int, kind: TensorType, location: str) -> Any:
    """Return a DLPack capsule of the tensor of type `kind` at `address`; it keeps `owner`."""
    dtype = buffer_dtype(kind.dtype)
    code = _BFLOAT16 if dtype.name == "bfloat16" else _CODES[np.dtype(dtype).kind]
    shape = (ctypes.c_int64 * max(len(kind.shape), 1))(*kind.shape)
    tensor = _Tensor(address, _Device(*device_of(location)), len(kind.shape), _Type(code, 8 * dtype.itemsize, 1), shape, None, 0)
    number = next(_numbers)
    managed = _Managed(tensor, number, _delete)
    _kept[number] = managed, shape, owner
    return _new(ctypes.addressof(managed), _NAME, ctypes.cast(_drop, ctypes.c_void_p))
