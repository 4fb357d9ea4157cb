"""The dynamic model cut along the partitions of a plan, run part by part against ONNX Runtime at random shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collage_core.errors import CollageError
from collage_core.model.dynamic.dynamic_model import dynamic_model
from collage_core.model.dynamic.dynamic_parts import dynamic_parts
from collage_core.model.model import SubModel
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.model.reference.ort_session import OrtSession
from tests.helpers.dynamic_encoder import dynamic_encoder, encoder_inputs
from tests.helpers.models import model_of, write


def parts_of(path: Path, model: OnnxModel, parts: Sequence[Sequence[str]]) -> list[tuple[int, SubModel]]:
    return dynamic_parts(dynamic_model(path, model, {}), model, parts)


def computed(parts: Sequence[tuple[int, SubModel]], inputs: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Run the parts one after another in ONNX Runtime, and return all tensors that pass between them."""
    from onnx import load_model_from_string

    values: dict[str, Any] = dict(inputs)
    for _, part in parts:
        given = {tensor.name: values[tensor.name] for tensor in part.inputs}
        made = OrtSession(load_model_from_string(part.onnx)).run(given, [tensor.name for tensor in part.outputs])
        for tensor in part.outputs:
            value, declared = np.asarray(made[tensor.name]), tensor.type
            assert value.ndim == len(declared.shape)
            assert str(value.dtype) == declared.dtype
            assert all(size == value.shape[axis] for axis, size in enumerate(declared.shape) if axis not in declared.open_axes)
        values |= made
    return values


def halves(model: OnnxModel, count: int) -> list[list[str]]:
    names = [node.name for node in model.graph.nodes]
    share = -(-len(names) // count)
    return [names[start : start + share] for start in range(0, len(names), share)]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_an_encoder_in_parts_computes_the_same_at_any_length(count: int, tmp_path: Path) -> None:
    path = dynamic_encoder(tmp_path, layers=2)
    model = load_model(path, {"ids": (1, 16), "mask": (1, 16)})
    parts = parts_of(path, model, halves(model, count))
    assert sorted(index for index, _ in parts) == list(range(count))
    random = np.random.default_rng(3)
    for length in random.integers(1, 200, 6):
        inputs = encoder_inputs(int(length), int(length), batch=int(random.integers(1, 3)))
        at_length = load_model(path, {name: array.shape for name, array in inputs.items()})
        want, got = at_length.reference(inputs), computed(parts, inputs)
        for name, array in want.items():
            np.testing.assert_allclose(got[name], array, rtol=1e-4, atol=1e-5)


HIDDEN_SHAPE = """g (float[n,4] x) => (float[m,k] y, float[o,p] z) {
    [first] a = Relu(x) [twice] b = Concat <axis = 0> (a, a) [shape] s = Shape(b)
    [sum] c = Neg(b) [filled] f = ConstantOfShape <value = float[1] {1.0}> (s) [last] y = Add(c, f) [other] z = Abs(x)
}"""


def test_arithmetic_over_a_tensor_inside_another_partition_gets_that_tensor(tmp_path: Path) -> None:
    path = write(tmp_path, model_of(HIDDEN_SHAPE))
    model = load_model(path, {"x": (3, 4)})
    names = {node.name for node in model.graph.nodes}
    first = [name for name in ("first", "twice", "sum") if name in names]
    parts = parts_of(path, model, [first, sorted(names - {*first, "other"}), ["other"]])
    for rows in (1, 5, 8):
        x = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)
        got = computed(parts, {"x": x})
        np.testing.assert_allclose(got["y"], 1 - np.maximum(np.concatenate([x, x]), 0), rtol=1e-6)
        np.testing.assert_allclose(got["z"], np.abs(x), rtol=1e-6)


CYCLE = """g (float[n,4] x) => (float[m,4] y) {
    [before] a = Relu(x) [between] b = Neg(a) [after] c = Abs(b)
    [shape] s = Shape(c) [filled] f = ConstantOfShape <value = float[1] {1.0}> (s) [out] d = Add(b, f) [last] y = Sub(d, c)
}"""


def test_partitions_that_wait_for_one_anothers_shapes_are_refused(tmp_path: Path) -> None:
    """At one shape the shape of `c` is a number; else `out` waits for `after`, which waits for `between` beside `out`."""
    path = write(tmp_path, model_of(CYCLE))
    model = load_model(path, {"x": (3, 4)})
    assert {"before", "between", "after", "out", "last"} == {node.name for node in model.graph.nodes}
    with pytest.raises(CollageError, match="wait for one another's shapes"):
        parts_of(path, model, [["before"], ["between", "out"], ["after", "last"]])
