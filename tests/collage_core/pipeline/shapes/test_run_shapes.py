"""The shapes of a run as the server tells them: of a run over several, and of one that has one."""

from __future__ import annotations

from pathlib import Path

from collage_core.api import partition
from collage_core.documents.json_form import from_json, to_json
from collage_core.documents.run import RunDocument
from collage_core.pipeline.shapes.run_shapes import run_shapes
from collage_core.rules.candidate import CandidatePartition
from tests.helpers.documents import run_document
from tests.helpers.models import model_of, write

TARGETS = ("onnxruntime", "openvino")


def test_each_shape_has_its_plan_and_its_losses_at_the_others(tmp_path: Path) -> None:
    path = write(tmp_path, model_of("g (float[1,n] x) => (float[1,n] y) { [relu] r = Relu(x) [neg] y = Neg(r) }"))

    def costs(candidate: CandidatePartition) -> float:
        size = candidate.graph.inputs[0].type.shape[1]
        return float(len(candidate.inside)) * (size if candidate.target == TARGETS[0] else 5)

    document = partition(path, targets=TARGETS, costs=costs, shapes={"x": "1,{2,10}"}).document
    assert document.shapes is not None
    assert [shape.inputs for shape in document.shapes.planned] == [{"x": (1, 2)}, {"x": (1, 10)}]
    assert from_json(RunDocument, to_json(document)) == document, "all that it says of shapes is in its JSON"
    found = run_shapes(document)
    assert [(shape.name, shape.weight, shape.total_s, shape.measured_s) for shape in found.shapes] == [
        ("n=2", 0.5, 4, None),
        ("n=10", 0.5, 10, None),
    ]
    assert [shape.loses_s for shape in found.shapes] == [(0, 10), (6, 0)]
    assert [{part.target for part in shape.partitions} for shape in found.shapes] == [{TARGETS[0]}, {TARGETS[1]}]
    assert (found.shown, found.chosen, found.decided_by) == (1, "by_range", "sum")
    assert (found.one_plan.total_s, found.by_range.total_s) == (10, 7)


def test_a_run_of_one_shape_has_none() -> None:
    found = run_shapes(run_document())
    assert (found.shapes, found.chosen, found.one_plan.total_s) == ((), "", None)
