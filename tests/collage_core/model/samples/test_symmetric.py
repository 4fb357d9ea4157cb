"""Blocks in symmetric int8: they compute what their float counterparts do, as far as 8 bits go; and the recognisers built of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from collage_core.graph.dataflow_graph import TensorType
from collage_core.model.onnx_model import load_model
from collage_core.model.reference.ort_session import OrtSession
from collage_core.model.samples.builder import Net
from collage_core.model.samples.registry import resolve
from collage_core.model.samples.symmetric import dynamic_dense, dynamic_lstm, dynamic_quantise, int8_conv, quantise


def run(shape: list[int], add: Callable[[Net, str], str]) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return an input, the output of what `add` adds behind it, and the constants of the model."""
    net = Net("block", 7)
    made = add(net, net.input("x", shape))
    net.output(made, ["?"])
    model = net.model()
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    constants = {one.name: np.frombuffer(one.raw_data, np.int8).reshape(one.dims) for one in model.graph.initializer if one.data_type == 3}
    return x, OrtSession(model).run({"x": x}, [made])[made], constants


def test_a_value_is_rounded_to_a_step_and_clipped():
    x, got, _ = run([1, 64], lambda net, x: quantise(net, x, "/layer", 1 / 64))
    assert got == pytest.approx(np.clip(np.rint(x * 64), -128, 127) / 64, abs=0)


def test_a_convolution_keeps_the_size_of_what_a_relu_gives():
    def add(net: Net, x: str) -> str:
        x = quantise(net, net.node("Relu", [x], "/relu"), "/conv")
        return int8_conv(net, x, "/conv", (32, 32), 3, pad=1)

    _, got, constants = run([1, 32, 16, 16], add)
    assert 0.8 < got.std() < 1.2
    weights = constants["/conv.weight"].astype(int)
    assert (np.abs(weights).reshape(32, -1).max(1) >= 63).all(), "each channel uses at least half of the range"
    assert np.array_equal(got * 2**16, np.rint(got * 2**16)), "sums are exact"


def test_a_dynamic_linear_layer_is_a_linear_layer():
    x, got, constants = run([1, 8, 64], lambda net, x: dynamic_dense(net, dynamic_quantise(net, x, "/norm"), "/dense", 64, 32))
    want = x @ (constants["/dense.weight_quantized"] * np.float32(np.sqrt(3 / 64) / 100))
    assert np.abs(got - want).max() < 0.15, "the bias is at most 0.1"
    assert 0.8 < got.std() < 1.2


def test_a_dynamic_lstm_gives_each_step_in_both_directions():
    _, got, _ = run([5, 1, 16], lambda net, x: dynamic_lstm(net, x, "/rnn", 16, 8))
    assert got.shape == (5, 2, 1, 8)
    assert 0.05 < np.abs(got).max() < 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("speech_transformer", {"Conv": 4, "MatMulInteger": 38, "DynamicQuantizeLinear": 26, "MatMul": 12}),
        ("speech_lstm", {"Conv": 4, "com.microsoft.DynamicQuantizeLSTM": 3, "MatMulInteger": 1}),
    ],
)
def test_a_recogniser_has_a_front_in_8_bits_and_layers_that_quantise_as_they_run(name, expected):
    graph = load_model(resolve(name), fold=False).graph
    counted = Counter(node.op for node in graph.nodes)
    assert {op: counted[op] for op in expected} == expected
    assert counted["QuantizeLinear"] == 4
    assert all(type.dtype == "int8" for type in (graph.types[node.outputs[0].name] for node in graph.nodes if node.op == "QuantizeLinear"))
    assert graph.types[graph.outputs[0]] == TensorType((1, 100, 500), "float32")
