"""Clips of floats that become clips of integers: the same values, and ONNX Runtime computes the product before on integers."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from collage_core.model.model import SubModel
from collage_core.toolchains.conformance.model_runs import run_models
from collage_core.toolchains.conformance.small_models import node, normal, reference, sub_model, tensor
from collage_core.toolchains.onnx_models.clips_on_integers import move_clips_behind_quantisers
from collage_core.toolchains.registry import get
from tests.helpers.long_cases import mostly_long

IMAGE = (1, 4, 6, 6)
SIGNED, UNSIGNED = "int8", "uint8"


def block(kind: str, zero: int, clip: onnx.NodeProto, opset: int = 17, ends: tuple[str, ...] = ("y",)) -> SubModel:
    """A quantised convolution, then `clip` from ``c`` to ``r``, and its output quantised with `zero`."""
    nodes = [
        node("DequantizeLinear", "x s z", "x_f"),
        node("DequantizeLinear", "v t o", "w"),
        node("Conv", "x_f w", "c", pads=[1] * 4),
        clip,
        node("QuantizeLinear", "r s z", "y"),
    ]
    weights = {
        "s": np.asarray(2.0**-5, np.float32),
        "z": np.asarray(zero, kind),
        "v": np.rint(30 * normal(4, 4, 3, 3)).astype(np.int8),
        "t": np.asarray(2.0**-7, np.float32),
        "o": np.asarray(0, np.int8),
        "zero": np.asarray(0, np.float32),
        "six": np.asarray(1.37, np.float32),
    }
    floats = [tensor(name, IMAGE) for name in ends if name != "y"]
    return sub_model(nodes, [tensor("x", IMAGE, kind)], [tensor("y", IMAGE, kind), *floats], weights, opset=opset)


RELU, CLIP = node("Relu", "c", "r"), node("Clip", "c zero six", "r")


@pytest.mark.parametrize("clip", [RELU, CLIP, node("Clip", "c - six", "r")], ids=["relu", "clip", "most alone"])
@pytest.mark.parametrize(("kind", "zero"), mostly_long([(SIGNED, 7), (UNSIGNED, 128), (SIGNED, 0), (UNSIGNED, 0), (SIGNED, -128)], 2))
def test_the_convolution_is_computed_on_integers_and_gives_the_same_values(kind: str, zero: int, clip: onnx.NodeProto) -> None:
    model, toolchain = block(kind, zero, clip), get("onnxruntime")
    ops = [made.op_type for made in onnx.load_model_from_string(toolchain.build(model, 1)).graph.node]
    assert "QLinearConv" in ops
    assert "Conv" not in ops
    least = np.iinfo(kind).min
    inputs = [np.resize(np.arange(least, least + 256), IMAGE).astype(kind)]
    (got,) = run_models(toolchain, [(model, inputs)])
    np.testing.assert_array_equal(got[0], reference(model, inputs)[0])


@pytest.mark.parametrize(
    "model",
    [
        block(UNSIGNED, 0, RELU),
        block(SIGNED, 0, RELU),
        block(UNSIGNED, 128, RELU, opset=11),
        block(UNSIGNED, 128, RELU, ends=("y", "r")),
        block(UNSIGNED, 128, RELU, ends=("y", "c")),
        block(UNSIGNED, 128, node("Clip", "c x_f", "r")),
        block(UNSIGNED, 128, node("Sigmoid", "c", "r")),
    ],
    ids=["left out by itself", "signed", "old Clip", "read elsewhere", "product read elsewhere", "bound not constant", "no clip"],
)
def test_what_cannot_be_moved_is_left_as_it_is(model: SubModel) -> None:
    changed = onnx.load_model_from_string(model.onnx)
    move_clips_behind_quantisers(changed)
    assert changed == onnx.load_model_from_string(model.onnx)
