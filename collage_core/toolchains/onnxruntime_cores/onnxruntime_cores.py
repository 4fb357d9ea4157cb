"""The toolchain `onnxruntime@cores:cpu:0`: ONNX Runtime on the first set of cores, with one thread for each of them.

Its kernels are those of `onnxruntime`, whose threads begin on the cores of the set and stay there; the thread that runs a plan is on them
while a kernel runs. Tensors are in the host's memory, so nothing is copied between sets.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import CollageError
from ...graph.dataflow_graph import Tensor
from ...model.model import SubModel
from ..onnxruntime.onnxruntime import OnnxRuntimeBase
from ..toolchain import Availability, Kernel, Toolchain
from .core_sets import core_sets, core_text, on_cores

if TYPE_CHECKING:
    import numpy as np


class OnnxRuntimeCoresToolchain(OnnxRuntimeBase):
    """Takes what `onnxruntime` takes. It is used only where the user names it.

    Attributes:
        number: Which of the sets.
    """

    name = "onnxruntime@cores:cpu:0"
    letter = "S"
    number = 0
    takes_open_shapes = False
    takes_opaque = False

    def availability(self) -> Availability:
        availability = super().availability()
        if not availability.usable:
            return availability
        if not hasattr(os, "sched_setaffinity"):
            return Availability(False, availability.version, "this system cannot keep threads on cores", "use onnxruntime")
        try:
            sets = core_sets()
        except CollageError as error:
            return Availability(False, availability.version, error.message, error.hint)
        if self.number >= len(sets):
            hint = "name one of these, or list others in COLLAGE_CORE_SETS"
            return Availability(
                False, availability.version, f"there is no core set {self.number} here, they are 0 to {len(sets) - 1}", hint
            )
        return replace(availability, version=f"{availability.version}.cores.{core_text(sets[self.number])}")

    def at_device(self, number: int) -> Toolchain:
        other = type(self)()
        other.number, other.name = number, self.name.removesuffix("0") + str(number)
        return other

    def build(self, model: SubModel, threads: int) -> bytes:
        return super().build(model, len(core_sets()[self.number]))

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        cores = core_sets()[self.number]
        with on_cores(cores):
            return _KernelOnCores(super().load(package, inputs, outputs, len(cores)), cores)

    load_alone = load


class _KernelOnCores:
    """A kernel that keeps the thread that runs it on its cores."""

    def __init__(self, kernel: Kernel, cores: Sequence[int]):
        self._kernel, self._cores = kernel, cores

    def bind(self, inputs: Sequence[np.ndarray], outputs: Sequence[Any]) -> None:
        self._kernel.bind(inputs, outputs)

    def run(self) -> None:
        with on_cores(self._cores):
            self._kernel.run()
