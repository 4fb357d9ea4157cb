"""`CudaMemory`: the memory of one GPU and the stream on which all work of this process on it is queued. **Nobody has run it yet.**

It calls CUDA's runtime through the package `cuda-bindings`, which is imported when the memory of a GPU is first asked for.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from functools import cache, partial
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.dataflow_graph import TensorType
from ..buffers import array_at, buffer_dtype
from ..device_tensors import DeviceTensor
from ..toolchain import ToolchainError

DEVICES = Path("/dev")
PACKAGE = "cuda-bindings"
_PAGE_LOCKED_FOR_ALL = 1
"""``cudaHostAllocPortable``: page-locked for every GPU."""


def gpus_here() -> int:
    """Return the number of NVIDIA GPUs that this process can open."""
    return sum(re.fullmatch(r"nvidia\d+", path.name) is not None for path in DEVICES.glob("nvidia*"))


def why_no_gpu(number: int) -> tuple[str, str]:
    """Return why the GPU `number` cannot hold tensors of this process, and what to do; two empty texts where it can."""
    gpus = gpus_here()
    if gpus == 0:
        return "no NVIDIA GPU is here: there is no /dev/nvidia0", "run it on a machine with an NVIDIA GPU and its driver"
    if number >= gpus:
        return f"there is no GPU {number} here, they are 0 to {gpus - 1}", "name one of these"
    if util.find_spec("cuda") is None or util.find_spec("cuda.bindings") is None:
        return f"the package {PACKAGE} is not installed", f"pip install {PACKAGE}"
    return "", ""


@cache
def memory_of(number: int) -> CudaMemory:
    """Return the memory of the GPU `number`, the same for all toolchains of this process."""
    from cuda.bindings import runtime

    return CudaMemory(number, runtime)


class CudaMemory:
    """Satisfies `DeviceMemory`.

    Args:
        number: Which of the GPUs that CUDA lists.
        runtime: The module `cuda.bindings.runtime`.

    Attributes:
        stream: The stream, as CUDA's runtime takes it; ``int(stream)`` is its address.
    """

    def __init__(self, number: int, runtime: Any):
        self.number, self.location = number, f"cuda:{number}"
        self._runtime = runtime
        self.make_current()
        self.stream = self._call(runtime.cudaStreamCreateWithFlags, runtime.cudaStreamNonBlocking)

    def make_current(self) -> None:
        """Let what this thread allocates, creates and launches from now on be of this GPU."""
        self._call(self._runtime.cudaSetDevice, self.number)

    def empty(self, kind: TensorType) -> DeviceTensor:
        self.make_current()
        address = int(self._call(self._runtime.cudaMalloc, max(kind.bytes, 1)))
        owner = _Memory(partial(self._runtime.cudaFree, address))
        return DeviceTensor(self.location, address, kind, owner)

    def host_empty(self, kind: TensorType) -> np.ndarray:
        address = int(self._call(self._runtime.cudaHostAlloc, max(kind.bytes, 1), _PAGE_LOCKED_FOR_ALL))
        array = array_at(address, kind.shape, buffer_dtype(kind.dtype))
        weakref.finalize(array.base if isinstance(array.base, np.ndarray) else array, self._runtime.cudaFreeHost, address)
        return array

    def copy(self, source: np.ndarray | DeviceTensor, target: np.ndarray | DeviceTensor) -> None:
        kind = self._runtime.cudaMemcpyKind.cudaMemcpyDefault  # CUDA knows from an address whose memory it is in
        size = source.nbytes if isinstance(source, np.ndarray) else source.type.bytes
        self._call(self._runtime.cudaMemcpyAsync, _address(target), _address(source), size, kind, self.stream)
        if isinstance(target, np.ndarray):
            self.synchronize()

    def synchronize(self) -> None:
        self._call(self._runtime.cudaStreamSynchronize, self.stream)

    def capture(self, work: Callable[[], None]) -> Callable[[], None]:
        runtime = self._runtime
        self._call(runtime.cudaStreamBeginCapture, self.stream, runtime.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal)
        try:
            work()
        except Exception as error:
            runtime.cudaStreamEndCapture(self.stream)  # leaves the stream usable; the graph is not
            raise error if isinstance(error, ToolchainError) else ToolchainError("build", str(error)) from error
        graph = self._call(runtime.cudaStreamEndCapture, self.stream)
        ready = self._call(runtime.cudaGraphInstantiate, graph, 0)
        self._call(runtime.cudaGraphDestroy, graph)
        launch = partial(self._call, runtime.cudaGraphLaunch, ready, self.stream)
        weakref.finalize(launch, runtime.cudaGraphExecDestroy, ready)
        return launch

    def _call(self, function: Callable[..., tuple[Any, ...]], *arguments: Any) -> Any:
        """Call a function of CUDA's runtime and return its result.

        Raises:
            MemoryError: the GPU has not enough memory left.
            ToolchainError: at stage ``device``, with CUDA's words.
        """
        status, *result = function(*arguments)
        if int(status):
            words = self._runtime.cudaGetErrorString(status)[1]
            text = f"{self.location}: {words.decode() if isinstance(words, bytes) else words}"
            raise MemoryError(text) if status == self._runtime.cudaError_t.cudaErrorMemoryAllocation else ToolchainError("device", text)
        return result[0] if result else None


class _Memory:
    """Memory that is freed when nothing refers to it any more."""

    def __init__(self, free: Callable[[], object]):
        weakref.finalize(self, free)


def _address(end: np.ndarray | DeviceTensor) -> int:
    return end.ctypes.data if isinstance(end, np.ndarray) else end.address
