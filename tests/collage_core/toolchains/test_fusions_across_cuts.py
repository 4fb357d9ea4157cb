"""Two parts of a model, cut where a run of candidates may end, keep the fusions of the whole: operators on integers, and products."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest

from collage_core.graph.index_set import IndexSet
from collage_core.model.model import SubModel
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.model.samples.builder import Net
from collage_core.model.samples.registry import resolve
from collage_core.rules.line import Line
from collage_core.toolchains.conformance.small_models import normal
from collage_core.toolchains.openvino.openvino import OpenVinoToolchain
from collage_core.toolchains.registry import get
from tests.helpers.models import write

KINDS = {
    "asymmetric, ReLU absorbed": (np.uint8, 0, "Relu"),
    "signed with the lowest zero point, ReLU absorbed": (np.int8, -128, "Relu"),
    "asymmetric, no ReLU": (np.uint8, 128, ""),
    "symmetric, ReLU": (np.int8, 0, "Relu"),
}
"""The dtype and the zero point of activations, and what stands behind each convolution."""


def kernels(model: SubModel) -> Counter[str]:
    """How many of each operator ONNX Runtime makes of `model`."""
    return Counter(node.op_type for node in onnx.load_model_from_string(get("onnxruntime").build(model, 1)).graph.node)


def weights(model: SubModel) -> list[list[int]]:
    """The shapes of the weights that ONNX Runtime keeps of `model`."""
    return [list(tensor.dims) for tensor in onnx.load_model_from_string(get("onnxruntime").build(model, 1)).graph.initializer]


def int8_layers(model: SubModel) -> int:
    """How many convolutions and products OpenVINO computes in 8 bits."""
    toolchain = get("openvino")
    assert isinstance(toolchain, OpenVinoToolchain)
    found = (operation.get_rt_info() for operation in toolchain._compiled(model.onnx, 1, {}).compiled.get_runtime_model().get_ops())
    told = [(info["layerType"].astype(str), info["runtimePrecision"].astype(str)) for info in found]
    return sum(kind in ("Convolution", "FullyConnected") and precision in ("i8", "u8") for kind, precision in told)


def halves(model: OnnxModel) -> list[tuple[str, SubModel, SubModel]]:
    """The two parts at each position where a run may end, with the name of the node before it."""
    line = model.graph.derive(Line)
    positions = [position for position in range(1, len(line)) if line.can_end[position]]
    return [
        (
            model.graph.nodes[line.order[position - 1]].name,
            model.cut(line.between(0, position)),
            model.cut(line.between(position, len(line))),
        )
        for position in positions
    ]


def whole(model: OnnxModel) -> SubModel:
    return model.cut(IndexSet(range(len(model.graph))))


def quantised_block(tmp_path, kind: str) -> OnnxModel:
    """Three quantised convolutions, the last two with a shortcut around them."""
    dtype, zero_point, activation = KINDS[kind]
    net = Net("block", 1)

    def quantised(x: str, name: str) -> str:
        parts = [net.constant(f"{name}.scale", 0.05), net.constant(f"{name}.zero", zero_point, dtype)]
        q = net.node("QuantizeLinear", [x, *parts], f"{name}/Q")
        return net.node("DequantizeLinear", [q, *parts], f"{name}/DQ")

    def convolution(x: str, name: str) -> str:
        values = [net.constant(f"{name}.w", np.rint(20 * normal(8, 8, 3, 3)), np.int8), net.constant(f"{name}.s", np.full(8, 0.01))]
        weight = net.node("DequantizeLinear", [*values, net.constant(f"{name}.z", np.zeros(8), np.int8)], f"{name}/W", axis=0)
        made = net.node("Conv", [x, weight], f"{name}/Conv", pads=[1] * 4)
        return quantised(net.node(activation, [made], f"{name}/{activation}") if activation else made, name)

    x = convolution(quantised(net.input("x", [1, 8, 12, 12]), "x"), "first")
    y = convolution(convolution(x, "second"), "third")
    net.node("GlobalAveragePool", [quantised(net.node("Add", [x, y], "Add"), "sum")], "pool", made="y")
    net.output("y", [1, 8, 1, 1])
    return load_model(write(tmp_path, net.model()))


@pytest.fixture(params=["quantised", *KINDS])
def model(request: pytest.FixtureRequest, tmp_path) -> OnnxModel:
    return load_model(resolve("quantised")) if request.param == "quantised" else quantised_block(tmp_path, request.param)


def test_onnx_runtime_makes_as_many_quantised_convolutions_of_the_parts(model: OnnxModel) -> None:
    expected = kernels(whole(model))["QLinearConv"]
    parts = halves(model)
    assert len(parts) > 3
    assert {name: kernels(first)["QLinearConv"] + kernels(second)["QLinearConv"] for name, first, second in parts} == {
        name: expected for name, _, _ in parts
    }


@pytest.mark.skipif(not get("openvino").availability().usable, reason=get("openvino").availability().reason)
def test_openvino_computes_as_many_layers_in_8_bits_in_the_parts(model: OnnxModel) -> None:
    """At each second position, since OpenVINO takes long to compile."""
    expected, parts = int8_layers(whole(model)), halves(model)[::2]
    assert expected >= 3
    assert {name: int8_layers(first) + int8_layers(second) for name, first, second in parts} == {name: expected for name, _, _ in parts}


def products(tmp_path) -> OnnxModel:
    """Products with a bias, one by transposed weights, one that reads a constant first, and two activations."""
    net = Net("products", 1)
    x = net.input("x", [6, 16])
    x = net.node("MatMul", [x, net.constant("a", normal(16, 24))], "plain/MatMul")
    x = net.node("Relu", [net.node("Add", [x, net.constant("b", normal(24))], "plain/Add")], "plain/Relu")
    x = net.node("Gemm", [x, net.constant("c", normal(20, 24)), net.constant("d", normal(20))], "transposed/Gemm", transB=1)
    x = net.node("Sigmoid", [x], "transposed/Sigmoid")
    x = net.node("MatMul", [net.constant("e", normal(5, 6)), x], "constant/MatMul")
    net.node("Transpose", [x], "Transpose", perm=[1, 0], made="y")
    net.output("y", [20, 5])
    return load_model(write(tmp_path, net.model()))


def test_the_parts_keep_products_with_their_bias_and_their_weights(tmp_path) -> None:
    """Of a cut between a product and its bias they lose one, which is the search's to find out."""
    model = products(tmp_path)
    expected = kernels(whole(model))
    assert expected["Gemm"] + expected["FusedGemm"] == 2
    assert expected["MatMul"] == 1
    counted = {name: kernels(first) + kernels(second) for name, first, second in halves(model)}
    lost = {name for name, found in counted.items() if (found["Gemm"] + found["FusedGemm"], found["MatMul"]) != (2, 1)}
    assert lost <= {"plain/MatMul"}
    assert {"plain/Relu", "transposed/Gemm", "transposed/Sigmoid", "constant/MatMul"} <= counted.keys() - lost
    (parts,) = ((first, second) for name, first, second in halves(model) if name == "plain/Relu")
    assert sorted(weight for part in parts for weight in weights(part)) == sorted(weights(whole(model)))
