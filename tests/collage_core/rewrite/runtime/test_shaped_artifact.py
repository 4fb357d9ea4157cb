"""The artifact of several shapes: which one serves a call, what other shapes meet, and what a damaged folder meets."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from collage_core.errors import CollageError
from collage_core.graph.index_set import IndexSet
from collage_core.model.dynamic.dynamic_model import dynamic_model
from collage_core.model.onnx_model import load_model
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.rewrite.runtime.artifact import Artifact
from collage_core.rewrite.runtime.artifact_calls import describe_artifact
from collage_core.rewrite.runtime.shaped_artifact import DynamicModel, ShapedArtifact, open_artifact
from collage_core.rewrite.runtime.shaped_manifest import FALLBACK, RangeEntry
from collage_core.rewrite.shaped_folder import build_dynamic, folder_of, forget_artifact, write_shaped
from collage_core.toolchains.registry import get
from tests.helpers.command import document_of
from tests.helpers.models import model_of, weights, write

pytestmark = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)

TEXT = "g (float[1,n] x, float[1,n] z, float[1,1] k) => (float[1,m] y) { [add] a = Add(x, z) [scale] s = Mul(a, k) [relu] y = Relu(s) }"
SIZES = (4, 8)


def given(size: int, seed: int = 0) -> dict[str, np.ndarray]:
    return {"x": weights(1, size, seed=seed), "z": weights(1, size, seed=seed + 1), "k": weights(1, 1, seed=seed + 2)}


def wanted(arrays: dict[str, np.ndarray]) -> np.ndarray:
    return np.maximum((arrays["x"] + arrays["z"]) * arrays["k"], 0)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sizes with plans of their own, and the model for others."""
    folder = tmp_path_factory.mktemp("shaped")
    path, out = write(folder, model_of(TEXT)), folder / "out"
    for number, size in enumerate(SIZES):
        model = load_model(path, {"x": (1, size)})
        parts = [range(len(model.graph))] if number else [[0], [1, 2]]
        partitions = [
            PartitionModel(target="onnxruntime", names=("?",) * len(part), model=model.cut(IndexSet(part)), id=f"{number}{index}")
            for index, part in enumerate(parts)
        ]
        sample = model.seeded_inputs()
        assemble(partitions, model.graph.inputs, model.graph.outputs, out / folder_of(number), 1, sample=sample)
    fallback = build_dynamic(dynamic_model(path, model, {}), "onnxruntime", 1, str(out), FALLBACK)
    ends = [{"x": (1, size), "z": (1, size), "k": (1, 1)} for size in (4, 8)]
    between = build_dynamic(dynamic_model(path, model, {}), "openvino", 1, str(out), "ranges/000.bin")
    ranges = [RangeEntry.of_whole(ends[0], ends[1], between)]
    write_shaped(out, [("n=4", 0.75), ("n=8", 0.25)], {"model": {"name": "m"}}, 1, ranges, fallback)
    return out


@pytest.fixture
def copy(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "copy"))


def test_each_planned_shape_has_its_own_artifact(built: Path) -> None:
    artifact = open_artifact(built)
    assert isinstance(artifact, ShapedArtifact)
    for seed, size in enumerate((4, 8, 4, 8, 8)):
        served = artifact.serving(given(size))
        assert isinstance(served, Artifact)
        assert [tensor.type.shape for tensor in served.inputs] == [(1, size), (1, size), (1, 1)]
        np.testing.assert_allclose(artifact.run(given(size, seed))["y"], wanted(given(size, seed)), rtol=1e-6)
    assert [len(one.manifest.partitions) for one in map(artifact.serving, map(given, SIZES))] == [2, 1]  # type: ignore[union-attr]
    assert all(seconds > 0 for seconds in artifact.time(given(8), repeat=3))


def test_a_range_and_another_shape_run_on_the_whole_model(built: Path) -> None:
    artifact = open_artifact(built)
    assert isinstance(artifact, ShapedArtifact)
    for seed, size in enumerate((5, 1, 900, 5, 6)):
        served = artifact.serving(given(size))
        assert isinstance(served, DynamicModel)
        assert artifact.serving(given(size)) is served
        assert served.targets == ("openvino" if 4 < size < 8 else "onnxruntime",)
        got = artifact.run(given(size, seed))["y"]
        np.testing.assert_allclose(got, wanted(given(size, seed)), rtol=1e-6)
        artifact.run(given(size, 77))
        np.testing.assert_allclose(got, wanted(given(size, seed)), rtol=1e-6)
    with pytest.raises(CollageError, match="this shape has no plan of its own, whose partitions could be timed"):
        artifact.profile(given(5))


