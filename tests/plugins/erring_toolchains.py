"""Toolchains for tests that compute something else, at once or later, or spoil what is not theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from collage_test_toolchains import Numpy, NumpyKernel

from collage_core.graph.dataflow_graph import Tensor
from collage_core.toolchains.onnxruntime.onnxruntime import OnnxRuntimeToolchain
from collage_core.toolchains.toolchain import Kernel


class WrongNumbers(Numpy):
    name = "wrong_numbers"

    def spoil_run(self, kernel: NumpyKernel) -> None:
        for array in kernel.outputs:
            array *= 1.01


class WrongLater(Numpy):
    """Right once, then wrong."""

    name = "wrong_later"
    runs = 0

    def spoil_run(self, kernel: NumpyKernel) -> None:
        self.runs += 1
        if self.runs > 1:
            kernel.outputs[0].reshape(-1)[0] += 1


class MakesNan(Numpy):
    name = "makes_nan"

    def spoil_run(self, kernel: NumpyKernel) -> None:
        kernel.outputs[0].reshape(-1)[0] = np.nan


class LeavesOutputs(Numpy):
    """Claims to have run and writes nothing."""

    name = "leaves_outputs"

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        kernel = NumpyKernel(package)
        if kernel.has_relu:
            kernel.run = lambda: None  # type: ignore[method-assign]
        return kernel


class OverwritesInput(Numpy):
    name = "overwrites_input"

    def spoil_run(self, kernel: NumpyKernel) -> None:
        kernel.inputs[0].reshape(-1)[0] += 1


class Drifts(Numpy):
    """Its Relu gives a little too much: too little to be refused, enough to add up."""

    name = "drifts"

    def spoil_run(self, kernel: NumpyKernel) -> None:
        for array in kernel.outputs:
            array *= np.float32(1.0006)


class Coarse(Drifts):
    """The same, and it says so."""

    name = "numpy@coarse"
    lowers_precision = True


class WrongShape(Numpy):
    """Its result does not fit into the buffer."""

    name = "wrong_shape"

    def spoil_run(self, kernel: NumpyKernel) -> None:
        kernel.outputs[0][...] = np.zeros((3, 5), np.float32)


class SwapsBuffers(Numpy):
    """Hands back arrays of its own, of another shape, in place of those that it was given."""

    name = "swaps_buffers"

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        kernel = NumpyKernel(package)
        if kernel.has_relu:
            kernel.run = lambda: kernel.outputs.__setitem__(slice(None), [np.zeros(3, np.float32)])  # type: ignore[attr-defined, method-assign]
        return kernel


class Alternates(Numpy):
    """Right in its first run, wrong in the second, right in the third."""

    name = "alternates"
    runs = 0

    def spoil_run(self, kernel: NumpyKernel) -> None:
        self.runs += 1
        if self.runs % 2 == 0:
            kernel.outputs[0].reshape(-1)[0] += 1


class Dithers(Numpy):
    """Another result each time."""

    name = "dithers"

    def spoil_run(self, kernel: NumpyKernel) -> None:
        for array in kernel.outputs:
            array += np.random.default_rng().uniform(0.1, 1, array.shape).astype(array.dtype)


class ComputesOnce(Numpy):
    """Its first run is right; afterwards it leaves in the buffers what is there, and is very fast."""

    name = "computes_once"

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        kernel = NumpyKernel(package)
        return RunsOnce(kernel) if kernel.has_relu else kernel


class RunsOnce:
    def __init__(self, kernel: NumpyKernel):
        self.bind = kernel.bind
        self._kernel: NumpyKernel | None = kernel

    def run(self) -> None:
        if self._kernel is not None:
            self._kernel.run()
        self._kernel = None


class ErringRows(OnnxRuntimeToolchain):
    """ONNX Runtime, with rows of its own making where the number of rows depends on values."""

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        return RowsKernel(super().load(package, inputs, outputs, threads), self)

    load_alone = load

    def spoil(self, rows: np.ndarray) -> np.ndarray:
        raise NotImplementedError


class RowsKernel:
    """A kernel whose toolchain has its way with every output that it allocates."""

    def __init__(self, kernel: Any, toolchain: ErringRows):
        self._kernel, self._toolchain = kernel, toolchain
        self.bind, self.run = kernel.bind, kernel.run

    def allocated(self, index: int) -> np.ndarray:
        return self._toolchain.spoil(self._kernel.allocated(index))


class ShiftsBoxes(ErringRows):
    """Every box lies a tenth of the largest coordinate further on."""

    name = "shifts_boxes"

    def spoil(self, rows: np.ndarray) -> np.ndarray:
        return rows + 0.1 * np.abs(rows).max(initial=0) if rows.dtype.kind == "f" and rows.ndim == 2 else rows


class DropsRows(ErringRows):
    """Every third row is missing."""

    name = "drops_rows"

    def spoil(self, rows: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(rows[np.arange(len(rows)) % 3 > 0])
