"""Packages of partitions that artifacts have in common: which are put in, and that they can be taken out again."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from collage_core.graph.dataflow_graph import Tensor, TensorType
from collage_core.rewrite.common_packages import put_back, put_packages
from collage_core.rewrite.runtime.machine import Machine
from collage_core.rewrite.runtime.manifest import NAME, Manifest, PartitionEntry, fingerprint, read_manifest


def entry(package: str, target: str = "openvino", nodes: tuple[str, ...] = ("a", "b"), reads: tuple[str, ...] = ("x",)) -> PartitionEntry:
    tensors = [tuple(Tensor(name, TensorType((2,), "float32")) for name in names) for names in (reads, ("y",))]
    return PartitionEntry("P0", target, "1", nodes, *tensors, symbol="s", package=package)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "artifact"
    made.mkdir()
    (made / "own.bin").write_bytes(b"for one shape")
    one = entry("own.bin")
    files = {"own.bin": fingerprint(made / "own.bin")}
    manifest = Manifest({}, one.inputs, one.outputs, 1, "", Machine.here(), (one,), files)
    (made / NAME).write_text(json.dumps(manifest.to_json()))
    (tmp_path / "any.bin").write_bytes(b"for any shape")
    (tmp_path / "kept").mkdir()
    return made


def test_a_package_takes_the_place_of_another_and_the_manifest_names_it(folder: Path) -> None:
    put = put_packages(folder, [entry("any.bin", nodes=("b", "a"))], folder.parent, folder.parent / "kept")
    assert put == {"P0": folder / "own.bin"}
    assert (folder / "own.bin").samefile(folder.parent / "any.bin")
    assert read_manifest(folder).files["own.bin"] == fingerprint(folder.parent / "any.bin")
    put_back(folder, put, folder.parent / "kept")
    assert (folder / "own.bin").read_bytes() == b"for one shape"
    assert read_manifest(folder).files["own.bin"] == fingerprint(folder / "own.bin")
    assert (folder.parent / "any.bin").read_bytes() == b"for any shape"


def test_without_hard_links_it_is_a_copy_and_without_room_nothing_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    kept = folder.parent / "kept"
    monkeypatch.setattr(os, "link", fails)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", fails)
        with pytest.raises(OSError, match="No space left"):
            put_packages(folder, [entry("any.bin")], folder.parent, kept)
    assert (folder / "own.bin").read_bytes() == b"for one shape"
    put_packages(folder, [entry("any.bin")], folder.parent, kept)
    assert (folder / "own.bin").read_bytes() == b"for any shape"
    assert not (folder / "own.bin").samefile(folder.parent / "any.bin")


@pytest.mark.parametrize(
    "other",
    [entry("any.bin", target="onnxruntime"), entry("any.bin", nodes=("a",)), entry("any.bin", reads=("x", "shape"))],
    ids=["another target", "other nodes", "it reads more"],
)
def test_another_partition_has_another_package(folder: Path, other: PartitionEntry) -> None:
    assert put_packages(folder, [other], folder.parent, folder.parent / "kept") == {}
    assert (folder / "own.bin").read_bytes() == b"for one shape"
