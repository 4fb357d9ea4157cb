"""Detectors: a quantised one gets an artifact at any size, and one whose boxes are really wrong gets none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from collage_core.documents.json_form import to_json
from collage_core.errors import AccuracyError
from collage_core.events import ignore
from collage_core.model.onnx_model import load_model
from collage_core.model.samples.retinanet import retinanet
from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.rewrite.runtime.artifact import Artifact
from tests.helpers.detectors import detector
from tests.helpers.models import write

SEED = 20
DRAWN = sorted((32 * np.random.default_rng(SEED).choice([3, 4, 5, 6, 7, 9, 10], 3, replace=False)).tolist())
MANY = {"most": 100, "least": 0.1}
"""Suppression that leaves boxes by the thousand."""


def planned(folder: Path, source: Path, target: str, **more: object) -> dict[str, Any]:
    """Return the `verify` document of a run with mock costs on one target, which builds and verifies all the same."""
    (folder / "mock.json").write_text(json.dumps({"targets": {target: {"op_s": 1, "decay": 0.5}}}))
    options = Options((target,), costs=f"mock:{folder / 'mock.json'}", threads=1, out=folder / "out", **more)  # type: ignore[arg-type]
    return to_json(partition(source, options, ignore).document.verify)  # type: ignore[no-any-return]


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "erring_toolchains:ShiftsBoxes,erring_toolchains:DropsRows")


@pytest.mark.long
def test_a_detector_of_the_right_boxes_gets_an_artifact(tmp_path: Path) -> None:
    assert planned(tmp_path, write(tmp_path, detector(picks=True)), "onnxruntime")["max_rel_error"] < 1e-5
    assert (tmp_path / "out" / "artifact.json").is_file()


@pytest.mark.parametrize("target", [pytest.param("shifts_boxes", marks=pytest.mark.long), "drops_rows"])
def test_a_detector_of_wrong_boxes_gets_none(tmp_path: Path, target: str) -> None:
    with pytest.raises(AccuracyError, match=r"the partitioned model is wrong: its largest relative error is 0\.[1-3]"):
        planned(tmp_path, write(tmp_path, detector(picks=True)), target)
    assert not (tmp_path / "out" / "artifact.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("target", ["shifts_boxes", "drops_rows"])
def test_a_quantised_detector_of_wrong_boxes_gets_none(tmp_path: Path, target: str) -> None:
    """How far rounding moves such a model is forgiven, and this is further."""
    onnx.save(retinanet(96, **MANY), tmp_path / "retinanet.onnx")
    with pytest.raises(AccuracyError, match="the partitioned model is wrong"):
        planned(tmp_path, tmp_path / "retinanet.onnx", target)


@pytest.mark.slow
@pytest.mark.parametrize("side", [256, *DRAWN], ids=lambda side: f"side {side}" if side == 256 else f"side {side} of seed {SEED}")
def test_a_quantised_detector_gets_an_artifact_at_any_size(tmp_path: Path, side: int) -> None:
    """Its boxes are those of the reference but for a few, whichever toolchains share it."""
    source = tmp_path / "retinanet.onnx"
    onnx.save(retinanet(side, **MANY), source)
    options = Options(("onnxruntime", "openvino"), threads=1, budget_s=30.0, out=tmp_path / "out")
    record = partition(source, options, ignore)
    assert record.document.verify.max_rel_error <= record.plan.accuracy

    model = load_model(source)
    given = model.seeded_inputs()
    wanted, got = model.reference(given), Artifact.open(tmp_path / "out").run(given)
    assert share_found(wanted, got) > 0.9
    assert share_found(got, wanted) > 0.9


def share_found(wanted: dict[str, np.ndarray], got: dict[str, np.ndarray]) -> float:
    """Return the share of boxes that the other detector has, too: of the same label, and almost in the same place."""
    found = 0
    for label in np.unique(wanted["labels"]):
        boxes, others = (one["boxes"][one["labels"] == label] for one in (wanted, got))
        distances = np.abs(boxes[:, None] - others[None]).max(axis=2).min(axis=1, initial=1.0)
        found += int((distances < 0.02).sum())
    return found / max(1, len(wanted["labels"]))
