"""Sub-models with weights in files: who takes them, who gets them read in, and packages that refer to them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from collage_core.cost.measuring.profile_worker import profile_nodes
from collage_core.graph.index_set import IndexSet
from collage_core.model.files import external_data
from collage_core.model.model import SubModel, may_name_files
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.toolchains.border import build_package
from collage_core.toolchains.onnx_models.external_package import found_in, is_external, moved, slices_of, with_file_numbers
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import Toolchain, ToolchainError, unbound_outputs
from tests.helpers.large_models import Sizes, write_transformer

SIZES = Sizes(layers=1, width=64)


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OnnxModel:
    monkeypatch.setattr(external_data, "FROM_BYTES", 0)
    return load_model(write_transformer(tmp_path, SIZES))


def whole(model: OnnxModel) -> SubModel:
    return model.cut(IndexSet(range(len(model.graph))))


def test_a_toolchain_that_does_not_say_so_gets_the_weights_inside(large: OnnxModel):
    asked: list[SubModel] = []

    class Plain(Toolchain):
        name = "plain"
        availability = rule = load = lambda self, *_: None

        def build(self, model: SubModel, threads: int) -> bytes:
            asked.append(model)
            return b""

        def profile(self, model: SubModel, inputs: object, threads: int) -> None:
            asked.append(model)

    class Taking(Plain):
        name = "taking"
        takes_external_data = True

    model = whole(large)
    build_package(Plain(), model, 1), profile_nodes(lambda _: Plain(), "plain", model, [], 1), build_package(Taking(), model, 1)
    assert [len(one.onnx) > SIZES.weight_bytes for one in asked] == [True, True, False]
    assert not may_name_files(asked[0].onnx)
    assert asked[2] is model


def test_more_weights_than_fit_into_a_message_are_a_refusal_and_not_an_error(large: OnnxModel, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(external_data, "MOST_BYTES", 1000)
    with pytest.raises(ToolchainError, match="GiB of weights, more than one ONNX message can") as caught:
        build_package(get("blas"), whole(large), 1)
    assert caught.value.stage == "import"


@pytest.mark.parametrize("target", ["onnxruntime", "openvino"])
def test_a_package_refers_to_the_files_and_computes_the_same(target: str, large: OnnxModel, tmp_path: Path):
    toolchain, model = get(target), whole(large)
    if not toolchain.availability().usable:
        pytest.skip(toolchain.availability().reason)
    package = toolchain.build(model, 1)
    assert is_external(package)
    assert len(package) < 64_000
    assert {where.path for where in slices_of(package)} == {tmp_path / "transformer.onnx.data"}
    inputs = large.seeded_inputs()
    kernel, outputs = toolchain.load(package, model.inputs, model.outputs, 1), unbound_outputs(model)
    kernel.bind([inputs[tensor.name] for tensor in model.inputs], outputs)
    for _ in range(2):
        kernel.run()
        assert np.allclose(outputs[0], large.reference(inputs)["y"], atol=1e-5)


@pytest.mark.parametrize("target", ["onnxruntime", "openvino"])
def test_a_profile_of_a_model_with_weights_in_files(target: str, large: OnnxModel):
    toolchain, model = get(target), whole(large)
    if not toolchain.availability().usable:
        pytest.skip(toolchain.availability().reason)
    times = toolchain.profile(model, list(large.seeded_inputs().values()), 1)
    assert times is not None
    assert sorted(index for one in times for index in one.nodes) == list(range(len(large.graph)))


def test_a_package_is_found_in_the_folder_of_its_artifact(large: OnnxModel, tmp_path: Path):
    package = get("onnxruntime").build(whole(large), 1)
    relative = moved(package, lambda where: where._replace(path=Path("weights.bin")))
    assert {where.path for where in slices_of(found_in(relative, tmp_path))} == {tmp_path / "weights.bin"}
    assert found_in(b"any other package", tmp_path) == b"any other package"
    assert slices_of(found_in(package, tmp_path / "other")) == slices_of(package)


def test_packages_whose_files_are_links_to_the_same_are_equal(large: OnnxModel, tmp_path: Path):
    package = get("onnxruntime").build(whole(large), 1)
    weights = slices_of(package)[0].path
    (tmp_path / "linked.bin").hardlink_to(weights)
    (tmp_path / "copied.bin").write_bytes(weights.read_bytes())
    linked, copied = (
        moved(package, lambda where, name=name: where._replace(path=tmp_path / name)) for name in ("linked.bin", "copied.bin")
    )
    assert linked != package
    assert with_file_numbers(linked) == with_file_numbers(package) != with_file_numbers(copied)
    assert with_file_numbers(b"any other package") == b"any other package"


@pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)
def test_tvm_reads_the_weights_of_a_sub_model_in(large: OnnxModel):
    from collage_core.toolchains.tvm.tvm_import import import_onnx
    from collage_core.toolchains.tvm.tvm_named_import import import_named

    node = large.graph.index_by_name["layer0/narrow/product"]
    model = large.cut(IndexSet([node]))
    assert len(model.onnx) < 1000
    shapes = [(8, 256), (256, 64)]
    for module in (import_onnx(model), import_named(model).module):
        text = module.script(show_meta=False)
        assert "R.matmul(" in text
        assert f"R.Tensor((1, {shapes[0][0]}, {shapes[1][1]})" in text
