"""Weights moved from int8 to uint8: nothing changes where products are exact, and products that saturate become right."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from collage_core.base import processor
from collage_core.model.files.unsigned_weights import with_unsigned_weights
from collage_core.model.reference.ort_session import OrtSession

RANDOM = np.random.default_rng(7)
SMALL = RANDOM.integers(-20, 20, (8, 6)).astype(np.int8)
FILTERS = RANDOM.integers(-20, 20, (4, 3, 3, 3)).astype(np.int8)
STEP, ZERO, U8 = np.float32(0.02), np.int8(0), np.uint8(100)
KIND = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32, "uint8": TensorProto.UINT8, "int8": TensorProto.INT8}


@pytest.fixture(autouse=True)
def _saturating(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "products_saturate", lambda: True)


def model(node: NodeProto, x: np.ndarray, made: str, constants: dict[str, np.ndarray]) -> ModelProto:
    graph = helper.make_graph(
        [node],
        "products",
        [helper.make_tensor_value_info("x", KIND[x.dtype.name], x.shape)],
        [helper.make_tensor_value_info("y", KIND[made], None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def case(op: str, inputs: str, x: np.ndarray, made: str, constants: dict[str, np.ndarray], domain: str = "", **attributes: object):
    names = ["" if name == "-" else name for name in inputs.split()]
    return model(helper.make_node(op, names, ["y"], op, domain=domain, **attributes), x, made, constants), x


UNSIGNED = RANDOM.integers(0, 255, (5, 8)).astype(np.uint8)
IMAGE = RANDOM.integers(0, 255, (1, 3, 7, 7)).astype(np.uint8)
FLOAT = RANDOM.standard_normal((5, 8)).astype(np.float32)
LSTM = {
    "w": RANDOM.integers(-20, 20, (1, 8, 16)).astype(np.int8),
    "r": RANDOM.integers(-20, 20, (1, 4, 16)).astype(np.int8),
    "steps": np.asarray([0.02], np.float32),
    "zeros": np.asarray([0], np.int8),
}
CASES = {
    "MatMulInteger": case("MatMulInteger", "x w a", UNSIGNED, "int32", {"w": SMALL, "a": U8}),
    "MatMulInteger with zero points": case("MatMulInteger", "x w a b", UNSIGNED, "int32", {"w": SMALL, "a": U8, "b": np.int8(3)}),
    "ConvInteger": case("ConvInteger", "x w a b", IMAGE, "int32", {"w": FILTERS, "a": U8, "b": ZERO}),
    "QLinearConv": case(
        "QLinearConv", "x s a w s b s a", IMAGE, "uint8", {"w": FILTERS, "s": STEP, "a": U8, "b": ZERO}, pads=[1, 1, 1, 1]
    ),
    "QLinearMatMul": case("QLinearMatMul", "x s a w s b s a", UNSIGNED, "uint8", {"w": SMALL, "s": STEP, "a": U8, "b": ZERO}),
    "DynamicQuantizeMatMul": case(
        "DynamicQuantizeMatMul", "x w s b", FLOAT, "float32", {"w": SMALL, "s": STEP, "b": ZERO}, "com.microsoft"
    ),
    "DynamicQuantizeLSTM": case(
        "DynamicQuantizeLSTM", "x w r - - - - - steps zeros steps zeros", FLOAT[:, None], "float32", LSTM, "com.microsoft", hidden_size=4
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_computes_the_same(name: str, monkeypatch: pytest.MonkeyPatch):
    proto, x = CASES[name]
    before = proto.SerializeToString()
    moved = with_unsigned_weights(proto)
    assert proto.SerializeToString() == before, "what is given stays as it is"
    assert {tensor.data_type for tensor in moved.graph.initializer if len(tensor.dims) > 1} == {TensorProto.UINT8}
    got = OrtSession(moved).run({"x": x}, ["y"])["y"]
    monkeypatch.setattr(processor, "products_saturate", lambda: False)
    want = OrtSession(proto).run({"x": x}, ["y"])["y"]
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_large_weights_are_multiplied_right_on_every_processor():
    x, weights = np.full((2, 8), 255, np.uint8), np.full((8, 6), 127, np.int8)
    proto, _ = case("MatMulInteger", "x w a", x, "int32", {"w": weights, "a": np.uint8(0)})
    got = OrtSession(proto).run({"x": x}, ["y"])["y"]
    assert np.array_equal(got, x.astype(np.int32) @ weights.astype(np.int32))


SIGNED = RANDOM.integers(-100, 100, (5, 8)).astype(np.int8)


@pytest.mark.parametrize(
    "given",
    [
        case("MatMulInteger", "x w a b", SIGNED, "int32", {"w": SMALL, "a": ZERO, "b": ZERO}),
        case("MatMulInteger", "x w", UNSIGNED, "int32", {"w": SMALL}),
        case("MatMulInteger", "x w a", UNSIGNED, "int32", {"w": SMALL.astype(np.uint8), "a": U8}),
    ],
    ids=["signed activations", "no zero point", "unsigned already"],
)
def test_what_may_not_be_moved_stays(given: tuple[ModelProto, np.ndarray]):
    assert with_unsigned_weights(given[0]).graph == given[0].graph


def test_elsewhere_the_model_is_given_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(processor, "products_saturate", lambda: False)
    proto, _ = CASES["QLinearConv"]
    assert with_unsigned_weights(proto) is proto
