"""Weights of several shapes in one file: what the folder takes on disk, what a process takes in memory, and what stays as it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collage_core.errors import CollageError
from collage_core.graph.index_set import IndexSet
from collage_core.model.dynamic.dynamic_model import dynamic_model
from collage_core.model.files import external_data
from collage_core.model.onnx_model import load_model
from collage_core.rewrite import shared_weights
from collage_core.rewrite.artifact_weights import bring_weights
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.rewrite.runtime.artifact import Artifact
from collage_core.rewrite.runtime.control_entry import BODIES
from collage_core.rewrite.runtime.manifest import WEIGHTS, PartitionEntry
from collage_core.rewrite.runtime.shaped_artifact import open_artifact
from collage_core.rewrite.runtime.shaped_manifest import FALLBACK
from collage_core.rewrite.shaped_folder import build_dynamic, folder_of, write_shaped
from collage_core.rewrite.shared_weights import share_weights
from collage_core.toolchains.onnx_models.external_package import is_external, packed_slices_of, slices_of
from collage_core.toolchains.onnxruntime import onnxruntime as onnxruntime_toolchain
from collage_core.toolchains.registry import get
from tests.helpers.control_models import assemble_plan, drawn, host_plan, lstm_loop
from tests.helpers.large_models import Sizes, write_transformer
from tests.helpers.mixed_models import partition_models
from tests.helpers.models import model_of, weights, write

pytestmark = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)

CONVOLUTION = "g (float[1,WIDTH,n,8] x) => (float[1,WIDTH,m,8] y) { [conv] a = Conv <pads = [1, 1, 1, 1]> (x, w) [relu] y = Relu(a) }"
PRODUCT = "g (float[n,WIDTH] x) => (float[m,k] y) { [product] a = MatMul(x, w) [relu] y = Relu(a) }"
SIZES = (2, 4)
LARGE = Sizes(layers=2, width=64)


def build(folder: Path, text: str, weight: np.ndarray, targets: Sequence[str] = ("onnxruntime",) * 2, fallback: bool = False) -> Path:
    """Build a model with one weight for each size, on a target each, and the model for other shapes if wanted; not shared yet."""
    width = weight.shape[1 if weight.ndim == 4 else 0]
    path, out = write(folder, model_of(text.replace("WIDTH", str(width)), {"w": weight})), folder / "out"
    for number, (size, target) in enumerate(zip(SIZES, targets, strict=True)):
        model = load_model(path, {"x": (1, width, size, 8) if weight.ndim == 4 else (size, width)})
        part = PartitionModel(target=target, names=("conv", "relu"), model=model.cut(IndexSet(range(len(model.graph)))), id="0")
        assemble([part], model.graph.inputs, model.graph.outputs, out / folder_of(number), 1, sample=model.seeded_inputs())
    dynamic = [build_dynamic(dynamic_model(path, model, {}), "onnxruntime", 1, str(out), FALLBACK)] if fallback else []
    (folder / "dynamic.json").write_text(json.dumps([entry.to_json() for entry in dynamic]))
    return out


def shared(out: Path) -> int:
    """Share the weights of what `build` built, and make it one artifact."""
    dynamic = [PartitionEntry.from_json(row) for row in json.loads((out.parent / "dynamic.json").read_text())]
    size = share_weights(out, [out / folder_of(number) for number in range(len(SIZES))], dynamic, 1)
    write_shaped(out, [("a", 0.5), ("b", 0.5)], {}, 1, fallback=dynamic[0] if dynamic else None)
    return size


def bytes_on_disk(folder: Path) -> int:
    return sum({path.stat().st_ino: path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file()}.values())


def test_two_shapes_and_the_whole_model_have_a_weight_once_on_disk(tmp_path: Path) -> None:
    weight = weights(128, 128, 3, 3)
    out = build(tmp_path, CONVOLUTION, weight, fallback=True)
    given = {size: weights(1, 128, size, 8, seed=size) for size in (*SIZES, 7)}
    want = {size: Artifact.open(out / folder_of(number)).run({"x": given[size]})["y"] for number, size in enumerate(SIZES)}
    before = bytes_on_disk(out)
    assert shared(out) == weight.nbytes
    assert before - bytes_on_disk(out) > 1.9 * weight.nbytes
    links = [out / folder_of(0) / WEIGHTS, out / folder_of(1) / WEIGHTS, out / WEIGHTS]
    assert len({path.stat().st_ino for path in links}) == 1
    artifact = open_artifact(out)
    for size in SIZES:
        assert np.array_equal(artifact.run({"x": given[size]})["y"], want[size])
    assert artifact.run({"x": given[7]})["y"].shape == (1, 128, 7, 8)
    moved = Path(shutil.copytree(out / folder_of(1), tmp_path / "alone"))
    assert np.array_equal(Artifact.open(moved).run({"x": given[4]})["y"], want[4])


def test_a_packed_form_that_two_shapes_read_is_beside_the_weight(tmp_path: Path) -> None:
    out = build(tmp_path, PRODUCT, weights(128, 256))
    size = shared(out)
    packages = [next((out / folder_of(number)).glob("partitions/*")).read_bytes() for number in range(2)]
    assert all(map(is_external, packages))
    assert slices_of(packages[0]) == slices_of(packages[1])
    assert packed_slices_of(packages[0]) == packed_slices_of(packages[1]) != []
    assert size >= 2 * 128 * 256 * 4


def test_a_changed_weight_is_found_when_the_artifact_is_opened(tmp_path: Path) -> None:
    out = build(tmp_path, PRODUCT, weights(128, 256), fallback=True)
    shared(out)
    with (out / WEIGHTS).open("r+b") as file:
        file.write(b"other")
    with pytest.raises(CollageError, match=r"'weights\.bin' is not the file that was written"):
        open_artifact(out)


@pytest.mark.parametrize("targets", [("onnxruntime", "openvino"), ("openvino", "openvino")])
def test_packages_that_cannot_share_stay_as_they_are(targets: tuple[str, str], tmp_path: Path) -> None:
    if not get("openvino").availability().usable:
        pytest.skip(get("openvino").availability().reason)
    out = build(tmp_path, PRODUCT, weights(128, 256), targets)
    before = {path: path.read_bytes() for path in out.rglob("*.bin")}
    assert shared(out) == 0
    assert {path: path.read_bytes() for path in out.rglob("*.bin")} == before


def test_a_disk_without_hard_links_or_room_keeps_each_weight_in_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> Any:
        raise OSError("no links here")

    out = build(tmp_path, PRODUCT, weights(128, 256))
    before = {path: path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
    folders, beside = [out / folder_of(0), out / folder_of(1)], shared_weights._beside
    with monkeypatch.context() as patched:
        patched.setattr(os, "link", refused)
        assert share_weights(out, folders, [], 1) == 0
    assert {path: path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()} == before
    with monkeypatch.context() as patched:  # The disk is full when the second package is written.
        patched.setattr(shared_weights, "_beside", lambda path: refused() if path.parent.parent == folders[1] else beside(path))
        assert share_weights(out, folders, [], 1) == 0
    assert {path: path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()} == before


def test_weights_that_are_in_files_already_move_whatever_the_toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One artifact has OpenVINO beside ONNX Runtime, whose packages both name the file that another takes the place of."""
    if not get("openvino").availability().usable:
        pytest.skip(get("openvino").availability().reason)
    monkeypatch.setattr(external_data, "FROM_BYTES", 0)
    model = load_model(write_transformer(tmp_path, LARGE))
    out, given = tmp_path / "out", model.seeded_inputs()
    folders = [out / folder_of(0), out / folder_of(1)]
    for folder, targets in zip(folders, (("onnxruntime",), ("openvino", "onnxruntime")), strict=True):
        share = -(-len(model.graph) // len(targets))
        placed = [(index // share, targets[index // share]) for index in range(len(model.graph))]
        assemble(partition_models(model, placed), model.graph.inputs, model.graph.outputs, folder, 1)
        bring_weights(folder)
    want = [Artifact.open(folder).run(given)["y"] for folder in folders]
    share_weights(out, folders, [], 1)
    assert folders[0].joinpath(WEIGHTS).samefile(folders[1] / WEIGHTS)
    for path in tmp_path.glob("transformer*"):
        path.unlink()
    for folder, before in zip(folders, want, strict=True):
        assert np.array_equal(Artifact.open(folder).run(given)["y"], before)


def test_the_bodies_of_a_node_that_the_host_runs_share_weights_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(onnxruntime_toolchain._IN_FILES, "session.optimized_model_external_initializers_min_size_in_bytes", "16")
    model = load_model(write(tmp_path, lstm_loop()))
    given, out = drawn(model, 0, turns=3, go=True), tmp_path / "out"
    folders = [out / folder_of(0), out / folder_of(1)]
    for folder in folders:
        assemble_plan(model, host_plan(model, given), folder)
    want = Artifact.open(folders[0]).run(given)
    assert share_weights(out, folders, [], 1) > 0
    links = sorted(out.rglob(WEIGHTS))
    assert any(BODIES in path.parts for path in links)
    assert len({path.stat().st_ino for path in links}) == 1
    for folder in folders:
        made = Artifact.open(folder).run(given)
        assert all(np.array_equal(made[name], want[name]) for name in want)


UNSHARED_BYTES = """
import ctypes, sys
import numpy as np
import onnxruntime, tvm
from collage_core.rewrite.runtime.shaped_artifact import open_artifact

def private():
    ctypes.CDLL(None).malloc_trim(0)
    rows = dict(line.split(":") for line in open("/proc/self/smaps_rollup").read().splitlines()[1:])
    return 1024 * int(rows["Private_Dirty"].split()[0])

before = private()
artifact = open_artifact(sys.argv[1])
for size in (2, 4):
    artifact.run({"x": np.ones((size, 2048), np.float32)})
print(private() - before)
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="the system does not say what memory is shared")
def test_a_process_has_the_weights_of_two_shapes_once_in_memory(tmp_path: Path) -> None:
    """Kernels of matrix products pack their weights, so without packed forms in the file each session would have a copy."""
    out = build(tmp_path, PRODUCT, weights(2048, 4096))

    def unshared_bytes() -> int:
        printed = subprocess.run([sys.executable, "-c", UNSHARED_BYTES, out], capture_output=True, text=True, check=True).stdout
        return int(printed.split()[-1])

    write_shaped(out, [("a", 0.5), ("b", 0.5)], {}, 1)
    weight_bytes, apart = 2048 * 4096 * 4, unshared_bytes()
    assert apart > 1.9 * weight_bytes
    shared(out)
    assert unshared_bytes() < apart / 4
