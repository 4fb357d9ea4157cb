"""How far rounding alone moves a model: not at all where no score lies at the threshold, and by its share of boxes where one does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.model.reference.movements import MOST_MOVED, rounded_otherwise
from collage_core.model.row_sets import RowSet
from tests.helpers.detectors import detector, pictures
from tests.helpers.models import model_of

PICKS = """picks (float[1,1,COUNT] scores, float[1,COUNT,4] boxes) => (int64[k,3] selected, int64[1,m] places) {
    [nms] selected = NonMaxSuppression (boxes, scores, most, overlap, least)
    [line] line = Reshape (scores, flat)
    [high] is_high = Greater (line, least)
    [places] places = NonZero (is_high)
}"""


def loaded(tmp_path: Path, proto: onnx.ModelProto) -> OnnxModel:
    onnx.save(proto, tmp_path / "model.onnx")
    return load_model(tmp_path / "model.onnx")


def boxes_apart(count: int) -> np.ndarray:
    """Return boxes in a row that do not overlap."""
    left = np.arange(count, dtype=np.float32) * 2
    return np.stack([np.zeros_like(left), left, np.ones_like(left), left + 1], axis=-1)[None]


def picks(tmp_path: Path, count: int) -> OnnxModel:
    constants = {
        "most": np.array(count),
        "overlap": np.array(0.5, np.float32),
        "least": np.array([0.5], np.float32),
        "flat": np.array([-1]),
    }
    return loaded(tmp_path, model_of(PICKS.replace("COUNT", str(count)), constants))


def test_a_detector_whose_scores_are_clear_does_not_move(tmp_path: Path) -> None:
    model = loaded(tmp_path, detector(picks=True))
    sets = model.row_sets({"image": pictures()["many"]})
    assert sets["selected"] == sets["scaled"] == RowSet(0, is_ordered=False, origin=frozenset(["nms"]))


def test_scores_at_the_threshold_move_the_model(tmp_path: Path) -> None:
    """One of eight scores is the threshold: rounding takes it to one side or the other. NonZero defines its order, suppression none."""
    model = picks(tmp_path, 8)
    scores = np.array([[[0.9, 0.8, 0.7, 0.95, 0.5, 0.6, 0.65, 0.85]]], np.float32)
    sets = model.row_sets({"scores": scores, "boxes": boxes_apart(8)})
    assert (sets["selected"].axis, sets["selected"].is_ordered) == (0, False)
    assert (sets["places"].axis, sets["places"].is_ordered) == (1, True)
    assert sets["selected"].moves == sets["places"].moves == pytest.approx(1 / 8)


def test_more_than_half_is_never_forgiven(tmp_path: Path) -> None:
    model = picks(tmp_path, 8)
    sets = model.row_sets({"scores": np.full((1, 1, 8), 0.5, np.float32), "boxes": boxes_apart(8)})
    assert sets["selected"].moves == MOST_MOVED


def test_a_model_of_fixed_length_is_run_no_more_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = loaded(tmp_path, model_of("relu (float[2,3] x) => (float[2,3] y) { y = Relu (x) }"))
    monkeypatch.setattr(model, "_movements", lambda inputs: pytest.fail("it was run"))
    assert model.row_sets({"x": np.zeros((2, 3), np.float32)}) == {}


def test_only_floats_are_rounded_otherwise() -> None:
    given = {"x": np.linspace(-3, 3, 50, dtype=np.float32), "ids": np.arange(5), "half": np.ones(50, np.float16), "list": [1]}
    found = rounded_otherwise(given, 1)
    assert found["ids"] is given["ids"]
    assert found["list"] is given["list"]
    for name, least in (("x", 2**-23), ("half", 2**-10)):
        assert found[name].dtype == given[name].dtype
        assert 0 < np.max(np.abs(found[name].astype(float) - given[name])) <= 4 * least * 3
