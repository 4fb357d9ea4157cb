"""Shapes that depend on data: which tensors have them, and which dimensions are open."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collage_core.graph.dataflow_graph import DataflowGraph, TensorType
from collage_core.graph.index_set import IndexSet
from collage_core.model.dynamic.dynamic_model import dynamic_model
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.model.reference.ort_session import OrtSession
from collage_core.model.shapes.open_axes import names_after_data
from tests.helpers.detectors import detector, pictures
from tests.helpers.models import loaded, model_of, write


def open_tensors(model: OnnxModel) -> dict[str, str]:
    return {name: str(kind) for name, kind in model.graph.types.items() if kind.open_axes}


def test_what_a_detector_selects_is_open_and_its_features_are_not(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, detector(picks=True)))
    picked = {name: text for name, text in open_tensors(model).items() if name != "column"}
    assert picked == {"selected": "int64[?, 3]", "picked": "float32[?, 4]", "scaled": "float32[?, 4]"}
    assert model.graph.types["selected"].shape == model.activations(model.seeded_inputs(), ["selected"])["selected"].shape
    assert model.graph.has_open_shapes
    assert DataflowGraph.from_json(model.graph.to_json()) == model.graph


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = NonZero(x)", {"y": "int64[2, ?]"}),
        ("y = Compress<axis=0>(x, keep)", {"y": "float32[?, 4]"}),
        ("y = Unique(x)", {"y": "float32[?]"}),
        ("z = NonZero(x) y = Shape(z)", {"z": "int64[2, ?]"}),
        ("z = NonZero(x) s = Shape(z) y = ConstantOfShape(s)", {"z": "int64[2, ?]", "y": "float32[2, ?]"}),
        ("z = NonZero(x) y = ReduceMax<keepdims=0>(z)", {"z": "int64[2, ?]"}),
    ],
)
def test_what_is_made_of_data_is_open_in_the_dimensions_that_inference_leaves_open(
    tmp_path: Path, body: str, expected: dict[str, str]
) -> None:
    kind = "float" if expected.get("y", "").startswith("float") else "int64"
    model = loaded(tmp_path, f"g (float[3,4] x, bool[3] keep) => ({kind} y) {{ {body} }}", fold=False)
    assert open_tensors(model) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("g (float[3,4] x, int64[1] n) => (float y) { y = Slice(x, n, end) }", {"y": "float32[?, ?]"}),
        ("g (float[3,4] x, int64[2] n) => (float y) { y = Reshape(x, n) }", {"y": "float32[?, ?]"}),
        (
            "g (float[3,4] x, int64[1] n) => (float y) { z = ReduceSum<keepdims=0>(x, n) y = Relu(z) }",
            {"y": "float32[?]", "z": "float32[?]"},
        ),
        ("g (int64 n) => (int64 y) { y = Range(zero, n, one) }", {"y": "int64[?]"}),
        ("g (float[1,1,4,4] x, int64[4] n) => (float y) { y = Resize(x, , , n) }", {"y": "float32[?, ?, ?, ?]"}),
        ("g (float[3,4] x, int64[1] n) => (float y, int64 i) { y, i = TopK(x, n) }", {"y": "float32[?, ?]", "i": "int64[?, ?]"}),
    ],
)
def test_values_of_an_input_decide_a_shape_at_each_call(tmp_path: Path, text: str, expected: dict[str, str]) -> None:
    constants = {name: np.array(value) for name, value in {"end": [9], "zero": 0, "one": 1}.items() if name in text.split("{")[1]}
    assert open_tensors(loaded(tmp_path, text, constants, fold=False)) == expected


def test_values_that_follow_from_fixed_shapes_decide_nothing_at_a_call(tmp_path: Path) -> None:
    body = "s = Shape(x) h = Cast<to=1>(s) f = Floor(h) n = Cast<to=7>(f) [reshape] y = Reshape(x, n)"
    model = loaded(tmp_path, f"g (float[3,4] x) => (float y) {{ {body} }}", fold=False)
    assert not model.graph.has_open_shapes
    assert model.graph.types["y"].shape == (3, 4)


def test_an_inner_graph_may_decide_the_shape_too() -> None:
    text = """g (float[3] x, bool flag) => (int64 y) {
        m = If(flag) <then_branch = t () => (int64 p) { p = NonZero(x) }, else_branch = e () => (int64 r) { r = NonZero(x) }>
        y = Neg(m)
        other = Relu(x)
    }"""
    assert names_after_data(model_of(text).graph) == {"m", "y"}


@pytest.mark.parametrize("picture", pictures())
def test_a_sub_model_declares_data_dependent_dimensions_and_takes_any_number_of_boxes(tmp_path: Path, picture: str) -> None:
    model = load_model(write(tmp_path, detector(picks=True)))
    nodes = model.graph.index_by_name
    cut = model.cut(IndexSet(range(nodes["nms"] + 1, nodes["area"] + 1)))
    proto = onnx.load_model_from_string(cut.onnx)
    declared = {
        value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in (*proto.graph.input, *proto.graph.output)
    }
    assert declared == {"selected": [0, 3], "boxes": [1, 64, 4], "scaled": [0, 4]}
    inputs = {"image": pictures()[picture]}
    given = model.activations(inputs, [tensor.name for tensor in cut.inputs])
    got = OrtSession(proto).run(given, ["scaled"])["scaled"]
    np.testing.assert_array_equal(got, model.reference(inputs)["scaled"])


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
