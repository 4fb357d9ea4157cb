"""Toolchains for tests that compute rightly on small numbers, and otherwise as libraries are known to: each has one fault.

They run ONNX Runtime, and change what enters or leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx

from collage_core.graph.dataflow_graph import Tensor
from collage_core.model.model import SubModel
from collage_core.rules.base_rules import OpPredicate
from collage_core.rules.rule import PartitionRule, RuleOptions
from collage_core.toolchains.toolchain import Availability, Kernel, Toolchain


class OrtKernel:
    """Runs a sub-model with its inputs changed by `before`, and its outputs by `after`."""

    def __init__(self, toolchain: Inexact, package: bytes):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        self._toolchain = toolchain
        self._ops = [node.op_type for node in onnx.load_from_string(package).graph.node]
        self._session = onnxruntime.InferenceSession(package, options, ["CPUExecutionProvider"])
        self._names = [value.name for value in self._session.get_inputs()]
        self._inputs: Sequence[np.ndarray] = ()
        self._outputs: Sequence[np.ndarray] = ()

    def bind(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        self._inputs, self._outputs = inputs, outputs

    def run(self) -> None:
        given = [self._toolchain.before(array) for array in self._inputs]
        made = self._session.run(None, dict(zip(self._names, given, strict=True)))
        for array, value in zip(self._outputs, self._toolchain.after(self._ops, self._inputs, made), strict=True):
            array[...] = value


class Inexact(Toolchain):
    letter = "X"

    def availability(self) -> Availability:
        return Availability(True, version="1")

    def rule(self, options: RuleOptions) -> PartitionRule:
        return OpPredicate()

    def build(self, model: SubModel, threads: int) -> bytes:
        return model.onnx

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        return OrtKernel(self, package)

    def before(self, array: np.ndarray) -> np.ndarray:
        """Return what the library computes with in place of an input."""
        return array

    def after(self, ops: Sequence[str], inputs: Sequence[np.ndarray], made: list[Any]) -> list[Any]:
        """Return what the library makes in place of right outputs."""
        return made


class Saturates(Inexact):
    """Adds bytes without wrapping around."""

    name = "saturates"

    def after(self, ops: Sequence[str], inputs: Sequence[np.ndarray], made: list[Any]) -> list[Any]:
        return [np.clip(sum(array.astype(int) for array in inputs), 0, 255).astype(np.uint8)]


class Truncates(Inexact):
    """Keeps the low 32 bits of int64."""

    name = "truncates"

    def before(self, array: np.ndarray) -> np.ndarray:
        return array.astype(np.int32).astype(array.dtype) if array.dtype == np.int64 else array


class TruncatesPairs(Truncates):
    name = "truncates_pairs"


class HoldsIntegersAsDoubles(Inexact):
    """Holds int64 in float64, which rounds what is beyond 2^53."""

    name = "holds_integers_as_doubles"

    def before(self, array: np.ndarray) -> np.ndarray:
        return np.clip(array.astype(np.float64), -(2.0**63), 2.0**63 - 1024).astype(np.int64) if array.dtype == np.int64 else array


class ReordersTies(Inexact):
    """Gives the higher one of two indices of equal values."""

    name = "reorders_ties"

    def before(self, array: np.ndarray) -> np.ndarray:
        return array[..., ::-1].copy() if array.dtype.kind == "f" else array

    def after(self, ops: Sequence[str], inputs: Sequence[np.ndarray], made: list[Any]) -> list[Any]:
        return [inputs[0].shape[-1] - 1 - value if value.dtype == np.int64 else value for value in made]


class DropsNan(Inexact):
    name = "drops_nan"

    def after(self, ops: Sequence[str], inputs: Sequence[np.ndarray], made: list[Any]) -> list[Any]:
        return [np.nan_to_num(value, nan=0.0) for value in made]


class ComputesInFloat32(Inexact):
    """Computes double in float32."""

    name = "computes_in_float32"

    def before(self, array: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return array.astype(np.float32).astype(array.dtype) if array.dtype == np.float64 else array


class Clamps(Inexact):
    """Holds no number beyond 100,000, which is more than extreme inputs have."""

    name = "clamps"

    def before(self, array: np.ndarray) -> np.ndarray:
        return np.clip(array, -1e5, 1e5)


class Coarse(Inexact):
    """Computes hyperbolic tangents that are too large by a small share."""

    name = "coarse"

    def build(self, model: SubModel, threads: int) -> bytes:
        proto = onnx.load_from_string(model.onnx)
        nodes = list(proto.graph.node)
        del proto.graph.node[:]
        for node in nodes:
            if node.op_type == "Tanh":
                (made,) = node.output
                node.output[0] = f"{made}/exact"
                more = onnx.helper.make_node("Mul", [f"{made}/exact", f"{made}/more"], [made])
                proto.graph.initializer.append(onnx.numpy_helper.from_array(np.float32(1.0005), f"{made}/more"))
                proto.graph.node.extend([node, more])
            else:
                proto.graph.node.append(node)
        return bytes(proto.SerializeToString())


class RoundsUp(Inexact):
    """Rounds floats to integers that are too large by one."""

    name = "rounds_up"

    def after(self, ops: Sequence[str], inputs: Sequence[np.ndarray], made: list[Any]) -> list[Any]:
        return [np.minimum(array.astype(int) + 1, 127).astype(array.dtype) if array.dtype.kind == "i" else array for array in made]
