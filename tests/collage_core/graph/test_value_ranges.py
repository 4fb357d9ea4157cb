"""Ranges of the values of tensors, by how they are made and how they are read."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import onnx.defs
import pytest

from collage_core.graph.value_ranges import ANY, INDEX_SLOTS, ValueRanges, may_be_infinite, ranges_of, type_range
from tests.helpers.models import loaded

INT64 = type_range("int64")


def ranges(folder: Path, text: str, constants: dict[str, np.ndarray] | None = None) -> ValueRanges:
    return loaded(folder, text, constants, fold=False, opset=20).graph.derive(ranges_of)


MADE = {
    "a constant": ("int64[3] x", "int64[3] y", "y = Add(x, few)", {"few": np.array([-4, 0, 9])}, "few", (-4, 9)),
    "a long constant": ("int64[2,100] x", "int64[2,100] y", "y = Add(x, many)", {"many": np.arange(100)}, "many", (0, 99)),
    "a whole type": ("uint8[3] x", "uint8[3] y", "y = Identity(x)", {}, "x", (0, 255)),
    "a shape": ("float[3,7] x", "int64[2] y", "y = Shape(x)", {}, "y", (3, 7)),
    "an index": ("float[3,7] x", "int64[3,1] y", "y = ArgMax<axis = 1>(x)", {}, "y", (0, 6)),
    "an index divided": (
        "float[3,70] x", "int64[3,1] y", "i = ArgMax<axis = 1>(x)  y = Div(i, seven)", {"seven": np.array(7)}, "y", (0, 69),
    ),
    "a remainder": ("int64[3] x", "int64[3] y", "y = Mod(x, seven)", {"seven": np.array(7)}, "y", (0, 7)),
    "arithmetic": (
        "bool[3] x", "int64[3] y", "i = Cast<to = 7>(x)  t = Mul(i, three)  y = Sub(ten, t)", {"three": np.array(3), "ten": np.array(10)},
        "y", (7, 10),
    ),
    "a mask": ("float[3] x", "int64[3] y", "b = Greater(x, x)  y = Cast<to = 7>(b)", {}, "y", (0, 1)),
    "a sum": ("bool[2,5] x", "int64[2,1] y", "i = Cast<to = 7>(x)  y = ReduceSum(i, a)", {"a": np.array([1])}, "y", (0, 10)),
    "what is clipped": ("int64[3] x", "int64[3] y", "y = Clip(x, l, h)", {"l": np.array(-5), "h": np.array(5)}, "y", (-5, 5)),
    "what may wrap around": ("uint8[3] x", "uint8[3] y", "y = Add(x, x)", {}, "y", (0, 255)),
    "a square and more": (
        "float[3] x", "float[3] y", "m = Mul(x, x)  e = Add(m, eps)  y = Sqrt(e)", {"eps": np.float32(4)}, "y", (2, math.inf),
    ),
    "what is left of a maximum": ("float[3,4] x", "float[3,4] y", "m = ReduceMax(x)  y = Sub(x, m)", {}, "y", (-math.inf, 0)),
    "of a float nothing": ("float[3] x", "float[3] y", "y = Add(x, x)", {}, "y", ANY),
    "an operator without a rule": ("int64[3] x", "int64[3] y", "y = BitwiseNot(x)", {}, "y", INT64),
}  # fmt: skip


@pytest.mark.parametrize("case", MADE)
def test_a_range_follows_from_what_makes_the_values(tmp_path: Path, case: str):
    inputs, outputs, nodes, constants, name, wanted = MADE[case]
    arrays = {key: np.asarray(value) for key, value in constants.items()}
    assert ranges(tmp_path, f"g ({inputs}) => ({outputs}) {{ {nodes} }}", arrays).held[name] == wanted


def test_what_is_read_as_an_index_is_one_everywhere(tmp_path: Path):
    known = ranges(
        tmp_path,
        """g (int64[4] ids, int64[4] other) => (float[4,1,8] rows, bool[4] pad, int64[4] sum) {
            column = Unsqueeze(ids, one)  rows = Gather(table, column)  pad = Equal(ids, zero)  sum = Add(ids, other)
        }""",
        {"table": np.zeros((50, 8), np.float32), "one": np.array([1]), "zero": np.array(0)},
    )
    assert known.held["ids"] == known.held["column"] == (-50, 49)
    assert known.held["other"] == INT64


def test_a_part_that_is_read_as_an_index_says_nothing_of_the_whole(tmp_path: Path):
    known = ranges(
        tmp_path,
        "g (int64[4] ids) => (float[2,8] rows) { some = Slice(ids, from, to)  rows = Gather(table, some) }",
        {"table": np.zeros((50, 8), np.float32), "from": np.array([0]), "to": np.array([2])},
    )
    assert (known.held["some"], known.held["ids"]) == ((-50, 49), INT64)


def test_only_what_leaves_its_type_wraps_around(tmp_path: Path):
    text = "g (bool[3] x, uint8[3] b) => (uint8[3] y, uint8[3] z) { i = Cast<to = 2>(x)  y = Mul(i, c)  z = Mul(b, c) }"
    assert ranges(tmp_path, text, {"c": np.array(200, np.uint8)}).wrapping == {"z"}


@pytest.mark.parametrize(("values", "held"), [([1, np.inf, 0], (0, math.inf)), ([-np.inf, 0, 0], (-math.inf, 0)), ([1, np.nan, 0], ANY)])
def test_an_infinity_ends_the_range_of_a_constant_and_nan_leaves_it_none(tmp_path: Path, values: list[float], held: tuple[float, float]):
    known = ranges(tmp_path, "g (float[3] x) => (float[3] y) { y = Add(x, c) }", {"c": np.float32(values)})
    assert known.held["c"] == held


@pytest.mark.parametrize(("op", "slot"), sorted(slot for slot in INDEX_SLOTS if "." not in slot[0]))
def test_indices_and_shapes_are_integers_in_onnx(op: str, slot: int):
    allowed = onnx.defs.get_schema(op).inputs[slot].types
    assert op == "OneHot" or all(kind.startswith(("tensor(int", "tensor(uint")) for kind in allowed), "the depth may be a float"


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
