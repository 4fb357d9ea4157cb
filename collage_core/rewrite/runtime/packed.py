"""`PackedPartition`: the function that the Relax module calls for a partition; it runs the toolchain's kernel on TVM's tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...toolchains.base import Kernel
from ...toolchains.buffers import array_at, buffer_dtype
from .manifest import PartitionEntry


class PackedPartition:
    """A function that the virtual machine calls with the tensors of the inputs and then of the outputs. Nothing is copied.

    The kernel is bound again only when a tensor has another address than in the previous call.

    Attributes:
        failure: The kernel's exception in the last call, of which the virtual machine only reports the text.
    """

    def __init__(self, entry: PartitionEntry, kernel: Kernel):
        self.entry = entry
        self.failure: Exception | None = None
        self._kernel = kernel
        self._run = kernel.run
        self._arity = len(entry.inputs)
        self._kinds = [(tensor.type.shape, buffer_dtype(tensor.type.dtype)) for tensor in (*entry.inputs, *entry.outputs)]
        self._addresses: list[int] = []

    def __call__(self, *tensors: Any) -> None:
        addresses = [tensor.data_ptr() for tensor in tensors]
        try:
            if addresses != self._addresses:
                self._bind(addresses)
            self._run()
        except Exception as error:
            self.failure = error
            raise

    def _bind(self, addresses: list[int]) -> None:
        self._addresses = []
        arrays: list[np.ndarray] = [array_at(at, shape, dtype) for at, (shape, dtype) in zip(addresses, self._kinds, strict=True)]
        self._kernel.bind(arrays[: self._arity], arrays[self._arity :])
        self._addresses = addresses
