"""`ModuleCalls`: calls the assembled module on buffers that stay where they are.

The first call goes through TVM's virtual machine. Where that shows the module to be nothing but kernels on fixed buffers, one after
another, later calls run these kernels in the same order without it: the same work on the same memory, for a tenth of a microsecond a
partition. A bound call of a single kernel has nothing in between but what explains a failure. A module with functions of TVM, open shapes
or outputs that are copied goes through the virtual machine at every call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from ...errors import CollageError
from ...graph.dataflow_graph import Tensor
from ...toolchains.buffers import array_at, buffer_dtype
from ...toolchains.reasons import one_line
from .inputs import InputBuffers
from .manifest import REBUILD, Manifest
from .packed import OpaqueValue, PackedPartition


class ModuleCalls:
    """The entry of a module, with the buffers that it reads and writes.

    Args:
        entry: The function to call, and its intermediate buffers (`toolchains.tvm.entry`).
        partitions: Those that the module calls by their symbols.

    Attributes:
        inputs: The memory of the module's inputs.
        reads: The tensors that its partitions read.
        is_open: Some output has a shape that depends on data: its array is another one after each call.
    """

    def __init__(self, manifest: Manifest, entry: tuple[Any, tuple[Any, ...]], partitions: Sequence[PackedPartition]):
        self._main, scratch = entry
        self._partitions = tuple(partitions)
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
        """Run one inference.

        Raises:
            CollageError: a partition failed; it names the partition.
        """
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

    def _single_call(self, partition: PackedPartition) -> Callable[[], None]:
        run = partition.unguarded_run()

        def call() -> None:
            try:
                run()
            except Exception as error:
                partition.failure = error
                raise self._explained(error) from error

        return call

    def profile(self, times: int) -> list[tuple[float, dict[str, float]]]:
        """Run some inferences; return the seconds of each, and in it those of each partition that is a kernel, by its id."""
        made = []
        for _ in range(times):
            seconds: dict[str, list[float]] = {partition.entry.id: [] for partition in self._partitions}
            with ExitStack() as stack:
                for partition in self._partitions:
                    stack.enter_context(partition.timed(seconds[partition.entry.id]))
                begin = time.perf_counter()
                self.call()
                whole_s = time.perf_counter() - begin
            made.append((whole_s, {id: sum(runs) for id, runs in seconds.items()}))
        return made

    def outputs(self) -> dict[str, Any]:
        """Return copies of the outputs of the last call, by name."""
        return {name: _copied(value) for name, value in self.made().items()}

    def made(self) -> dict[str, Any]:
        """Return the outputs of the last call, by name; the next call may overwrite them."""
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

    def _explained(self, error: Exception) -> CollageError:
        """Return an error that names the partition that failed, if one did, with its toolchain's own message."""
        for partition in self._partitions:
            failure, partition.failure = partition.failure, None
            if failure is not None:
                where = f"partition {partition.entry.id} on {partition.entry.target}"
                return CollageError(f"{where} failed as it ran: {one_line(failure)}", REBUILD, "toolchain")
        return CollageError(f"the artifact's module failed as it ran: {one_line(error)}", REBUILD, "toolchain")


def _has_only_kernels(manifest: Manifest) -> bool:
    """Return whether no partition is a function of the module itself, and every tensor has a buffer."""
    tensors = (tensor for entry in manifest.partitions for tensor in (*entry.inputs, *entry.outputs))
    return not any(entry.function for entry in manifest.partitions) and all(tensor.type.has_buffer for tensor in tensors)


def _empty(tensor: Tensor) -> Any:
    """Return new memory for `tensor`, or the holder of an opaque value."""
    if tensor.type.is_opaque:
        return OpaqueValue()
    import tvm.runtime

    return tvm.runtime.empty(tensor.type.shape, buffer_dtype(tensor.type.dtype).name)


def _copied(value: Any) -> Any:
    """Return a copy of an array; a sequence or an optional as it is, which every run makes anew."""
    plain = value.value if isinstance(value, OpaqueValue) else value
    return plain.copy() if isinstance(plain, np.ndarray) else plain


def _values(tensor: Tensor, value: Any) -> Any:
    """Return the values of TVM's tensor `value`, which must outlive the array; an opaque value in its holder as it is."""
    if tensor.type.is_opaque:
        return value
    return array_at(value.data_ptr(), tuple(map(int, value.shape)), buffer_dtype(tensor.type.dtype))
