"""Toolchains for tests: name them in ``COLLAGE_TOOLCHAINS`` as ``collage_test_toolchains:Slow``.

All of them compute with numpy and take Relu, Add, Mul, MatMul and Sigmoid. `Numpy` is well; those of this file are right in
the end, however they behave, or cannot be used at all. Those of `failing_toolchains` and `erring_toolchains` misbehave, each only
if a sub-model holds a Relu, so that a test sees both its failures and what it could do all the same.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import onnx
from onnx import numpy_helper

from collage_core.graph.dataflow_graph import Tensor
from collage_core.model.model import SubModel
from collage_core.rules.base_rules import OpPredicate
from collage_core.rules.candidate import CandidatePartition
from collage_core.rules.combinators import arbitrary_fusion
from collage_core.rules.rule import PartitionRule, RuleOptions
from collage_core.toolchains import registry
from collage_core.toolchains.toolchain import Availability, Kernel, Toolchain, ToolchainError

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
        """Misbehave in place of a build."""

    def spoil_run(self, kernel: NumpyKernel) -> None:
        """Misbehave after a run."""


class Priced(Numpy):
    """Says itself what its candidates cost: a nanosecond a node; it has no price for an Add."""

    name = "priced"

    def cost_s(self, candidate: CandidatePartition) -> float:
        if any(candidate.graph.nodes[index].op == "Add" for index in candidate.inside):
            raise ValueError("no price for an Add")
        return 1e-9 * len(candidate.inside)


class Compiles(Numpy):
    """Says that its builds take long."""

    name = "compiles"
    build_s = 60.0


class Partitions(Numpy):
    """Takes single nodes, and says that it would take all of its nodes as one; `COLLAGE_TEST_GROUPS` lists other groups, or ``fail``."""

    name = "partitions"

    def rule(self, options: RuleOptions) -> PartitionRule:
        return OpPredicate(ops=tuple(OPS))

    def partitionings(self, model: SubModel) -> dict[str, list[list[str]]]:
        listed = os.environ.get("COLLAGE_TEST_GROUPS", "")
        if listed == "fail":
            raise ToolchainError("build", "out of ideas")
        names = [node.name for node in onnx.load_from_string(model.onnx).graph.node]
        return {"everything": [group.split("+") for group in listed.split()] if listed else [names]}


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


class Babbles(Numpy):
    """Works, and fills both streams with garbage while it does."""

    name = "babbles"

    def spoil_build(self) -> None:
        os.write(1, os.urandom(1 << 20))

    def spoil_run(self, kernel: NumpyKernel) -> None:
        os.write(2, b"\x80\x05K\x01.")


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


class Sleepy(Numpy):
    """Right, and slow."""

    name = "sleepy"

    def spoil_run(self, kernel: NumpyKernel) -> None:
        time.sleep(0.002)


class Leaks(Numpy):
    """Right, but each build keeps 120 MiB for good."""

    name = "leaks"
    _kept: ClassVar[list[bytes]] = []

    def build(self, model: SubModel, threads: int) -> bytes:
        self._kept.append(os.urandom(120 << 20))
        time.sleep(0.3)  # longer than memory goes unlooked at
        return super().build(model, threads)


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
    """Right; stops at a build, as an artifact is assembled, or at a run, and says with which process it does.

    It does so while the test's folder has the file ``build``, ``assemble`` or ``run``, which holds the least number of nodes that a model
    must have to be held.
    """

    name = "holds"

    def build(self, model: SubModel, threads: int) -> bytes:
        hold("build", len(onnx.load_from_string(model.onnx).graph.node))
        return super().build(model, threads)

    def relax_module(self, model: SubModel) -> None:
        """Give none: its package becomes part of the artifact."""
        hold("assemble", len(onnx.load_from_string(model.onnx).graph.node))

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


class NotesBuilds(Numpy):
    """Notes each build in the file that `COLLAGE_TEST_BUILDS` names; a build takes so long that its package is kept."""

    name = "notes_builds"

    def build(self, model: SubModel, threads: int) -> bytes:
        with Path(os.environ["COLLAGE_TEST_BUILDS"]).open("a") as file:
            file.write(f"{self.name}\n")
        time.sleep(0.02)
        return super().build(model, threads)
