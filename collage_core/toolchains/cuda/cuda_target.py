"""`CudaTarget`: what every toolchain has whose kernels read and write tensors in the memory of one GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...graph.dataflow_graph import Tensor
from ..device_tensors import HostEnds
from ..toolchain import Kernel, Toolchain
from . import cuda_memory


class CudaTarget(Toolchain):
    """A toolchain on the GPU of its number; the name of its class ends in that of the first one.

    Attributes:
        number: Which of the GPUs that CUDA lists.
    """

    number = 0

    if TYPE_CHECKING:

        def load_at_device(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel: ...

    @property
    def location(self) -> str:
        return f"cuda:{self.number}"

    def memory(self) -> cuda_memory.CudaMemory:
        return cuda_memory.memory_of(self.number)

    def at_device(self, number: int) -> Toolchain:
        other = type(self)()
        other.number, other.name = number, self.name.removesuffix("0") + str(number)
        return other

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        return HostEnds(self.load_at_device(package, inputs, outputs, threads), self.memory(), inputs, outputs)
