"""Toolchains that misbehave, for tests: name them in ``COLLAGE_TOOLCHAINS`` as ``collage_test_toolchains:SegfaultsAtBuild``.

All of them compute with numpy and take Relu, Add, Mul, MatMul and Sigmoid. A misbehaving one does so only where a sub-model
holds a Relu, so that a test sees both its failures and what it could do all the same. `Numpy` is well.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Sequence

import numpy as np
import onnx
from onnx import numpy_helper

from collage_core.graph import Tensor
from collage_core.model.base import SubModel
from collage_core.rules import OpPredicate, PartitionRule, RuleOptions, arbitrary_fusion
from collage_core.toolchains import registry
from collage_core.toolchains.base import Availability, Kernel, Toolchain, ToolchainError

OPS = {
    "Relu": lambda a: np.maximum(a, 0),
    "Sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "Add": np.add,
    "Mul": np.multiply,
    "MatMul": np.matmul,
}
VERSION = "COLLAGE_TEST_VERSION"
"""Environment variable with the version that they all claim to be of."""


def broken_in_a_worker(name: str) -> Toolchain:
    """Finds a toolchain here; in a worker, which alone runs with a safe path, it raises."""
    if sys.flags.safe_path:
        raise ZeroDivisionError("division by zero")
    return registry.get(name)


class NumpyKernel:
    """Interprets the model node by node."""

    def __init__(self, package: bytes):
        self.graph = onnx.load_from_string(package).graph
        self.constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in self.graph.initializer}
        self.inputs: Sequence[np.ndarray] = ()
        self.outputs: Sequence[np.ndarray] = ()

    def bind(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        self.inputs, self.outputs = inputs, outputs

    def run(self) -> None:
        values = {**self.constants, **dict(zip((value.name for value in self.graph.input), self.inputs, strict=True))}
        for node in self.graph.node:
            values[node.output[0]] = OPS[node.op_type](*(values[name] for name in node.input))
        for value, array in zip(self.graph.output, self.outputs, strict=True):
            array[...] = values[value.name]

    @property
    def has_relu(self) -> bool:
        return any(node.op_type == "Relu" for node in self.graph.node)


class Numpy(Toolchain):
    """The healthy one; the others override what they spoil."""

    name = "numpy"
    letter = "N"

    def availability(self) -> Availability:
        return Availability(True, version=os.environ.get(VERSION, "1"), precision="float32")

    def rule(self, options: RuleOptions) -> PartitionRule:
        return arbitrary_fusion(OpPredicate(ops=tuple(OPS), dtypes=("float32",)), options, 3)

    def build(self, model: SubModel, threads: int) -> bytes:
        if any(node.op_type == "Relu" for node in onnx.load_from_string(model.onnx).graph.node):
            self.spoil_build()
        return model.onnx

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        kernel = NumpyKernel(package)
        return SpoiltKernel(kernel, self) if kernel.has_relu else kernel

    def spoil_build(self) -> None:
        """What happens instead of a build."""

    def spoil_run(self, kernel: NumpyKernel) -> None:
        """What happens after a run."""


class SpoiltKernel:
    """A kernel whose toolchain has its way with every run."""

    def __init__(self, kernel: NumpyKernel, toolchain: Numpy):
        self._kernel = kernel
        self._toolchain = toolchain

    def bind(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        self._kernel.bind(inputs, outputs)

    def run(self) -> None:
        self._kernel.run()
        self._toolchain.spoil_run(self._kernel)


class SegfaultsAtBuild(Numpy):
    name = "segfaults_at_build"

    def spoil_build(self) -> None:
        print("optimising node 7 of 9", flush=True)
        ctypes.string_at(0)


class SegfaultsAtRun(Numpy):
    name = "segfaults_at_run"

    def spoil_run(self, kernel: NumpyKernel) -> None:
        ctypes.string_at(0)


class HangsAtBuild(Numpy):
    name = "hangs_at_build"

    def spoil_build(self) -> None:
        time.sleep(600)


class HangsAtRun(Numpy):
    """Hangs in native code, with the interpreter's lock held."""

    name = "hangs_at_run"

    def spoil_run(self, kernel: NumpyKernel) -> None:
        ctypes.PyDLL(None).sleep(600)


class HangsWhenTimed(Numpy):
    """Its first run is well."""

    name = "hangs_when_timed"
    runs = 0

    def spoil_run(self, kernel: NumpyKernel) -> None:
        self.runs += 1
        if self.runs > 1:
            time.sleep(600)


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


class RaisesOddly(Numpy):
    """Raises something whose class and text nobody expects."""

    name = "raises_oddly"

    def spoil_build(self) -> None:
        class Oddity(BaseException):
            pass

        raise Oddity("stack trace:\n  frame 1\nInternalError: lowering failed\n\n")


class RefusesRelu(Numpy):
    name = "refuses_relu"

    def spoil_build(self) -> None:
        raise ToolchainError("import", "no converter for Relu")


class LeavesQuietly(Numpy):
    name = "leaves_quietly"

    def spoil_build(self) -> None:
        os._exit(0)


class AsksToEnd(Numpy):
    name = "asks_to_end"

    def spoil_build(self) -> None:
        sys.exit("licence not found")


class Babbles(Numpy):
    """Works, and fills both streams with garbage while it does."""

    name = "babbles"

    def spoil_build(self) -> None:
        os.write(1, os.urandom(1 << 20))

    def spoil_run(self, kernel: NumpyKernel) -> None:
        os.write(2, b"\x80\x05K\x01.")


class EatsMemory(Numpy):
    name = "eats_memory"

    def spoil_build(self) -> None:
        held = []
        while True:
            held.append(os.urandom(16 << 20))


class GivesNoBytes(Numpy):
    name = "gives_no_bytes"

    def build(self, model: SubModel, threads: int) -> bytes:
        package = super().build(model, threads)
        return package if not NumpyKernel(package).has_relu else None  # type: ignore[return-value]


class Poisoned(Numpy):
    """The second build in one process crashes; each alone would be well."""

    name = "poisoned"
    builds = 0

    def build(self, model: SubModel, threads: int) -> bytes:
        self.builds += 1
        if self.builds > 1:
            ctypes.string_at(0)
        return super().build(model, threads)


class Slow(Numpy):
    """Right, but each run with a Relu takes 30 ms more."""

    name = "slow"

    def spoil_run(self, kernel: NumpyKernel) -> None:
        time.sleep(0.03)


class Crawls(Numpy):
    """Each run with a Relu takes 0.35 s more."""

    name = "crawls"

    def spoil_run(self, kernel: NumpyKernel) -> None:
        time.sleep(0.35)


class Absent(Numpy):
    name = "absent"

    def availability(self) -> Availability:
        return Availability(False, reason="its library is not installed", hint="pip install absent")


class Drifts(Numpy):
    """What comes out of a Relu is a little too large: too little to be refused, enough to add up."""

    name = "drifts"

    def spoil_run(self, kernel: NumpyKernel) -> None:
        for array in kernel.outputs:
            array *= np.float32(1.0006)


class Sleepy(Numpy):
    """Right, and slow."""

    name = "sleepy"

    def spoil_run(self, kernel: NumpyKernel) -> None:
        time.sleep(0.002)