def test_without_the_whole_model_another_shape_is_an_error(copy: Path) -> None:
    manifest = json.loads((copy / "artifact.json").read_text())
    (copy / "artifact.json").write_text(json.dumps({**manifest, "other_shapes": None}))
    artifact = open_artifact(copy)
    artifact.run(given(5))
    with pytest.raises(CollageError) as error:
        artifact.run(given(9))
    assert error.value.message == "the artifact has no plan for the shapes x [1, 9], z [1, 9]"
    assert "it was built for x [1, 4], z [1, 4]; x [1, 8], z [1, 8]; x [1, 4] to [1, 8], z [1, 4] to [1, 8]" in error.value.hint


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda arrays: arrays.pop("x"), "the input 'x' is missing"),
        (lambda arrays: arrays.pop("k"), "the input 'k' is missing"),
        (lambda arrays: arrays.update(k=np.zeros((1, 2), np.float32)), "the input 'k' is float32[1, 2], the model takes float32[1, 1]"),
        (lambda arrays: arrays.update(x=np.zeros((2, 4), np.float32)), "the input 'x' is float32[2, 4], the model takes float32[1, ?]"),
        (lambda arrays: arrays.update(x=np.zeros((1, 5), np.float64)), "the input 'x' is float64[1, 5], the model takes float32[1, ?]"),
        (lambda arrays: arrays.update(w=np.zeros(1)), "the model has no input 'w'"),
    ],
)
@pytest.mark.parametrize("size", [4, 5])
def test_wrong_inputs_are_one_line(built: Path, size: int, change: Callable[[dict[str, np.ndarray]], object], words: str) -> None:
    arrays = given(size)
    change(arrays)
    with pytest.raises(CollageError) as error:
        open_artifact(built).run(arrays)
    assert words in error.value.message


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / folder_of(1) / "artifact.json").write_text("{}"), "is not the file that was written"),
        (lambda folder: (folder / "other_shapes.bin").unlink(), "'other_shapes.bin' is missing"),
        (lambda folder: (folder / "ranges" / "000.bin").write_bytes(b"?"), "'ranges/000.bin' is not the file that was written"),
        (lambda folder: shutil.rmtree(folder / folder_of(0)), "'shapes/000/artifact.json' is missing"),
        (lambda folder: change_manifest(folder, shapes=[]), "lacks or garbles any shape"),
        (lambda folder: change_entry(folder, inputs={"w": [1, 4]}), "lacks or garbles the inputs of a shape"),
        (lambda folder: change_manifest(folder, schema=9), "has schema 9, this version reads 1"),
        (lambda folder: change_manifest(folder, files={}), "is not the file that was written"),
        (lambda folder: change_entry(folder, folder="../../elsewhere"), "it lists a file outside itself"),
        (lambda folder: change_entry(folder, inputs={"x": [1, 9], "z": [1, 9], "k": [1, 1]}), "is for other shapes than it says"),
    ],
)
def test_a_damaged_folder_is_one_line(copy: Path, spoil: Callable[[Path], object], words: str) -> None:
    spoil(copy)
    with pytest.raises(CollageError) as error:
        open_artifact(copy)
    assert words in error.value.message


def test_what_lies_elsewhere_is_not_described(copy: Path) -> None:
    change_entry(copy, folder="../../elsewhere")
    with pytest.raises(CollageError, match="it lists a file outside itself"):
        describe_artifact(copy)


def change_manifest(folder: Path, **values: object) -> None:
    manifest = json.loads((folder / "artifact.json").read_text())
    (folder / "artifact.json").write_text(json.dumps({**manifest, **values}))


def change_entry(where: Path, **values: object) -> None:
    shapes = json.loads((where / "artifact.json").read_text())["shapes"]
    change_manifest(where, shapes=[{**shapes[0], **values}, *shapes[1:]])


def test_it_describes_itself_by_the_shape_of_the_largest_weight(built: Path) -> None:
    found = describe_artifact(built)
    assert found["seeded"]["x"].shape == (1, 4)
    assert [row["name"] for row in found["shapes"]] == ["n=4", "n=8"]


@pytest.mark.long
def test_the_command_runs_times_and_profiles_it(built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for size, partitions in ((4, 2), (8, 1), (9, None)):
        np.savez(tmp_path / "inputs.npz", **given(size))  # type: ignore[arg-type]
        profile = ["--profile"] if partitions else []
        found = document_of(capsys, "run", built, "--inputs", tmp_path / "inputs.npz", "--bench", *profile)
        assert found["outputs"]["y"]["shape"] == [1, size]
        assert found["outputs"]["y"]["mean"] == pytest.approx(wanted(given(size)).mean(), rel=1e-5)
        assert found["bench"]["median_s"] > 0
        assert partitions is None or len(found["profile"]["partitions"]) == partitions


def test_equal_files_are_one_on_disk_and_the_folder_can_be_moved(copy: Path) -> None:
    """A copy has files of its own, and is still an artifact."""
    np.testing.assert_allclose(open_artifact(copy).run(given(8))["y"], wanted(given(8)), rtol=1e-6)


def test_an_earlier_artifact_is_removed_and_nothing_else(copy: Path) -> None:
    (copy / "mine.txt").write_text("mine")
    (copy / "shapes" / "mine.txt").write_text("mine")
    forget_artifact(copy)
    assert sorted(path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()) == ["mine.txt", "shapes/mine.txt"]
