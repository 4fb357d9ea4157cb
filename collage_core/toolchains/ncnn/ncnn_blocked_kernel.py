"""Runs a package of ncnn on buffers in the layout `nchw16c`, which ncnn calls an ``elempack`` of 16 (see `ncnn_blocked`).

The Python package makes no such Mat from an array. But the fields of a Mat can be set: one of (C / 16, H, 16 W) plain elements becomes
one of (C / 16, H, W) packs over the same memory, and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph.dataflow_graph import Tensor
from ..blocked_layout import BLOCK, is_blocked
from ..buffers import ALIGNMENT
from ..toolchain import Kernel
from .ncnn_kernel import NetworkKernel, read_package
from .ncnn_network import MatShape

import ncnn  # isort: skip - after `ncnn_kernel`, which says how its threads wait

_FLOAT = 4


def loaded_blocked(package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
    """Return the kernel of `package`, whose tensors lie as `is_blocked` says. Raises ToolchainError at stage ``build``."""
    read = read_package(package, len(inputs), len(outputs))
    return _BlockedKernel(read, threads, [is_blocked(tensor.type) for tensor in inputs], [is_blocked(tensor.type) for tensor in outputs])


class _BlockedKernel(NetworkKernel):
    """A network some of whose inputs and outputs are blocked."""

    def __init__(self, package: Any, threads: int, inputs: Sequence[bool], outputs: Sequence[bool]):
        super().__init__(package, threads)
        self._blocked_inputs, self._blocked_outputs = list(inputs), list(outputs)

    def _given(self, index: int, array: np.ndarray, shape: MatShape) -> tuple[Any, bool]:
        if not self._blocked_inputs[index]:
            return super()._given(index, array, shape)
        return _packs(array), array.ctypes.data % ALIGNMENT == 0

    def _made(self, extractor: Any, index: int, blob: int, array: np.ndarray) -> str:
        if not self._blocked_outputs[index]:
            return super()._made(extractor, index, blob, array)
        code, mat = extractor.extract(blob, 1)
        if code != 0:
            return f"ncnn could not run the network (code {code})"
        _, channels, rows, columns = self._buffers[index - len(self._blocked_outputs)].shape
        if (mat.elempack, mat.dims, mat.c, mat.h, mat.w) != (BLOCK, 3, channels // BLOCK, rows, columns):
            code, mat = extractor.extract(blob)
            plain = np.asarray(mat).reshape(channels, rows, columns)
            mat = ncnn.Mat()
            ncnn.convert_packing(ncnn.Mat(plain).clone(), mat, BLOCK)
        array.reshape(channels // BLOCK, rows, columns * BLOCK)[...] = _elements(mat)
        return ""


def _packs(array: np.ndarray) -> Any:
    """Return a Mat of packs over a blocked array of shape (1, C, H, W)."""
    _, channels, rows, columns = array.shape
    mat = ncnn.Mat(array.reshape(channels // BLOCK, rows, columns * BLOCK))
    mat.w, mat.cstep, mat.elemsize, mat.elempack = columns, mat.cstep // BLOCK, _FLOAT * BLOCK, BLOCK
    return mat


def _elements(mat: Any) -> np.ndarray:
    """Return the elements of a Mat of packs as an array of shape (C / 16, H, 16 W) over its memory."""
    mat.w, mat.cstep, mat.elemsize, mat.elempack = mat.w * BLOCK, mat.cstep * BLOCK, _FLOAT, 1
    return np.asarray(mat)
