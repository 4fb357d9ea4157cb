"""The rewriting to int8: which products it takes, what it makes of them, and how far the results are off."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from collage_core.graph.index_set import IndexSet
from collage_core.model.model import SubModel
from collage_core.model.onnx_model import load_model
from collage_core.model.reference.accuracy import relative_error
from collage_core.model.samples.registry import resolve
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.rule import RuleContext, RuleOptions
from collage_core.toolchains.conformance.duties import buffers, make
from collage_core.toolchains.conformance.small_models import conv_relu, drawn, node, normal, reference, sub_model, tensor
from collage_core.toolchains.onnx_models.dynamic_int8 import quantised
from collage_core.toolchains.onnx_models.int8_products import refusal
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import ToolchainError

NAME = "onnxruntime@int8-dynamic"
WEIGHTS = {"w": normal(48, 64), "b": normal(48), "v": normal(48, 32), "u": normal(48, 32, seed=3)}


def three_products() -> SubModel:
    """A Gemm with bias and transposed weights, and two products of what its ReLU makes; ``y_total`` is taken as a name."""
    nodes = [
        node("Gemm", "x w b", "h", transB=1),
        node("Relu", "h", "y_total"),
        node("MatMul", "y_total v", "y"),
        node("MatMul", "y_total u", "z"),
    ]
    return sub_model(nodes, [tensor("x", (16, 64))], [tensor("y", (16, 32)), tensor("z", (16, 32))], WEIGHTS)


def one(op: str, inputs: str, weights: dict[str, np.ndarray], opset: int = 17, **attributes: object) -> SubModel:
    return sub_model([node(op, inputs, "y", **attributes)], [tensor("x", (4, 4))], [tensor("y", (4, 4))], weights, opset)


def operators(model: bytes) -> list[str]:
    return [item.op_type for item in onnx.load_model_from_string(model).graph.node]


def test_products_are_computed_in_int8_with_a_scale_for_each_column():
    model = three_products()
    rewritten = onnx.load_model_from_string(quantised(model.onnx))
    onnx.checker.check_model(rewritten, full_check=True)
    ops = [item.op_type for item in rewritten.graph.node]
    assert (ops.count("DynamicQuantizeLinear"), ops.count("MatMulInteger"), ops.count("Gemm") + ops.count("MatMul")) == (2, 3, 0)
    kept = {item.name: tuple(item.dims) for item in rewritten.graph.initializer}
    assert set(WEIGHTS) & set(kept) == {"b"}, "matrices are held in int8 alone"
    assert sorted(kept.values()) == [(32,), (32,), (48,), (48,), (48, 32), (48, 32), (64, 48)]


def test_its_package_holds_what_it_runs_and_errs_by_about_a_hundredth():
    model = three_products()
    assert "DynamicQuantizeMatMul" in operators(get(NAME).build(model, 1))
    kernel, inputs, outputs = make(get(NAME), model), drawn(model.inputs), buffers(model)
    kernel.bind(inputs, outputs)
    kernel.run()
    errors = [relative_error(got, want) for got, want in zip(outputs, reference(model, inputs), strict=True)]
    assert all(1e-4 < error < 5e-2 for error in errors)


def test_columns_of_zeros_and_large_numbers_stay_what_they_are():
    weights = np.zeros((4, 4), np.float32)
    weights[:, 1] = 1e30
    model = one("MatMul", "x w", {"w": weights})
    kernel, outputs = make(get(NAME), model), buffers(model)
    kernel.bind([np.ones((4, 4), np.float32)], outputs)
    kernel.run()
    np.testing.assert_allclose(outputs[0], np.ones((4, 4), np.float32) @ weights, rtol=1e-2)


@pytest.mark.parametrize(
    "model",
    [
        conv_relu(),
        one("MatMul", "x x", {}),
        one("MatMul", "x w", {"w": normal(1, 4, 4)}),
        one("MatMul", "w x", {"w": normal(4, 4)}),
        one("Gemm", "x w", {"w": normal(4, 4)}, alpha=2.0),
        one("Gemm", "x w", {"w": normal(4, 4)}, transA=1),
    ],
    ids=["no product", "no constant", "not a matrix", "first factor", "alpha", "transA"],
)
def test_without_a_product_that_fits_there_is_nothing_to_build(model: SubModel):
    with pytest.raises(ToolchainError, match="it has no MatMul or Gemm by a constant float32 matrix to quantise") as caught:
        get(NAME).build(model, 1)
    assert caught.value.stage == "import"


def test_an_old_opset_and_what_is_no_model_are_refused():
    with pytest.raises(ToolchainError, match="the model is of opset 10, DynamicQuantizeLinear needs 11"):
        quantised(one("MatMul", "x w", {"w": normal(4, 4)}, 10).onnx)
    with pytest.raises(ToolchainError, match="it is no ONNX model"):
        quantised(b"nothing")


def test_its_rule_keeps_what_holds_a_product():
    mini_mnist = load_model(resolve("mini_mnist"), {}, False, "mini_mnist").graph
    log = RejectionLog()
    found = list(get(NAME).rule(RuleOptions(max_depth=2)).find(RuleContext(mini_mnist, NAME, log)))
    product = next(item.index for item in mini_mnist.nodes if item.op == "MatMul")
    assert found
    assert all(product in item.inside for item in found)
    assert all(item.path.startswith("match_check.") for item in found)
    reasons = {item.reason for item in log.sample if item.rule == "match_check"}
    assert reasons == {"there is nothing to quantise in it: it has no MatMul or Gemm by a constant float32 matrix"}
    assert refusal(mini_mnist, IndexSet([product])) == ""
