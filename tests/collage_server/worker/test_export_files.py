"""The files of a run in other formats over HTTP: equal to what the command line and Python write, and nothing is left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from collage_core.pipeline.record.record import RunRecord
from collage_core.results.formats import FILES, export, file_named
from collage_core.results.result import open_run
from collage_server.config import ServerConfig
from collage_server.runs import run_store
from collage_server.shared.run_files import record_file
from tests.helpers.command import in_this_process
from tests.helpers.report import answers_in
from tests.helpers.sessions import entries_of


@pytest.fixture(scope="module")
def config(home: Path) -> ServerConfig:
    return ServerConfig()


@pytest.fixture(scope="module")
def recorded(app: Flask) -> tuple[FlaskClient, str, Path]:
    """A client, the id of the recorded run of a sample, and the file of its record."""
    client = app.test_client()
    model = client.post("/api/v1/models", json={"sample": "mnist"}).get_json()
    run = next(one["id"] for one in client.get("/api/v1/runs").get_json()["runs"] if one["model"] == model["id"])
    record = record_file(app.extensions["collage"].runs.folder(run))
    assert record is not None
    return client, run, record


@pytest.mark.long
def test_the_page_the_command_and_python_give_equal_files(
    recorded: tuple[FlaskClient, str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client, run, record = recorded
    before = sorted(record.parent.iterdir())
    told = client.get(f"/api/v1/runs/{run}/export/contents").get_json()["exports"]
    assert [(one["name"], one["says"]) for one in told] == [(file.name, file.says) for file in FILES]
    ours = [file for file in FILES if file.make is not None]
    formats = list(dict.fromkeys(file.format for file in ours))
    export(RunRecord.load(record), formats, tmp_path / "python", "mnist")
    assert in_this_process(capsys, "export", record, "--as", ",".join(formats), "--out", tmp_path / "command")[0] == 0
    for file in ours:
        answer = client.get(f"/api/v1/runs/{run}/exports/{file.name}")
        assert (answer.status_code, answer.mimetype) == (200, file.mimetype), answer.text
        assert answer.headers["Content-Disposition"] == f"attachment; filename=mnist-{file.name}"
        assert answer.data == (tmp_path / "python" / file.name).read_bytes(), file.name
        assert answer.data == (tmp_path / "command" / file.name).read_bytes(), file.name
    assert sorted(record.parent.iterdir()) == before


@pytest.mark.long
def test_report_and_session_of_the_page_the_command_and_python_say_the_same(
    recorded: tuple[FlaskClient, str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They differ in the time at which they were made, and in the id of the run, which of a sample's own is its name."""
    client, run, record = recorded
    made = {name: tmp_path / name for name in ("page", "command", "python")}
    for name in ("report.html", "run.collage"):
        answer = client.get(f"/api/v1/runs/{run}/exports/{name}")
        assert (answer.status_code, answer.mimetype) == (200, file_named(name).mimetype)
        assert answer.headers["Content-Disposition"] == f"attachment; filename=mnist-{name}"
        made["page"].mkdir(exist_ok=True)
        (made["page"] / name).write_bytes(answer.data)
    assert in_this_process(capsys, "export", record, "--as", "report,session", "--model", "mnist", "--out", made["command"])[0] == 0
    assert [path.name for path in open_run(record, "mnist").export(made["python"], ["session", "report"])] == ["report.html", "run.collage"]
    kept, said = {row.id for row in run_store.summaries()}, set[str]()
    for name, folder in made.items():
        entries, answers = entries_of(folder / "run.collage"), answers_in((folder / "report.html").read_text())
        [own] = [row["id"] for row in answers["GET runs"]["runs"]]
        assert own in kept, name
        (folder / "run.json.gz").write_bytes(entries[f"runs/{own}/run.json.gz"])
        assert RunRecord.load(folder).plan == RunRecord.load(record).plan
        assert [entry for entry in entries if entry.startswith("model/")] == ["model/mnist.onnx"]
        said.add(json.dumps([answers[f"GET runs/{own}/{read}"] for read in ("candidates?node=*", "node-times", "log")]).replace(own, ""))
    assert len(said) == 1
    assert len([one for one in kept if not one.startswith(run_store.RECORDED)]) == 1, "the run of the command and that of Python are one"


def test_what_is_no_export_is_refused(recorded: tuple[FlaskClient, str, Path]) -> None:
    client, run, _ = recorded
    for name in ("graph.png", "..%2fplan.json", "plan.json"):
        answer = client.get(f"/api/v1/runs/{run}/exports/{name}")
        assert answer.status_code in (400, 404), name
    assert client.get(f"/api/v1/runs/{run}/exports/graph.png").get_json()["error"]["code"] == "unknown_export"
    assert client.get("/api/v1/runs/none/exports/graph.dot").status_code == 404
