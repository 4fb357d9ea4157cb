"""The peculiarities of OpenVINO's toolchain; the rest is in test_conformance.py."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest

from collage_core.model.model import SubModel
from collage_core.model.reference.accuracy import relative_error
from collage_core.toolchains.abilities import lowers_precision
from collage_core.toolchains.conformance.duties import assert_close, buffers, make
from collage_core.toolchains.conformance.small_models import drawn, matmul, node, normal, reference, sub_model, tensor, untakable
from collage_core.toolchains.openvino import openvino as openvino_toolchain
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import ToolchainError

needs_bf16 = pytest.mark.skipif(not get("openvino@bf16").availability().usable, reason=get("openvino@bf16").availability().reason)
needs_openvino = pytest.mark.skipif(not get("openvino").availability().usable, reason=get("openvino").availability().reason)


@needs_openvino
def test_it_computes_in_float32():
    import openvino

    assert get("openvino").availability().precision == "float32"
    package = get("openvino").build(sub_model([node("Relu", "x", "y")], [tensor("x", (2,))], [tensor("y", (2,))]), 1)
    compiled = openvino_toolchain._core().import_model(package, "CPU", openvino_toolchain._config(1, "f32"))
    assert compiled.get_property("INFERENCE_PRECISION_HINT") == openvino.Type.f32
    assert (compiled.get_property("INFERENCE_NUM_THREADS"), compiled.get_property("NUM_STREAMS")) == (1, 1)


@needs_openvino
def test_weights_of_four_bits_are_multiplied_by_floats_that_stay_floats():
    random = np.random.default_rng(0)
    weights = {"q": random.integers(-8, 8, (64, 32)).astype(ml_dtypes.int4), "s": random.random((2, 32)).astype(np.float32) * 0.1}
    nodes = [node("DequantizeLinear", "q s", "w", axis=0, block_size=32), node("MatMul", "x w", "y")]
    model = sub_model(nodes, [tensor("x", (5, 64))], [tensor("y", (5, 32))], weights, opset=21)
    kernel, inputs, outputs = make(get("openvino"), model), drawn(model.inputs), buffers(model)
    kernel.bind(inputs, outputs)
    kernel.run()
    assert relative_error(outputs[0], reference(model, inputs)[0]) < 1e-5


@needs_openvino
@pytest.mark.parametrize("is_native", [False, True])
@pytest.mark.parametrize(("largest", "count"), [(1, 100), (0, 100), (1, 300)])
def test_of_equal_elements_the_lower_index_comes_first(tmp_path: Path, largest: int, count: int, is_native: bool):
    """Also from the files of a partition, which others run: those are of OpenVINO's own form, since an ONNX file would not say so."""
    nodes, outputs = [node("TopK", "x k", "v i", largest=largest)], [tensor("v", (2, count)), tensor("i", (2, count), "int64")]
    model, toolchain = sub_model(nodes, [tensor("x", (2, 300))], outputs, {"k": np.array([count])}), get("openvino")
    if is_native:
        files = toolchain.native_files(model, 1, False)
        for name, content in files.files.items():
            (tmp_path / name).write_bytes(content)
        kernel = toolchain.open_native(tmp_path / next(iter(files.files)), model.inputs, model.outputs, files.settings)
    else:
        kernel = make(toolchain, model)
    given, made = [np.random.default_rng(0).integers(0, 9, (2, 300)).astype(np.float32)], buffers(model)
    kernel.bind(given, made)
    kernel.run()
    order = np.argsort(-given[0] if largest else given[0], -1, kind="stable")[:, :count]
    np.testing.assert_array_equal(made[1], order)
    np.testing.assert_array_equal(made[0], np.take_along_axis(given[0], order, -1))


EDGE = np.float32([[-88.7, -1, 0, 88.3], [88.38, 88.5, 88.6, 88.7]])
"""Exponents of finite numbers of float32, some of which are nearly infinite."""


@needs_openvino
@pytest.mark.parametrize("is_native", [False, True])
def test_an_exponential_is_finite_where_float32_holds_it(tmp_path: Path, is_native: bool):
    model, toolchain = sub_model([node("Exp", "x", "y")], [tensor("x", (2, 4))], [tensor("y", (2, 4))]), get("openvino")
    if is_native:
        files = toolchain.native_files(model, 1, False)
        for name, content in files.files.items():
            (tmp_path / name).write_bytes(content)
        kernel = toolchain.open_native(tmp_path / next(iter(files.files)), model.inputs, model.outputs, files.settings)
    else:
        kernel = make(toolchain, model)
    made = buffers(model)
    kernel.bind([EDGE], made)
    kernel.run()
    np.testing.assert_allclose(made[0], np.exp(EDGE.astype(np.float64)), rtol=1e-5)


@needs_openvino
@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_a_box_whose_overlap_equals_the_threshold_is_kept(threshold: float):
    """The two boxes overlap by half of the larger one, or not at all."""
    boxes = np.float32([[[0, 0, 1, 1], [0, 0, 1, 0.5] if threshold else [5, 5, 6, 6]]])
    limits = {"m": np.array([3]), "t": np.float32([threshold]), "u": np.float32([0])}
    inputs, outputs = [tensor("b", (1, 2, 4)), tensor("s", (1, 1, 2))], [tensor("y", (2, 3), "int64")]
    model = sub_model([node("NonMaxSuppression", "b s m t u", "y")], inputs, outputs, limits)
    kernel, made = make(get("openvino"), model), buffers(model)
    kernel.bind([boxes, np.float32([[[0.9, 0.8]]])], made)
    kernel.run()
    assert made[0].tolist() == [[0, 0, 0], [0, 0, 1]]


