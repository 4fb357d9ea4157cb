"""The peculiarities of ONNX Runtime's toolchain; the rest is in test_conformance.py."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest

from collage_core.graph.dataflow_graph import Tensor, TensorType
from collage_core.model.types.dtypes import elem_type
from collage_core.toolchains.buffers import aligned_empty
from collage_core.toolchains.conformance.duties import buffers, make
from collage_core.toolchains.conformance.small_models import conv_relu, drawn, node, normal, reference, sub_model, tensor
from collage_core.toolchains.onnxruntime import onnxruntime as onnxruntime_toolchain
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import ToolchainError


def test_its_package_is_the_optimised_model():
    package = get("onnxruntime").build(conv_relu(), 1)
    ops = [node.op_type for node in onnx.load_model_from_string(package).graph.node]
    assert "Relu" not in ops
    assert any("Conv" in op for op in ops)


@pytest.mark.parametrize("dtype", ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"])
def test_floats_of_eight_bits_pass_its_ends(dtype):
    kind, values = TensorType((4,), dtype), np.array([-2.0, 0.5, 1.0, 4.0], np.float32)
    there = sub_model([node("Cast", "x", "y", to=elem_type(dtype))], [tensor("x", (4,))], [Tensor("y", kind)], opset=19)
    back = sub_model([node("Cast", "y", "z", to=1)], [Tensor("y", kind)], [tensor("z", (4,))], opset=19)
    packed, read = aligned_empty(kind), np.zeros(4, np.float32)
    for model, given, made in ((there, values, packed), (back, packed, read)):
        kernel = make(get("onnxruntime"), model)
        kernel.bind([given], [made])
        kernel.run()
    assert packed.astype(np.float32).tolist() == read.tolist() == values.tolist()


def test_weights_of_four_bits_are_multiplied_in_float():
    """ONNX Runtime makes one kernel of both nodes, which quantises the activations unless it is told not to."""
    weights = {"w": normal(32, 16, scale=3).round().clip(-8, 7).astype(ml_dtypes.int4), "s": np.abs(normal(2, 16)) + np.float32(0.1)}
    nodes = [node("DequantizeLinear", "w s", "f", axis=0, block_size=16), node("MatMul", "x f", "y")]
    model = sub_model(nodes, [tensor("x", (3, 32))], [tensor("y", (3, 16))], weights, opset=21)
    kernel, (given,) = make(get("onnxruntime"), model), drawn(model.inputs)
    made = aligned_empty(model.outputs[0].type)
    kernel.bind([given], [made])
    kernel.run()
    (wanted,) = reference(model, [given])
    assert np.abs(made - wanted).max() < 1e-5 * np.abs(wanted).max()
    package = onnx.load_model_from_string(get("onnxruntime").build(model, 1))
    assert [one.op_type for one in package.graph.node] == ["MatMulNBits"]


def test_large_integers_are_compared_right():
    """Its own Max of int64 is wrong beyond 2^31, in a package as in the files of a native artifact; what is small stays a Max."""
    inputs, outputs = [tensor("x", (2, 4), "int64"), tensor("z", (4,), "int64")], [tensor("y", (2, 4), "int64")]
    model = sub_model([node("Max", "x z", "y")], inputs, outputs)
    given = [np.array([[2**31, -5, 2**33 + 2**31, 0], [7, 2**31 + 1, -(2**31), 1]]), np.array([2**31 - 1, 2**40, 2**33, -(2**31) - 1])]

    toolchain, made = get("onnxruntime"), buffers(model)
    kernel = make(toolchain, model)
    kernel.bind(given, made)
    kernel.run()
    np.testing.assert_array_equal(made[0], np.maximum(*given))
    native = onnx.load_model_from_string(toolchain.native_files(model, 1, True).files["model.onnx"])
    assert [each.op_type for each in native.graph.node] == ["Greater", "Where"]

    of_bits = sub_model([node("Cast", "b", "x", to=7), node("Max", "x z", "y")], [tensor("b", (4,), "bool")], outputs, {"z": np.arange(4)})
    assert b"Where" not in toolchain.build(of_bits, 1)


def test_a_missing_kernel_is_a_matter_of_the_build():
    model = sub_model([node("Relu", "x", "y")], [tensor("x", (2,), "bfloat16")], [tensor("y", (2,), "bfloat16")])
    with pytest.raises(ToolchainError) as caught:
        get("onnxruntime").build(model, 1)
    assert caught.value.stage == "build"
    assert "NOT_IMPLEMENTED : Could not find an implementation for Relu(14)" in caught.value.message


def test_a_wrong_output_buffer_is_a_matter_of_the_run():
    model = conv_relu()
    kernel = make(get("onnxruntime"), model)
    kernel.bind(drawn(model.inputs), [np.zeros((1, 2), np.float32)])
    with pytest.raises(ToolchainError) as caught:
        kernel.run()
    assert caught.value.stage == "run"


def test_tensors_without_elements_are_taken():
    model = sub_model([node("Relu", "x", "y")], [tensor("x", (0, 2))], [tensor("y", (0, 2))])
    kernel, outputs = make(get("onnxruntime"), model), buffers(model)
    kernel.bind(drawn(model.inputs), outputs)
    kernel.run()
    assert outputs[0].shape == reference(model, drawn(model.inputs))[0].shape


def test_says_why_it_is_not_usable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(onnxruntime_toolchain.util, "find_spec", lambda _name: None)
    found = get("onnxruntime").availability()
    assert (found.usable, found.reason, found.hint) == (False, "the package onnxruntime is not installed", "pip install onnxruntime")


def test_threads_stop_spinning_unless_the_kernel_is_alone(monkeypatch: pytest.MonkeyPatch):
    model, toolchain, seen = conv_relu(), get("onnxruntime"), []
    package, session = toolchain.build(model, 2), onnxruntime_toolchain._session

    def recorded(package: bytes, options):
        seen.append([entry(options, key) for key in ("session.intra_op.spin_duration_us", "session.force_spinning_stop")])
        return session(package, options)

    monkeypatch.setattr(onnxruntime_toolchain, "_session", recorded)
    given, results = drawn(model.inputs), []
    for load in (toolchain.load, toolchain.load_alone):
        kernel, made = load(package, model.inputs, model.outputs, 2), buffers(model)
        kernel.bind(given, made)
        kernel.run()
        results.append(made[0])
    assert seen == [["50", "1"], [None, None]]
    np.testing.assert_array_equal(*results)


def entry(options, key: str) -> str | None:
    try:
        return options.get_session_config_entry(key)
    except RuntimeError:  # it has none
        return None
