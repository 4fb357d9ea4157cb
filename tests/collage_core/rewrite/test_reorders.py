"""Reorders stand exactly where a tensor changes its layout, and a plan of blocked targets computes what the model says."""

from __future__ import annotations

from pathlib import Path

import pytest

from collage_core.model.reference.accuracy import output_errors
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.rewrite.reorders import with_reorders
from collage_core.rewrite.runtime.artifact import Artifact
from collage_core.toolchains.conformance.small_models import node, normal, sub_model, tensor
from collage_core.toolchains.registry import get
from tests.helpers.mixed_models import partition_models
from tests.helpers.models import loaded

LAYOUTS = {"one@nchw16c": "nchw16c", "other@nchw16c": "nchw16c"}
BLOCKED = ("ncnn@nchw16c", "onnxruntime@nchw16c")
USABLE = all(get(name).availability().usable for name in (*BLOCKED, "tvm"))


def relu(target: str, reads: str, makes: str, channels: int = 32) -> PartitionModel:
    shape = (1, channels, 4, 4)
    model = sub_model([node("Relu", reads, makes)], [tensor(reads, shape)], [tensor(makes, shape)])
    return PartitionModel(target, (makes,), model, makes)


def ids(partitions: list[PartitionModel], outputs: list[str]) -> list[str]:
    return [partition.id for partition in with_reorders(partitions, LAYOUTS, outputs)]


def test_equal_layouts_need_no_reorder_and_the_ends_of_the_model_are_plain() -> None:
    chain = [relu("one@nchw16c", "x", "a"), relu("other@nchw16c", "a", "b"), relu("one@nchw16c", "b", "y")]
    assert ids(chain, ["y"]) == ["reorder:x@nchw16c", "a", "b", "y", "reorder:y"]


def test_a_tensor_is_reordered_once_for_all_plain_readers() -> None:
    chain = [relu("one@nchw16c", "x", "a"), relu("plain", "a", "b"), relu("plain", "a", "c"), relu("other@nchw16c", "a", "d")]
    assert ids(chain, ["b", "c", "d"]) == ["reorder:x@nchw16c", "a", "reorder:a", "b", "c", "d", "reorder:d"]


def test_what_is_not_held_blocked_needs_no_reorder() -> None:
    assert ids([relu("one@nchw16c", "x", "a", 3), relu("plain", "a", "y", 3)], ["y"]) == ["a", "y"]


def test_plans_without_a_blocked_target_stay_as_they_are() -> None:
    chain = [relu("plain", "x", "a"), relu("plain", "a", "y")]
    assert with_reorders(chain, {}, ["y"]) == chain


@pytest.mark.skipif(not USABLE, reason="the blocked targets or TVM are not usable here")
def test_both_blocked_targets_share_a_boundary_and_compute_what_the_model_says(tmp_path: Path) -> None:
    """Two convolutions go from ncnn to ONNX Runtime and back with no reorder between; the third is plain."""
    text = """g (float[1,3,6,5] x) => (float[1,32,6,5] y, float[1,32,6,5] b) {
        a = Conv <pads = [1, 1, 1, 1]> (x, w) b = Conv (a, v) c = Add (a, b) d = Relu (c) y = Conv (d, u)
    }"""
    weights = {"w": normal(32, 3, 3, 3, scale=0.2), **{name: normal(32, 32, 1, 1, scale=0.2) for name in "uv"}}
    model = loaded(tmp_path, text, weights)
    placed = [(0, BLOCKED[0]), (1, BLOCKED[1]), (1, BLOCKED[1]), (2, BLOCKED[0]), (3, "onnxruntime")]
    assemble(partition_models(model, placed), model.graph.inputs, model.graph.outputs, tmp_path / "out", 1)
    artifact, inputs = Artifact.open(tmp_path / "out"), model.seeded_inputs()
    errors = output_errors(artifact.run(inputs), model.reference(inputs))
    assert max(errors.values()) <= 1e-5, errors
    reordered = [entry.id for entry in artifact.manifest.partitions if entry.id.startswith("reorder:")]
    assert len(reordered) == 2, reordered
