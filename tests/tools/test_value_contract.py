"""The tables of what toolchains compute exactly: that draws show the faults that there are, and that the tables hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import metadata

import empty_values
import float_values
import numpy as np
import pytest
import value_contract
from empty_values import WORST_LAST, empty_cases, measured_empty
from float_values import FLOATS, FloatCase, chain_cases, float_cases, measured_floats, verdict, wanted
from value_contract import (
    EXACT_TABLES,
    TABLES,
    Case,
    asked_of,
    badness,
    cases,
    empty_asked_of,
    floats_asked_of,
    is_right,
    measured,
    merged_floats,
)

from collage_core.toolchains.conformance.model_runs import Ran
from collage_core.toolchains.registry import get
from collage_core.toolchains.values.exact_values import ABSENT, EXACT, RIGHT, SATURATES, VERDICTS, WRONG, Limit

SAMPLE_OF = {"openvino": 151, "tvm": 301}
"""Toolchain → it is held to its table by each N-th call; `make slow` takes all."""
SAMPLE_OF_FLOATS = {"ncnn": 11, "onnxruntime": 23, "openvino": 37, "tvm": 61}
"""The same of calls on floats."""


FloatTable = Mapping[str, Mapping[str, Mapping[str, str]]]
"""Row → dtype → class → verdict, of the classes on which a call is not right."""


def case(row: str, dtype: str) -> Case:
    return next(each for each in cases(row.partition(":")[0]) if (each.row, each.dtype) == (row, dtype))


def through(dtype: str, operands: list[np.ndarray]) -> list[np.ndarray]:
    return [array.astype(dtype) for array in operands]


FAULTS = {
    "64 bits in 32": ("Transpose", "int64", lambda x: [x.astype(np.int32).astype(np.int64).transpose(2, 0, 1)]),
    "the sign of 32 bits": ("Max", "uint32", lambda x, y: [np.maximum(*through("int32", [x, y])).astype(np.uint32)]),
    "sums in float32": ("ReduceSum", "int32", lambda x: [x.astype(np.float32).sum(2, keepdims=True).astype(np.int32)]),
    "comparisons in float32": ("Equal", "int32", lambda x, y: [np.equal(*through("float32", [x, y]))]),
    "saturated sums": ("Add", "uint8", lambda x, y: [np.clip(np.add(*through("int32", [x, y])), 0, 255).astype(np.uint8)]),
    "saturated products": ("Mul", "int8", lambda x, y: [np.clip(np.multiply(*through("int32", [x, y])), -128, 127).astype(np.int8)]),
    "doubles in float32": ("Identity", "float64", lambda x: [x.astype(np.float32).astype(np.float64)]),
    "rounding in float32": ("Ceil", "float64", lambda x: [np.ceil(x.astype(np.float32)).astype(np.float64)]),
    "low bits alone": ("Cast:bool", "int64", lambda x: [(x & 0x7FFFFFFF) != 0]),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("fault", FAULTS)
def test_numbers_of_the_whole_type_show_a_planted_fault(fault: str) -> None:
    row, dtype, wrong = FAULTS[fault]
    asked = case(row, dtype)
    inputs, want = asked.draw(EXACT)
    assert not is_right(wrong(*inputs), want, EXACT)


@pytest.mark.parametrize(
    ("row", "dtype", "limit"), [("Add", "int64", 31), ("Mul", "int64", 24), ("Sub", "uint32", 24), ("MatMul", "int32", 24)]
)
def test_a_limit_holds_for_what_is_read_and_made(row: str, dtype: str, limit: Limit) -> None:
    inputs, want = case(row, dtype).draw(limit)
    assert isinstance(limit, int)
    largest = max(int(np.abs(array.astype(np.int64)).max()) for array in (*inputs, *want))
    assert 2 ** (limit - 4) < largest < 2**limit


def test_numbers_that_do_not_wrap_around_are_those_of_saturation() -> None:
    inputs, want = case("Mul", "uint8").draw(SATURATES)
    np.testing.assert_array_equal(want[0], inputs[0].astype(int) * inputs[1])


def test_a_toolchain_that_runs_nothing_has_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_contract, "run_models", lambda *_: iter(["crash: the process ended with 1"]))
    with pytest.raises(RuntimeError, match=r"^tvm does not compute a product of floats here: crash: the process ended with 1$"):
        measured(get("tvm"), [])


@pytest.mark.parametrize("name", TABLES)
def test_the_table_is_of_the_installed_version(name: str) -> None:
    path, package = TABLES[name]
    written = json.loads(path.read_text())
    found = metadata.version(package)
    assert (written["package"], written["version"]) == (package, found), "run `make value-contract`, and read what changes"


MEASURED = """
    Add BitShift Cast:bool Cast:float32 Cast:int64 Clip Concat CumSum Div Equal Gather Greater MatMul Max Mod Mul Pad Pow ReduceMax
    ReduceSum ScatterND Slice TopK Transpose Where
