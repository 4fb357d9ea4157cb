"""Which tensors may hold infinities although the inputs of a model are finite."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from collage_core.graph.infinities import may_be_infinite
from tests.helpers.models import loaded

CONSTANTS = {
    "mask": np.float32([0, -np.inf, 0]),
    "minus": np.float32(-np.inf),
    "two": np.float32(2),
    "one": np.float32([1, 1, 1]),
    "less": np.float32(-1),
}

FOUND = {
    "a mask": ("y = Add(x, mask)", True),
    "a scalar": ("c = Greater(x, one)  y = Where(c, x, minus)", True),
    "a mask that a softmax reads": ("a = Add(x, mask)  y = Softmax(a)", False),
    "what passes it on": ("a = Add(x, mask)  b = Neg(a)  y = Identity(b)", True),
    "what bounds it": ("a = Add(x, mask)  y = Clip(a, less, two)", False),
    "an exponential": ("y = Exp(x)", True),
    "an exponential of what is bounded": ("s = Sigmoid(x)  y = Exp(s)", False),
    "a reciprocal": ("y = Reciprocal(x)", True),
    "a reciprocal of a sum": ("r = Relu(x)  a = Add(r, one)  y = Reciprocal(a)", False),
    "a division by a root of squares": ("q = Mul(x, x)  a = Add(q, one)  r = Sqrt(a)  y = Div(x, r)", False),
    "a division by anything": ("y = Div(one, x)", True),
    "a logarithm": ("y = Log(x)", True),
    "a logarithm of what is positive": ("s = Sigmoid(x)  a = Add(s, one)  y = Log(a)", False),
    "a negative power": ("y = Pow(x, less)", True),
    "a square": ("y = Pow(x, two)", False),
    "arithmetic": ("a = Mul(x, x)  y = Sub(a, x)", False),
}


@pytest.mark.parametrize("case", FOUND)
def test_infinities_come_from_constants_and_divisions_and_end_where_results_are_bounded(tmp_path: Path, case: str) -> None:
    nodes, may_be = FOUND[case]
    model = loaded(tmp_path, f"g (float[3] x) => (float[3] y) {{ {nodes} }}", CONSTANTS, fold=False, opset=20)
    assert ("y" in model.graph.derive(may_be_infinite)) == may_be
