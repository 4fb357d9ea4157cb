"""Which calls ncnn does not take, and the reasons that it gives. That the others are right is in test_ncnn_import.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto

from collage_core.graph.index_set import IndexSet
from collage_core.toolchains.conformance.small_models import normal
from collage_core.toolchains.ncnn.ncnn_operators import refusal, refusal_of_values
from collage_core.toolchains.sub_model_graph import graph_of
from tests.helpers.models import loaded
from tests.helpers.operator_calls import Call, call, ints, model_of, scalar


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


IMAGE = (1, 4, 8, 8)
LSTM = normal(1, 16, 3), normal(1, 16, 4)
SEQUENCE = {"hidden_size": 4, "outputs": (("float32", (5, 1, 1, 4)),)}

REFUSED: list[tuple[str, Call, str]] = [
    ("Gather", call((3, 4), ("int64", (2,))), "ncnn has no layer for Gather"),
    (
        "QLinearMatMul",
        call(("uint8", (2, 2)), *[scalar(1)] * 2, ("uint8", (2, 2)), *[scalar(1)] * 4),
        "ncnn has no layer for QLinearMatMul",
    ),
    ("Relu", call(("float64", (3,))), "ncnn computes in float32, and Relu has float64"),
    ("Cast", call((3,), to=7), "ncnn computes in float32, and Cast has int64"),
    ("Relu", call((0, 3)), "ncnn has no empty tensors, and Relu has one"),
    ("Conv", call(IMAGE, (2, 4, 3, 3)), "input 1 of Conv must be a constant"),
    ("Add", call(normal(3), normal(3), outputs=(("float32", (3,)),)), "Add reads constants alone"),
    ("MaxPool", call(IMAGE, kernel_shape=[2, 2], outputs=2), "ncnn computes in float32, and MaxPool has int64"),
    ("Conv", call((2, 4, 8, 8), normal(2, 4, 3, 3)), "ncnn has no batch axis, and Conv has a batch of 2"),
    ("Conv", call((1, 4, 8, 8, 8), normal(2, 4, 3, 3, 3)), "Conv needs rank 3 or 4, and this has 5"),
    ("Conv", call(IMAGE, normal(2, 4, 3, 3), pads=[-1, 0, 0, 0]), "Conv has negative pads"),
    ("ConvTranspose", call(IMAGE, normal(4, 2, 3, 3), auto_pad="SAME_UPPER"), "ConvTranspose must have explicit pads"),
    ("MaxPool", call(IMAGE, kernel_shape=[2, 2], dilations=[2, 2]), "MaxPool has dilations"),
    ("AveragePool", call(IMAGE, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1), "AveragePool has windows that are cut off (ceil_mode)"),
    ("GlobalMaxPool", call((2, 3)), "GlobalMaxPool has no axes after the channels"),
    ("PRelu", call(IMAGE, normal(8)), "PRelu must have one slope, or one a channel, and no batch"),
    ("BatchNormalization", call(IMAGE, *[normal(4)] * 4, training_mode=1, outputs=1), "BatchNormalization is in training mode"),
    ("Dropout", call((3,), scalar(0.5), np.array(True)), "Dropout is in training mode"),
    ("Pow", call((3,), scalar(1.5)), "Pow must have one constant exponent of 0.5, 1, 2, 3, -1"),
    ("Pow", call((3,), (3,)), "input 1 of Pow must be a constant"),
    ("Clip", call((3,), scalar(float("inf"))), "Clip has bounds that are not finite numbers"),
    ("Slice", call((8,), ints(0), ints(8), ints(0), ints(2)), "Slice has a step other than 1"),
    ("Transpose", call((2, 3, 2, 3, 2), perm=[4, 3, 2, 1, 0]), "Transpose moves 5 axes, and ncnn can move four"),
    ("Pad", call(IMAGE, ints(0, 1, 0, 0, 0, 0, 0, 0)), "Pad adds to other than the last two axes"),
    ("Pad", call(IMAGE, ints(0, 0, -1, 0, 0, 0, 0, 0)), "Pad takes away"),
    ("Pad", call((3,), ints(1, 1), mode="wrap", opset=19), "Pad has the mode wrap"),
    ("Pad", call((3,), ints(3, 0), mode="reflect"), "Pad reflects more than there is"),
    ("Resize", call(IMAGE, None, floats(1, 1, 2, 2), mode="cubic"), "Resize has the mode cubic"),
    ("Resize", call(IMAGE, None, floats(1, 2, 2, 2), mode="linear"), "Resize must be over the last one or two of three or four axes"),
    (
        "Resize",
        call(IMAGE, None, floats(1, 1, 2, 2), mode="linear", coordinate_transformation_mode="asymmetric"),
        "Resize interpolates with coordinates asymmetric",
    ),
    (
        "Resize",
        call(IMAGE, None, floats(1, 1, 2, 2), mode="nearest"),
        "Resize takes the nearest element by half_pixel and round_prefer_floor, or to no multiple of the size",
    ),
    ("GroupNormalization", call((2, 4), normal(4), normal(4), num_groups=4, opset=21), "GroupNormalization has groups of one element"),
    ("LRN", call(IMAGE, size=4), "LRN has an even size"),
    ("LayerNormalization", call((3, 4), normal(1)), "LayerNormalization broadcasts its scale"),
    ("ReduceSum", call((2, 3), ints(), noop_with_empty_axes=1), "ReduceSum reduces nothing"),
    ("ReduceSum", call((2, 3, 2, 3, 2), ints(0, 2, 4)), "ReduceSum reduces axes that are not neighbours"),
    ("MatMul", call((2, 3, 4), (5, 1, 4, 3)), "MatMul broadcasts its batch"),
    ("CumSum", call((3,), np.array(0), reverse=1), "CumSum is exclusive or reverse"),
    (
        "LSTM",
        call((5, 2, 3), *LSTM, **SEQUENCE | {"outputs": (("float32", (5, 1, 2, 4)),)}),
        "ncnn has no batch axis, and LSTM has a batch of 2, or its layout is not by time",
    ),
    ("LSTM", call((5, 1, 3), *LSTM, clip=1.0, **SEQUENCE), "LSTM has activations of its own"),
    ("LSTM", call((5, 1, 3), *LSTM, None, None, normal(1, 1, 4), **SEQUENCE), "LSTM has lengths, first states or peepholes"),
    ("LSTM", call((5, 1, 3), *LSTM, hidden_size=4, outputs=3), "ncnn gives only the sequence of LSTM, not its last state"),
    ("GRU", call((5, 1, 3), normal(1, 12, 3), normal(1, 12, 4), **SEQUENCE), "GRU has its reset before the product"),
    ("DepthToSpace", call((2, 4, 8, 8), blocksize=2), "ncnn has no batch axis, and DepthToSpace has one"),
]


@pytest.mark.parametrize(("op", "described", "reason"), REFUSED, ids=[f"{op}-{index}" for index, (op, _, _) in enumerate(REFUSED)])
def test_what_ncnn_does_not_take_has_a_reason(op: str, described: Call, reason: str):
    model = model_of(op, described)
    graph = graph_of(ModelProto.FromString(model.onnx), model.outputs)
    assert refusal(graph, graph.nodes[0]) == reason


ZEROS = {
    "y = Div(a, b)": "Div of float32 divides by 'b'",
    "m = Mul(b, b)  y = Div(a, m)": "Div of float32 divides by 'm'",
    "y = Div(one, b)": "Div of float32 divides by 'b'",
    "y = Div(a, zero)": "Div of float32 divides by 'zero'",
    "n = ReduceL2(b, axis)  y = Div(a, n)": "Div of float32 divides by 'n'",
    "y = Reciprocal(b)": "Reciprocal of float32 takes the reciprocal of 'b'",
    "y = Pow(b, minus)": "Pow of float32 takes the reciprocal of 'b'",
    "y = Log(b)": "Log of float32 takes the logarithm of 'b'",
    "s = Softmax(b)  y = Log(s)": "Log of float32 takes the logarithm of 's'",
}
"""Calls that make NaN of a zero in ncnn."""

NO_ZEROS = [
    "y = Div(a, c)",
    "y = Div(a, many)",
    "m = Mul(b, b)  e = Add(m, c)  r = Sqrt(e)  y = Div(a, r)",
    "e = Clip(b, small)  y = Log(e)",
    "e = Max(b, small)  y = Reciprocal(e)",
    "n = ReduceL2(a, axis)  y = Div(a, n)",
    "y = Pow(b, two)",
]
NUMBERS = {
    "c": scalar(1e-5), "one": scalar(1), "two": scalar(2), "zero": scalar(0), "minus": scalar(-1), "small": scalar(1e-12),
    "many": floats(0.2, 0.5, 3, 4), "axis": ints(1),
}  # fmt: skip


def last_refusal(folder: Path, nodes: str) -> str:
    model = loaded(folder, f"g (float[2,4] a, float[2,4] b) => (float[2,4] y) {{ {nodes} }}", NUMBERS, fold=False, opset=18)
    return refusal_of_values(model.graph, model.graph.nodes[-1])


@pytest.mark.parametrize("nodes", ZEROS)
def test_a_call_that_makes_nan_of_a_zero_is_refused_where_one_may_arrive(tmp_path: Path, nodes: str):
    assert last_refusal(tmp_path, nodes) == f"ncnn has NaN for the infinity of a zero, and {ZEROS[nodes]}, which may hold one"


@pytest.mark.parametrize("nodes", NO_ZEROS)
def test_it_is_taken_where_the_graph_shows_that_there_is_no_zero(tmp_path: Path, nodes: str):
    assert not last_refusal(tmp_path, nodes)


def test_a_part_is_imported_that_does_not_show_what_the_whole_model_shows(tmp_path: Path):
    model = loaded(tmp_path, f"g (float[2,4] a, float[2,4] b) => (float[2,4] y) {{ {NO_ZEROS[2]} }}", NUMBERS, fold=False, opset=18)
    part = model.cut(IndexSet([3]))
    assert not refusal(graph_of(ModelProto.FromString(part.onnx), part.outputs), model.graph.nodes[3])
