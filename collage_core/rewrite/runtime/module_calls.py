"""`ModuleCalls`: calls the assembled module on buffers that stay where they are.

The first call goes through TVM's virtual machine. Where that shows the module to be nothing but kernels on fixed buffers, one after
another, later calls run these kernels in the same order without it: the same work on the same memory, for a tenth of a microsecond a
partition. A bound call of a single kernel has nothing in between but what explains a failure. A module with functions of TVM, open shapes
or outputs that are copied goes through the virtual machine at every call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...graph.dataflow_graph import Tensor
from ...toolchains.buffers import array_at, buffer_dtype
from .calls import Calls, OpaqueValue
from .inputs import InputBuffers
from .manifest import Manifest
from .packed import PackedPartition


class ModuleCalls(Calls):
    """The entry of a module, with the buffers that it reads and writes.

    Args:
        entry: The function to call, and its intermediate buffers (`toolchains.tvm.entry`).
        partitions: Those that the module calls by their symbols.
    """

    def __init__(self, manifest: Manifest, entry: tuple[Any, tuple[Any, ...]], partitions: Sequence[PackedPartition]):
        self._main, scratch = entry
        self._partitions: tuple[PackedPartition, ...] = tuple(partitions)
        given = [_empty(tensor) for tensor in manifest.inputs]
        made = [_empty(tensor) if tensor.type.has_buffer else None for tensor in manifest.outputs]
        self.inputs = InputBuffers(manifest.inputs, [_values(*pair) for pair in zip(manifest.inputs, given, strict=True)], manifest.fixed)
        arrays = [None if value is None else _values(tensor, value) for tensor, value in zip(manifest.outputs, made, strict=True)]
        self.reads = frozenset(tensor.name for entry in manifest.partitions for tensor in entry.inputs)
        self._made: list[tuple[str, Tensor, Any]] = [
            (tensor.name, tensor, array) for tensor, array in zip(manifest.outputs, arrays, strict=True)
        ]
        self._arguments = (*given, *(value for value in made if value is not None), *scratch)
        self.is_open = any(value is None for value in made)
        self._fixed = {name: array for name, _, array in self._made if array is not None}
        self._returned: Sequence[Any] = ()
        self._may_be_straight = _has_only_kernels(manifest)
        self._straight: tuple[PackedPartition, ...] = ()

    def call(self) -> None:
        partition: PackedPartition | None = None
        try:
            for partition in self._straight:
                partition.run()
            if partition is None:
                returned = self._main(*self._arguments)
                self._returned = returned if self.is_open else ()
                self._straight = self._straight_calls()
        except Exception as error:
            if partition is not None:
                partition.failure = error
            raise self._explained(error) from error

    def bound(self) -> Callable[[], None]:
        """Return a function that runs one inference as `call` does; one is run here where that shows the module to be a single kernel.

        Raises:
            CollageError: as `call`.
        """
        if self._may_be_straight and len(self._partitions) == 1 and not self._straight:
            self.call()
        return self._single_call(self._straight[0]) if len(self._straight) == 1 else self.call

    def made(self) -> dict[str, Any]:
        if not self.is_open:
            return self._fixed
        returned = iter(self._returned)
        return {name: _values(tensor, next(returned)) if made is None else made for name, tensor, made in self._made}

    def _straight_calls(self) -> tuple[PackedPartition, ...]:
        """Return the kernels in the order of the last call; none where the module did more than to call them."""
        if not self._may_be_straight:
            return ()
        turns = {partition.turn: partition for partition in self._partitions if partition.turn is not None}
        written = {address for partition in self._partitions for address in partition.written}
        is_all = len(turns) == len(self._partitions) and all(made is not None and made.ctypes.data in written for _, _, made in self._made)
        self._may_be_straight = is_all
        return tuple(turns[turn] for turn in sorted(turns)) if is_all else ()


def _has_only_kernels(manifest: Manifest) -> bool:
    """Return whether no partition is a function of the module itself, and every tensor has a buffer."""
    tensors = (tensor for entry in manifest.partitions for tensor in (*entry.inputs, *entry.outputs))
    return not any(entry.function for entry in manifest.partitions) and all(tensor.type.has_buffer for tensor in tensors)


def _empty(tensor: Tensor) -> Any:
    """Return new memory for `tensor`, or the holder of an opaque value."""
    if tensor.type.is_opaque:
        return OpaqueValue()
    import tvm.runtime

    try:
        return tvm.runtime.empty(tensor.type.shape, buffer_dtype(tensor.type.dtype).name)
    except RuntimeError as error:  # a failed allocation is TVM's InternalError
        raise MemoryError(f"TVM cannot allocate {tensor.name!r}, {tensor.type}") from error


def _values(tensor: Tensor, value: Any) -> Any:
    """Return the values of TVM's tensor `value`, which must outlive the array; an opaque value in its holder as it is."""
    if tensor.type.is_opaque:
        return value
    return array_at(value.data_ptr(), tuple(map(int, value.shape)), buffer_dtype(tensor.type.dtype))
