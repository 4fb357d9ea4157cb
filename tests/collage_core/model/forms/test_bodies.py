"""Bodies as models of their own: what they read, what they make, and nodes that are no such nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from collage_core.errors import CollageError
from collage_core.graph.dataflow_graph import Tensor, TensorType
from collage_core.model.forms import bodies
from collage_core.model.forms.bodies import control_flow
from collage_core.model.onnx_model import load_model
from collage_core.model.reference.accuracy import largest_error
from tests.helpers.control_models import WIDTH, branches, lstm_loop
from tests.helpers.models import loaded, model_of, write

ROW, SCALAR = TensorType((1, WIDTH), "float32"), TensorType((), "int64")


def test_a_body_reads_what_the_node_hands_over_and_what_it_captures(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, lstm_loop()))
    flow = model.controls[1]
    assert (flow.op, flow.inputs, flow.outputs) == ("Loop", ("turns", "go", "h0", "c0"), ("h", "c", "ys"))
    signature = flow.bodies["body"]
    assert signature.inputs == ("i", "goes", "hs", "cs")
    assert set(signature.captured) == {"xs", "w", "u", "bias"}
    assert signature.outputs == ("on", "hn", "cn", "out")
    inputs = [Tensor("i", SCALAR), Tensor("goes", TensorType((), "bool")), Tensor("hs", ROW), Tensor("cs", ROW)]
    body = model.body(1, "body", [*inputs, Tensor("xs", TensorType((16, WIDTH), "float32"))])
    assert [tensor.name for tensor in body.graph.inputs] == ["i", "goes", "hs", "cs", "xs"]
    assert {"w", "u", "bias"} <= body.graph.constants.keys()
    assert body.graph.types["hn"] == ROW
    assert model.body(1, "body", list(body.graph.inputs)) is body


def test_a_branch_computes_what_the_node_does(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, branches()))
    x = np.abs(model.seeded_inputs()["x"])
    then = model.body(2, "then_branch", [Tensor("x", TensorType((4, WIDTH), "float32"))])
    made = then.reference({"x": x})
    assert largest_error({"y": -made["a"]}, model.reference({"x": x})) == 0


@pytest.mark.parametrize(
    ("node", "opset"),
    [
        (onnx.helper.make_node("Relu", ["x"], ["y"]), 17),
        (onnx.helper.make_node("Loop", ["x"], ["y"], domain="com.other"), 17),
        (onnx.helper.make_node("If", ["c"], ["y"], then_branch=onnx.parser.parse_graph("t () => (float a) { a = Relu(x) }")), 17),
        (onnx.helper.make_node("Loop", ["m", "", "s"], ["t"], body=onnx.parser.parse_graph("b (int64 i) => (bool c) { c = Not(d) }")), 17),
        (
            onnx.helper.make_node(
                "Scan", ["", "x"], ["y"], num_scan_inputs=1, body=onnx.parser.parse_graph("b (float u) => (float v) { v = Relu(u) }")
            ),
            8,
        ),
    ],
    ids=["no bodies", "another domain", "a branch is missing", "the body takes too little", "a scan of opset 8"],
)
def test_other_nodes_are_left_to_toolchains(node: onnx.NodeProto, opset: int) -> None:
    model = onnx.helper.make_model(onnx.GraphProto(), opset_imports=[onnx.helper.make_opsetid("", opset)])
    assert control_flow(model, node) is None


def test_a_body_without_nodes_is_no_model(tmp_path: Path) -> None:
    text = """g (bool c, float[4] x) => (float[4] y) {
        y = If (c) <then_branch = t () => (float[4] k) <float[4] k = {1, 2, 3, 4}> {}, else_branch = e () => (float[4] v) { v = Sin(x) }>
    }"""
    model = loaded(tmp_path, text)
    with pytest.raises(CollageError, match="the body 'then_branch' of 'If:y' has no nodes"):
        model.body(0, "then_branch", [])


def test_a_body_of_too_large_weights_is_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_model(write(tmp_path, branches()))
    monkeypatch.setattr(bodies, "MOST_BYTES", 300)
    with pytest.raises(CollageError, match=r"the body 'then_branch' of 'if' reads 0\.0 GiB of weights"):
        model.body(2, "then_branch", [Tensor("x", TensorType((4, WIDTH), "float32"))])


def test_names_of_a_model_and_its_bodies_stay_apart(tmp_path: Path) -> None:
    same = model_of("g (bool c, float[4] x) => (float[4] y) { [n] y = If (c) <then_branch = t () => (float[4] u) { [n] u = Relu(x) }, "
                    "else_branch = e () => (float[4] v) { [n] v = Sin(x) }> }")  # fmt: skip
    model = load_model(write(tmp_path, same))
    body = model.body(0, "else_branch", [Tensor("x", TensorType((4,), "float32"))])
    assert [node.name for node in body.graph.nodes] == [node.name for node in model.graph.nodes] == ["n"]


LOOP = "g (float[2,3] x, int64 n, bool go) => (float z, float rows) {{ z, rows = Loop ({most}, {go}, x) <body = {body}> }}"
KEEPS = "b (int64 i, bool c, v) => (bool d, w, r) { d = Identity(c) w = Add(v, x) r = ReduceSum<keepdims = 0>(w, axes) }"
ENDS = KEEPS.replace("d = Identity(c)", "s = ReduceSum<keepdims = 0>(v) d = Greater(s, zero)")
GROWS = "b (int64 i, bool c, v) => (bool d, w, r) { d = Identity(c) w = Concat<axis = 0>(v, v) r = ReduceSum<keepdims = 0>(w, axes) }"


@pytest.mark.parametrize(
    ("most", "go", "body", "state", "rows"),
    [
        ("seven", "", KEEPS, "float32[2, 3]", "float32[7, 3]"),
        ("seven", "yes", KEEPS, "float32[2, 3]", "float32[7, 3]"),
        ("seven", "go", KEEPS, "float32[2, 3]", "float32[?, 3]"),
        ("n", "", KEEPS, "float32[2, 3]", "float32[?, 3]"),
        ("seven", "", ENDS, "float32[2, 3]", "float32[?, 3]"),
        ("two", "", GROWS, "float32[?, ?]", "float32[?, ?]"),
    ],
    ids=["a count", "a condition that holds", "a condition of the user's", "a count of the user's", "a body that ends it", "it grows"],
)
def test_types(tmp_path: Path, most: str, go: str, body: str, state: str, rows: str) -> None:
    given = {"seven": np.array(7), "two": np.array(2), "yes": np.array(True), "axes": np.array([0]), "zero": np.array(0, np.float32)}
    model = loaded(tmp_path, LOOP.format(most=most, go=go, body=body), given, opset=18)
    (loop,) = [node for node in model.graph.nodes if node.op == "Loop"]
    assert [str(tensor.type) for tensor in loop.outputs] == [state, rows]


def test_loops_that_read_what_a_loop_makes_and_loops_in_bodies(tmp_path: Path) -> None:
    text = """g (float[2] x) => (float z) {
        y = Loop (three, , x) <body = b (int64 i, bool c, v) => (bool d, w) {
            d = Identity(c)
            w = Loop (three, , v) <body = e (int64 j, bool f, p) => (bool h, q) { h = Identity(f) q = Sin(p) }>
        }>
        z = Loop (three, , y) <body = k (int64 l, bool m, r) => (bool n, s) { n = Identity(m) s = Cos(r) }>
    }"""
    model = loaded(tmp_path, text, {"three": np.array(3)}, opset=18)
    assert [str(tensor.type) for node in model.graph.nodes for tensor in node.outputs] == ["float32[2]", "float32[2]"]
