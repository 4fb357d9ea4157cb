"""Tiny ONNX models for tests, written as text, and a way to run a model in parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, helper, numpy_helper

from collage_core.graph.index_set import IndexSet
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.model.reference.ort_session import OrtSession


def model_of(
    text: str, constants: Mapping[str, np.ndarray] | None = None, *, opset: int = 17, domains: Mapping[str, int] | None = None
) -> ModelProto:
    """Return the model of a graph in ONNX's text form, such as ``g (float[1,4] x) => (float[1,4] y) { [relu] y = Relu(x) }``.

    Args:
        constants: Initializers by name.
        domains: Opset versions of other domains.
    """
    graph = onnx.parser.parse_graph(text)
    graph.initializer.extend(numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items())
    opsets = [helper.make_opsetid(domain, version) for domain, version in {"": opset, **(domains or {})}.items()]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


RATED = """g (float[1,4] x, int64 sr) => (float[1,4] y) {
    [is_fast] fast = Equal(sr, k16)
    [pick] y = If(fast) <
        then_branch = t () => (float[1,4] a) { [relu] a = Relu(x) },
        else_branch = e () => (float[1,4] b) { [neg] n = Neg(x) [abs] m = Abs(n) [exp] k = Exp(m) [tanh] b = Tanh(k) }
    >
}"""


def rated_model() -> ModelProto:
    """Return a model whose input ``sr`` picks a branch: one node where it is 16000, else four."""
    return model_of(RATED, {"k16": np.array(16000)})


def write(folder: Path, model: ModelProto, name: str = "model.onnx") -> Path:
    """Write `model` into `folder`, and return the path."""
    path = folder / name
    path.write_bytes(model.SerializeToString())
    return path


def loaded(folder: Path, text: str, constants: Mapping[str, np.ndarray] | None = None, *, fold: bool = True, opset: int = 17) -> OnnxModel:
    """Return the model of a text, loaded from a file as users do."""
    return load_model(write(folder, model_of(text, constants, opset=opset)), fold=fold)


def weights(*shape: int, seed: int = 0) -> np.ndarray:
    """Return seeded float32 values."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def run_in_parts(model: OnnxModel, parts: Sequence[Sequence[int]], inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the outputs of `model` when each of `parts` is cut out and run by itself, in this order."""
    values = dict(inputs)
    for part in parts:
        cut = model.cut(IndexSet(part))
        proto = onnx.load_from_string(cut.onnx)
        assert [value.name for value in proto.graph.input] == [tensor.name for tensor in cut.inputs]
        assert [value.name for value in proto.graph.output] == [tensor.name for tensor in cut.outputs]
        made = OrtSession(proto).run({tensor.name: values[tensor.name] for tensor in cut.inputs}, [tensor.name for tensor in cut.outputs])
        tensors = {tensor.name: tensor.type.shape for tensor in cut.outputs if not tensor.type.is_container}
        assert {name: made[name].shape for name in tensors} == tensors
        values.update(made)
    return {name: values[name] if name in values else model.constant(name) for name in model.graph.outputs}