"""


@pytest.mark.parametrize("name", EXACT_TABLES)
def test_no_operator_on_integers_fell_out_of_the_table(name: str) -> None:
    """A call that ONNX Runtime does not take is left out, and so would be one that is not written down right."""
    rows = json.loads(TABLES[name][0].read_text())["calls"]
    assert [row for row in MEASURED.split() if not rows.get(row, {}).keys() & {"int32", "uint32"}] == []


def held(name: str, every: int) -> list[str]:
    """Return the calls, each N-th, whose limit is worse than in the table."""
    if not get(name).availability().usable:
        pytest.skip(get(name).availability().reason)
    table = json.loads(TABLES[name][0].read_text())["calls"]
    found = measured(get(name), asked_of(name, every))
    return [
        f"{row} of {dtype} is {limit}, not {table[row][dtype]}"
        for row, limits in found.items()
        for dtype, limit in limits.items()
        if badness(dtype, limit) > badness(dtype, table[row][dtype])
    ]


def held_on_floats(name: str, every: int) -> list[str]:
    """Return the calls on floats, of each N-th operator, that are worse than the table says."""
    if not get(name).availability().usable:
        pytest.skip(get(name).availability().reason)
    table = json.loads(TABLES[name][0].read_text())["floats"]
    return worse_on_floats(measured_floats(get(name), floats_asked_of(name, every)), table)


def worse_on_floats(found: FloatTable, table: FloatTable) -> list[str]:
    """Return the calls whose verdicts are worse than in the table; one that the toolchain does not take at all is the worst."""
    return [
        f"{row} of {dtype} is {verdicts}, not {table[row][dtype]}"
        for row, dtypes in found.items()
        for dtype, verdicts in dtypes.items()
        if any(_is_worse(verdict, table[row][dtype].get(each, table[row][dtype].get("all", RIGHT))) for each, verdict in verdicts.items())
    ]


def _is_worse(one: str, other: str) -> bool:
    order = (*VERDICTS, ABSENT)
    return order.index(one) > order.index(other)


def test_a_call_on_floats_is_worse_than_the_table_or_not() -> None:
    absent, some = {"Exp": {"float16": {"all": ABSENT}}}, {"Exp": {"float16": {"nan": WRONG}}}
    right: FloatTable = {"Exp": {"float16": {}}}
    better = [(absent, absent), (some, some), (some, absent), (right, some), (right, absent)]
    assert [worse_on_floats(found, table) for found, table in better] == [[]] * 5
    assert worse_on_floats(some, right) == ["Exp of float16 is {'nan': 'wrong'}, not {}"]
    assert worse_on_floats(absent, some) == ["Exp of float16 is {'all': 'not at all'}, not {'nan': 'wrong'}"]


@pytest.mark.parametrize("name", ["openvino", pytest.param("tvm", marks=pytest.mark.long)])
def test_a_sample_of_calls_is_as_exact_as_the_table_says(name: str) -> None:
    assert held(name, SAMPLE_OF[name]) == []


@pytest.mark.parametrize("name", ["ncnn", "onnxruntime", "openvino", pytest.param("tvm", marks=pytest.mark.long)])
def test_a_sample_of_calls_on_floats_is_as_right_as_the_table_says(name: str) -> None:
    assert held_on_floats(name, SAMPLE_OF_FLOATS[name]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_every_call_is_as_exact_as_the_table_says(name: str) -> None:
    assert (held(name, 1) if name in EXACT_TABLES else []) + held_on_floats(name, 1) == []


# Floats.


def float_case(row: str) -> FloatCase:
    made = chain_cases("float32") if " " in row else float_cases(row, "float32")
    return next(each for each in made if each.row == row)


def _naive_norm(x: np.ndarray) -> list[np.ndarray]:
    mean, squares = x.mean((2, 3), keepdims=True), (x * x).mean((2, 3), keepdims=True)
    return [((x - mean) / np.sqrt(np.maximum(squares - mean * mean, 0) + 1e-5)).astype(np.float32)]


def _last_of_ties(x: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(x, -1, kind="stable")[..., ::-1][..., :2]
    return [np.take_along_axis(x, order, -1), order]


FLOAT_FAULTS = {
    "an overflow": ("ReduceLogSumExp", "large", lambda x: [np.log(np.exp(x).sum(2, keepdims=True))], "wrong"),
    "a mean that hides the rest": ("InstanceNormalization", "offset", _naive_norm, "wrong"),
    "the last of equals": ("TopK", "ties", _last_of_ties, "wrong"),
    "halves away from zero": ("Round", "halves", lambda x: [np.trunc(x + np.copysign(np.float32(0.5), x))], "wrong"),
    "a result that is nearly 0": ("Softmax", "tails", lambda x: [_softmax(x) * (_softmax(x) > 1e-9)], "wrong"),
    "NaN for the infinity of a zero": ("Reciprocal", "zeros", lambda x: [np.where(x == 0, np.nan, 1 / x).astype(x.dtype)], "finite"),
    "a zero without its sign": ("Neg", "signed zeros", lambda x: [0 - x], "wrong"),
    "NaN that is lost": ("Relu", "nan", lambda x: [np.fmax(x, 0)], "finite"),
    "NaN that decides": ("Max", "nan", lambda x, y: [np.fmax(x, y)], "finite"),
    "an infinity that is none": ("Atan", "infinite", lambda x: [np.where(np.isinf(x), 0, np.arctan(x)).astype(x.dtype)], "wrong"),
    "what is too small": ("Abs", "subnormal", lambda x: [np.where(np.abs(x) < 1.2e-38, 0, np.abs(x)).astype(x.dtype)], "wrong"),
    "what is too large": ("Gelu", "huge", lambda x: [np.where(np.abs(x) > 1e19, np.nan, x).astype(x.dtype)], "wrong"),
    "a quotient by the reciprocal": ("Div", "whole", lambda x, y: [x * (np.float32(1) / y)], "wrong"),
    "an exponential that ends too early": ("Exp", "exponents", lambda x: [np.where(x > 88.38, np.inf, np.exp(x)).astype(x.dtype)], "wrong"),
    "the lowest float for −∞": ("ReduceMax", "masked", lambda x: [np.maximum(x, np.finfo(np.float32).min).max(2, keepdims=True)], "finite"),
    "NaN that is lost in a fusion": ("Add Relu", "nan", lambda x: [np.fmax(x + x, 0)], "finite"),
}


def _softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("fault", FLOAT_FAULTS)
def test_floats_of_a_class_show_a_planted_fault(fault: str) -> None:
    row, name, wrong, expected = FLOAT_FAULTS[fault]
    asked = float_case(row)
    inputs = asked.sets()[name][0]
    want = wanted(asked, inputs, name)
    assert verdict([array for array, _ in want], want, name) == RIGHT
    assert verdict(wrong(*inputs), want, name) == expected


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_overflow_of_the_naive_formula_of_the_reference_refuses_nobody() -> None:
    asked = float_case("Softplus")
    inputs = asked.sets()["large"][0]
    right = np.logaddexp(0, inputs[0].astype(np.float64)).astype(np.float32)
    assert verdict([right], wanted(asked, inputs, "large"), "large") == RIGHT


def test_a_toolchain_that_runs_no_call_on_floats_has_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(float_values, "run_models_on_sets", lambda *_: iter(["crash: the process ended with 1"]))
    with pytest.raises(RuntimeError, match=r"^ncnn runs no call on floats here: crash: the process ended with 1$"):
        measured_floats(get("ncnn"), [float_case("Relu")])


FLOAT_ROWS = (
    "Add Clip Concat Conv Div Exp Gemm LayerNormalization Log MatMul MaxPool Mul Pow ReduceMax Relu Sigmoid Slice Softmax Transpose"
)


@pytest.mark.parametrize("name", TABLES)
def test_no_operator_on_floats_fell_out_of_the_table(name: str) -> None:
    rows = json.loads(TABLES[name][0].read_text())["floats"]
    assert [row for row in FLOAT_ROWS.split() if ABSENT in rows[row]["float32"].values()] == []
    assert {dtype for dtypes in rows.values() for dtype in dtypes} <= set(FLOATS)


# Tensors without elements.


def test_the_sum_of_no_elements_is_a_call_with_a_result() -> None:
    asked = next(each for each in empty_cases("ReduceSum", "float32") if each.inputs[0].shape == (2, 3, 0))
    np.testing.assert_array_equal(asked.want[0], np.zeros((2, 3, 1)))


@pytest.mark.parametrize(
    ("ran", "verdict"),
    [
        ("build: it has no such kernel", {"float32": ABSENT}),
        ("crash: the process ended with -11", {"float32": "wrong"}),
        ([np.zeros((2, 3, 1), np.float32)], {}),
        ([np.ones((2, 3, 1), np.float32)], {"float32": "wrong"}),
    ],
)
def test_a_refusal_is_no_wrong_result_and_a_crash_is_one(monkeypatch: pytest.MonkeyPatch, ran: Ran, verdict: dict[str, str]) -> None:
    asked = [each for each in empty_cases("ReduceSum", "float32") if each.inputs[0].shape == (2, 3, 0)]
    monkeypatch.setattr(empty_values, "run_models", lambda *_: iter([ran]))
    assert measured_empty(get("openvino"), asked) == {"ReduceSum": verdict}


def test_some_classes_are_measured_and_the_rest_of_the_table_stays() -> None:
    kept = {"Exp": {"float32": {"tails": "wrong", "nan": "finite"}}}
    found = {"Exp": {"float32": {"exponents": "wrong"}}}
    merged = merged_floats(kept, found, ["exponents"])
    assert list(merged["Exp"]["float32"].items()) == [("tails", "wrong"), ("exponents", "wrong"), ("nan", "finite")]
    assert merged_floats(kept, found, ["exponents", "tails"])["Exp"]["float32"] == {"exponents": "wrong", "nan": "finite"}


def held_empty(name: str, every: int) -> list[str]:
    """Return the calls on tensors without elements, each N-th, that are worse than the table says."""
    if not get(name).availability().usable:
        pytest.skip(get(name).availability().reason)
    table = json.loads(TABLES[name][0].read_text())["empty"]
    found = measured_empty(get(name), empty_asked_of(name, every))
    return [
        f"{row} of {dtype} is {verdict}, not {table[row].get(dtype, RIGHT)}"
        for row, verdicts in found.items()
        for dtype, verdict in verdicts.items()
        if WORST_LAST.index(verdict) > WORST_LAST.index(table[row].get(dtype, RIGHT))
    ]


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if name == "tvm" else []) for name in TABLES])
def test_a_sample_of_calls_without_elements_is_as_right_as_the_table_says(name: str) -> None:
    assert held_empty(name, 61) == []
