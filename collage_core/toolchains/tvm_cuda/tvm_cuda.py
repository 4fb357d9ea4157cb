"""The toolchain `tvm:cuda:0`: TVM on a GPU of NVIDIA's. **Nobody has run it yet**; it compiles without a GPU.

A package is a shared library with CUDA kernels for the GPU that it was built on. Only `build` and `load` import tvm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...graph.dataflow_graph import Tensor
from ...model.model import SubModel
from ..border import one_line
from ..cuda import cuda_memory
from ..cuda.cuda_target import CudaTarget
from ..toolchain import Availability, Kernel, ToolchainError
from ..tvm.tvm import TvmToolchain, entry

if TYPE_CHECKING:
    from ...rules.rule import PartitionRule, RuleOptions

SCHEDULES_VERSION = ".cuda.1"
"""Version of the passes here, which the toolchain's version ends with; counted up when kernels change."""


class TvmCudaToolchain(CudaTarget):
    """Takes what `tvm` takes, for the GPU of its number."""

    name = "tvm:cuda:0"
    letter = "W"
    distributions = TvmToolchain.distributions
    has_value_contract = True
    build_s = 2.0

    def availability(self) -> Availability:
        known = replace(TvmToolchain().availability(), device=self.location)
        if not known.usable:
            return known
        reason, hint = cuda_memory.why_no_gpu(self.number)
        return replace(known, usable=not reason, version=known.version + SCHEDULES_VERSION, reason=reason, hint=hint)

    def rule(self, options: RuleOptions) -> PartitionRule:
        return TvmToolchain().rule(options)

    def build(self, model: SubModel, threads: int) -> bytes:
        from .tvm_cuda_build import compiled_for_gpu

        return compiled_for_gpu(model, self._architecture())

    def load_at_device(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        import tvm.runtime

        device, stream = tvm.runtime.cuda(self.number), int(cuda_memory.memory_of(self.number).stream)
        try:
            return _Kernel(*entry(package, device), device, stream)
        except Exception as error:  # any exception of TVM is its reason
            raise ToolchainError("build", one_line(error)) from error

    def _architecture(self) -> str:
        """Return what CUDA calls the GPU's architecture, such as ``sm_90``."""
        import tvm.runtime

        device = tvm.runtime.cuda(self.number)
        if not device.exist:
            raise ToolchainError("device", f"TVM finds no GPU {self.number}: its runtime of CUDA does not see one")
        return "sm_" + device.compute_version.replace(".", "")


class _Kernel:
    """A virtual machine whose ``main`` queues kernels on the stream of the GPU's memory."""

    def __init__(self, main: Callable[..., None], scratch: tuple[Any, ...], device: Any, stream: int):
        self._main, self._scratch, self._device, self._stream = main, scratch, device, stream
        self._arguments: tuple[Any, ...] = ()

    def bind(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        from tvm_ffi import from_dlpack

        self._arguments = (*map(from_dlpack, (*inputs, *outputs)), *self._scratch)

    def run(self) -> None:
        from tvm_ffi import use_raw_stream

        try:
            with use_raw_stream(self._device, self._stream):
                self._main(*self._arguments)
        except Exception as error:  # any exception of TVM is its reason
            raise ToolchainError("run", one_line(error)) from error
