"""The blocked layout: there and back on any shape, which tensors have it, and targets that compute in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto

from collage_core.graph.dataflow_graph import TensorType
from collage_core.graph.index_set import IndexSet
from collage_core.model.model import SubModel
from collage_core.toolchains import blocked_layout
from collage_core.toolchains.abilities import layout_of
from collage_core.toolchains.blocked_layout import BLOCK, blocked_availability, has_blocked_end, is_blocked, to_blocked, to_plain
from collage_core.toolchains.buffers import aligned_copy, aligned_empty
from collage_core.toolchains.conformance.small_models import node, sub_model, tensor
from collage_core.toolchains.onnx_models.nchwc_models import REORDER_TARGET, reorder_model
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import Availability
from tests.helpers.models import loaded

TARGETS = ("ncnn@nchw16c", "onnxruntime@nchw16c")

needs_blocks_of_16 = pytest.mark.skipif(not get(TARGETS[1]).availability().usable, reason="blocks have another size here")


def image(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@given(st.integers(1, 5), st.integers(1, 7), st.integers(1, 7))
def test_there_and_back(blocks: int, rows: int, columns: int) -> None:
    plain = image((1, blocks * BLOCK, rows, columns))
    blocked = to_blocked(plain)
    np.testing.assert_array_equal(to_plain(blocked), plain)
    held = blocked.reshape(blocks, rows, columns, BLOCK)
    assert held[-1, rows - 1, 0, 3] == plain[0, (blocks - 1) * BLOCK + 3, rows - 1, 0]


@pytest.mark.parametrize(
    ("shape", "dtype", "held"),
    [
        ((1, 32, 4, 4), "float32", True),
        ((1, 32, 1, 1), "float32", False),
        ((1, 24, 4, 4), "float32", False),
        ((2, 32, 4, 4), "float32", False),
        ((1, 32, 16), "float32", False),
        ((1, 32, 4, 4), "int64", False),
        ((1, 0, 4, 4), "float32", False),
    ],
)
def test_only_float_images_of_whole_blocks_are_held_blocked(shape: tuple[int, ...], dtype: str, held: bool) -> None:
    assert is_blocked(TensorType(shape, dtype)) is held


def test_other_processors_have_other_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocked_layout, "has_any", lambda *_: False)
    found = blocked_availability(Availability(True, "1"))
    assert not found.usable
    assert "AVX-512" in found.reason


def convolution() -> SubModel:
    """A convolution with its own sum and Relu, which reads an image of three channels, one of 32, and gives both the sum and the Relu."""
    made = [node("Conv", "x w", "c", pads=[1, 1, 1, 1]), node("Add", "c r", "sum"), node("Relu", "sum", "y"), node("Flatten", "y", "flat")]
    given = [tensor("x", (1, 3, 5, 6)), tensor("r", (1, 32, 5, 6))]
    outputs = [tensor("sum", (1, 32, 5, 6)), tensor("y", (1, 32, 5, 6)), tensor("flat", (1, 960))]
    return sub_model(made, given, outputs, {"w": image((32, 3, 3, 3))})


def relu() -> SubModel:
    return sub_model([node("Relu", "x", "y")], [tensor("x", (1, 32, 3, 3))], [tensor("y", (1, 32, 3, 3))])


def softmax() -> SubModel:
    """An operator that has no blocked kernel."""
    return sub_model([node("Softmax", "x", "y", axis=-1)], [tensor("x", (1, 32, 3, 3))], [tensor("y", (1, 32, 3, 3))])


def run(target: str, model: SubModel, given: list[np.ndarray]) -> list[np.ndarray]:
    """Run `model` and return its outputs, each plain; the inputs must be left alone."""
    toolchain = get(target)
    has_layout = layout_of(toolchain) != ""
    held = [has_layout and is_blocked(one.type) for one in model.inputs]
    inputs = [aligned_copy(to_blocked(array) if blocked else array) for array, blocked in zip(given, held, strict=True)]
    before, outputs = [array.copy() for array in inputs], [aligned_empty(one.type) for one in model.outputs]
    kernel = toolchain.load(toolchain.build(model, 1), model.inputs, model.outputs, 1)
    kernel.bind(inputs, outputs)
    kernel.run()
    for array, was in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(array, was)
    return [to_plain(array) if has_layout and is_blocked(one.type) else array for array, one in zip(outputs, model.outputs, strict=True)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("make", [convolution, relu, softmax])
def test_blocked_ends_give_the_values_of_plain_ones(target: str, make: object) -> None:
    if not get(target).availability().usable:
        pytest.skip(get(target).availability().reason)
    model = make()  # type: ignore[operator]
    inputs = [image(one.type.shape, seed) for seed, one in enumerate(model.inputs)]
    for got, want in zip(run(target, model, inputs), run("onnxruntime", model, inputs), strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=2e-4)  # the kernel may be Winograd's, which rounds more


SCALE = {"s": np.float32(0.05), "z": np.uint8(120)}


def quantised() -> SubModel:
    nodes = [node("QuantizeLinear", "x s z", "q")]
    return sub_model(nodes, [tensor("x", (1, 32, 3, 3))], [tensor("q", (1, 32, 3, 3), "uint8")], SCALE)


def pooled() -> SubModel:
    """A pool of its own, whose result is quantised; what the pool reads leaves the model as well."""
    nodes = [
        node("Relu", "x", "r"),
        node("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("QuantizeLinear", "p s z", "q"),
    ]
    return sub_model(nodes, [tensor("x", (1, 32, 4, 4))], [tensor("r", (1, 32, 4, 4)), tensor("q", (1, 32, 2, 2), "uint8")], SCALE)


def dequantised() -> SubModel:
    nodes = [node("Cast", "x", "q", to=TensorProto.UINT8), node("DequantizeLinear", "q s z", "y")]
    return sub_model(nodes, [tensor("x", (1, 32, 3, 3))], [tensor("y", (1, 32, 3, 3))], SCALE)


def pooled_integers() -> SubModel:
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("MaxPool", "q", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("DequantizeLinear", "p s z", "y"),
    ]
    return sub_model(nodes, [tensor("x", (1, 32, 4, 4))], [tensor("y", (1, 32, 2, 2))], SCALE)


@needs_blocks_of_16
@pytest.mark.parametrize("make", [quantised, pooled, dequantised, pooled_integers])
def test_ends_whose_pools_onnx_runtime_moves_past_quantisation(make: Callable[[], SubModel]) -> None:
    model = make()
    inputs = [3 * image(one.type.shape, seed) for seed, one in enumerate(model.inputs)]
    for got, want in zip(run(TARGETS[1], model, inputs), run("onnxruntime", model, inputs), strict=True):
        np.testing.assert_array_equal(got, want)


@needs_blocks_of_16
@pytest.mark.parametrize("to", [True, False])
def test_the_kernel_that_reorders_does_as_numpy(to: bool) -> None:
    plain = image((1, 48, 3, 5))
    given, want = (plain, to_blocked(plain)) if to else (to_blocked(plain), plain)
    model = reorder_model(tensor("x", (1, 48, 3, 5)), "a", "b", to)
    np.testing.assert_array_equal(run(REORDER_TARGET, model, [given])[0], want)


def test_which_sub_graphs_have_a_blocked_tensor_at_their_ends(tmp_path: Path) -> None:
    text = """g (float[1,3,8,8] x) => (float[1,2048] y) {
        [conv] a = Conv(x, w) [relu] b = Relu(a) [flatten] c = Flatten(b) [tanh] y = Tanh(c)
    }"""
    graph = loaded(tmp_path, text, {"w": np.zeros((32, 3, 1, 1), np.float32)}).graph
    sets = ((0,), (1,), (2,), (3,), (0, 1), (1, 2), (2, 3), (0, 1, 2), (0, 1, 2, 3))
    plain = [nodes for nodes in sets if not has_blocked_end(graph, IndexSet(nodes))]
    assert plain == [(3,), (0, 1, 2), (0, 1, 2, 3)]
