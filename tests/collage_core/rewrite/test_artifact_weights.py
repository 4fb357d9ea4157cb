"""Weights of a large model in an artifact: referred to while it is timed, brought into it once it is kept."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

from collage_core.errors import CollageError
from collage_core.model.files import external_data
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.rewrite.artifact_weights import bring_weights
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.runtime.artifact import Artifact
from collage_core.rewrite.runtime.manifest import WEIGHTS
from collage_core.toolchains.registry import get
from tests.helpers.large_models import Sizes, write_transformer
from tests.helpers.mixed_models import partition_models

pytestmark = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)

SIZES = Sizes(layers=2, width=64)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OnnxModel:
    monkeypatch.setattr(external_data, "FROM_BYTES", 0)
    return load_model(write_transformer(tmp_path, SIZES))


def build(model: OnnxModel, out: Path, *targets: str) -> Path:
    """Build the artifact of a plan that gives each target the same share of the nodes, in their order."""
    share = -(-len(model.graph) // len(targets))
    placed = [(index // share, targets[index // share]) for index in range(len(model.graph))]
    assemble(partition_models(model, placed), model.graph.inputs, model.graph.outputs, out, 1)
    return out


def test_an_artifact_with_its_weights_needs_the_models_files_no_more(model: OnnxModel, tmp_path: Path):
    out = build(model, tmp_path / "out", "onnxruntime", "openvino", "onnxruntime")
    assert sum(path.stat().st_size for path in out.glob("partitions/*")) < 64_000
    inputs = model.seeded_inputs()
    want = model.reference(inputs)["y"]
    assert np.allclose(Artifact.open(out).run(inputs)["y"], want, atol=1e-5)
    assert bring_weights(out) == (out / WEIGHTS).stat().st_size == SIZES.weight_bytes
    for path in tmp_path.glob("transformer*"):
        path.unlink()
    moved = out.rename(tmp_path / "moved")
    assert np.allclose(Artifact.open(moved).run(inputs)["y"], want, atol=1e-5)
    with (moved / WEIGHTS).open("r+b") as file:
        file.write(b"other")
    with pytest.raises(CollageError, match=r"is damaged: 'weights\.bin' is not the file that was written"):
        Artifact.open(moved)


def test_a_sparse_file_of_weights_stays_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(external_data, "FROM_BYTES", 0)
    sparse = Sizes(layers=1, width=512, random_values=16)
    model = load_model(write_transformer(tmp_path, sparse))
    out = build(model, tmp_path / "out", "onnxruntime")
    assert bring_weights(out) == sparse.weight_bytes
    status = (out / WEIGHTS).stat()
    assert status.st_blocks * 512 < status.st_size // 1.5


def test_an_artifact_without_weights_in_files_is_left_as_it_is(tmp_path: Path):
    model = load_model(write_transformer(tmp_path, Sizes(layers=1)))
    out = build(model, tmp_path / "out", "onnxruntime")
    assert bring_weights(out) == 0
    assert not (out / WEIGHTS).exists()


def test_a_disk_without_room_is_a_clear_error(model: OnnxModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = build(model, tmp_path / "out", "onnxruntime")
    usage = namedtuple("usage", "free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(1000))
    with pytest.raises(CollageError, match=r"^the artifact's weights take 0\.0 GB, and '.*/out' has 0\.0 GB free$"):
        bring_weights(out)
    inputs = model.seeded_inputs()
    assert np.allclose(Artifact.open(out).run(inputs)["y"], model.reference(inputs)["y"], atol=1e-5)
