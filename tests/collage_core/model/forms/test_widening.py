"""A model in half precision is compared with its result in float32, unless its own precision makes it another function."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from collage_core.model.forms.widening import OWN_SHARE, types_of, widened
from collage_core.model.onnx_model import load_model
from collage_core.model.reference.accuracy import default_accuracy, relative_error
from tests.helpers.models import loaded, model_of, write

HALF = np.float16


def test_the_reference_is_not_rounded_on_the_way(tmp_path: Path) -> None:
    model = loaded(tmp_path, "g (float[4] x) => (float[4] y) { a = Cast<to = 10>(x) b = Cast<to = 1>(a) y = Neg(b) }")
    given = {"x": np.array([1.0004, 1.0008, 1.0012, 1.0016], np.float32)}
    assert relative_error(model.reference(given)["y"], -given["x"]) == 0
    assert relative_error(-given["x"].astype(HALF).astype(np.float32), -given["x"]) > 1e-4
    assert model.reference_precision == "float32"


def test_an_output_has_its_own_type(tmp_path: Path) -> None:
    model = loaded(tmp_path, "g (float16[2] x) => (float16[2] y, seq(float16[2]) s) { y = Exp(x) s = SequenceConstruct(x, y) }")
    made = model.reference({"x": np.array([0, 1], HALF)})
    assert [made["y"].dtype, *(part.dtype for part in made["s"])] == [HALF] * 3


def test_an_output_that_its_own_precision_makes_another_function_stays(tmp_path: Path) -> None:
    text = """g (float[2] x) => (float[2] y, float[2] z) {
        a = Mul(x, big) b = Cast<to = 10>(a) c = Cast<to = 1>(b) y = Div(c, big) d = Cast<to = 10>(x) e = Cast<to = 1>(d) z = Neg(e) }"""
    model = loaded(tmp_path, text, {"big": np.float32(60000)})
    made = model.reference({"x": np.array([2, 3.0004], np.float32)})
    assert np.isinf(made["y"]).all()  # as the model itself computes it: the product is out of range
    assert made["z"].tolist() == [-2, -np.float32(3.0004)]


def test_integers_stay_those_of_the_model(tmp_path: Path) -> None:
    text = "g (float[4] x) => (int64 k) { a = Add(x, big) b = Cast<to = 10>(a) c = Cast<to = 1>(b) k = ArgMax<axis = 0, keepdims = 0>(c) }"
    model = loaded(tmp_path, text, {"big": np.float32(2048)})
    made = model.reference({"x": np.array([0.1, 0.2, 0.3, 0.4], np.float32)})
    assert made["k"] == 0  # in float16 all four are equal; in float32 the last one is the greatest


def test_every_type_of_a_model_is_widened() -> None:
    text = """g (float16[2] x, bool c) => (float16[2] y, seq(float16[2]) s) {
        a = Cast<to = 10>(x) s = SequenceConstruct(a)
        k = ConstantOfShape<value = float16[1] {1}>(n)
        y = If(c)<then_branch = t () => (float16[2] p) { p = Cast<to = 10>(k) },
            else_branch = e () => (float16[2] q) { q = Add(a, w) }> }"""
    proto = model_of(text, {"n": np.array([2]), "w": np.ones(2, HALF)}, opset=20)
    assert 10 in set(types_of(proto))
    assert 10 not in set(types_of(widened(proto)))


@pytest.mark.parametrize(
    ("text", "precision", "accuracy"),
    [
        ("g (float[2] x) => (float[2] y) { y = Relu(x) }", "float32", 1e-3),
        ("g (float16[2] x) => (float16[2] y) { y = Relu(x) }", "float16", 1e-2),
        ("g (float[2] x) => (float[2] y) { a = Cast<to = 10>(x) b = Exp(a) y = Cast<to = 1>(b) }", "float16", 1e-2),
        ("g (bfloat16[2] x) => (float[2] y) { a = Cast<to = 1>(x) y = Exp(a) }", "bfloat16", 5e-2),
        ("g (float[2] x) => (float8e4m3fn[2] y) { a = Exp(x) y = Cast<to = 17>(a) }", "float8", 0.13),
        ("g (float[2] x) => (uint8[2] y, float[] s) { y, s, z = DynamicQuantizeLinear(x) }", "float32", 2e-2),
    ],
)
def test_the_accuracy_follows_from_the_precision(tmp_path: Path, text: str, precision: str, accuracy: float) -> None:
    model = load_model(write(tmp_path, model_of(text, opset=20)))
    assert (model.precision, default_accuracy(model)) == (precision, accuracy)
    assert 0 < OWN_SHARE < 1
