"""Calls that OpenVINO and TVM take and compute wrong: which ones the rules refuse, with what reason, and which like them they take."""

from __future__ import annotations

from pathlib import Path

import pytest

from collage_core.graph.index_set import IndexSet
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.rule import RuleContext, RuleOptions
from collage_core.toolchains.conformance.duties import assert_close
from collage_core.toolchains.conformance.model_runs import run_models
from collage_core.toolchains.conformance.node_cases import NodeCase, is_right, run_all, single_nodes
from collage_core.toolchains.conformance.small_models import drawn, reference
from collage_core.toolchains.registry import get
from collage_core.toolchains.values.wrong_calls import openvino_refusal, tvm_refusal
from tests.helpers.models import loaded

OPERATORS = (
    "Attention",
    "AveragePool",
    "BatchNormalization",
    "DFT",
    "Dropout",
    "IsInf",
    "LSTM",
    "ReduceMax",
    "ReduceMin",
    "Resize",
    "RotaryEmbedding",
)

REFUSED = {
    ("openvino", "attention_4d_with_past_and_present_qk_matmul_bias_4d_mask_causal"): "a causal Attention wrong that has a mask and past",
    ("openvino", "dft_axis"): "OpenVINO transforms the axis 1 whatever axis the input of DFT names",
    ("openvino", "lstm_with_peepholes"): "OpenVINO leaves the peepholes of an LSTM out",
    ("openvino", "reduce_max_empty_set"): "OpenVINO computes ReduceMax of float32 without elements wrong, and 'data' is",
    ("openvino", "resize_downsample_sizes_linear_antialias"): "OpenVINO leaves antialias of Resize out",
    ("openvino", "resize_upsample_scales_cubic_A_n0p5_exclude_outside"): "OpenVINO leaves exclude_outside of Resize out",
    ("openvino", "rotary_embedding"): "a RotaryEmbedding wrong that does not say its rotary_embedding_dim",
    ("openvino", "rotary_embedding_with_interleaved_rotary_dim"): "OpenVINO computes an interleaved RotaryEmbedding wrong",
    ("tvm", "batchnorm_example_training_mode"): "TVM computes a BatchNormalization in training mode as in inference",
    ("tvm", "isinf_negative"): "TVM finds the infinities of both signs, and IsInf asks for one",
    ("tvm", "resize_downsample_sizes_cubic_antialias"): "TVM leaves antialias of Resize out",
    ("tvm", "training_dropout"): "TVM computes a Dropout in training mode as in inference",
}
TAKEN = {
    "openvino": (
        "attention_4d_attn_mask_bool_4d",
        "averagepool_2d_ceil",
        "dft",
        "dft_axis_opset19",
        "lstm_with_initial_bias",
        "rotary_embedding_with_rotary_dim",
    ),
    "tvm": ("batchnorm_example", "dropout_default", "isinf", "training_dropout_zero_ratio"),
}


@pytest.fixture(scope="module")
def cases() -> dict[str, NodeCase]:
    wanted = {name for _, name in REFUSED} | {name for names in TAKEN.values() for name in names}
    found = {case.name.removeprefix("test_"): case for case in single_nodes(10**6, OPERATORS)}
    return {name: found[name] for name in wanted}


@pytest.mark.long
@pytest.mark.parametrize(("name", "call"), REFUSED)
def test_a_call_that_it_computes_wrong_is_refused_with_the_reason(cases: dict[str, NodeCase], name: str, call: str):
    assert REFUSED[name, call] in cases[call].refusal(get(name))


@pytest.mark.long
@pytest.mark.parametrize("name", TAKEN)
def test_what_is_like_it_and_right_is_taken(cases: dict[str, NodeCase], name: str):
    toolchain = get(name)
    if not toolchain.availability().usable:
        pytest.skip(toolchain.availability().reason)
    taken = [cases[call] for call in TAKEN[name]]
    assert [case.refusal(toolchain) for case in taken] == [""] * len(taken)
    for case, got in run_all(toolchain, taken):
        assert not isinstance(got, str), (case.name, got)
        assert is_right(got, case, 1e-5), case.name


