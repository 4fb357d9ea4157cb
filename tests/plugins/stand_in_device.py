"""A device that is no device: its memory is the host's, but only copies reach it, and its work is queued, counted and captured.

Name its toolchains in ``COLLAGE_TOOLCHAINS`` as ``stand_in_device:OnDevice``; they compute as `collage_test_toolchains.Numpy` does.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from collage_test_toolchains import Numpy, NumpyKernel

from collage_core.graph.dataflow_graph import Tensor, TensorType
from collage_core.toolchains.buffers import aligned_empty, array_at, buffer_dtype
from collage_core.toolchains.device_tensors import DeviceMemory, DeviceTensor, HostEnds
from collage_core.toolchains.toolchain import Availability, Kernel, Toolchain, ToolchainError

DEVICES = "COLLAGE_TEST_DEVICES"
"""Environment variable with the number of devices; two unless it is set."""


class StandInMemory:
    """Satisfies `DeviceMemory`.

    Attributes:
        counted: How often work was queued, by what it is: ``run``, ``in`` and ``out`` for copies, ``graph`` for launches.
        copied: The shapes that were copied, in order, with the direction.
        waits: What the next captured work does: it raises that it waits for the host.
    """

    def __init__(self, location: str):
        self.location = location
        self.counted: Counter[str] = Counter()
        self.copied: list[tuple[str, tuple[int, ...]]] = []
        self.waits = ""
        self._captured: list[Callable[[], None]] | None = None

    def empty(self, kind: TensorType) -> DeviceTensor:
        array = aligned_empty(kind)
        array.reshape(-1).view(np.uint8)[...] = 0xA5
        return DeviceTensor(self.location, array.ctypes.data, kind, array)

    def host_empty(self, kind: TensorType) -> np.ndarray:
        return aligned_empty(kind)

    def copy(self, source: np.ndarray | DeviceTensor, target: np.ndarray | DeviceTensor) -> None:
        direction = "out" if isinstance(target, np.ndarray) else "across" if isinstance(source, DeviceTensor) else "in"
        if direction == "out" and self._captured is not None:
            raise ToolchainError("run", "a copy to the host waits")

        def work() -> None:
            self.copied.append((direction, source.type.shape if isinstance(source, DeviceTensor) else source.shape))
            values(target)[...] = values(source)

        self.queue(direction, work)

    def queue(self, what: str, work: Callable[[], None]) -> None:
        if self._captured is not None:
            if self.waits:
                raise ToolchainError("run", self.waits)
            self._captured.append(partial(self._do, what, work))
        else:
            self._do(what, work)

    def _do(self, what: str, work: Callable[[], None]) -> None:
        self.counted[what] += 1
        work()

    def synchronize(self) -> None:
        self.counted["wait"] += 1

    def capture(self, work: Callable[[], None]) -> Callable[[], None]:
        self._captured = captured = []
        try:
            work()
        finally:
            self._captured = None

        def launch() -> None:
            self.counted["graph"] += 1
            for step in captured:
                step()

        return launch


def values(end: np.ndarray | DeviceTensor) -> np.ndarray:
    """Return the values of either end of a copy."""
    return end if isinstance(end, np.ndarray) else array_at(end.address, end.type.shape, buffer_dtype(end.type.dtype))


@cache
def memory_at(location: str) -> StandInMemory:
    return StandInMemory(location)


class OnDeviceKernel:
    """A kernel that binds nothing but tensors of its device."""

    def __init__(self, kernel: NumpyKernel, memory: StandInMemory):
        self._kernel, self._memory = kernel, memory

    def bind(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        for tensor in (*inputs, *outputs):
            assert getattr(tensor, "location", "host") == self._memory.location
        self._kernel.bind([values(tensor) for tensor in inputs], [values(tensor) for tensor in outputs])

    def run(self) -> None:
        self._memory.queue("run", self._kernel.run)


class OnDevice(Numpy):
    """The toolchain of the first device."""

    name = "standin:dev:0"
    letter = "D"
    number = 0

    @property
    def location(self) -> str:
        return f"dev:{self.number}"

    def memory(self) -> DeviceMemory:
        return memory_at(self.location)

    def at_device(self, number: int) -> Toolchain:
        other = type(self)()
        other.number, other.name = number, self.name.removesuffix("0") + str(number)
        return other

    def availability(self) -> Availability:
        devices = int(os.environ.get(DEVICES, "2"))
        if self.number >= devices:
            return Availability(False, "1", f"there is no device {self.number} here", "run it where there is one", self.location)
        return Availability(True, "1", device=self.location)

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        return HostEnds(self.load_at_device(package, inputs, outputs, threads), self.memory(), inputs, outputs)

    def load_at_device(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        return OnDeviceKernel(NumpyKernel(package), memory_at(self.location))
