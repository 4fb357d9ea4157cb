"""Signed activations that ONNX Runtime gets unsigned: the same values, with the boundary as it was."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from collage_core.model.model import SubModel
from collage_core.toolchains.conformance.model_runs import run_models
from collage_core.toolchains.conformance.small_models import drawn, node, normal, reference, sub_model, tensor
from collage_core.toolchains.onnx_models.unsigned_activations import make_activations_unsigned
from collage_core.toolchains.registry import get

IMAGE = (1, 4, 6, 6)
STEP = np.float32(2.0**-5)
WEIGHTS = {
    "s": np.asarray(STEP),
    "z": np.asarray(-128, np.int8),
    "u": np.asarray(3, np.uint8),
    "v": np.rint(30 * normal(4, 4, 3, 3)).astype(np.int8),
    "t": np.asarray(2.0**-7, np.float32),
    "o": np.asarray(0, np.int8),
}


def convolution(x: str, y: str) -> list[onnx.NodeProto]:
    """A quantised convolution with a Relu, from the signed tensor `x` to `y`."""
    return [
        node("DequantizeLinear", f"{x} s z", f"{x}_f"),
        node("DequantizeLinear", "v t o", f"{y}_w"),
        node("Conv", f"{x}_f {y}_w", f"{y}_c", pads=[1] * 4),
        node("Relu", f"{y}_c", f"{y}_r"),
        node("QuantizeLinear", f"{y}_r s z", y),
    ]


def middle() -> SubModel:
    """A model between two cuts: signed tensors enter and leave, and the second one is read inside too."""
    nodes = [*convolution("x", "y"), *convolution("y", "q")]
    return sub_model(nodes, [tensor("x", IMAGE, "int8")], [tensor("y", IMAGE, "int8"), tensor("q", IMAGE, "int8")], WEIGHTS)


def shortcut() -> SubModel:
    """A quantised tensor with two readers."""
    nodes = [
        node("QuantizeLinear", "i s z", "x"),
        *convolution("x", "y"),
        node("DequantizeLinear", "x s z", "a"),
        node("DequantizeLinear", "y s z", "b"),
        node("Add", "a b", "c"),
    ]
    return sub_model(nodes, [tensor("i", IMAGE)], [tensor("c", IMAGE)], WEIGHTS)


def given(model: SubModel) -> list[np.ndarray]:
    """All int8 values from the least to the largest, or floats."""
    floats = drawn(model.inputs)
    return [array if array.dtype.kind == "f" else np.resize(np.arange(-128, 128), array.shape).astype(np.int8) for array in floats]


@pytest.mark.parametrize("make", [middle, shortcut])
def test_every_convolution_is_computed_on_integers_and_gives_the_same_values(make):
    model, toolchain = make(), get("onnxruntime")
    ops = [made.op_type for made in onnx.load_model_from_string(toolchain.build(model, 1)).graph.node]
    assert ops.count("QLinearConv") == (2 if make is middle else 1)
    assert "Conv" not in ops
    inputs = given(model)
    (got,) = run_models(toolchain, [(model, inputs)])
    for one, other in zip(got, reference(model, inputs), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("make", [middle, shortcut])
def test_the_changed_model_is_valid_and_has_the_same_ends(make):
    model = make()
    changed = onnx.load_model_from_string(model.onnx)
    make_activations_unsigned(changed)
    onnx.checker.check_model(changed, full_check=True)
    before = onnx.load_model_from_string(model.onnx).graph
    assert (list(changed.graph.input), list(changed.graph.output)) == (list(before.input), list(before.output))


@pytest.mark.parametrize(
    "nodes",
    [
        [node("QuantizeLinear", "x s u", "q"), node("DequantizeLinear", "q s u", "y")],
        [node("QuantizeLinear", "x s z", "q"), node("Cast", "q", "y", to=1)],
        [
            node("QuantizeLinear", "x s z", "q"),
            node("DequantizeLinear", "q s z", "d"),
            node("Cast", "q", "c", to=1),
            node("Add", "c d", "y"),
        ],
    ],
    ids=["unsigned", "read as an integer", "read as an integer too"],
)
def test_what_cannot_be_changed_is_left_as_it_is(nodes):
    model = sub_model(nodes, [tensor("x", (2, 3))], [tensor("y", (2, 3))], WEIGHTS)
    changed = onnx.load_model_from_string(model.onnx)
    make_activations_unsigned(changed)
    assert changed == onnx.load_model_from_string(model.onnx)
