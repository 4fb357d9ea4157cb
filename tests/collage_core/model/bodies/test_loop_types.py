"""The types of what a loop makes: of what it hands on where a turn keeps its type, and of what it collects where the turns are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.helpers.models import loaded

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
