"""The ends of detectors: anchors and boxes are where they should be, and each detector selects boxes that follow its input."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.model.reference.ort_session import OrtSession
from collage_core.model.samples.boxes import decode, gather_selected, grid_anchors, select, sizes_of
from collage_core.model.samples.builder import Net
from collage_core.model.samples.registry import resolve

large = pytest.mark.long
# Each detector and the operator that selects its boxes.
DETECTORS = [
    pytest.param("yolov4_tiny", "NonMaxSuppression"),
    pytest.param("ssd300", "NonMaxSuppression", marks=large),
    pytest.param("retinanet", "NonMaxSuppression", marks=large),
    pytest.param("detr", "TopK", marks=large),
]


@cache
def detector(name: str) -> OnnxModel:
    return load_model(resolve(name), fold=False)


def test_anchors_lie_in_the_middle_of_their_cells_row_by_row():
    anchors = grid_anchors(2, [(0.5, 0.25), (1.0, 1.0)])
    assert anchors.tolist() == [[x, y, *size] for y in (0.25, 0.75) for x in (0.25, 0.75) for size in ((0.5, 0.25), (1.0, 1.0))]
    assert sizes_of(0.5, (1.0, 4.0)) == [(0.5, 0.5), (1.0, 0.25)]


def test_boxes_are_anchors_moved_by_shares_of_their_size_and_scaled():
    net = Net("boxes", 1)
    boxes = decode(net, net.input("deltas", [1, 1, 4]), net.constant("anchors", [[[0.5, 0.5, 0.2, 0.4]]]), "/decode", (0.1, 1.0))
    net.output(boxes, [1, 1, 4])
    deltas = np.array([[[1.0, -1.0, 0.0, np.log(2.0)]]], np.float32)
    got = OrtSession(net.model()).run({"deltas": deltas}, [boxes])[boxes]
    assert got[0, 0] == pytest.approx([0.52 - 0.1, 0.46 - 0.4, 0.52 + 0.1, 0.46 + 0.4], abs=1e-6)


def test_what_is_selected_is_gathered_class_by_class():
    net = Net("selection", 1)
    boxes, scores = net.input("given", [1, 3, 4]), net.input("shares", [1, 2, 3])
    gather_selected(net, boxes, scores, select(net, boxes, scores, 2, 0.5, 0.3))
    given = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]]], np.float32)
    shares = np.array([[[0.4, 0.9, 0.5], [0.1, 0.2, 0.8]]], np.float32)
    got = OrtSession(net.model()).run({"given": given, "shares": shares}, ["boxes", "scores", "labels"])
    assert got["labels"].tolist() == [0, 0, 1]
    assert got["scores"] == pytest.approx([0.9, 0.5, 0.8])
    assert got["boxes"].tolist() == given[0, [1, 2, 2]].tolist()


@pytest.mark.parametrize(("name", "op"), DETECTORS)
def test_a_detector_selects_some_of_its_boxes_and_others_for_another_input(name, op):
    model = detector(name)
    assert op in {node.op for node in model.graph.nodes}
    one, other = (model.reference(model.seeded_inputs(seed)) for seed in (0, 1))
    chosen = "selected" if "selected" in one else "labels"
    for outputs in (one, other):
        assert 4 <= outputs[chosen].shape[-1 if op == "TopK" else 0] <= 400
        assert np.ptp(outputs["scores"]) > 0.03
    assert one[chosen].shape != other[chosen].shape or not np.array_equal(one[chosen], other[chosen])


@pytest.mark.parametrize(("name", "op"), DETECTORS)
def test_the_selection_does_not_hang_on_how_sums_are_rounded(name, op):
    model = detector(name)
    inputs = model.seeded_inputs()
    want = model.reference(inputs)
    got = OrtSession(model._user, optimise=True).run(inputs, list(want))
    assert {name: value.shape for name, value in got.items()} == {name: value.shape for name, value in want.items()}
    assert all(np.array_equal(got[name], want[name]) for name in want if want[name].dtype == np.int64)
