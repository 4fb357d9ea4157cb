"""A toolchain that takes single calls of Relu and Abs on float32, and computes them with numpy: the least that one needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collage_core.rules import OpPredicate, arbitrary_fusion
from collage_core.toolchains import Availability, Toolchain, ToolchainError

FUNCTIONS = {"Relu": lambda x, out: np.maximum(x, 0, out=out), "Abs": lambda x, out: np.abs(x, out=out)}


class RectifierToolchain(Toolchain):
    """Its package is the name of the function."""

    name, letter = "rectifier", "R"

    def availability(self) -> Availability:
        return Availability(True, version=f"1.0 on numpy {np.__version__}", precision="float32")

    def rule(self, options):
        return arbitrary_fusion(OpPredicate(ops=tuple(FUNCTIONS), dtypes=("float32",)), options, depth=1)

    def build(self, model, threads: int) -> bytes:
        import onnx  # here and not above: a program that only runs artifacts has no onnx

        nodes = onnx.load_model_from_string(model.onnx).graph.node
        if len(nodes) != 1 or nodes[0].op_type not in FUNCTIONS:
            raise ToolchainError("import", f"it takes one call of {' or '.join(FUNCTIONS)}")
        return nodes[0].op_type.encode()

    def load(self, package: bytes, inputs, outputs, threads: int):
        return RectifierKernel(FUNCTIONS[package.decode()])


class RectifierKernel:
    """Computes in the buffers of the caller; nothing is copied."""

    def __init__(self, function):
        self.function = function

    def bind(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        self.given, self.made = inputs[0], outputs[0]

    def run(self) -> None:
        self.function(self.given, self.made)
