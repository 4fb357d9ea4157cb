"""A session holds the model with its external data, runs with a plan, and what their user wrote."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from collage_server.http.error_answers import Problem
from collage_server.runs.run_store import run_folder
from collage_server.services import Services
from collage_server.sessions import save
from collage_server.sessions.save import contents_of_model, contents_of_run, session_pieces
from tests.collage_server.routes.test_model_routes import WEIGHTS, onnx_file, upload
from tests.helpers.live import put_model
from tests.helpers.sessions import NOTE, RECORDED, manifest_of

from .conftest import Made


@pytest.fixture
def services(app: Flask) -> Services:
    found: Services = app.extensions["collage"]
    return found


def run_of(app: Flask, model: str, *targets: str, **more: Any) -> str:
    """The id of a run that has ended."""
    run: str = app.test_client().post("/api/v1/runs", json={"model": model, "targets": list(targets), **more}).json["id"]
    app.extensions["collage"].runs.live_run(run).wait(60)
    return run


def test_a_session_has_model_runs_constraints_notes_and_logs(made: Made) -> None:
    kept, manifest = made.kept["id"], manifest_of(made.entries)
    assert (manifest["format"], manifest["version"], manifest["shown"]) == ("collage-session", 1, kept)
    assert manifest["model"]["files"] == ["model/mini_mnist.onnx"]
    assert manifest["runs"][0] == {"id": kept, "name": "no TVM first", "note": NOTE, "is_starred": True}
    assert [run["id"] for run in manifest["runs"]] == [kept, RECORDED]
    snapshot = json.loads(made.entries[f"runs/{kept}/snapshot.json"])
    assert (snapshot["base"], [one["kind"] for one in snapshot["constraints"]]) == (RECORDED, ["veto"])
    assert b"PlanImproved" in gzip.decompress(made.entries[f"runs/{kept}/events.jsonl.gz"])
    assert set(manifest["files"]) == made.entries.keys() - {"manifest.json"}


def test_external_data_goes_with_the_model(app: Flask, services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = onnx_file(tmp_path, external=True)
    weights = (tmp_path / WEIGHTS).read_bytes()
    model = upload(app, [("tiny.onnx", path.read_bytes()), (WEIGHTS, weights)]).json["id"]
    monkeypatch.setattr(save, "CHUNK_BYTES", 4)
    made = zipfile.ZipFile(io.BytesIO(b"".join(session_pieces(contents_of_model(services, model)))))
    assert made.testzip() is None
    assert made.read(f"model/{WEIGHTS}") == weights
    assert json.loads(made.read("manifest.json"))["model"]["files"] == ["model/tiny.onnx", f"model/{WEIGHTS}"]
    assert {entry.compress_type for entry in made.infolist() if entry.filename.startswith("model/")} == {zipfile.ZIP_STORED}


def test_runs_without_a_plan_stay_out_and_the_bases_of_one_run_come_along(app: Flask, services: Services, model: str) -> None:
    failed, base, other = (run_of(app, model, target) for target in ("crash", "fast", "fast"))
    search = run_of(app, model, "fast", base=base)
    assert [run.id for run in contents_of_run(services, search).runs] == [search, base]
    every = contents_of_model(services, model)
    assert {run.id for run in every.runs} == {search, base, other}
    assert failed not in {run.id for run in every.runs}
    assert contents_of_model(services, model, shown=base).shown == base
    with pytest.raises(Problem, match="has no plan"):
        contents_of_run(services, failed)


def test_a_run_whose_files_are_damaged_stays_out(app: Flask, services: Services, model: str) -> None:
    broken, sound = run_of(app, model, "fast"), run_of(app, model, "fast")
    services.runs._live.clear()
    (run_folder(broken) / "snapshot.json").write_text("{")
    found = {run.id for run in contents_of_model(services, model).runs}
    assert sound in found
    assert broken not in found


def test_a_journal_that_is_cut_off_goes_in_whole(app: Flask, services: Services, model: str) -> None:
    run = run_of(app, model, "fast")
    journal = run_folder(run) / "events.jsonl.gz"
    journal.write_bytes(journal.read_bytes()[:-12])
    made = zipfile.ZipFile(io.BytesIO(b"".join(session_pieces(contents_of_run(services, run)))))
    assert gzip.decompress(made.read(f"runs/{run}/events.jsonl.gz")).endswith(b"\n")


def test_with_its_hash_alone(app: Flask, services: Services, model: str) -> None:
    run_of(app, model, "fast")
    contents = contents_of_model(services, model, with_model=False)
    assert (contents.files, contents.model.files, contents.model.id) == ([], [], model)


def test_a_model_that_may_hold_code_stays_out(app: Flask, services: Services, tmp_path: Path) -> None:
    code = put_model(tmp_path / "script.py", b"a script")
    with pytest.raises(Problem, match="nothing would be in the session"):
        contents_of_model(services, code)
    run_of(app, code, "fast")
    assert contents_of_model(services, code).files == []


def test_a_file_that_has_changed_is_not_packed_as_the_model(services: Services, tmp_path: Path) -> None:
    changed = put_model(tmp_path / "changed.onnx", b"first")
    (tmp_path / "changed.onnx").write_bytes(b"second one")
    with pytest.raises(Problem, match="was changed or removed"):
        contents_of_model(services, changed)


def test_file_names_are_plain(services: Services, tmp_path: Path) -> None:
    odd = put_model(tmp_path / "my model (ä).onnx", b"odd")
    assert contents_of_model(services, odd).file_name == "my_model____.collage"
