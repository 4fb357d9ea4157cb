"""Extreme values of inputs, by what reads them, and what is milder since the model does not bear it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collage_core.model.model import EXTREME
from tests.helpers.models import loaded, weights


def extreme(folder: Path, text: str, constants: Mapping[str, np.ndarray] | None = None, **options: Any) -> tuple[dict[str, Any], str]:
    """Return the extreme inputs of a model, and the notes on what is milder."""
    sets = loaded(folder, text, constants, **options).input_sets
    found = sets(loaded(folder, text, constants, **options).seeded_inputs())
    return next((dict(one.arrays) for one in found.further if one.name == EXTREME), {}), "; ".join(found.notes)


@pytest.mark.parametrize(
    ("text", "constants", "low", "high"),
    [
        ("g (uint8[64] x) => (uint8[64] y) { y = Add(x, x) }", {}, 0, 255),
        ("g (int8[64] x) => (int8[64] y) { y = Add(x, x) }", {}, -128, 127),
        ("g (int64[64] x) => (int64[64] y) { y = Add(x, x) }", {}, -(2**63), 2**63 - 1),
        ("g (uint64[64] x) => (uint64[64] y) { y = Add(x, x) }", {}, 0, 2**64 - 1),
        ("g (int64[64] x) => (float[64,2] y) { y = Gather(w, x) }", {"w": weights(500, 2)}, 0, 499),
        ("g (int64[64] x) => (float[1,64,2] y) { u = Unsqueeze(x, a) y = Gather(w, u) }", {"w": weights(7, 2), "a": np.array([0])}, 0, 6),
        ("g (int64[64] x) => (float[64,30] y) { y = OneHot(x, d, v) }", {"d": np.array(30), "v": np.float32([0, 1])}, 0, 29),
        ("g (int32[6,2] x) => (float[6] y) { i = Cast<to=7>(x) y = GatherND(w, i) }", {"w": weights(20, 30)}, 0, 29),
    ],
)
def test_integers_reach_both_ends_of_what_reads_them(tmp_path: Path, text: str, constants: Any, low: int, high: int) -> None:
    values, notes = extreme(tmp_path, text, constants)
    assert (int(values["x"].min()), int(values["x"].max()), notes) == (low, high, "")


def test_integers_are_such_that_float32_and_32_bits_lose_some(tmp_path: Path) -> None:
    values, _ = extreme(tmp_path, "g (int64[200] x) => (int64[200] y) { y = Neg(x) }")
    small = np.abs(values["x"]) < 10
    assert np.any(values["x"] != values["x"].astype(np.int32))
    assert 20 < small.sum() < 120, "equal ones are among them"


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_pairs_of_integers_are_equal_in_one_half_alone(tmp_path: Path, dtype: str) -> None:
    values, _ = extreme(tmp_path, f"g ({dtype}[64] a, {dtype}[64] b) => (bool[64] y) {{ y = Equal(a, b) }}")
    halves = [(values[name] >> np.array(32, dtype), values[name] & np.array(2**32 - 1, dtype)) for name in "ab"]
    has_upper, has_lower = (one == other for one, other in zip(*halves, strict=True))
    is_small = halves[0][0] == 0
    assert np.any(has_upper & ~has_lower & ~is_small)
    assert np.any(has_lower & ~has_upper)


def test_indices_to_write_to_are_all_different(tmp_path: Path) -> None:
    text = "g (float[50,2] d, int64[8,1] x, float[8,2] u) => (float[50,2] y) { y = ScatterND(d, x, u) }"
    values, _ = extreme(tmp_path, text)
    rows = values["x"].reshape(-1)
    assert (len(set(rows)), rows.min(), rows.max()) == (8, 0, 49)
    text = "g (float[50,2] d, int64[8,2] x, float[8,2] u) => (float[50,2] y) { y = ScatterElements(d, x, u) }"
    values, _ = extreme(tmp_path, text)
    assert all(len(set(column)) == 8 and column.max() == 49 for column in values["x"].T)


def test_floats_have_several_magnitudes_signs_ties_and_zeros(tmp_path: Path) -> None:
    values, notes = extreme(tmp_path, "g (float[6,400] x) => (float[6,400] y) { y = Relu(x) }")
    sizes = np.abs(values["x"]).max(axis=1)
    assert notes == ""
    np.testing.assert_allclose(sizes, [1e4, 1e4, 1e-4, 1, 1e-2, 1e2], rtol=1e-6)
    assert all((row == row.max()).sum() > 20 and (row == row.min()).sum() > 20 and (row == 0).sum() > 5 for row in values["x"])


def test_doubles_go_beyond_float32(tmp_path: Path) -> None:
    values, _ = extreme(tmp_path, "g (double[6,40] x) => (double[6,40] y) { y = Relu(x) }")
    assert values["x"].max() == 1e60


def test_what_a_convolution_reads_is_like_an_image(tmp_path: Path) -> None:
    text = "g (float[1,3,16,16] x) => (float[1,4,16,16] y) { s = Sub(x, m) y = Conv<pads=[1,1,1,1]>(s, w) }"
    values, _ = extreme(tmp_path, text, {"w": weights(4, 3, 3, 3), "m": np.float32(100)})
    assert (values["x"].min(), values["x"].max()) == (0, 255)
    assert np.array_equal(values["x"], np.round(values["x"]))


def test_what_is_quantised_goes_past_the_range(tmp_path: Path) -> None:
    text = "g (float[1,64] x) => (float[1,64] y) { q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }"
    values, _ = extreme(tmp_path, text, {"s": np.float32(0.5), "z": np.int8(0)}, fold=False)
    assert values["x"].max() > 127 * 0.5
    assert values["x"].min() < -128 * 0.5


def test_where_the_model_overflows_the_input_is_milder_and_that_is_said(tmp_path: Path) -> None:
    values, notes = extreme(tmp_path, "g (float[6,40] x) => (float[6,40] y) { y = Exp(x) }")
    assert values["x"].max() == 10
    assert notes == (
        "extreme inputs: 'x' is of magnitudes from 0.1 to 10, not of magnitudes from 0.0001 to 10000: its outputs would not be finite"
    )


def test_each_input_goes_as_far_as_it_can(tmp_path: Path) -> None:
    text = "g (float[6,40] x, int32[6,40] n) => (float[6,40] y, int32[6,40] m) { y = Exp(x) m = Add(n, n) }"
    values, notes = extreme(tmp_path, text)
    assert (values["x"].max(), values["n"].max()) == (10, 2**31 - 1)
    assert "'n'" not in notes


def test_integers_that_a_power_would_take_beyond_their_type_are_smaller(tmp_path: Path) -> None:
    values, notes = extreme(tmp_path, "g (int32[60] x) => (int32[60] y) { [cube] y = Pow(x, k) }", {"k": np.int32(3)})
    assert values["x"].max() == 999
    assert "'x' is from 0 to 999, not over the full range of int32: node 'cube' would go beyond int32, which ONNX leaves undefined" in notes


def test_floats_that_are_cast_stay_within_the_integers(tmp_path: Path) -> None:
    values, notes = extreme(tmp_path, "g (float[6,40] x) => (int8[6,40] y) { [cast] y = Cast<to=3>(x) }")
    assert 0 < values["x"].max() <= 127
    assert "node 'cast' would cast numbers beyond int8, which ONNX leaves undefined" in notes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("g (int64 x) => (int64[N] y) { s = Abs(x) [list] y = Range(zero, s, one) }", "node 'list' makes a size or a position of it"),
        ("g (int64[1] x) => (float[N] y) { s = Abs(x) [fill] y = ConstantOfShape(s) }", "node 'fill' makes a size or a position of it"),
        ("g (int64[4] x) => (int64[4] y) { s = Add(x, one) [div] y = Div(x, s) }", "node 'div' may divide integers by zero"),
    ],
)
def test_what_could_take_all_memory_or_end_the_process_is_as_drawn(tmp_path: Path, text: str, said: str) -> None:
    values, notes = extreme(tmp_path, text, {"zero": np.array(0), "one": np.array(1)})
    assert (values, notes) == ({}, f"nothing is checked on extreme inputs: 'x' is as drawn, since {said}")


def test_settings_and_booleans_have_no_extremes(tmp_path: Path) -> None:
    text = "g (float[4,6] x, int64[1] k, bool[4,6] b) => (float y, int64 i) { z = Where(b, x, x) y, i = TopK(z, k) }"
    model = loaded(tmp_path, text)
    drawn = model.seeded_inputs()
    values = model.input_sets(drawn).further[0].arrays
    assert np.array_equal(values["k"], drawn["k"])
    assert np.array_equal(values["b"], drawn["b"])
    assert values["x"].max() == 1e4


def test_extreme_inputs_are_the_same_each_time(tmp_path: Path) -> None:
    text = "g (float[6,40] x, int64[5] n) => (float[6,40] y, int64[5] m) { y = Relu(x) m = Neg(n) }"
    (one, _), (other, _) = extreme(tmp_path, text), extreme(tmp_path, text)
    assert all(np.array_equal(one[name], other[name]) for name in one)
