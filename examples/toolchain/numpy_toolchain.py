"""A toolchain that computes single calls of Relu and Abs on float32, with numpy."""

import numpy as np

from collage_core.rules import OpPredicate
from collage_core.toolchains import Availability, Toolchain, ToolchainError

FUNCTIONS = {b"Relu": lambda x, out: np.maximum(x, 0, out=out), b"Abs": np.abs}


class NumpyToolchain(Toolchain):
    name, letter = "numpy", "P"

    def availability(self):
        return Availability(True, version=np.__version__, precision="float32")

    def rule(self, options):
        return OpPredicate(ops=("Relu", "Abs"), dtypes=("float32",))

    def build(self, model, threads):
        import onnx

        package = " ".join(node.op_type for node in onnx.load_from_string(model.onnx).graph.node).encode()
        if package not in FUNCTIONS:
            raise ToolchainError("import", f"numpy takes one call of Relu or Abs, not {package.decode()}")
        return package

    def load(self, package, inputs, outputs, threads):
        if package not in FUNCTIONS:
            raise ToolchainError("build", f"{package!r} is no function")
        return NumpyKernel(FUNCTIONS[package])


class NumpyKernel:
    def __init__(self, function):
        self.function = function

    def bind(self, inputs, outputs):
        self.arrays = inputs[0], outputs[0]

    def run(self):
        self.function(*self.arrays)
