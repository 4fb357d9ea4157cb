"""Toolchains for tests, to be named in ``COLLAGE_TOOLCHAINS``."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence

from collage_core.base.home import home
from collage_core.graph.dataflow_graph import Tensor
from collage_core.model.model import SubModel
from collage_core.rules.base_rules import DFPattern, OpPredicate
from collage_core.rules.rule import PartitionRule, RuleOptions
from collage_core.toolchains.onnxruntime.onnxruntime import OnnxRuntimeToolchain
from collage_core.toolchains.toolchain import Availability, Kernel, Toolchain, ToolchainError


class Dummy(Toolchain):
    name = "dummy"
    letter = "D"

    def availability(self) -> Availability:
        return Availability(True, "1")

    def rule(self, options: RuleOptions) -> PartitionRule:
        return OpPredicate()

    def build(self, model: SubModel, threads: int) -> bytes:
        return b"dummy"

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        raise ToolchainError("build", "a dummy cannot run")


def relu_pairs(options: RuleOptions) -> PartitionRule:
    """A rule that others add to a toolchain."""
    return DFPattern("Relu(Relu)", label="relus")


class Nameless(Dummy):
    name = ""


class Raising(Dummy):
    def __init__(self) -> None:
        raise RuntimeError("no licence found\nsecond line")


class RunFails(Dummy):
    """A toolchain that builds anything, and whose kernels fail when they run."""

    name = "runfails"

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        return _Failing()


class _Failing:
    def bind(self, inputs: object, outputs: object) -> None:
        pass

    def run(self) -> None:
        raise ToolchainError("run", "the accelerator is on fire")


class Counted(OnnxRuntimeToolchain):
    """ONNX Runtime that takes its time to build, and notes what it builds in ``builds.txt`` of the folder of data."""

    name = "counted"

    def build(self, model: SubModel, threads: int) -> bytes:
        with (home() / "builds.txt").open("a") as file:
            file.write(f"{hashlib.sha256(model.onnx).hexdigest()}\n")
        time.sleep(0.1)
        return super().build(model, threads)


NOT_A_TOOLCHAIN = dict