def test_a_cast_to_bool_goes_by_a_float_and_nothing_else_changes():
    casts = [node("Cast", "x", "f", to=1), node("Cast", "x", "b", to=9)]
    model = sub_model(casts, [tensor("x", (2,), "int32")], [tensor("f", (2,)), tensor("b", (2,), "bool")])
    changed = onnx.ModelProto.FromString(openvino_toolchain.with_bools_by_floats(model.onnx))
    onnx.checker.check_model(changed, full_check=True)
    assert [(call.op_type, *call.input, *call.output) for call in changed.graph.node] == [
        ("Cast", "x", "f"),
        ("Cast", "x", "b_1"),
        ("Cast", "b_1", "b"),
    ]
    plain = matmul().onnx
    assert openvino_toolchain.with_bools_by_floats(plain) is plain


@needs_bf16
def test_its_variant_computes_in_bfloat16():
    model, values = matmul(), {}
    for name in ("openvino", "openvino@bf16"):
        kernel, inputs, outputs = make(get(name), model), drawn(model.inputs), buffers(model)
        kernel.bind(inputs, outputs)
        kernel.run()
        values[name] = relative_error(outputs[0], reference(model, inputs)[0])
    assert values["openvino"] < 1e-6
    assert 1e-4 < values["openvino@bf16"] < 5e-2
    assert (get("openvino@bf16").availability().precision, lowers_precision(get("openvino@bf16"))) == ("bfloat16", True)


def test_a_processor_without_bfloat16_has_no_such_variant(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(openvino_toolchain.util, "find_spec", lambda _name: object())
    monkeypatch.setattr(openvino_toolchain, "has_any", lambda *_: False)
    found = get("openvino@bf16").availability()
    assert (found.usable, found.reason) == (False, "this processor has no bfloat16 instructions")
    assert get("openvino").availability().usable


def conv_of_other_channels() -> SubModel:
    return sub_model([node("Conv", "x w", "y")], [tensor("x", (1, 3, 8, 8))], [tensor("y", (1, 4, 6, 6))], {"w": normal(4, 2, 3, 3)})


@needs_openvino
@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (untakable, "No conversion rule found for operations: org.example.Frobnicate"),
        (conv_of_other_channels, "Data batch channel count (3) does not match filter input channel count (2)."),
    ],
    ids=["operator", "shape"],
)
def test_the_cause_is_found_in_its_report(model, reason: str):
    with pytest.raises(ToolchainError) as caught:
        get("openvino").build(model(), 1)
    assert (caught.value.stage, caught.value.message) == ("import", reason)


@needs_openvino
def test_an_input_without_influence_may_be_dropped():
    inputs = [tensor("unused", (3,)), tensor("x", (2, 2))]
    model = sub_model([node("Relu", "x", "y")], inputs, [tensor("y", (2, 2))])
    kernel, given, outputs = make(get("openvino"), model), drawn(inputs), buffers(model)
    kernel.bind(given, outputs)
    kernel.run()
    assert_close(outputs, reference(model, given))


PASSED_THROUGH = {
    "alone": ([node("Dropout", "x", "y")], "y"),
    "beside another": ([node("Max", "x", "y"), node("Relu", "x", "z")], "z y"),
    "twice": ([node("Dropout", "x", "y"), node("Sum", "x", "x'")], "y x'"),
}


@needs_openvino
@pytest.mark.parametrize("case", PASSED_THROUGH)
def test_an_output_that_is_an_input_is_written_and_the_input_is_kept(case: str):
    nodes, outputs = PASSED_THROUGH[case]
    inputs = [tensor("unused", (2, 3)), tensor("x", (2, 3))]
    model = sub_model(nodes, inputs, [tensor(name, (2, 3)) for name in outputs.split()])
    kernel = make(get("openvino"), model)
    for given in (drawn(inputs), drawn(inputs)[::-1]):
        made, kept = buffers(model), [array.copy() for array in given]
        kernel.bind(given, made)
        for _ in range(2):
            kernel.run()
            assert_close(made, reference(model, kept))
        np.testing.assert_array_equal(given, kept)


@needs_openvino
def test_it_takes_bfloat16():
    model = sub_model([node("Relu", "x", "y")], [tensor("x", (2, 2), "bfloat16")], [tensor("y", (2, 2), "bfloat16")])
    kernel, outputs = make(get("openvino"), model), buffers(model)
    given = buffers(model)
    given[0][...] = np.array([[-1, 2], [3, -4]])
    kernel.bind(given, outputs)
    kernel.run()
    np.testing.assert_array_equal(outputs[0].astype(np.float32), [[0, 2], [3, 0]])


def test_says_why_it_is_not_usable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(openvino_toolchain.util, "find_spec", lambda _name: None)
    found = get("openvino").availability()
    assert (found.usable, found.reason) == (False, "the package openvino is not installed")
    assert found.hint == "pip install 'openvino>=2025.2'"
