"""Tensors in the memory of a device: `DeviceMemory`, its `DeviceTensor`s, and `HostEnds`, a device's kernel on host arrays.

A toolchain with the ability `abilities.DeviceTensors` has such a memory. All work at one location is queued in order, so a kernel may
return before its outputs are written; a copy to the host waits for them. Nothing here knows a kind of device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..graph.dataflow_graph import Tensor, TensorType
from .dlpack import capsule, device_of
from .toolchain import Kernel, ToolchainError

HOST_LOCATION = "host"
"""The location of numpy's arrays."""


@dataclass(frozen=True, eq=False)
class DeviceTensor:
    """A tensor in the memory of a device; other libraries read it by DLPack. Nothing but a copy reads its values on the host.

    Attributes:
        location: Such as ``cuda:0``.
        address: Where its first element is.
        owner: Keeps the memory.
    """

    location: str
    address: int
    type: TensorType
    owner: Any = field(default=None, repr=False)

    def __dlpack__(self, **_: Any) -> Any:
        return capsule(self, self.address, self.type, self.location)

    def __dlpack_device__(self) -> tuple[int, int]:
        return device_of(self.location)


class DeviceMemory(Protocol):
    """The memory of one device, with the queue of the work on it. There is one for each location of a process.

    Attributes:
        location: Such as ``cuda:0``.
    """

    location: str

    def empty(self, kind: TensorType) -> DeviceTensor:
        """Return new memory for a tensor. Raises MemoryError where there is none left."""
        ...

    def host_empty(self, kind: TensorType) -> np.ndarray:
        """Return an array of the host that is copied to and from the device as fast as can be (page-locked)."""
        ...

    def copy(self, source: np.ndarray | DeviceTensor, target: np.ndarray | DeviceTensor) -> None:
        """Copy a tensor behind the work that is queued; a copy to the host has ended on return."""
        ...

    def synchronize(self) -> None:
        """Wait until all queued work is done."""
        ...

    def capture(self, work: Callable[[], None]) -> Callable[[], None]:
        """Return a function that queues all that `work` queues, as one graph; `work` is called once and nothing of it is computed.

        Raises:
            ToolchainError: some of the work waits for the host, or cannot be part of a graph.
        """
        ...


class QueuedWork:
    """Work on a device that is captured as one graph after its first run, and launched as one from then on.

    Args:
        work: Queues the work.
        refusal: Why it cannot be one graph, where that is known.

    Attributes:
        refusal: Why it is queued piece by piece all the same; empty where it is one graph, and before the first run.
    """

    def __init__(self, work: Callable[[], None], memory: DeviceMemory, refusal: str = ""):
        self._work, self._memory, self.refusal = work, memory, refusal
        self._launch: Callable[[], None] | None = work if refusal else None

    def __call__(self) -> None:
        if self._launch is not None:
            self._launch()
            return
        self._work()
        self._memory.synchronize()
        try:
            self._launch = self._memory.capture(self._work)
        except ToolchainError as error:
            self._launch, self.refusal = self._work, error.message


class Copy:
    """A copy of a tensor between two locations, as a kernel that reads one tensor and writes one.

    Args:
        memory: That of the device where the tensor is read; of one that the host made, where it is written.
    """

    def __init__(self, memory: DeviceMemory):
        self._memory = memory
        self._ends: tuple[Any, Any] = (None, None)

    def bind(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        [source], [target] = inputs, outputs
        self._ends = source, target

    def run(self) -> None:
        source, target = self._ends
        self._memory.copy(source, target)
        if isinstance(source, DeviceTensor) and isinstance(target, DeviceTensor):
            self._memory.synchronize()  # the work of the other device is queued elsewhere, and does not wait for this one


class HostEnds:
    """A kernel of a device that binds arrays of the host: each run copies its inputs to the device and its outputs back."""

    def __init__(self, kernel: Kernel, memory: DeviceMemory, inputs: Sequence[Tensor], outputs: Sequence[Tensor]):
        self._kernel, self._memory = kernel, memory
        self._inputs = [memory.empty(tensor.type) for tensor in inputs]
        self._outputs = [memory.empty(tensor.type) for tensor in outputs]
        self._arrays: tuple[Sequence[np.ndarray], Sequence[np.ndarray]] = ((), ())
        self._queued = QueuedWork(kernel.run, memory, getattr(kernel, "graph_refusal", ""))
        kernel.bind(self._inputs, self._outputs)  # type: ignore[arg-type]

    def bind(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        self._arrays = inputs, outputs

    def run(self) -> None:
        for array, tensor in zip(self._arrays[0], self._inputs, strict=True):
            self._memory.copy(array, tensor)
        self._kernel.run()
        for tensor, array in zip(self._outputs, self._arrays[1], strict=True):
            self._memory.copy(tensor, array)
        self._memory.synchronize()

    def run_at_device(self) -> None:
        """Run the kernel once more on what the last `run` copied, as a graph where it can be one, and wait for it; nothing is copied."""
        self._queued()
        self._memory.synchronize()