def test_tvm_gets_no_roi_align(tmp_path: Path) -> None:
    ends = "(float[1,2,6,6] x, float[3,4] boxes, int64[3] of) => (float[3,2,2,2] y)"
    text = f"g {ends} {{ y = RoiAlign<output_height = 2, output_width = 2>(x, boxes, of) }}"
    graph = loaded(tmp_path, text).graph
    assert tvm_refusal(graph, IndexSet((0,))) == "TVM leaves elements of a RoiAlign unwritten"
    assert openvino_refusal(graph, IndexSet((0,))) == ""


POOL = "g (float[1,5,2,1] x) => (float[1,5,p,q] y) {{ y = AveragePool<{}kernel_shape = [2, 1], pads = [1, 0, 0, 0], strides = [2, 2]>(x) }}"
"""A last window that reaches one element beyond the image. No node test of ONNX has one with these attributes."""


@pytest.mark.parametrize("attributes", ["ceil_mode = 1, count_include_pad = 1, ", "ceil_mode = 1, ", "count_include_pad = 1, "])
def test_a_window_beyond_the_pads_is_refused_where_openvino_counts_it(tmp_path, attributes: str):
    toolchain = get("openvino")
    if not toolchain.availability().usable:
        pytest.skip(toolchain.availability().reason)
    model, log = loaded(tmp_path, POOL.format(attributes)), RejectionLog()
    found = list(toolchain.rule(RuleOptions()).find(RuleContext(model.graph, "openvino", log)))
    if attributes.count("=") == 2:
        assert not found
        assert "OpenVINO counts too many elements" in next(item.reason for item in log.sample if item.nodes)
    else:
        part = model.cut(found[0].inside)
        given = drawn(part.inputs)
        (got,) = run_models(toolchain, [(part, given)])
        assert_close(got, reference(part, given))


@pytest.mark.long
@pytest.mark.parametrize(
    ("scales", "whole"), [pytest.param("1.0, 1.0, 0.75, 2.0", True, marks=pytest.mark.long), ("1.0, 1.0, 0.6, 1.0", False)]
)
def test_tvm_resizes_by_scales_to_whole_sizes_only(tmp_path, scales: str, whole: bool):
    toolchain = get("tvm")
    if not toolchain.availability().usable:
        pytest.skip(toolchain.availability().reason)
    text = 'g (float[1,1,4,4] x) => (float[1,1,p,q] y) <float[4] s = {{{}}}> {{ [odd] y = Resize<mode = "linear">(x, , s) }}'
    part = loaded(tmp_path, text.format(scales)).cut(IndexSet([0]))
    given = drawn(part.inputs)
    (got,) = run_models(toolchain, [(part, given)])
    if whole:
        assert_close(got, reference(part, given))
    else:
        assert got == "import: 'odd' resizes [1, 1, 4, 4] by scales to no whole sizes, which TVM computes wrong"


@pytest.mark.long
def test_the_reason_is_a_rejection_of_the_node_alone(cases: dict[str, NodeCase]):
    graph, log = cases["lstm_with_peepholes"].model.graph, RejectionLog()
    assert not list(get("openvino").rule(RuleOptions()).find(RuleContext(graph, "openvino", log)))
    rejected = [item for item in log.sample if item.nodes]
    assert [(item.nodes, item.rule, item.stage) for item in rejected] == [((0,), "match_check", "predicate")]


@pytest.mark.parametrize(
    ("sizes", "reason"), [("", "OpenVINO computes a Resize wrong, or crashes, whose sizes change from run to run"), ("{1, 1, 4, 4}", "")]
)
def test_openvino_resizes_to_sizes_that_are_known(tmp_path, sizes: str, reason: str):
    read, known = ("", f"<int64[4] s = {sizes}>") if sizes else (", int64[4] s", "")
    text = f'g (float[1,1,2,2] x{read}) => (float[p,q,r,t] y) {known} {{ y = Resize<mode = "nearest">(x, , , s) }}'
    assert openvino_refusal(loaded(tmp_path, text).graph, IndexSet([0])) == reason


