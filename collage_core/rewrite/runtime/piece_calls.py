"""`PieceCalls`: calls the kernels of an artifact without a module, one after another, on buffers that stay where they are.

Kernels in the order in which they run enter; TVM is not needed. A kernel is bound once, to memory that is kept for each tensor at each
location where it is. Only where a tensor has no memory of its own (its shape depends on data, or it is an object) is what reads or makes it
bound anew at each call. Nothing is copied but by the copies of the manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, cast

import numpy as np

from ...graph.dataflow_graph import Tensor
from ...toolchains.buffers import aligned_copy, aligned_empty
from ...toolchains.device_tensors import HOST_LOCATION, DeviceMemory, QueuedWork
from ...toolchains.toolchain import AllocatingKernel, Kernel, outputs_of
from .calls import Calls, Inference, OpaqueValue, PartitionCall
from .inputs import InputBuffers
from .manifest import Manifest, PartitionEntry


class Piece(PartitionCall):
    """A partition's kernel, or a copy, on memory that stays.

    Args:
        read: The tensors at the location where it reads, by name.
        made: Memory for its outputs, in order.
    """

    def __init__(self, entry: PartitionEntry, kernel: Kernel, read: Mapping[str, Any], results: Sequence[Any]):
        super().__init__(entry, kernel)
        kernel.bind([read[tensor.name] for tensor in entry.inputs], results)

    def step(self) -> None:
        """Run the kernel on the values of this call."""
        try:
            self.run()
        except Exception as error:
            self.failure = error
            raise


class UnboundPiece(Piece):
    """A partition's kernel that reads or makes what has no memory of its own: bound at each call, it adds its outputs to `values`."""

    def __init__(self, entry: PartitionEntry, kernel: Kernel, values: dict[str, Any], results: Sequence[Any]):
        PartitionCall.__init__(self, entry, kernel)
        self._values, self._made = values, results

    def step(self) -> None:
        try:
            given = [self._given(tensor) for tensor in self.entry.inputs]
            cast(AllocatingKernel, self._kernel).bind(given, self._made)
            self.run()
            made = outputs_of(self._kernel, self._made)
        except Exception as error:
            self.failure = error
            raise
        self._values.update({tensor.name: value for tensor, value in zip(self.entry.outputs, made, strict=True)})

    def _given(self, tensor: Tensor) -> Any:
        value = self._values[tensor.name]
        plain = value.value if isinstance(value, OpaqueValue) else value
        return plain if tensor.type.is_opaque else aligned_copy(plain)


