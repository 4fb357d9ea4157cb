"""Bounds of sizes that depend on data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collage_core.graph.dataflow_graph import TensorType
from collage_core.model.dynamic.dynamic_model import dynamic_model
from collage_core.model.onnx_model import load_model
from tests.helpers.detectors import detector, pictures
from tests.helpers.models import loaded, write


def test_a_detector_has_no_more_boxes_than_it_may_keep_and_so_has_all_behind_it(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, detector(picks=True)))
    types = model.graph.types
    largest = {name: types[name].largest_shape for name in ("selected", "column", "picked", "scaled")}
    assert largest == {"selected": (20, 3), "column": (20,), "picked": (20, 4), "scaled": (20, 4)}
    assert all(len(model.reference({"image": picture})["scaled"]) <= 20 for picture in pictures().values())
    assert types["selected"].to_json() == {
        "shape": [None, 3], "dtype": "int64", "measured_shape": list(types["selected"].shape), "largest_shape": [20, 3],
    }  # fmt: skip


BODIES = {
    "y = NonZero(x)": (2, 12),
    "y = Compress<axis=0>(x, keep)": (3, 4),
    "y = Compress<axis=-1>(x, wide)": (3, 4),
    "y = Compress(x, keep)": (12,),
    "y = Unique(x)": (12,),
    "y = Unique<axis=1>(x)": (3, 4),
    "z = NonZero(x) t = Transpose(z) y = Concat<axis=0>(t, t)": (24, 2),
    "z = Compress<axis=0>(x, keep) y = Concat<axis=1>(z, z)": (3, 8),
    "z = NonZero(x) y = Reshape(z, flat)": (24,),
    "z = NonZero(x) t = Transpose(z) y = Slice(t, from, to)": (12, 2),
    "y, i = TopK(x, count)": (3, 4),
    "z = Compress<axis=0>(x, keep) y = Relu(z)": (3, 4),
}
CONSTANTS = {"flat": np.array([-1]), "from": np.array([1, 0]), "to": np.array([9, 2])}


def of(tmp_path: Path, body: str):
    kind = "int64" if "NonZero" in body else "float"
    count = ", int64[1] count" if "count" in body else ""
    return loaded(tmp_path, f"g (float[3,4] x, bool[3] keep, bool[4] wide{count}) => ({kind} y) {{ {body} }}", CONSTANTS, fold=False)


@pytest.mark.parametrize(("body", "expected"), BODIES.items())
def test_a_bound_follows_from_the_operator_and_from_what_it_reads(tmp_path: Path, body: str, expected: tuple[int, ...]) -> None:
    assert of(tmp_path, body).graph.types["y"].largest_shape == expected


@pytest.mark.parametrize("body", [body for body in BODIES if "count" not in body])
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1))
def test_no_inputs_make_more(tmp_path: Path, body: str, seed: int) -> None:
    model, random = of(tmp_path, body), np.random.default_rng(seed)
    inputs = {"x": random.integers(-1, 2, (3, 4)).astype(np.float32), "keep": random.random(3) < 0.7, "wide": random.random(4) < 0.7}
    made = model.reference(inputs)["y"].shape
    largest = model.graph.types["y"].largest_shape
    assert all(most is None or size <= most for size, most in zip(made, largest, strict=True))


@pytest.mark.parametrize(
    "body",
    ["n = Cast<to=7>(some) s = ReduceSum<keepdims=0>(n) y = Range(zero, s, one)", "n = Cast<to=7>(some) y = Tile(whole, n)"],
)
def test_where_any_size_may_come_none_is_said(tmp_path: Path, body: str) -> None:
    constants = {"zero": np.array(0), "one": np.array(1), "whole": np.array([[1, 2]])}
    kind = loaded(tmp_path, f"g (float[2] some) => (int64 y) {{ {body} }}", constants, fold=False).graph.types["y"]
    assert kind.open_axes
    assert kind.largest_shape == ()
    assert "largest_shape" not in kind.to_json()


@pytest.mark.parametrize("operator", ["Compress<axis=0>(rows, keep)", "Unique<axis=0>(rows)"])
def test_what_is_selected_along_one_axis_bounds_no_other(tmp_path: Path, operator: str) -> None:
    constants = {"zero": np.array(0), "one": np.array(1), "first": np.array([0])}
    body = "n = Cast<to=7>(some) row = Range(zero, n, one) lone = Unsqueeze(row, first) rows = Concat<axis=0>(lone, lone)"
    model = loaded(tmp_path, f"g (float some, bool[2] keep) => (int64 y) {{ {body} y = {operator} }}", constants, fold=False)
    assert model.graph.types["y"].largest_shape == (2, None)


def test_a_type_whose_sizes_are_not_known_is_none() -> None:
    for broken in ({"shape": [None, 3], "dtype": "int64"}, {"shape": ["1", 3], "dtype": "int64"}):
        with pytest.raises(TypeError):
            TensorType.from_json(broken)


def test_a_bound_at_one_shape_is_none_where_other_dimensions_are_dynamic(tmp_path: Path) -> None:
    path = write(tmp_path, detector(picks=True))
    model = load_model(path)
    (made,) = dynamic_model(path, model, {}).outputs
    assert (made.type.open_axes, made.type.largest_shape) == ((0, 1), ())
    assert made.type.to_json() == {"shape": [None, None], "dtype": "float32", "measured_shape": list(made.type.shape)}
