"""Toolchains that misbehave, for tests: name them in ``COLLAGE_TOOLCHAINS`` as ``collage_test_toolchains:SegfaultsAtBuild``.

All of them compute with numpy and take Relu, Add, Mul, MatMul and Sigmoid. A misbehaving one does so only where a sub-model
holds a Relu, so that a test sees both its failures and what it could do all the same. `Numpy` is well.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import struct
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import onnx
from onnx import numpy_helper

from collage_core.errors import Cancelled
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


class IsKilled(Numpy):
    """As a system without memory would."""

    name = "is_killed"

    def spoil_build(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


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


class Interrupts(Numpy):
    name = "interrupts"

    def spoil_build(self) -> None:
        raise KeyboardInterrupt


class GivesUpForAll(Numpy):
    """Raises what means that the user stopped the run; nobody did."""

    name = "gives_up_for_all"

    def spoil_build(self) -> None:
        raise Cancelled


class RaisesMuch(Numpy):
    """Its words are far too many, in several lines, and no text: control characters, half characters, colours."""

    name = "raises_much"

    def spoil_build(self) -> None:
        raise RuntimeError("\x1b[31m\0lowering \udcff failed\r\n" + "at node 7, " * (1 << 20))


class RefusesMuch(Numpy):
    """The same, in what a toolchain should raise."""

    name = "refuses_much"

    def spoil_build(self) -> None:
        raise ToolchainError("build", "out of \x07registers\n" + "at node 7\n" * (1 << 20) + "x" * (1 << 20))


class RaisesMutely(Numpy):
    """Not even its own text can be had."""

    name = "raises_mutely"

    def spoil_build(self) -> None:
        class Mute(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no text either")

        raise Mute


class RefusesWithoutStage(Numpy):
    name = "refuses_without_stage"

    def spoil_build(self) -> None:
        raise HalfMade


class HalfMade(ToolchainError):
    """An error whose author forgot the rest."""

    def __init__(self) -> None:
        pass


class GivesText(Numpy):
    name = "gives_text"

    def build(self, model: SubModel, threads: int) -> bytes:
        package = super().build(model, threads)
        return "a package" if NumpyKernel(package).has_relu else package  # type: ignore[return-value]


class FailsToLoad(Numpy):
    name = "fails_to_load"

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        if NumpyKernel(package).has_relu:
            raise OSError("undefined symbol: relu_f32")
        return super().load(package, inputs, outputs, threads)


class LoadsNothing(Numpy):
    name = "loads_nothing"

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        return super().load(package, inputs, outputs, threads) if not NumpyKernel(package).has_relu else None  # type: ignore[return-value]


class WrongShape(Numpy):
    """What it computes does not fit into the buffer."""

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


class Leaks(Numpy):
    """Right, but each build keeps 120 MiB for good."""

    name = "leaks"
    _kept: ClassVar[list[bytes]] = []

    def build(self, model: SubModel, threads: int) -> bytes:
        self._kept.append(os.urandom(120 << 20))
        time.sleep(0.3)  # longer than memory goes unlooked at
        return super().build(model, threads)


def channels() -> list[int]:
    """Descriptors of this process's sockets: a worker has one, on which it talks with its parent."""
    return [int(link.name) for link in Path("/proc/self/fd").iterdir() if link.is_symlink() and os.readlink(link).startswith("socket:")]


class Floods(Numpy):
    """Prints to every descriptor there is, the parent's channel among them."""

    name = "floods"
    flood = b"\n".join([b"optimising node 7 of 9"] * 100)

    def spoil_build(self) -> None:
        for descriptor in channels():
            os.write(descriptor, self.flood)


class SendsNoPickle(Floods):
    """Its flood looks like a message, as far as its length goes."""

    name = "sends_no_pickle"
    flood = struct.pack("!Q", 9) + b"no pickle"


class SendsAnything(Floods):
    """A message that says nothing."""

    name = "sends_anything"
    flood = struct.pack("!Q", len(pickle.dumps(5))) + pickle.dumps(5)


class AnswersItself(Floods):
    """An answer to another question, before the answer: all later ones would be one too late."""

    name = "answers_itself"
    flood = struct.pack("!Q", len(pickle.dumps(("result", 0, None)))) + pickle.dumps(("result", 0, None))


class ClosesAll(Numpy):
    """Closes every descriptor that it did not open, and goes on."""

    name = "closes_all"

    def spoil_build(self) -> None:
        os.closerange(3, 256)


class LacksLibrary(Numpy):
    """Says that it is usable, and is not."""

    name = "lacks_library"

    def build(self, model: SubModel, threads: int) -> bytes:
        raise ModuleNotFoundError("No module named 'lacking'")


class HasNoVersion(Numpy):
    name = "has_no_version"

    def availability(self) -> Availability:
        return Availability(True, version=None)  # type: ignore[arg-type]


class CannotSay(Numpy):
    """Cannot tell whether it is usable."""

    name = "cannot_say"

    def availability(self) -> Availability:
        raise OSError("libdriver.so.7: cannot open shared object file\nsecond line")


class LeavesWhenAsked(Numpy):
    name = "leaves_when_asked"

    def availability(self) -> Availability:
        sys.exit("no licence")


class SaysNothing(Numpy):
    name = "says_nothing"

    def availability(self) -> Availability:
        return None  # type: ignore[return-value]


class HasNoRule(Numpy):
    name = "has_no_rule"

    def rule(self, options: RuleOptions) -> PartitionRule:
        raise ZeroDivisionError("division by zero")


class Talks(Numpy):
    """Prints wherever it is asked, in the run's own process too."""

    name = "talks"

    def availability(self) -> Availability:
        print("loading driver")
        return super().availability()

    def rule(self, options: RuleOptions) -> PartitionRule:
        print("12 patterns")
        return super().rule(options)


HOLD = "COLLAGE_TEST_HOLD"
"""Environment variable with the folder in which a test tells `Holds` where to stop."""


class Holds(Numpy):
    """Right; stops at a build or run while the test's folder has a file of that name, and says with which process it does.

    The file holds the least number of nodes that a model must have to be held.
    """

    name = "holds"

    def build(self, model: SubModel, threads: int) -> bytes:
        hold("build", len(onnx.load_from_string(model.onnx).graph.node))
        return super().build(model, threads)

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        return HoldingKernel(package)


class HoldingKernel(NumpyKernel):
    def run(self) -> None:
        hold("run", len(self.graph.node))
        super().run()


def hold(where: str, nodes: int) -> None:
    """Wait while the test wants it."""
    order = Path(os.environ[HOLD]) / where
    while _is_held(order, nodes):
        if not order.with_suffix(".held").exists():
            order.with_suffix(".begun").write_text(str(os.getpid()))
            order.with_suffix(".begun").rename(order.with_suffix(".held"))
        time.sleep(0.01)


def _is_held(order: Path, nodes: int) -> bool:
    try:
        return nodes >= int(order.read_text() or 1)
    except FileNotFoundError:
        return False
