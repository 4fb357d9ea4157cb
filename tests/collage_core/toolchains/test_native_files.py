"""Files of the toolchains' own: what they hold, and that they compute what the sub-model computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from collage_core.base import processor
from collage_core.model.model import SubModel
from collage_core.toolchains.abilities import OwnFiles
from collage_core.toolchains.conformance.duties import WINOGRAD_TOLERANCE, assert_close, buffers
from collage_core.toolchains.conformance.small_models import MODELS, drawn, node, reference, sub_model, tensor, untakable
from collage_core.toolchains.native_files import NativeFiles, is_quantised
from collage_core.toolchains.registry import all_toolchains, get
from collage_core.toolchains.toolchain import ToolchainError

from .test_conformance import REFUSED

OWN = [tool.name for tool in all_toolchains() if isinstance(tool, OwnFiles)]
PLAIN = [name for name in ("onnxruntime", "openvino", "ncnn") if get(name).availability().usable]


def made(target: str, model: SubModel, is_alone: bool = True, threads: int = 1) -> NativeFiles:
    return get(target).native_files(model, threads, is_alone)


def opened(target: str, model: SubModel, files: NativeFiles, folder: Path):
    for name, content in files.files.items():
        (folder / name).write_bytes(content)
    return get(target).open_native(folder / next(iter(files.files)), model.inputs, model.outputs, files.settings)


def test_the_toolchains_of_other_programs_have_files_of_their_own():
    assert {"onnxruntime", "onnxruntime@int8-dynamic", "openvino", "openvino@bf16", "ncnn"} <= set(OWN)
    assert not {"tvm", "blas", "onednn", "tensorrt", "ncnn@nchw16c", "onnxruntime@nchw16c"} & set(OWN)


@pytest.mark.parametrize("is_alone", [True, False])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("target", PLAIN)
def test_they_compute_what_the_model_computes(target: str, name: str, is_alone: bool, tmp_path: Path):
    if (target, name) in REFUSED:
        pytest.skip(REFUSED[target, name])
    model = MODELS[name]()
    kernel = opened(target, model, made(target, model, is_alone), tmp_path)
    inputs, outputs = drawn(model.inputs), buffers(model)
    kernel.bind(inputs, outputs)
    kernel.run()
    assert_close(outputs, reference(model, inputs), WINOGRAD_TOLERANCE)


@pytest.mark.parametrize("target", PLAIN)
def test_a_model_that_the_toolchain_does_not_take_is_refused(target: str):
    with pytest.raises(ToolchainError):
        get(target).native_files(untakable(), 1, True)


@pytest.mark.parametrize("target", PLAIN)
def test_files_that_are_damaged_are_refused(target: str, tmp_path: Path):
    model = MODELS["matmul"]()
    files = made(target, model)
    first = next(iter(files.files))
    with pytest.raises(ToolchainError) as caught:
        opened(target, model, NativeFiles({**files.files, first: b"\x00garbage"}, files.settings, ""), tmp_path)
    assert caught.value.stage == "build"
    with pytest.raises(ToolchainError):
        get(target).open_native(tmp_path / "nothing.onnx", model.inputs, model.outputs, files.settings)


@pytest.mark.skipif("openvino" not in PLAIN, reason=get("openvino").availability().reason)
@pytest.mark.parametrize("is_alone", [True, False])
def test_openvino_hands_an_input_on_in_memory_of_its_own(is_alone: bool, tmp_path: Path):
    model = sub_model([node("Dropout", "x", "y"), node("Relu", "x", "z")], [tensor("x", (3,))], [tensor("y", (3,)), tensor("z", (3,))])
    kernel = opened("openvino", model, made("openvino", model, is_alone), tmp_path)
    inputs, outputs = drawn(model.inputs), buffers(model)
    kept = inputs[0].copy()
    kernel.bind(inputs, outputs)
    kernel.run()
    np.testing.assert_array_equal(outputs[0], kept)
    np.testing.assert_array_equal(inputs[0], kept)


def test_the_settings_of_a_plan_of_several_partitions_are_others():
    model = MODELS["matmul"]()
    alone, among = made("onnxruntime", model, True, 2), made("onnxruntime", model, False, 2)
    exact = {"session.x64quantprecision": "1"} if processor.products_saturate() else {}
    assert (alone.settings["threads"], alone.settings["entries"]) == (2, exact)
    assert among.settings["entries"]["session.intra_op.spin_duration_us"] == "50"
    assert "intra_op_num_threads, options.inter_op_num_threads = 2, 1" in alone.loader


def test_only_what_quantises_is_not_portable():
    assert made("onnxruntime", MODELS["matmul"]()).is_portable
    assert not made("onnxruntime@int8-dynamic", MODELS["matmul"]()).is_portable
    assert is_quantised(b"...QuantizeLinear...")
    assert not is_quantised(b"...MatMul...")
