"""The toolchain `ncnn@nchw16c`: ncnn with boundary tensors in the blocked layout in which its own layers compute."""

from __future__ import annotations

from collections.abc import Sequence

from ...graph.dataflow_graph import Tensor
from ..blocked_layout import NCHW16C, blocked_availability
from ..toolchain import Availability, Kernel
from .ncnn import NcnnBase


class NcnnBlockedToolchain(NcnnBase):
    """Takes what `ncnn` takes, and keeps images in the blocked layout at the ends of a sub-graph.

    It has no files of its own: ncnn's programs know no such layout at the ends of a network.
    """

    name = "ncnn@nchw16c"
    letter = "P"
    layout = NCHW16C
    plain = "ncnn"

    def availability(self) -> Availability:
        return blocked_availability(super().availability())

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        from .ncnn_blocked_kernel import loaded_blocked

        return loaded_blocked(package, inputs, outputs, threads)
