"""`PieceCalls`: calls the kernels of an artifact without a module, one after another, on buffers that stay where they are.

Kernels in the order in which they run enter; TVM is not needed. A kernel is bound once, to memory that is kept for each tensor. Only where
a tensor has no memory of its own (its shape depends on data, or it is an object) is what reads or makes it bound anew at each call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from ...graph.dataflow_graph import Tensor
from ...toolchains.buffers import aligned_copy, aligned_empty
from ...toolchains.toolchain import AllocatingKernel, Kernel, outputs_of
from .calls import Calls, OpaqueValue, PartitionCall
from .inputs import InputBuffers
from .manifest import Manifest, PartitionEntry


class Piece(PartitionCall):
    """A partition's kernel on memory that stays; `values` has it by tensor name, and the outputs are added to it."""

    def __init__(self, entry: PartitionEntry, kernel: Kernel, values: dict[str, Any]):
        super().__init__(entry, kernel)
        made = [aligned_empty(tensor.type) for tensor in entry.outputs]
        kernel.bind([values[tensor.name] for tensor in entry.inputs], made)
        values.update({tensor.name: array for tensor, array in zip(entry.outputs, made, strict=True)})

    def step(self) -> None:
        """Run the kernel on the values of this call."""
        self.run()


class UnboundPiece(Piece):
    """A partition's kernel that reads or makes what has no memory of its own: it is bound at each call."""

    def __init__(self, entry: PartitionEntry, kernel: Kernel, values: dict[str, Any]):
        PartitionCall.__init__(self, entry, kernel)
        self._values = values
        self._made = [aligned_empty(tensor.type) if tensor.type.has_buffer else None for tensor in entry.outputs]
        values.update({tensor.name: array for tensor, array in zip(entry.outputs, self._made, strict=True)})

    def step(self) -> None:
        given = [self._given(tensor) for tensor in self.entry.inputs]
        cast(AllocatingKernel, self._kernel).bind(given, self._made)
        self.run()
        made = outputs_of(self._kernel, self._made)
        self._values.update({tensor.name: value for tensor, value in zip(self.entry.outputs, made, strict=True)})

    def _given(self, tensor: Tensor) -> Any:
        value = self._values[tensor.name]
        plain = value.value if isinstance(value, OpaqueValue) else value
        return plain if tensor.type.is_opaque else aligned_copy(plain)


class _Values(dict[str, Any]):
    """Values by tensor name, also by the names that the host gave them."""

    def __init__(self, known: Mapping[str, Any], aliases: Mapping[str, str]):
        super().__init__(known)
        self._aliases = aliases

    def __missing__(self, name: str) -> Any:
        return self[self._aliases[name]]


class PieceCalls(Calls):
    """Kernels in a row, with the buffers that they read and write.

    Args:
        kernels: Those of `Manifest.called`, in their order, which is one in which they can run.
        constants: Values of `Manifest.constants`.
    """

    def __init__(self, manifest: Manifest, kernels: Sequence[Kernel], constants: Mapping[str, np.ndarray]):
        given = {tensor.name: OpaqueValue() if tensor.type.is_opaque else aligned_empty(tensor.type) for tensor in manifest.inputs}
        self.inputs = InputBuffers(manifest.inputs, list(given.values()), manifest.fixed)
        self.reads = frozenset(tensor.name for entry in manifest.partitions for tensor in entry.inputs)
        self.reads |= {_source(name, manifest.aliases) for name in (*self.reads, *(tensor.name for tensor in manifest.outputs))}
        self._values = _Values({**{name: aligned_copy(value) for name, value in constants.items()}, **given}, manifest.aliases)
        self._partitions: tuple[Piece, ...] = tuple(
            (Piece if _has_memory(entry) else UnboundPiece)(entry, kernel, self._values)
            for entry, kernel in zip(manifest.called, kernels, strict=True)
        )
        self._outputs = [tensor.name for tensor in manifest.outputs]
        self.is_open = not all(tensor.type.has_buffer for tensor in manifest.outputs)
        self._fixed = None if self.is_open else {name: self._values[name] for name in self._outputs}

    def call(self) -> None:
        partition: Piece | None = None
        try:
            for partition in self._partitions:
                partition.step()
        except Exception as error:
            if partition is not None:
                partition.failure = error
            raise self._explained(error) from error

    def bound(self) -> Callable[[], None]:
        is_single = len(self._partitions) == 1 and not isinstance(self._partitions[0], UnboundPiece)
        return self._single_call(self._partitions[0]) if is_single else self.call

    def made(self) -> dict[str, Any]:
        return {name: self._values[name] for name in self._outputs} if self._fixed is None else self._fixed


def _source(name: str, aliases: Mapping[str, str]) -> str:
    for _ in aliases:  # no more steps than there are names: the manifest may go round in a circle
        name = aliases.get(name, name)
    return name


def _has_memory(entry: PartitionEntry) -> bool:
    return all(tensor.type.has_buffer for tensor in (*entry.inputs, *entry.outputs))
