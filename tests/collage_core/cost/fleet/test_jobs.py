"""Requests to workers."""

from __future__ import annotations

from pathlib import Path

import pytest

from collage_core.cost.fleet.jobs import trial_job
from collage_core.cost.measuring.trial import TrialLimits, TrialTask
from collage_core.graph.index_set import IndexSet
from collage_core.model.files import external_data
from collage_core.model.onnx_model import load_model
from tests.helpers.large_models import Sizes, write_transformer


def test_weights_in_files_are_read_in_before_a_trial_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files are not there; more than a message holds is no trial, but a record that says so."""
    monkeypatch.setattr(external_data, "FROM_BYTES", 0)
    model = load_model(write_transformer(tmp_path, Sizes(layers=1)))
    task = TrialTask("onnxruntime", model.cut(IndexSet(range(len(model.graph)))), [], [], None)
    _, sent = trial_job(TrialLimits(), task).words
    assert len(sent.model.onnx) > Sizes(layers=1).weight_bytes
    monkeypatch.setattr(external_data, "MOST_BYTES", 1000)
    job = trial_job(TrialLimits(), task)
    assert job.is_done
    assert job.result.stage == "import"
    assert "more than one ONNX message can" in job.result.reason
