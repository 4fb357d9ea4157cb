"""Runs that come with the samples."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_engine import FakeEngine
from fake_runs import document_plan
from flask.testing import FlaskClient

from collage_server.app import create_app
from collage_server.config import ServerConfig
from collage_server.process_pool import ProcessPool
from collage_server.runs import recorded, run_store
from collage_server.shared.json_files import read_json, write_json
from tests.helpers.documents import LEAST
from tests.helpers.live import until

RUN = "recorded-mini_mnist"
MODEL = "a" * 64


def write_record(file: Path, total_s: float) -> None:
    counts = {"candidates": 4, "invalid": 2, "unique": 3, "measured": 3, "cache_hits": 0}
    document = {
        **LEAST,
        "targets": [{"name": "fast", **counts}],
        "plan": document_plan(total_s),
    }
    with gzip.open(file, "wt") as stream:
        candidates = [{"target": "fast", "cost": {"stage": stage}} for stage in ("", "", "numerics", "build")]
        rejected = [{"target": "fast", "nodes": [0]}] * 2
        found = {"document": document, "candidates": candidates, "rejected": rejected}
        json.dump({**found, "targets": ["fast"], "constraints": [], "model": MODEL}, stream)


@pytest.fixture
def client(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FlaskClient]:
    """A server whose samples' recorded runs are in `tmp_path`."""
    made, _ = create_app(ServerConfig(engine=FakeEngine()))
    monkeypatch.setattr(made.extensions["collage"].recorded, "_folder", tmp_path)
    yield made.test_client()
    made.extensions["collage"].close()


def listed(client: FlaskClient) -> list[dict[str, Any]]:
    return [row for row in client.get("/api/v1/runs").json["runs"] if row["id"].startswith("recorded-")]


def test_recorded_run(client: FlaskClient, tmp_path: Path) -> None:
    assert client.get(f"/api/v1/runs/{RUN}").status_code == 404
    write_record(tmp_path / "mini_mnist.json.gz", 0.02)
    snapshot = client.get(f"/api/v1/runs/{RUN}").json
    assert (snapshot["state"], snapshot["machine"], snapshot["model"]) == ("recorded", "the fake machine", MODEL)
    assert (snapshot["best_s"], snapshot["targets"], snapshot["artifact"]) == (0.02, ["fast"], False)
    assert [(row["id"], row["state"], row["total_s"]) for row in listed(client)] == [(RUN, "recorded", 0.02)]
    samples = {row["name"]: row["recorded"] for row in client.get("/api/v1/samples").json["samples"]}
    assert samples["mini_mnist"] == RUN
    assert samples["mnist"] is None
    assert client.get(f"/api/v1/runs/{RUN}/candidates?node=0").json["candidates"]
    refused = client.delete(f"/api/v1/runs/{RUN}")
    assert (refused.status_code, refused.json["error"]["code"]) == (409, "recorded")
    write_record(tmp_path / "mini_mnist.json.gz", 0.0345)
    assert client.get(f"/api/v1/runs/{RUN}").json["best_s"] == 0.0345, "a newer file is read again"


def test_what_surely_was_built_is_counted(client: FlaskClient, tmp_path: Path) -> None:
    write_record(tmp_path / "mini_mnist.json.gz", 0.02)
    counts = client.get(f"/api/v1/runs/{RUN}").json["counts"]
    assert [(row["measured"], row["built"], row["rejected"]) for row in counts] == [(3, 2, 2)], (
        "wrong numbers come of something built, no build does not"
    )


def test_a_folder_of_an_earlier_version_is_made_again(client: FlaskClient, tmp_path: Path) -> None:
    write_record(tmp_path / "mini_mnist.json.gz", 0.02)
    folder = run_store.run_folder(client.get(f"/api/v1/runs/{RUN}").json["id"])
    for name, change in ((recorded.SOURCE, {"form": 1}), (run_store.SNAPSHOT, {"counts": []})):
        write_json(folder / name, {**read_json(folder / name), **change})
    assert [row["built"] for row in client.get(f"/api/v1/runs/{RUN}").json["counts"]] == [2]


def test_a_snapshot_that_another_version_wrote_is_made_again(client: FlaskClient, tmp_path: Path) -> None:
    write_record(tmp_path / "mini_mnist.json.gz", 0.02)
    snapshot = client.get(f"/api/v1/runs/{RUN}").json
    file = run_store.run_folder(snapshot["id"]) / run_store.SNAPSHOT
    write_json(file, {key: value for key, value in read_json(file).items() if key != "plan"} | {"plan": {"total": 1}})
    assert client.get(f"/api/v1/runs/{RUN}").json["plan"] == snapshot["plan"]


def test_base_of_a_search_without_the_model(client: FlaskClient, tmp_path: Path) -> None:
    write_record(tmp_path / "mini_mnist.json.gz", 0.02)
    made = client.post("/api/v1/runs", json={"model": MODEL, "targets": ["fast"], "base": RUN}).json
    end = until(lambda: (got := client.get(f"/api/v1/runs/{made['id']}").json)["state"] == "done" and got)
    assert (end["best_s"], end["machine"], end["base"]) == (0.007, "the fake machine", RUN)
    refused = client.post(f"/api/v1/runs/{RUN}/artifact")
    assert (refused.status_code, refused.json["error"]["message"]) == (404, "the model 'tiny' is not open here")


def test_a_damaged_record_is_no_hindrance(client: FlaskClient, tmp_path: Path) -> None:
    (tmp_path / "mnist.json.gz").write_bytes(b"no gzip")
    write_record(tmp_path / "mini_mnist.json.gz", 0.02)
    assert [row["id"] for row in listed(client)] == [RUN]


def test_a_sample_shows_the_result_of_its_run_before_that_is_opened(client: FlaskClient, tmp_path: Path) -> None:
    def result() -> Any:
        rows = client.get("/api/v1/samples").json["samples"]
        return next(row["result"] for row in rows if row["name"] == "mini_mnist")

    file = tmp_path / "mini_mnist.json.gz"
    write_record(file, 2.0)
    shutil.rmtree(run_store.runs_folder() / RUN, ignore_errors=True)
    told = {"is_measured": False, "text": "fast alone, predicted 2 s: nothing was timed end to end", "is_good": False}
    assert result() == {**told, "total_s": read_json(file)["document"]["plan"]["total_s"]}
    assert not (run_store.runs_folder() / RUN).exists()
    file.unlink()
    assert result() is None


def test_the_bundled_records_are_found() -> None:
    found = recorded.Recorded(ServerConfig(), ProcessPool(FakeEngine()))
    assert found.ids() == sorted(f"recorded-{file.name.removesuffix('.json.gz')}" for file in found._folder.glob("*"))
    assert all(run.startswith(run_store.RECORDED) for run in found.ids())
