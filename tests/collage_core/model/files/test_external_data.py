"""Weights of a large model stay in their files: the graph, the results and every sub-model are those of the model with all inside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto

from collage_core.errors import CollageError
from collage_core.graph.index_set import IndexSet
from collage_core.model.files import external_data
from collage_core.model.files.external_data import external_tensors, in_one_piece, is_external, slice_of, values_of
from collage_core.model.forms import folding
from collage_core.model.onnx_model import OnnxModel, load_model
from tests.helpers.large_models import Sizes, write_transformer
from tests.helpers.models import model_of, weights

SMALL = Sizes(layers=1, width=64)


def split(folder: Path, text: str, constants: dict[str, np.ndarray]) -> Path:
    """Write the model of a text with all of its constants in another file."""
    path = folder / "model.onnx"
    onnx.save(model_of(text, constants), path, save_as_external_data=True, location="weights.data", size_threshold=0)
    return path


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[OnnxModel, OnnxModel]:
    """A transformer as a small model, and the same as a large one."""
    path = write_transformer(tmp_path, SMALL)
    inside = load_model(path)
    monkeypatch.setattr(external_data, "FROM_BYTES", 0)
    return inside, load_model(path)


def everything(model: OnnxModel) -> IndexSet:
    return IndexSet(range(len(model.graph)))


def test_graph_and_results_are_those_of_the_model_with_its_weights_inside(both: tuple[OnnxModel, OnnxModel]):
    inside, large = both
    assert large.graph.to_json() == inside.graph.to_json()
    inputs = large.seeded_inputs()
    assert np.allclose(large.reference(inputs)["y"], inside.reference(inputs)["y"], rtol=0, atol=1e-6)
    kept = [model.activations(inputs, ["layer0/relu"])["layer0/relu"] > 0 for model in both]
    assert np.array_equal(*kept)
    assert np.array_equal(large.constant("layer0/wide/weight"), inside.constant("layer0/wide/weight"))


def test_a_sub_model_refers_to_slices_of_the_models_own_file(both: tuple[OnnxModel, OnnxModel], tmp_path: Path):
    inside, large = both
    node = large.graph.index_by_name["layer0/narrow/product"]
    made = large.cut(IndexSet([node]))
    assert len(made.onnx) < 1000
    (tensor,) = external_tensors(ModelProto.FromString(made.onnx))
    where = slice_of(tensor)
    assert where.path == tmp_path / "transformer.onnx.data"
    assert where.length == 4 * 4 * 64 * 64
    assert in_one_piece(made.onnx) == inside.cut(IndexSet([node])).onnx


def test_small_tensors_are_read_in_so_that_shapes_and_axes_are_known(both: tuple[OnnxModel, OnnxModel]):
    held = ModelProto.FromString(both[1].cut(everything(both[1])).onnx).graph.initializer
    assert {tensor.name.rpartition("/")[2] for tensor in held if is_external(tensor)} == {"weight"}


def test_what_follows_from_weights_is_folded_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """g (float[1,8,9,9] x) => (float[1,64,9,9] y, float[1,64] z) {
        [conv] c = Conv <pads = [1,1,1,1]> (x, w) [norm] y = BatchNormalization(c, scale, bias, mean, var)
        [turn] t = Transpose <perm = [1,0]> (m) [pool] p = GlobalAveragePool(y) [flat] f = Flatten(p) [product] z = MatMul(f, t) }"""
    given = {name: np.abs(weights(64)) for name in ("scale", "bias", "mean", "var")}
    path = split(tmp_path, text, {"w": weights(64, 8, 3, 3), "m": weights(64, 64), **given})
    inside = load_model(path)
    monkeypatch.setattr(external_data, "FROM_BYTES", 0)
    large = load_model(path)
    assert [node.name for node in large.graph.nodes] == ["norm", "pool", "flat", "product"]
    assert large.graph.to_json() == inside.graph.to_json()
    inputs = large.seeded_inputs()
    for name, value in inside.reference(inputs).items():
        assert np.allclose(large.reference(inputs)[name], value, rtol=1e-5, atol=1e-5)


def test_what_is_too_large_to_be_folded_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = "g (float[1,64] x) => (float[1,64] y) { [turn] t = Transpose <perm = [1,0]> (m) [product] y = MatMul(x, t) }"
    path = split(tmp_path, text, {"m": weights(64, 64)})
    monkeypatch.setattr(external_data, "FROM_BYTES", 0)
    whole = folding._saved

    def refuse(model: ModelProto) -> ModelProto:
        if external_tensors(model):
            raise folding.RuntimeRefusal("Protobuf serialization failed")
        return whole(model)

    monkeypatch.setattr(folding, "_saved", refuse)
    model = load_model(path)
    assert [node.name for node in model.graph.nodes] == ["turn", "product"]
    assert [tensor.name for tensor in model.graph.inputs] == ["x"]
    inputs = model.seeded_inputs()
    assert np.allclose(model.reference(inputs)["y"], inputs["x"] @ weights(64, 64).T, atol=1e-4)


def test_quantised_weights_are_read_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """g (float[1,128] x) => (float[1,128] y) {
        [whole] w = DequantizeLinear(q, scale, zero) [product] p = MatMul(x, w) [other] y = MatMul(p, m) }"""
    scale = {"scale": np.array(0.5, np.float32), "zero": np.array(0, np.int8)}
    constants = {"q": np.ones((128, 128), np.int8), "m": weights(128, 128), **scale}
    path = split(tmp_path, text, constants)
    monkeypatch.setattr(external_data, "FROM_BYTES", 0)
    large = load_model(path)
    assert [tensor.name for tensor in external_tensors(ModelProto.FromString(large.cut(everything(large)).onnx))] == ["m"]


def test_half_precision_and_packed_values_are_read_from_files(tmp_path: Path):
    (tmp_path / "w").write_bytes(bytes(range(12)))
    for kind, count in ((TensorProto.FLOAT16, 4), (TensorProto.BFLOAT16, 4), (TensorProto.UINT4, 16)):
        tensor = TensorProto(name="w", data_type=kind, dims=[count], data_location=TensorProto.EXTERNAL)
        external_data.point_to(tensor, external_data.Slice(tmp_path / "w", 3, 8))
        inside = TensorProto(name="w", data_type=kind, dims=[count], raw_data=bytes(range(3, 11)))
        assert np.array_equal(values_of(tensor).astype(np.float32), onnx.numpy_helper.to_array(inside).astype(np.float32), equal_nan=True)


def test_what_does_not_fit_into_one_message_is_refused_with_its_size(both: tuple[OnnxModel, OnnxModel], monkeypatch: pytest.MonkeyPatch):
    onnx = both[1].cut(everything(both[1])).onnx
    monkeypatch.setattr(external_data, "MOST_BYTES", 100_000)
    with pytest.raises(CollageError, match=r"^the sub-graph holds 0\.0 GiB of weights, more than one ONNX message can$"):
        in_one_piece(onnx)


def test_more_than_a_message_holds_is_opened_where_the_weights_stay_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = write_transformer(tmp_path, SMALL)
    monkeypatch.setattr("collage_core.model.files.loading.MOST_BYTES", SMALL.weight_bytes // 2)
    with pytest.raises(CollageError, match="more than the 2 GiB that one ONNX message can"):
        load_model(path)
    monkeypatch.setattr(external_data, "FROM_BYTES", 0)
    assert len(load_model(path).graph) == 30


def test_links_of_a_cache_are_followed_into_the_folder_of_the_models_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The cache of Hugging Face has its files in one folder, under digests, and links with their names in another."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots"
    blobs.mkdir(), snapshot.mkdir()
    written = write_transformer(blobs, SMALL, "model")
    for name in (written.name, f"{written.name}.data"):
        (blobs / name).rename(blobs / f"digest-of-{name}")
        (snapshot / name).symlink_to(blobs / f"digest-of-{name}")
    monkeypatch.setattr(external_data, "FROM_BYTES", 0)
    model = load_model(snapshot / written.name)
    inputs = model.seeded_inputs()
    assert np.isfinite(model.reference(inputs)["y"]).all()


def test_pages_that_are_released_are_read_again(both: tuple[OnnxModel, OnnxModel]):
    values = both[1].constant("layer0/wide/weight")
    before = values.copy()
    external_data.release_pages(values)
    assert np.array_equal(values, before)
    external_data.release_pages(np.ones(3))
