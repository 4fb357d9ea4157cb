"""An artifact where a device of its plan is missing: it refuses in one line, and its plan for the host runs if the user asks for it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import stand_in_device

from collage_core.errors import CollageError
from collage_core.rewrite.runtime.fallback import folder_here
from collage_core.rewrite.runtime.shaped_artifact import open_artifact
from collage_core.toolchains.registry import runs_on_processor
from tests.helpers.command import document_of, in_this_process
from tests.helpers.models import model_of, write

TARGETS = "numpy,standin:dev:0"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "stand_in_device:OnDevice,collage_test_toolchains:Numpy")
    costs = {"targets": {"numpy": {"op_s": 5e-3}, "standin:dev:0": {"op_s": 1e-3, "ops": {"Sigmoid": 9e-3}}}}
    (tmp_path / "mock.json").write_text(json.dumps(costs))
    return write(tmp_path, model_of("g (float[1,4] x) => (float[1,4] y) { a = Relu(x) b = Relu(a) y = Sigmoid(b) }"))


def test_the_plan_for_the_host_runs_where_a_device_is_missing(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    out, mock = tmp_path / "out", f"mock:{tmp_path / 'mock.json'}"
    document_of(capsys, "partition", model, "--targets", TARGETS, "--costs", mock, "--threads", "1", "--out", out, "--fallback")
    assert folder_here(out) == (out, "")
    np.savez(tmp_path / "x.npz", x=np.array([[-1, 0, 1, 2]], np.float32))
    asked = ("run", out, "--inputs", tmp_path / "x.npz", "--outputs")
    assert document_of(capsys, *asked, tmp_path / "there.npz", "--fallback")["notes"] == []

    monkeypatch.setenv(stand_in_device.DEVICES, "0")
    status, _, said = in_this_process(capsys, *asked, tmp_path / "no.npz")
    missing = "standin:dev:0, which is not usable here: there is no device 0 here"
    assert (status, said.splitlines()[0]) == (2, f"error: the artifact needs {missing}")
    assert said.splitlines()[1].endswith("or run its plan for the host with --fallback")
    notes = document_of(capsys, *asked, tmp_path / "here.npz", "--fallback")["notes"]
    assert notes == ["standin:dev:0 is not usable here: there is no device 0 here; its plan for the host runs in its place"]
    np.testing.assert_allclose(np.load(tmp_path / "here.npz")["y"], np.load(tmp_path / "there.npz")["y"], rtol=1e-6)
    with open_artifact(out, fallback=True) as artifact:
        assert artifact.run({"x": np.zeros((1, 4), np.float32)})["y"].tolist() == [[0.5] * 4]


def test_without_a_plan_for_the_host_it_says_how_to_get_one(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    out, mock = tmp_path / "out", f"mock:{tmp_path / 'mock.json'}"
    document_of(capsys, "partition", model, "--targets", TARGETS, "--costs", mock, "--threads", "1", "--out", out)
    monkeypatch.setenv(stand_in_device.DEVICES, "0")
    with pytest.raises(CollageError) as error:
        folder_here(out)
    assert error.value.message.endswith("has no plan for the host, and standin:dev:0 is not usable here: there is no device 0 here")
    assert error.value.hint == "build it again with `collage partition --fallback`"


def test_a_target_is_the_processors_or_a_devices(model: Path):
    assert [runs_on_processor(name) for name in ("numpy", "standin:dev:0", "described")] == [True, False, False]