class Region:
    """Neighbouring steps of one device, which are one graph after their first run (`QueuedWork`)."""

    def __init__(self, pieces: Sequence[Piece], memory: DeviceMemory, kernels: Sequence[Kernel]):
        self.pieces = pieces
        refusals = (getattr(kernel, "graph_refusal", "") for kernel in kernels)
        self._queued = QueuedWork(self._run, memory, next(filter(None, refusals), ""))

    @property
    def refusal(self) -> str:
        """Return why the steps are no graph; empty where they are one, and before the first run."""
        return self._queued.refusal

    def step(self) -> None:
        before = self.refusal
        self._queued()
        if self.refusal != before:  # capturing failed, and no step
            for piece in self.pieces:
                piece.failure = None

    def _run(self) -> None:
        for piece in self.pieces:
            piece.step()


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
        memories: The memory of each location but the host's.

    Attributes:
        regions: The neighbouring steps of one device, in order.
    """

    def __init__(
        self,
        manifest: Manifest,
        kernels: Sequence[Kernel],
        constants: Mapping[str, np.ndarray],
        memories: Mapping[str, DeviceMemory] | None = None,
    ):
        self._memories = memories or {}
        copies = [entry for entry in manifest.called if entry.copied_from is not None]
        self._locked = {entry.inputs[0].name: self._memories[device_of(entry)] for entry in copies}
        inputs = {tensor.name: OpaqueValue() if tensor.type.is_opaque else self._empty(tensor, HOST_LOCATION) for tensor in manifest.inputs}
        self.inputs = InputBuffers(manifest.inputs, list(inputs.values()), manifest.fixed)
        self.reads = frozenset(tensor.name for entry in manifest.partitions for tensor in entry.inputs)
        self.reads |= {source_of(name, manifest.aliases) for name in (*self.reads, *(tensor.name for tensor in manifest.outputs))}
        self._values = _Values({**{name: aligned_copy(value) for name, value in constants.items()}, **inputs}, manifest.aliases)
        self._at = {HOST_LOCATION: self._values, **{location: _Values({}, manifest.aliases) for location in self._memories}}
        pairs = list(zip(manifest.called, kernels, strict=True))
        self._partitions: tuple[Piece, ...] = tuple(self._piece(entry, kernel) for entry, kernel in pairs)
        self.regions: list[Region] = []
        self._steps = self._in_regions(pairs)
        self._outputs = [tensor.name for tensor in manifest.outputs]
        self.is_open = not all(tensor.type.has_buffer for tensor in manifest.outputs)
        self._fixed = None if self.is_open else {name: self._values[name] for name in self._outputs}

    def _empty(self, tensor: Tensor, location: str) -> Any:
        """Return new memory for `tensor`, which copies at the host read and write fast; None where the kernel allocates it."""
        if not tensor.type.has_buffer:
            return None
        if location != HOST_LOCATION:
            return self._memories[location].empty(tensor.type)
        locked = self._locked.get(tensor.name)
        return aligned_empty(tensor.type) if locked is None else locked.host_empty(tensor.type)

    def _piece(self, entry: PartitionEntry, kernel: Kernel) -> Piece:
        """Return the step of `entry`, whose outputs are at its location from then on."""
        results = [self._empty(tensor, entry.location) for tensor in entry.outputs]
        read, values = self._at[entry.copied_from or entry.location], self._at[entry.location]
        piece = Piece(entry, kernel, read, results) if _has_memory(entry) else UnboundPiece(entry, kernel, values, results)
        if entry.location != HOST_LOCATION:
            piece.wait = self._memories[entry.location].synchronize
        values.update({tensor.name: array for tensor, array in zip(entry.outputs, results, strict=True)})
        return piece

    def _in_regions(self, pairs: Sequence[tuple[PartitionEntry, Kernel]]) -> list[Callable[[], None]]:
        """Return the steps, those of a region as one. A copy from the host is part of a region: it reads what was there before."""
        steps: list[Callable[[], None]] = []
        together = zip(self._partitions, pairs, strict=True)
        for location, row in groupby(together, key=lambda item: _region_of(item[0].entry)):
            pieces = list(row)
            if location is None:
                steps += [piece.step for piece, _ in pieces]
                continue
            region = Region([piece for piece, _ in pieces], self._memories[location], [kernel for _, (_, kernel) in pieces])
            self.regions.append(region)
            steps.append(region.step)
        return steps

    def call(self) -> None:
        try:
            for step in self._steps:
                step()
        except Exception as error:
            raise self._explained(error) from error

    def profile(self, times: int) -> list[Inference]:
        steps, self._steps = self._steps, [piece.step for piece in self._partitions]  # of a graph only the whole can be timed
        try:
            return super().profile(times)
        finally:
            self._steps = steps

    def bound(self) -> Callable[[], None]:
        is_single = len(self._partitions) == 1 and not isinstance(self._partitions[0], UnboundPiece)
        return self._single_call(self._partitions[0]) if is_single else self.call

    def made(self) -> dict[str, Any]:
        return {name: self._values[name] for name in self._outputs} if self._fixed is None else self._fixed


def device_of(entry: PartitionEntry) -> str:
    """Return the device whose memory a copy reads or writes; of one between two, the first."""
    return entry.location if entry.copied_from in (None, HOST_LOCATION) else str(entry.copied_from)


def _region_of(entry: PartitionEntry) -> str | None:
    """Return the device whose work the step is part of; None for one of the host, or one that waits for a device."""
    is_queued = entry.location != HOST_LOCATION and entry.copied_from in (None, HOST_LOCATION)
    return entry.location if is_queued else None


def source_of(name: str, aliases: Mapping[str, str]) -> str:
    """Return the tensor whose value the tensor `name` is."""
    for _ in aliases:  # no more steps than there are names: the manifest may go round in a circle
        name = aliases.get(name, name)
    return name


def _has_memory(entry: PartitionEntry) -> bool:
    return all(tensor.type.has_buffer for tensor in (*entry.inputs, *entry.outputs))
