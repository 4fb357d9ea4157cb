"""Tables of what toolchains compute exactly: which calls the rules refuse, with what reason, and which ones like them they take."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from collage_core.graph.index_set import IndexSet
from collage_core.graph.value_policy import ANY, FINITE
from collage_core.model.onnx_model import OnnxModel
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.rule import RuleContext, RuleOptions
from collage_core.toolchains.conformance.model_runs import run_models
from collage_core.toolchains.conformance.small_models import reference
from collage_core.toolchains.registry import get
from collage_core.toolchains.values.contracts import ONNXRUNTIME_VALUES
from tests.helpers.models import loaded

Constants = Mapping[str, np.ndarray]


def found(model: OnnxModel, target: str, policy: str = FINITE) -> tuple[set[int], list[str]]:
    """Return the nodes that `target` takes as candidates of their own, and why it rejects others, at stage ``predicate``."""
    log = RejectionLog()
    matches = list(get(target).rule(RuleOptions(value_policy=policy)).find(RuleContext(model.graph, target, log)))
    rejected = [item.reason for item in log.sample if item.nodes and item.stage == "predicate"]
    return {match.inside.first() for match in matches if len(match.inside) == 1}, rejected


def graph(folder: Path, inputs: str, outputs: str, nodes: str, constants: Constants | None = None, opset: int = 20) -> OnnxModel:
    arrays = {name: np.asarray(value) for name, value in (constants or {}).items()}
    return loaded(folder, f"g ({inputs}) => ({outputs}) {{ {nodes} }}", arrays, fold=False, opset=opset)


_32 = "in 32 bits with a sign, and 'x' may hold more"
_24 = "through float32, exactly to 2^24, and 'x' may hold more"
_WRAPS = "with saturation, where ONNX wraps around"
AXIS: Constants = {"axis": np.array([1])}
SCALES: Constants = {"s": np.float32(1e-4), "z": np.int16(0)}

REFUSED: dict[tuple[str, str, str, str], tuple[Constants, str]] = {
    ("openvino", "int64[3] x, int64[3] b", "int64[3] y", "y = Add(x, b)"): ({}, f"OpenVINO computes Add of int64 {_32}"),
    ("openvino", "int64[2,2] x", "int64[2,2] y", "y = Transpose(x)"): ({}, f"OpenVINO computes Transpose of int64 {_32}"),
    ("openvino", "int64[2,2] x", "float[2,2] y", "t = Transpose(x)  y = Cast<to = 1>(t)"): (
        {}, f"OpenVINO computes Cast of int64 {_32.replace('x', 't')}",
    ),
    ("openvino", "int64[4] x", "bool[4] y", "y = Equal(x, c)"): ({"c": np.array(0)}, f"OpenVINO computes Equal of int64 {_24}"),
    ("openvino", "int32[4] x", "bool[4] y", "y = Equal(x, c)"): (
        {"c": np.int32(-(2**24))}, f"OpenVINO computes Equal of int32 {_24}",
    ),
    ("openvino", "float[4] x", "int64[4] y", "y = Cast<to = 7>(x)"): ({}, f"OpenVINO computes Cast of int64 {_32.replace('x', 'y')}"),
    ("openvino", "uint64[2,2] x", "uint64[2,2] y", "y = Transpose(x)"): ({}, f"OpenVINO computes Transpose of uint64 {_32}"),
    ("openvino", "uint32[4] x", "uint32[4] y", "y = Max(x, c)"): ({"c": np.uint32(0)}, f"OpenVINO computes Max of uint32 {_32}"),
    ("openvino", "int32[4] x, int32[4] b", "int32[4] y", "y = Div(x, b)"): ({}, f"OpenVINO computes Div of int32 {_24}"),
    ("openvino", "int32[4] x, int32[4] b", "int32[4] y", "y = Mod(x, b)"): (
        {}, f"OpenVINO computes Mod of int32 {_24.replace('24', '20')}",
    ),
    ("openvino", "int32[4] x, int32[4] b", "int32[4] y", "y = Pow(x, b)"): ({}, "OpenVINO computes Pow of int32 in float32"),
    ("openvino", "uint32[4] x, uint32[4] b", "uint32[4] y", 'y = BitShift<direction = "RIGHT">(x, b)'): (
        {}, "OpenVINO computes BitShift of uint32 with 32 bits or in float32",
    ),
    ("openvino", "int32[2,4] x", "int32[2,1] y", "y = ReduceSum(x, axis)"): (AXIS, f"OpenVINO computes ReduceSum of int32 {_24}"),
    ("openvino", "int32[2,4] x", "int32[2,1] y", "y = ReduceMax(x, axis)"): (AXIS, f"OpenVINO computes ReduceMax of int32 {_24}"),
    ("openvino", "uint8[4] x, uint8[4] b", "uint8[4] y", "y = Add(x, b)"): ({}, f"OpenVINO computes Add of uint8 {_WRAPS}"),
    ("openvino", "uint8[4] x, uint8[4] b", "uint8[4] y", "y = Sub(x, b)"): ({}, f"OpenVINO computes Sub of uint8 {_WRAPS}"),
    ("openvino", "int8[4] x, int8[4] b", "int8[4] y", "y = Mul(x, b)"): ({}, f"OpenVINO computes Mul of int8 {_WRAPS}"),
    ("openvino", "double[4] x", "double[4] y", "y = Relu(x)"): ({}, "OpenVINO computes Relu of float64 in float32"),
    ("openvino", "float[4] x", "double[4] y", "y = Cast<to = 11>(x)"): ({}, "OpenVINO computes Cast of float64 in float32"),
    ("openvino", "float[4] x", "int16[4] y", "y = QuantizeLinear(x, s, z)"): (
        SCALES, "OpenVINO computes QuantizeLinear of int16 as the identity, without its saturation",
    ),
    ("openvino", "int16[4] x", "float[4] y", "y = DequantizeLinear(x, s, z)"): (
        SCALES, "OpenVINO computes DequantizeLinear of int16 as the identity, without its saturation",
    ),
    ("tvm", "int32[4] x, int32[4] b", "int32[4] y", "y = Pow(x, b)"): ({}, "TVM computes Pow of int32 not at all"),
    ("tvm", "float[4] x", "float[4] y", "d = DequantizeLinear(q, s)  y = Add(d, x)"): (
        {"q": np.ones(4, ml_dtypes.int4), "s": np.float32(0.1)}, "TVM computes DequantizeLinear of int4 not at all",
    ),
    ("tvm", "float[2] x, float[3] b", "float[3] y", "e = Slice(x, z, z)  y = Concat<axis = 0>(e, b)"): (
        {"z": np.array([0])}, "TVM has no tensors without elements, and 'e' of Concat is float32[0]",
    ),
    ("tvm", "uint8[4] x", "uint8[4] y", "y = Sign(x)"): ({}, "TVM computes Sign of uint8 not at all"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case[0]} {case[3]}")
def test_a_call_that_is_not_exact_is_refused_with_operator_type_and_reason(tmp_path: Path, case: tuple[str, str, str, str]):
    target, *parts = case
    constants, reason = REFUSED[case]
    model = graph(tmp_path, *parts, constants, opset=21)
    taken, rejected = found(model, target)
    assert reason in rejected
    assert min(len(taken), 1) < len(model.graph)


IDS, TABLE = np.array([3, 0, 2]), np.arange(20, dtype=np.float32).reshape(4, 5)
EDGES = np.array([0, 1, -1, 255, 256, 2**24 + 1, 2**31, -(2**31), 2**32, 2**40 + 1, -(2**63), 2**63 - 1])
QUANTISED: Constants = {"s": np.float32(0.1), "z": np.int8(3)}

TAKEN: dict[str, tuple[str, str, str, Constants, tuple[np.ndarray, ...]]] = {
    "indices": ("int64[3] i", "float[3,5] y", "y = Gather(w, i)", {"w": TABLE}, (IDS,)),
    "indices that are compared": (
        "int64[3] i", "float[3,5] y, bool[3] p", "y = Gather(w, i)  p = Equal(i, zero)", {"w": TABLE, "zero": np.array(0)}, (IDS,),
    ),
    "a shape that is computed": (
        "float[4,5] x", "float[2,10] y", "a = Shape(x)  b = Mul(a, c)  d = Div(b, e)  y = Reshape(x, d)",
        {"c": np.array([1, 6]), "e": np.array([2, 3])}, (TABLE,),
    ),
    "the largest, by class and place": (
        "float[1,20] x", "float[1,4] v, int64[1,4] c, int64[1,4] p",
        "v, i = TopK(x, k)  c = Mod(i, five)  p = Div(i, five)", {"k": np.array([4]), "five": np.array(5)}, (TABLE.reshape(1, 20),),
    ),
    "a mask of large numbers": ("int64[12] m", "bool[12] y", "y = Cast<to = 9>(m)", {}, (EDGES,)),
    "floats of large numbers": (
        "int64[12] m", "float[12] y, bool[12] z", "y = Cast<to = 1>(m)  z = Cast<to = 9>(m)", {}, (EDGES,),
    ),
    "bytes that are compared": (
        "int32[8] a", "bool[8] y, bool[8] z", "y = Equal(a, c)  z = Greater(c, a)", {"c": np.int32(2**24 - 1)},
        (np.int32([0, 255, 2**24 - 1, 2**24, 2**24 + 1, -(2**24) - 1, 2**31 - 1, -(2**31)]),),
    ),
    "a mask of int32": ("int32[5] m", "bool[5] y", "n = BitwiseNot(m)  y = Cast<to = 9>(n)", {}, (np.int32([-1, 0, 2**31 - 1, 255, 511]),)),
    "int32 that wraps around": ("int32[2] a", "int32[2] y", "b = Add(a, a)  y = Mul(b, a)", {}, (np.int32([2**30 + 7, -(2**31)]),)),
    "bytes that are moved": ("uint8[2,2] a", "uint8[2,2] y", "b = Transpose(a)  y = Max(b, a)", {}, (np.uint8([[255, 0], [9, 128]]),)),
    "bytes that cannot wrap": (
        "bool[2] a", "uint8[2] y", "b = Cast<to = 2>(a)  y = Mul(b, c)", {"c": np.uint8(255)}, (np.array([True, False]),),
    ),
    "quantised": (
        "float[4] x", "float[4] y", "q = QuantizeLinear(x, s, z)  y = DequantizeLinear(q, s, z)", QUANTISED,
        (np.float32([1e6, -1e6, 0.26, 3]),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TAKEN)
def test_openvino_takes_what_is_exact(tmp_path: Path, case: str):
    inputs, outputs, nodes, constants, _ = TAKEN[case]
    model = graph(tmp_path, inputs, outputs, nodes, constants)
    taken, rejected = found(model, "openvino")
    assert not rejected
    assert taken == set(range(len(model.graph)))


@pytest.mark.skipif(not get("openvino").availability().usable, reason=get("openvino").availability().reason)
def test_openvino_computes_that_right(tmp_path: Path):
    models = [graph(tmp_path, *parts) for *parts, _ in TAKEN.values()]
    parts = [model.cut(IndexSet(range(len(model.graph)))) for model in models]
    given = [arrays for *_, arrays in TAKEN.values()]
    runs = run_models(get("openvino"), list(zip(parts, given, strict=True)))
    for case, part, arrays, got in zip(TAKEN, parts, given, runs, strict=True):
        assert not isinstance(got, str), (case, got)
        for made, wanted in zip(got, reference(part, arrays), strict=True):
            np.testing.assert_allclose(made, wanted, rtol=1e-6, err_msg=case)


def test_what_only_another_toolchain_wraps_around_may_be_read(tmp_path: Path):
    model = graph(tmp_path, "uint8[2] a", "uint8[2] y", "b = Add(a, a)  y = Max(b, a)")
    assert found(model, "openvino")[0] == {1}


def test_a_target_of_lower_precision_has_the_same_table(tmp_path: Path):
    model = graph(tmp_path, "int64[2] a", "int64[2] y", "y = Add(a, a)")
    assert found(model, "openvino@bf16")[1] == ["OpenVINO computes Add of int64 in 32 bits with a sign, and 'a' may hold more"]


def test_a_node_of_the_host_is_in_no_larger_candidate_that_would_change_its_values(tmp_path: Path):
    text = "a = Relu(x)  y = Neg(a)  g = Identity(h)"
    kept = graph(tmp_path, "float[3] x, float[2] h", "float[3] y, float[2] g", text)
    lost = graph(tmp_path, "float[3] x, int64[2] h", "float[3] y, int64[2] g", text)
    for model, is_inside in ((kept, True), (lost, False)):
        matches = get("openvino").rule(RuleOptions()).find(RuleContext(model.graph, "openvino", RejectionLog()))
        assert any(2 in match.inside for match in matches) == is_inside


BRANCHES = """y = If(c) <then_branch = t () => (float[2,5] a) {{ a = Gather(w, {0}) }},
                       else_branch = e () => (float[2,5] b) {{ f = Cast<to = 1>({1})  u = Unsqueeze(f, one)  b = Add(w2, u) }}>"""


def test_bodies_may_read_indices_and_no_other_wide_integers(tmp_path: Path):
    constants = {"w": TABLE, "w2": TABLE[:2], "one": np.array([1]), "known": np.array([0, 3])}
    for other, taken in (("known", {0}), ("ids", {0}), ("more", set())):
        nodes = BRANCHES.format("ids", other)
        model = graph(tmp_path, "bool c, int64[2] ids, int64[2] more", "float[2,5] y", nodes, constants)
        assert found(model, "openvino")[0] == taken, other


FLOATS: Constants = {
    "mask": np.float32([0, -np.inf, 0, 0]), "one": np.float32(1), "w": np.zeros((4, 4), np.float32), "k": np.array([2]), "l": np.float32(0),
    "low": np.float32(-np.inf), "divisors": np.float32([1, 41, 47, 55]), "as_row": np.array([1, 4]),
    "r": np.zeros((1, 8, 2), np.float32), "v": np.zeros((1, 8, 1), np.float32),
}  # fmt: skip
_OF_NAN = "wrong on NaN"
_WHOLE = "compute Div of float32 exactly where the result is whole, and a reader rounds it"
_READ = "of which a reader takes the logarithm or the reciprocal"

WRONG_FLOATS: dict[tuple[str, str, str], str] = {
    ("openvino", FINITE, "y = Mod<fmod = 1>(x, one)"): "OpenVINO computes Mod of float32 wrong on large numbers",
    ("openvino", FINITE, "a = Add(x, mask)  y = ThresholdedRelu(a)"): (
        "OpenVINO computes ThresholdedRelu of float32 wrong on infinities, and 'a' may hold some"
    ),
    ("openvino", FINITE, "s = Softplus(x)  y = Log(s)"): f"OpenVINO computes Softplus of float32 wrong in results near 0, {_READ}",
    ("tvm", FINITE, "s = Softplus(x)  y = Div(one, s)"): f"TVM computes Softplus of float32 wrong in results near 0, {_READ}",
    ("tvm", FINITE, "a = Add(x, mask)  i = ArgMax(a)  y = Cast<to = 1>(i)"): (
        "TVM computes ArgMax of float32 wrong on infinities, and 'a' may hold some"
    ),
    ("ncnn", FINITE, "e = Exp(x)  d = Add(e, one)  y = Reciprocal(d)"): (
        "ncnn computes Reciprocal of float32 wrong on infinities, and 'd' may hold some"
    ),
    ("openvino", FINITE, "q = Div(x, x)  y = Floor(q)"): f"OpenVINO does not {_WHOLE}",
    ("openvino", FINITE, "q = Div(x, divisors)  n = Neg(q)  u = Reshape(n, as_row)  y = Ceil(u)"): f"OpenVINO does not {_WHOLE}",
    ("openvino", ANY, "q = Div(x, divisors)  y = Floor(q)"): f"OpenVINO does not {_WHOLE}",
    ("ncnn", FINITE, "q = Div(x, divisors)  y = Floor(q)"): f"ncnn does not {_WHOLE}",
    ("openvino", FINITE, "a = Add(x, mask)  m = ReduceMax(a)  e = Equal(m, low)  y = Where(e, x, one)"): (
        "OpenVINO computes ReduceMax of float32 wrong on rows of −∞, and 'a' may hold some, and a reader tests for these"
    ),
    ("openvino", ANY, "y = Relu(x)"): f"OpenVINO computes Relu of float32 {_OF_NAN}",
    ("openvino", ANY, "y = Max(x, x)"): f"OpenVINO computes Max of float32 {_OF_NAN}",
    ("tvm", ANY, "y = Relu(x)"): f"TVM computes Relu of float32 {_OF_NAN}",
    ("tvm", ANY, "y = Clip(x, l)"): f"TVM computes Clip of float32 {_OF_NAN}",
    ("ncnn", ANY, "y = Sigmoid(x)"): f"ncnn computes Sigmoid of float32 {_OF_NAN}",
    ("openvino", ANY, "t, i = TopK(x, k)  m = ReduceMax(t)  y = Add(x, m)"): f"OpenVINO computes TopK of float32 {_OF_NAN}",
    ("ncnn", ANY, "m = MatMul(x, w)  y = Relu(m)"): "ncnn computes Relu of float32 after MatMul wrong on infinities",
    ("openvino", ANY, "u = Unsqueeze(x, k)  h = LSTM<hidden_size = 2>(u, v, r)  m = ReduceMax(h)  y = Add(x, m)"): (
        "it was not measured what OpenVINO makes of NaN and infinities in LSTM of float32"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_FLOATS, ids=" ".join)
def test_a_call_that_is_wrong_on_floats_that_count_is_refused(tmp_path: Path, case: tuple[str, str, str]) -> None:
    target, policy, nodes = case
    model = graph(tmp_path, "float[1,4] x", "float[1,4] y", nodes, FLOATS)
    assert WRONG_FLOATS[case] in found(model, target, policy)[1]


def test_a_quantised_number_may_be_a_step_off_unless_it_is_an_output_of_the_model(tmp_path: Path) -> None:
    nodes = "q, s, z = DynamicQuantizeLinear(x)  y = DequantizeLinear(q, s, z)"
    read = graph(tmp_path, "float[1,4] x", "float[1,4] y", nodes)
    shown = graph(tmp_path, "float[1,4] x", "float[1,4] y, uint8[1,4] q", nodes)
    assert found(read, "openvino") == ({0, 1}, [])
    assert found(shown, "openvino")[1] == ["OpenVINO computes DynamicQuantizeLinear of float32 wrong on equal elements"]


_EMPTY = "OpenVINO computes ReduceMax of {0} without elements wrong, and 'e' is {0}[2, 0]"
EMPTY_CALLS = {
    ("float", "ReduceMax"): _EMPTY.format("float32"),
    ("float16", "ReduceMax"): _EMPTY.format("float16"),
    ("float", "ReduceL1"): "OpenVINO does not take ReduceL1 of float32 without elements, and 'e' is float32[2, 0]",
    ("float", "ReduceSum"): "",
}


@pytest.mark.parametrize("call", EMPTY_CALLS, ids=" ".join)
def test_a_call_that_is_wrong_without_elements_is_refused(tmp_path: Path, call: tuple[str, str]) -> None:
    dtype, op = call
    nodes = f"e = Slice(x, none, none, axis)  y = {op}(e, axis)"
    model = graph(tmp_path, f"{dtype}[2,4] x", f"{dtype}[2,1] y", nodes, {**AXIS, "none": np.array([0])})
    rejected = found(model, "openvino")[1]
    assert rejected == ([EMPTY_CALLS[call]] if EMPTY_CALLS[call] else [])


ORDINARY_CALLS = {
    "attention with a mask": "s = MatMul(x, w)  a = Add(s, mask)  p = Softmax(a)  y = MatMul(p, w)",
    "a norm": "q = Mul(x, x)  m = ReduceMean(q)  a = Add(m, one)  s = Sqrt(a)  y = Div(x, s)",
    "activations": "a = Relu(x)  b = Sigmoid(a)  c = Gelu(b)  d = Softplus(c)  e = Clip(d, l)  y = Tanh(e)",
    "a swish of its parts": "s = Sigmoid(x)  y = Mul(x, s)",
}


@pytest.mark.parametrize("target", ["openvino", "tvm", "ncnn"])
@pytest.mark.parametrize("case", ORDINARY_CALLS)
def test_calls_of_networks_on_floats_are_taken_by_default(tmp_path: Path, target: str, case: str) -> None:
    model = graph(tmp_path, "float[4,4] x", "float[4,4] y", ORDINARY_CALLS[case], FLOATS)
    assert found(model, target) == (set(range(len(model.graph))), [])


def test_onnx_runtime_takes_every_call_as_the_reference_does(tmp_path: Path) -> None:
    """Its optimisations change no finite value, so that its rules need not ask; they change no NaN of single calls either."""
    classes = {"large", "offset", "ties", "halves", "zeros", "infinite", "nan", "huge"}
    changed = {
        row: verdicts for row, dtypes in ONNXRUNTIME_VALUES.floats.items() for verdicts in dtypes.values() if classes & verdicts.keys()
    }
    assert changed == {}
    model = graph(tmp_path, "float[4,4] x", "float[4,4] y", "a = Relu(x)  m = MatMul(a, w)  y = Max(m, x)", FLOATS)
    assert found(model, "onnxruntime", ANY) == ({0, 1, 2}, [])