_FULLY_MASKED = "OpenVINO computes an Attention wrong whose mask hides all keys by the lowest float32, as 'm' may"
_SUPPRESSED = "OpenVINO suppresses boxes whose overlap equals the threshold, and that of this NonMaxSuppression changes from run to run"
_NEGATIVE = "wrong where the scale of the result is negative, and 's' may be"
_BOXES = "float[1,6,4] b, float[1,1,6] p"
_QKV = "float[1,2,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v"
_IN_FLOAT8 = "and rounds float32 to float16 first"

BY_VALUES: dict[tuple[str, str], str] = {
    ("openvino", "g (float[4] x, float s) => (uint8[4] y) { y = QuantizeLinear(x, s) }"): f"OpenVINO computes QuantizeLinear {_NEGATIVE}",
    ("openvino", "g (float[4] x) => (uint8[4] y) <float s = {-0.5}> { y = QuantizeLinear(x, s) }"): (
        f"OpenVINO computes QuantizeLinear {_NEGATIVE}"
    ),
    ("openvino", "g (float[4] x) => (float[4] y) <float s = {0.5}> { t = QuantizeLinear(x, s) y = DequantizeLinear(t, s) }"): "",
    (
        "openvino",
        "g (uint8[2,4] a, uint8[4,2] b, float s) => (uint8[2,2] y) <float u = {0.5}, uint8 z = {3}>"
        " { y = QLinearMatMul(a, u, z, b, u, z, s, z) }",
    ): f"OpenVINO computes QLinearMatMul {_NEGATIVE}",
    ("openvino", "g (float[4] x) => (float8e4m3fn[4] y) { y = Cast<to = 17>(x) }"): (
        f"OpenVINO does not saturate in a Cast to float8e4m3fn, {_IN_FLOAT8}"
    ),
    ("openvino", "g (float8e5m2[4] x) => (float[4] y) { y = Cast<to = 1>(x) }"): "",
    ("openvino", "g (float8e5m2fnuz[4] x) => (float[4] y) { y = Cast<to = 1>(x) }"): "OpenVINO does not take float8e5m2fnuz",
    ("tvm", "g (float[4] x) => (float[4] y) { t = Cast<to = 17>(x) y = Cast<to = 1>(t) }"): (
        "TVM leaves the rounding of casts to float8e4m3fn and back out, and has no buffers of float8e4m3fn"
    ),
    ("openvino", f"g ({_QKV}, float[3,3] m) => (float[1,2,3,4] y) {{ y = Attention(q, k, v, m) }}"): _FULLY_MASKED,
    ("openvino", f"g ({_QKV}, bool[3,3] m) => (float[1,2,3,4] y) {{ y = Attention(q, k, v, m) }}"): "",
    ("openvino", f"g ({_QKV}) => (float[1,2,3,4] y) <float[1,3] m = {{0, 0, -1e9}}> {{ y = Attention(q, k, v, m) }}"): "",
    ("openvino", f"g ({_BOXES}, float[1] t) => (int64[n,3] y) <int64[1] m = {{3}}> {{ y = NonMaxSuppression(b, p, m, t) }}"): _SUPPRESSED,
    ("openvino", f"g ({_BOXES}) => (int64[n,3] y) <int64[1] m = {{3}}> {{ y = NonMaxSuppression(b, p, m) }}"): "",
    ("openvino", "g (float[2,3] x, int64[2] n) => (float[4,3] y) { y = Tile(x, n) }"): (
        "OpenVINO leaves outputs of a Tile unwritten whose repeats change from run to run"
    ),
    (
        "openvino",
        "g (float[1,1,4,6] x) => (float[1,1,2,3] y, int64[1,1,2,3] i)"
        " { y, i = MaxPool<kernel_shape = [2, 2], strides = [2, 2], storage_order = 1>(x) }",
    ): "OpenVINO counts the indices of a MaxPool by rows, and its storage_order asks for columns",
}


@pytest.mark.parametrize("case", BY_VALUES, ids=" ".join)
def test_a_call_is_refused_where_its_values_or_attributes_make_it_wrong(tmp_path: Path, case: tuple[str, str]) -> None:
    refusal = {"openvino": openvino_refusal, "tvm": tvm_refusal}[case[0]]
    graph = loaded(tmp_path, case[1], fold=False, opset=23).graph
    assert refusal(graph, IndexSet(range(len(graph)))) == BY_VALUES[case]
