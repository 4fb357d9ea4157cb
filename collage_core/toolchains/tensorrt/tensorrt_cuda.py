"""The toolchains `tensorrt:cuda:0` and `tensorrt_rtx:cuda:0`: engines that run on the GPU they were built for. **Nobody has run them yet.**

A kernel gives the engine the addresses of its tensors and queues it on the stream of `CudaMemory`. Only workers import the library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...graph.dataflow_graph import Tensor
from ..cuda import cuda_memory
from ..cuda.cuda_target import CudaTarget
from ..toolchain import Availability, Kernel, ToolchainError
from .tensorrt import TensorRtRtxToolchain


class TensorRtRtxCudaToolchain(CudaTarget, TensorRtRtxToolchain):
    """Builds engines as `tensorrt_rtx` does, for the GPU of its number, and runs them there."""

    name = "tensorrt_rtx:cuda:0"
    letter = "Z"
    capability = None

    def availability(self) -> Availability:
        known = replace(super().availability(), device=self.location)
        if not known.version:
            return known  # the library is missing
        reason, hint = cuda_memory.why_no_gpu(self.number)
        return replace(known, usable=not reason, reason=reason, hint=hint)

    def load_at_device(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        from .tensorrt_build import opened_engine

        memory = cuda_memory.memory_of(self.number)
        memory.make_current()
        return _Kernel(opened_engine(self.library, package), [tensor.name for tensor in (*inputs, *outputs)], memory)


class TensorRtCudaToolchain(TensorRtRtxCudaToolchain):
    """The same with TensorRT itself."""

    name = "tensorrt:cuda:0"
    letter = "Y"
    library = "tensorrt"
    distributions = ("tensorrt",)
    extra = ""


class _Kernel:
    """An execution context of an engine, which knows its tensors by name."""

    def __init__(self, engine: Any, names: Sequence[str], memory: cuda_memory.CudaMemory):
        self._engine, self._names, self._memory = engine, names, memory
        self._context = engine.create_execution_context()
        if self._context is None:
            raise ToolchainError("build", "TensorRT makes no context of its engine: the GPU may lack memory")

    def bind(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        for name, tensor in zip(self._names, (*inputs, *outputs), strict=True):
            if not self._context.set_tensor_address(name, tensor.address):
                raise ToolchainError("run", f"TensorRT does not take the address of {name!r}")

    def run(self) -> None:
        self._memory.make_current()
        if not self._context.execute_async_v3(int(self._memory.stream)):
            raise ToolchainError("run", "TensorRT did not queue the engine")
