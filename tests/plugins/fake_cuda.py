"""A stand-in for `cuda.bindings.runtime`: the memory of its GPU is the host's, and a captured stream keeps its work for later."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

import numpy as np

from collage_core.model.model import SubModel
from collage_core.toolchains.conformance.small_models import drawn
from collage_core.toolchains.cuda.cuda_target import CudaTarget


class Status(IntEnum):
    cudaSuccess = 0
    cudaErrorMemoryAllocation = 2
    cudaErrorStreamCaptureUnsupported = 900


class FakeRuntime:
    """Has the functions that `CudaMemory` calls, with CUDA's names.

    Attributes:
        calls: Their names in order, but for allocations.
        limit: Bytes that can be allocated at once.
    """

    cudaError_t = Status
    cudaStreamNonBlocking = 1
    cudaMemcpyKind = SimpleNamespace(cudaMemcpyDefault=4)
    cudaStreamCaptureMode = SimpleNamespace(cudaStreamCaptureModeThreadLocal=1)

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.limit = 1 << 20
        self.memory: dict[int, np.ndarray] = {}
        self._captured: list[Callable[[], Any]] | None = None

    def cudaSetDevice(self, number: int) -> tuple[Status]:
        self.calls.append(f"device {number}")
        return (Status.cudaSuccess,)

    def cudaStreamCreateWithFlags(self, flags: int) -> tuple[Status, int]:
        return Status.cudaSuccess, 0x57

    def cudaMalloc(self, size: int) -> tuple[Status, int | None]:
        if size > self.limit:
            return Status.cudaErrorMemoryAllocation, None
        array = np.full(size, 0xA5, np.uint8)
        self.memory[array.ctypes.data] = array
        return Status.cudaSuccess, array.ctypes.data

    def cudaHostAlloc(self, size: int, flags: int) -> tuple[Status, int | None]:
        return self.cudaMalloc(size)

    def cudaFree(self, address: int) -> tuple[Status]:
        del self.memory[address]
        return (Status.cudaSuccess,)

    cudaFreeHost = cudaFree

    def cudaMemcpyAsync(self, target: int, source: int, size: int, kind: int, stream: int) -> tuple[Status]:
        return self._queue("copy", lambda: ctypes.memmove(target, source, size))

    def cudaStreamSynchronize(self, stream: int) -> tuple[Status]:
        if self._captured is not None:
            return (Status.cudaErrorStreamCaptureUnsupported,)
        self.calls.append("wait")
        return (Status.cudaSuccess,)

    def cudaStreamBeginCapture(self, stream: int, mode: int) -> tuple[Status]:
        self._captured = []
        return (Status.cudaSuccess,)

    def cudaStreamEndCapture(self, stream: int) -> tuple[Status, Any]:
        captured, self._captured = self._captured, None
        return Status.cudaSuccess, captured

    def cudaGraphInstantiate(self, graph: Any, flags: int) -> tuple[Status, Any]:
        return Status.cudaSuccess, tuple(graph)

    def cudaGraphDestroy(self, graph: Any) -> tuple[Status]:
        return (Status.cudaSuccess,)

    def cudaGraphExecDestroy(self, ready: Any) -> tuple[Status]:
        self.calls.append("graph destroyed")
        return (Status.cudaSuccess,)

    def cudaGraphLaunch(self, ready: Any, stream: int) -> tuple[Status]:
        self.calls.append("graph")
        for work in ready:
            work()
        return (Status.cudaSuccess,)

    def cudaGetErrorString(self, status: Status) -> tuple[Status, bytes]:
        return Status.cudaSuccess, status.name.encode()

    def _queue(self, what: str, work: Callable[[], Any]) -> tuple[Status]:
        if self._captured is not None:
            self._captured.append(work)
        else:
            self.calls.append(what)
            work()
        return (Status.cudaSuccess,)


def assert_neighbours_share_tensors(toolchain: CudaTarget, package: bytes, relu: SubModel, runtime: FakeRuntime) -> None:
    """Run two kernels of `relu`, the second on what the first wrote: the input and the result alone are copied."""
    memory, kind = toolchain.memory(), relu.inputs[0].type
    first, second = (toolchain.load_at_device(package, relu.inputs, relu.outputs, 1) for _ in range(2))
    read, between, written = (memory.empty(kind) for _ in range(3))
    [array], result = drawn(relu.inputs), memory.host_empty(kind)
    memory.copy(array, read)
    first.bind([read], [between])  # type: ignore[list-item]
    second.bind([between], [written])  # type: ignore[list-item]
    for kernel in (first, second):
        kernel.run()
    memory.copy(written, result)
    np.testing.assert_array_equal(result, np.maximum(array, 0))
    assert runtime.calls.count("copy") == 2
