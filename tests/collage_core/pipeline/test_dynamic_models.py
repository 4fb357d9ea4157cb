"""From a file with dynamic dimensions to an artifact that is right on 50 random inputs, of planned sizes and others.

The encoder of `test_for_shapes.py` is another such model. Loops that the host cannot run go to a toolchain as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto

from collage_core.api import partition
from collage_core.documents.json_form import to_json
from collage_core.model.reference.accuracy import largest_error
from collage_core.rewrite.runtime.artifact import Artifact
from collage_core.rewrite.runtime.shaped_artifact import DynamicModel, ShapedArtifact, open_artifact
from collage_core.rules.candidate import CandidatePartition
from collage_core.toolchains.registry import get
from tests.helpers.dynamic_models import DYNAMIC, WIDTH, collecting_loop, growing_loop
from tests.helpers.models import weights, write

TARGETS = ("onnxruntime", "openvino")
pytestmark = pytest.mark.skipif(not get("openvino").availability().usable, reason=get("openvino").availability().reason)


def mixed(candidate: CandidatePartition) -> float:
    """Products and convolutions are faster on the second toolchain, all others on the first, which takes no node with bodies."""
    nodes = [candidate.graph.nodes[index] for index in candidate.inside]
    if any(node.op in ("If", "Loop") for node in nodes):
        return 1e3
    return 0.01 + sum(1.0 if (node.op in ("MatMul", "Conv")) == (candidate.target == TARGETS[1]) else 9.0 for node in nodes)


Arrays = dict[str, np.ndarray]


def targets_in(folder: Path) -> set[str]:
    """Return the targets of all partitions of the artifacts in `folder`, those of bodies included."""
    return {entry["target"] for file in folder.rglob("artifact.json") for entry in json.loads(file.read_text())["partitions"]}


def whole(path: Path) -> Callable[[Arrays], Arrays]:
    """Return the whole model in ONNX Runtime, at any shape."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(names, inputs), strict=True))


def in_order(outputs: Arrays) -> Arrays:
    """Return boxes in an order of their own: that of nearly equal scores is a matter of rounding."""
    return {name: array[np.lexsort(np.round(array, 2).T)] if name == "found" else array for name, array in outputs.items()}


@pytest.mark.long
@pytest.mark.parametrize("one_build", [False, True], ids=["a build a shape", "one build"])
@pytest.mark.parametrize("name", DYNAMIC)
def test_50_inputs_of_several_shapes_are_right(name: str, one_build: bool, tmp_path: Path) -> None:
    model, out = DYNAMIC[name], tmp_path / "out"
    path = write(tmp_path, model.make())
    options = {"other_shapes": "onnxruntime", "one_build": one_build}
    record = partition(path, targets=TARGETS, costs=mixed, shapes=model.shapes, out=out, **options)
    assert {*TARGETS} <= targets_in(out / "shapes")
    rows = to_json(record.document.shapes)["one_build"]
    assert bool(rows) is one_build
    assert all(row["partitions"] and not row["reason"] for row in rows)
    artifact, wanted = open_artifact(out), whole(path)
    assert isinstance(artifact, ShapedArtifact)
    shapes, served = set(), set()
    for seed in range(50):
        inputs = model.any_inputs(model.sizes[seed % len(model.sizes)], seed)
        got, want = artifact.run(inputs), wanted(inputs)
        assert {key: array.shape for key, array in got.items()} == {key: array.shape for key, array in want.items()}, seed
        assert largest_error(in_order(got), in_order(want)) < 1e-4, seed
        shapes.add(tuple(array.shape for array in (*inputs.values(), *want.values())))
        served.add(isinstance(artifact.serving(inputs), DynamicModel))
    assert len(shapes) >= len(model.sizes)
    assert served == {True, False}


@pytest.mark.long
@pytest.mark.parametrize(
    ("make", "least", "reason"),
    [(growing_loop, 0, "'rows' changes its shape from turn to turn"), (collecting_loop, 1, "'rows' is not a tensor of numbers")],
)
def test_a_loop_whose_body_cannot_be_planned_runs_as_a_whole(
    make: Callable[[], ModelProto], least: int, reason: str, tmp_path: Path
) -> None:
    path, out = write(tmp_path, make()), tmp_path / "out"
    record = partition(path, targets=TARGETS, costs=lambda candidate: 1.0, out=out)
    (row,) = record.document.bodies
    assert row.runs_on == TARGETS[0]
    assert reason in row.host.reason
    artifact, wanted = Artifact.open(out), whole(path)
    for seed in range(50):
        inputs = {"x": weights(5 if least else 2, WIDTH, seed=seed), "turns": np.array(least + seed % 5)}
        got, want = artifact.run(inputs), wanted(inputs)
        assert {key: array.shape for key, array in got.items()} == {key: array.shape for key, array in want.items()}, seed
        assert largest_error(got, want) < 1e-5, seed
