"""Artifacts of which parts run on a device: where tensors are copied, how often, and what is launched as one graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import stand_in_device

from collage_core.errors import CollageError
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.rewrite.runtime.artifact import Artifact
from collage_core.rewrite.runtime.piece_calls import PieceCalls
from collage_core.toolchains.conformance.small_models import node, sub_model, tensor

HERE, THERE = "standin:dev:0", "standin:dev:1"
X = tensor("x", (2, 3))


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[stand_in_device.StandInMemory]:
    """The memory of the first device, as new."""
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "stand_in_device:OnDevice,collage_test_toolchains:Numpy")
    stand_in_device.memory_at.cache_clear()
    yield stand_in_device.memory_at("dev:0")
    stand_in_device.memory_at.cache_clear()


def part(target: str, op: str, reads: str, makes: str) -> PartitionModel:
    model = sub_model([node(op, reads, makes)], [tensor(name, (2, 3)) for name in reads.split()], [tensor(makes, (2, 3))])
    return PartitionModel(target, (makes,), model, makes)


def opened(folder: Path, parts: Sequence[PartitionModel], outputs: str, form: str = "auto") -> Artifact:
    assemble(parts, [X], outputs.split(), folder / "out", 1, form=form)
    return Artifact(folder / "out")


def drawn(seed: int = 0) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).standard_normal((2, 3)).astype(np.float32)}


def copies_of(artifact: Artifact) -> list[str]:
    return [entry.id for entry in artifact.manifest.called if entry.copied_from is not None]


def test_neighbours_on_a_device_hand_tensors_over_without_a_copy(tmp_path: Path, device: stand_in_device.StandInMemory):
    parts = [part(HERE, "Relu", "x", "a"), part(HERE, "Sigmoid", "a", "b"), part("numpy", "Relu", "b", "y")]
    artifact = opened(tmp_path, parts, "y")
    assert copies_of(artifact) == ["copy:x:dev:0", "copy:b:host"]
    for seed in range(3):
        given = drawn(seed)
        np.testing.assert_allclose(artifact.run(given)["y"], 1 / (1 + np.exp(-np.maximum(given["x"], 0))), rtol=1e-6)
    assert device.counted["in"] == device.counted["out"] == 3


def test_readers_at_one_location_share_a_copy(tmp_path: Path, device: stand_in_device.StandInMemory):
    parts = [
        part(HERE, "Relu", "x", "a"),
        part(HERE, "Sigmoid", "x", "b"),
        part("numpy", "Add", "a b", "c"),
        part("numpy", "Mul", "a c", "d"),
        part(HERE, "Add", "d a", "y"),
    ]
    artifact, given = opened(tmp_path, parts, "y a"), drawn()
    assert copies_of(artifact) == ["copy:x:dev:0", "copy:a:host", "copy:b:host", "copy:d:dev:0", "copy:y:host"]
    a, b = np.maximum(given["x"], 0), 1 / (1 + np.exp(-given["x"]))
    made = artifact.run(given)
    np.testing.assert_allclose(made["y"], a * (a + b) + a, rtol=1e-6)
    np.testing.assert_array_equal(made["a"], a)
    assert (device.counted["in"], device.counted["out"]) == (2, 3)


def test_tensors_pass_from_one_device_to_another(tmp_path: Path):
    artifact = opened(tmp_path, [part(HERE, "Relu", "x", "a"), part(THERE, "Add", "a x", "y")], "y")
    assert copies_of(artifact) == ["copy:x:dev:0", "copy:a:dev:1", "copy:x:dev:1", "copy:y:host"]
    given = drawn()
    np.testing.assert_array_equal(artifact.run(given)["y"], np.maximum(given["x"], 0) + given["x"])


def test_neighbours_on_a_device_are_one_graph_after_their_first_run(tmp_path: Path, device: stand_in_device.StandInMemory):
    parts = [part(HERE, "Relu", "x", "a"), part(HERE, "Sigmoid", "a", "b"), part("numpy", "Relu", "b", "y")]
    artifact = opened(tmp_path, parts, "y")
    made = [artifact.run(drawn(seed))["y"] for seed in (1, 2, 1)]
    np.testing.assert_array_equal(made[0], made[2])
    assert not np.array_equal(made[0], made[1])
    assert (device.counted["graph"], device.counted["run"]) == (2, 6)
    calls = artifact.calls
    assert isinstance(calls, PieceCalls)
    assert [(region.refusal, [piece.entry.id for piece in region.pieces]) for region in calls.regions] == [("", ["copy:x:dev:0", "a", "b"])]


def test_work_that_waits_for_the_host_is_launched_one_by_one(tmp_path: Path, device: stand_in_device.StandInMemory):
    artifact = opened(tmp_path, [part(HERE, "Relu", "x", "y")], "y")
    device.waits = "a node waits for the host"
    for seed in range(2):
        np.testing.assert_array_equal(artifact.run(drawn(seed))["y"], np.maximum(drawn(seed)["x"], 0))
    [region] = artifact.calls.regions  # type: ignore[attr-defined]
    assert (region.refusal, device.counted["graph"]) == ("a node waits for the host", 0)


def test_a_profile_says_how_long_each_copy_and_each_partition_takes(tmp_path: Path, device: stand_in_device.StandInMemory):
    artifact = opened(tmp_path, [part(HERE, "Relu", "x", "a"), part(HERE, "Relu", "a", "y")], "y")
    profile = artifact.profile(drawn())
    assert list(profile.partitions) == ["copy:x:dev:0", "a", "y", "copy:y:host"]
    graphs = device.counted["graph"]
    artifact.run(drawn())
    assert device.counted["graph"] == graphs + 1


def test_a_plan_with_tensors_on_a_device_is_pieces_where_a_module_is_asked_for(tmp_path: Path, device: stand_in_device.StandInMemory):
    artifact = opened(tmp_path, [part(HERE, "Relu", "x", "a"), part(HERE, "Relu", "a", "y")], "y", form="module")
    np.testing.assert_array_equal(artifact.run(drawn())["y"], np.maximum(drawn()["x"], 0))
    assert (artifact.manifest.form, device.counted["in"], device.counted["out"]) == ("pieces", 1, 1)


def test_beside_functions_of_tvm_each_partition_of_a_device_copies_its_ends(tmp_path: Path, device: stand_in_device.StandInMemory):
    parts = [part(HERE, "Relu", "x", "a"), part(HERE, "Sigmoid", "a", "b"), part("tvm", "Relu", "b", "y")]
    artifact = opened(tmp_path, parts, "y", form="module")
    np.testing.assert_allclose(artifact.run(drawn())["y"], 1 / (1 + np.exp(-np.maximum(drawn()["x"], 0))), rtol=1e-5)
    assert (artifact.manifest.form, device.counted["in"], device.counted["out"]) == ("module", 2, 2)


def test_an_artifact_refuses_where_its_device_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    opened(tmp_path, [part(HERE, "Relu", "x", "y")], "y").close()
    monkeypatch.setenv(stand_in_device.DEVICES, "0")
    with pytest.raises(CollageError) as error:
        Artifact(tmp_path / "out")
    assert error.value.message == "the artifact needs standin:dev:0, which is not usable here: there is no device 0 here"
