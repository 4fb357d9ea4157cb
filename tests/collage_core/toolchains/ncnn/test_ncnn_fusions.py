"""Calls that one layer of ncnn computes together: which layers there are, that they compute the same, and when they stay apart."""

from __future__ import annotations

import numpy as np
import pytest

from collage_core.model.model import SubModel
from collage_core.toolchains.conformance.duties import assert_close, buffers, make
from collage_core.toolchains.conformance.small_models import drawn, node, normal, reference, sub_model, tensor
from collage_core.toolchains.ncnn.ncnn_import import imported
from collage_core.toolchains.registry import get

needs_ncnn = pytest.mark.skipif(not get("ncnn").availability().usable, reason=get("ncnn").availability().reason)
IMAGE, GROUPED = (1, 16, 5, 6), (1, 4, 120)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def group_norm(affine: str = "Mul Add", outputs: str = "") -> SubModel:
    """A norm over 4 groups of 16 channels as exporters spell it out, with the channels scaled and moved as far as `affine` says."""
    weights = {"groups": ints(0, 4, -1), "image": ints(*IMAGE), "one": normal(4) + 1, "nil": normal(4)}
    layers = [node("Reshape", "x groups", "rows"), node("InstanceNormalization", "rows one nil", "norm", epsilon=1e-3)]
    layers.append(node("Reshape", "norm image", "y0"))
    last = "y0"
    for number, op in enumerate(affine.split(), 1):
        weights[f"w{number}"] = normal(16, 1, 1)
        layers.append(node(op, f"w{number} {last}" if op == "Mul" else f"{last} w{number}", f"y{number}"))
        last = f"y{number}"
    left = [tensor(last, IMAGE), *([tensor(outputs, GROUPED if outputs in ("rows", "norm") else IMAGE)] if outputs else [])]
    return sub_model(layers, [tensor("x", IMAGE)], left, weights)


def silu(second: str = "x") -> SubModel:
    layers = [node("Sigmoid", "x", "s"), node("Mul", f"{second} s", "y")]
    given = [tensor(name, IMAGE) for name in dict.fromkeys(("x", second))]
    return sub_model(layers, given, [tensor("y", IMAGE)])


def product(*bias: int, relu: bool = False) -> SubModel:
    layers = [node("MatMul", "x w", "p"), node("Add", "b p", "y"), *([node("Relu", "y", "z")] if relu else [])]
    weights = {"w": normal(8, 6), "b": normal(*bias)}
    return sub_model(layers, [tensor("x", (1, 5, 8))], [tensor("z" if relu else "y", (1, 5, 6))], weights)


def layers(model: SubModel) -> list[str]:
    return [layer.type for layer in imported(model).network.layers if layer.type not in ("Input", "Split", "Reshape", "MemoryData")]


@pytest.mark.parametrize(
    ("model", "made"),
    [
        (group_norm(), ["GroupNorm"]),
        (group_norm("Mul"), ["GroupNorm"]),
        (group_norm("Add"), ["GroupNorm"]),
        (group_norm(""), ["GroupNorm"]),
        (group_norm("Add Mul"), ["GroupNorm", "BinaryOp"]),
        (group_norm("Mul Add", "y1"), ["GroupNorm", "BinaryOp"]),
        (group_norm("Mul Add", "norm"), ["InstanceNorm", "BinaryOp", "BinaryOp"]),
        (silu(), ["Swish"]),
        (silu("other"), ["Sigmoid", "BinaryOp"]),
        (product(6), ["InnerProduct"]),
        (product(1, 1, 6, relu=True), ["InnerProduct"]),
        (product(5, 6), ["InnerProduct", "BinaryOp"]),
        (product(1), ["InnerProduct", "BinaryOp"]),
    ],
)
@needs_ncnn
def test_calls_that_belong_together_are_one_layer(model: SubModel, made: list[str]) -> None:
    assert layers(model) == made
    inputs = drawn(model.inputs)
    kernel, outputs = make(get("ncnn"), model), buffers(model)
    kernel.bind(inputs, outputs)
    kernel.run()
    assert_close(outputs, reference(model, inputs))
