"""`PackedPartition`: the function that the Relax module calls for a partition; it runs the toolchain's kernel on TVM's tensors."""

from __future__ import annotations

from itertools import count
from typing import Any, cast

import numpy as np

from ...graph.dataflow_graph import TensorType
from ...toolchains.buffers import aligned_empty, array_at, buffer_dtype
from ...toolchains.toolchain import AllocatingKernel, Kernel, outputs_of
from .calls import OpaqueValue, PartitionCall
from .manifest import PartitionEntry


def make_packed(entry: PartitionEntry, kernel: Kernel) -> PackedPartition:
    """Return the function that the virtual machine calls for `entry`."""
    if any(tensor.type.is_opaque for tensor in (*entry.inputs, *entry.outputs)):
        return OpaquePartition(entry, kernel)
    is_open = any(tensor.type.open_axes for tensor in entry.outputs)
    return AllocatingPartition(entry, kernel) if is_open else PackedPartition(entry, kernel)


_turns = count()


class PackedPartition(PartitionCall):
    """A function that the virtual machine calls with the tensors of the inputs and then of the outputs. Nothing is copied.

    The kernel is bound again only when a tensor has another address, or an input another shape, than in the previous call.

    Attributes:
        turn: A number that is greater than that of every partition which was bound before this one; None before the first call.
    """

    def __init__(self, entry: PartitionEntry, kernel: Kernel):
        super().__init__(entry, kernel)
        self.turn: int | None = None
        self._arity = len(entry.inputs)
        self._kinds = [_kind(tensor.type) for tensor in (*entry.inputs, *entry.outputs)]
        self._open = [index for index, tensor in enumerate(entry.inputs) if tensor.type.open_axes]
        self._addresses: list[int] = []
        self._shapes: list[tuple[int, ...]] = []

    @property
    def written(self) -> list[int]:
        """Addresses of the outputs in the last call."""
        return self._addresses[self._arity :]

    def __call__(self, *tensors: Any) -> Any:
        addresses = [tensor.data_ptr() for tensor in tensors]
        shapes = [tuple(map(int, tensors[index].shape)) for index in self._open]
        try:
            if addresses != self._addresses or shapes != self._shapes:
                self._bind(addresses, shapes)
            self.run()
            return self._returned()
        except Exception as error:
            self.failure = error
            raise

    def _returned(self) -> Any:
        return None

    def _bind(self, addresses: list[int], shapes: list[tuple[int, ...]]) -> None:
        self._addresses = []
        for index, shape in zip(self._open, shapes, strict=True):
            self._kinds[index] = shape, self._kinds[index][1]
        arrays = [array_at(at, shape, dtype) for at, (shape, dtype) in zip(addresses, self._kinds, strict=True)]
        self._bind_arrays(arrays)
        self._addresses, self._shapes, self.turn = addresses, shapes, next(_turns)

    def _bind_arrays(self, arrays: list[np.ndarray]) -> None:
        self._kernel.bind(arrays[: self._arity], arrays[self._arity :])


class AllocatingPartition(PackedPartition):
    """A function that the virtual machine calls with the tensors of the inputs alone, and that returns the outputs.

    Outputs of open shape lie in the kernel's own memory, and the others in buffers here; both are valid until the next call.
    """

    def __init__(self, entry: PartitionEntry, kernel: Kernel):
        super().__init__(entry, kernel)
        del self._kinds[self._arity :]
        self._made = [aligned_empty(tensor.type) if tensor.type.has_buffer else None for tensor in entry.outputs]

    def _returned(self) -> Any:
        made = [_tensor(array) for array in outputs_of(self._kernel, self._made)]
        return made[0] if len(made) == 1 else made

    def _bind_arrays(self, arrays: list[np.ndarray]) -> None:
        cast(AllocatingKernel, self._kernel).bind(arrays, self._made)


class OpaquePartition(AllocatingPartition):
    """A function that the virtual machine calls with tensors and with `OpaqueValue`, and that returns the outputs.

    The kernel is bound at each call: an object has no address that tells whether it is another one.
    """

    def __call__(self, *given: Any) -> Any:
        inputs = self.entry.inputs
        try:
            arrays = [_argument(value, kind, tensor.type) for value, kind, tensor in zip(given, self._kinds, inputs, strict=True)]
            self._bind_arrays(arrays)
            self.run()
            return self._returned()
        except Exception as error:
            self.failure = error
            raise

    def _returned(self) -> Any:
        values = zip(outputs_of(self._kernel, self._made), self.entry.outputs, strict=True)
        made = [OpaqueValue(value) if tensor.type.is_opaque else _tensor(value) for value, tensor in values]
        return made[0] if len(made) == 1 else made


def _argument(value: Any, kind: tuple[tuple[int, ...], np.dtype], declared: TensorType) -> Any:
    """Return what the kernel reads of an argument: the array over a tensor's memory, or the value itself."""
    if declared.is_opaque:
        return value.value
    shape = tuple(map(int, value.shape)) if declared.open_axes else kind[0]
    return array_at(value.data_ptr(), shape, kind[1])


def _kind(declared: TensorType) -> tuple[tuple[int, ...], np.dtype]:
    """Return shape and dtype of the buffer of a tensor; of an opaque value there is none, and this says so."""
    return declared.shape, np.dtype(object) if declared.is_opaque else buffer_dtype(declared.dtype)


def _tensor(array: np.ndarray) -> Any:
    """Return a tensor of TVM over `array`, or with its values where DLPack does not know the dtype (``bfloat16``) or it is empty.

    The strides of an empty array of numpy are not those that a kernel of TVM asks for.
    """
    from tvm_ffi import from_dlpack

    if array.size and array.dtype.type.__module__ == "numpy":
        return from_dlpack(array)
    import tvm.runtime

    tensor = tvm.runtime.empty(array.shape, array.dtype.name)
    array_at(tensor.data_ptr(), array.shape, array.dtype)[...] = array
    return tensor
