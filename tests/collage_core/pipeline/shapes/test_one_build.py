"""Shapes of one plan with one build of each partition, on real toolchains, over costs that a function gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from collage_core.api import partition
from collage_core.cli.shapes_text import shapes_lines
from collage_core.documents.json_form import to_json
from collage_core.documents.plan import PlanPartition
from collage_core.errors import CollageError
from collage_core.model.reference.accuracy import largest_error
from collage_core.options import Options
from collage_core.pipeline.shapes.apply_shapes import apply
from collage_core.pipeline.shapes.one_build import of_one_plan, on_toolchains
from collage_core.rewrite.plan import Plan, PlannedModel, ShapePlan, read_plan
from collage_core.rewrite.runtime.shaped_artifact import open_artifact
from collage_core.rewrite.runtime.shaped_manifest import read_manifests
from collage_core.rules.candidate import CandidatePartition
from collage_core.toolchains.openvino import openvino
from tests.collage_core.pipeline.shapes.test_for_shapes import reference_of
from tests.helpers.models import model_of, write

MODEL = """g (float[n,64] x) => (float[n,64] y) {
    [first] a = MatMul(x, w) [bend] b = Tanh(a) [second] c = MatMul(b, w) [last] y = Sigmoid(c)
}"""
SIZES = (2, 3, 40, 50)


def shape_plan(name: str, *parts: tuple[str, tuple[str, ...]]) -> ShapePlan:
    given = {"nodes": (0,), "ops": (), "cost_s": 1.0, "source": "mock"}
    placed = [PlanPartition(id=f"P{index}", target=target, names=names, **given) for index, (target, names) in enumerate(parts)]
    plan = Plan(model=PlannedModel(name="m", hash=""), targets=(), total_s=1.0, partitions=tuple(placed))
    return ShapePlan(name=name, weight=0.0, plan=plan)


def test_shapes_of_the_same_partitions_are_a_group() -> None:
    whole, other = ("openvino", ("a", "b")), ("onnxruntime", ("a", "b"))
    shapes = [
        shape_plan("1", whole),
        shape_plan("2", other),
        shape_plan("3", whole),
        shape_plan("4", ("host", ("a",)), ("openvino", ("b",))),
    ]
    assert of_one_plan(shapes) == [[0, 2]]
    assert [part.target for part in on_toolchains(shapes[3].plan)] == ["openvino"]


def test_one_shape_has_no_build_to_share() -> None:
    with pytest.raises(CollageError, match="--one-build is about several shapes, and one shape is planned for"):
        Options(("onnxruntime",), one_build=True)


def costs(candidate: CandidatePartition) -> float:
    """Small sizes: all on OpenVINO. Large ones: the first two nodes on ONNX Runtime, and the others on TVM, which takes fixed shapes."""
    size = candidate.graph.inputs[0].type.shape[0]
    names = [candidate.graph.nodes[index].name for index in candidate.inside]
    wanted = ["openvino" if size < SIZES[2] else "onnxruntime" if name in ("first", "bend") else "tvm" for name in names]
    return 0.1 + sum(1.0 if one == candidate.target else 9.0 for one in wanted)


def packages(out: Path) -> list[dict[str, str]]:
    """Target → digest of its package, in the artifact of each shape."""
    return [{entry.target: manifest.files[entry.package][1] for entry in manifest.called} for manifest in read_manifests(out)]


@pytest.mark.long
def test_what_takes_any_shape_is_built_once_and_the_rest_for_each(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32) / 8
    path, out = write(tmp_path, model_of(MODEL, {"w": weights})), tmp_path / "out"
    targets = ("onnxruntime", "openvino", "tvm")
    asked = {"x": f"{{{','.join(map(str, SIZES))}}},64"}
    record = partition(path, targets=targets, costs=costs, shapes=asked, one_build=True, out=out)
    rows = to_json(record.document.shapes)["one_build"]
    assert [(row["name"], len(row["partitions"]), row["reason"]) for row in rows] == [(f"n={size}", 1, "") for size in SIZES]
    assert all(row["own_s"] > 0 and row["shared_s"] > 0 for row in rows)
    assert sum("shares 1 build" in line for line in shapes_lines(record.document)) == len(SIZES)

    small, as_small, large, as_large = packages(out)
    assert list(small) == ["openvino"]
    assert small == as_small
    assert large["onnxruntime"] == as_large["onnxruntime"]

    wanted = reference_of(path)
    for folder in (out, again(out, path, tmp_path / "again")):
        artifact = open_artifact(folder)
        assert len(openvino._for_any_shape) == 1, "both shapes have the weights of one compiled model"
        for size in (*SIZES, *reversed(SIZES)):
            inputs = {"x": np.random.default_rng(size).standard_normal((size, 64)).astype(np.float32)}
            assert largest_error(artifact.run(inputs), wanted(inputs)) < 1e-5
        artifact.close()


def again(out: Path, model: Path, made: Path) -> Path:
    """Build the plan of `out` once more."""
    plan = read_plan(out / "plan.json")
    assert plan.one_build
    apply(plan, model, made)
    return made
