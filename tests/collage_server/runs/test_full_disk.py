"""A disk that is full: every run comes to its end and says why, nothing stays queued or half-written, and the model can be deleted."""

from __future__ import annotations

import errno
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from collage_core.base.isolation.worker_errors import WorkerFailed
from collage_core.base.whole_file import write_whole
from collage_server.http.answers import json_file
from collage_server.runs import live_run, recorded, run_store, task
from collage_server.runs.journal import EVENTS, Journal
from collage_server.runs.run_store import OWNER
from collage_server.shared.json_files import write_json
from collage_server.worker import queries
from tests.helpers.live import Live, put_model, until

FULL = OSError(errno.ENOSPC, "No space left on device")


def fail(*args: Any) -> None:
    raise FULL


def test_a_run_that_cannot_be_queued_leaves_nothing(live: Live, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = set(run_store.runs_folder().iterdir())
    monkeypatch.setattr(live_run, "save", fail)
    answer = live.http.post(f"{live.address}api/v1/runs", json={"model": model, "targets": ["fast"]}, timeout=60)
    assert (answer.status_code, answer.json()["error"]["code"]) == (507, "disk_full")
    assert set(run_store.runs_folder().iterdir()) == folders


def test_a_run_on_a_disk_that_fills_ends_and_the_model_can_be_deleted(live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = put_model(tmp_path / "other.onnx", b"other")
    first = live.start(mine, "wait")["id"]
    until(lambda: live.get(f"runs/{first}")["state"] == "running")
    monkeypatch.setattr(live_run, "save", fail)
    monkeypatch.setattr(Journal, "_append", fail)
    live.post(f"runs/{first}/cancel")
    assert live.ended(first)["state"] == "cancelled"
    assert not (run_store.run_folder(first) / OWNER).exists()
    live.services.runs._forget(first)
    assert live.get(f"runs/{first}")["state"] == "failed", "its files could not be brought up to date, and it has no server"
    assert live.http.delete(f"{live.address}api/v1/models/{mine}", timeout=60).status_code == 204


def test_a_journal_that_cannot_be_written_is_given_up(tmp_path: Path, live: Live, model: str) -> None:
    (tmp_path / EVENTS).symlink_to("/dev/full")
    journal = Journal(tmp_path)
    item = live_run.Numbered(1, {"type": "Note", "text": "x" * 10000}, 0.0)
    for _ in range(3):
        assert journal.add(item) > 10000
        journal.flush(late=True)
    journal.close()
    assert journal._is_given_up


@pytest.mark.parametrize("error", [FULL, WorkerFailed("OSError", "[Errno 28] No space left on device: 'x'", "Traceback …")])
def test_the_reason_is_said(tmp_path: Path, error: Exception) -> None:
    assert task.failure(error, tmp_path)["error"].code == "disk_full"


def test_the_details_of_another_fault_are_kept_if_there_is_room(tmp_path: Path) -> None:
    found = task.failure(WorkerFailed("KeyError", "'x'", "Traceback …"), tmp_path / "gone")["error"]
    assert (found.code, found.message) == ("internal", "the run failed: KeyError: 'x'")


@pytest.mark.parametrize("name", ["data.json", "data.json.gz"])
def test_no_half_of_a_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    write_json(tmp_path / name, [1])
    before = (tmp_path / name).read_bytes()
    write = Path.write_bytes

    def fill(path: Path, data: bytes) -> int:
        write(path, data[:1])
        raise FULL

    monkeypatch.setattr(Path, "write_bytes", fill)
    for attempt in (lambda: write_json(tmp_path / name, [2]), lambda: write_whole(tmp_path / name, b"[2]")):
        with pytest.raises(OSError, match="No space left"):
            attempt()
    assert list(tmp_path.iterdir()) == [tmp_path / name]
    assert (tmp_path / name).read_bytes() == before


def test_what_is_kept_is_listed_and_read(live: Live, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = live.ended(live.start(model, "fast")["id"])["id"]
    monkeypatch.setattr(recorded.Recorded, "unpack", fail)
    assert run in [one["id"] for one in live.get("runs")["runs"]]


def test_a_table_that_cannot_be_written_is_answered_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "candidates.json.gz"
    monkeypatch.setattr(queries, "write_whole", fail)
    content = queries._kept(file, lambda: {"rows": [1, 2]})
    assert isinstance(content, bytes)
    assert not file.exists()
    for accepted, encoding in (("gzip", "gzip"), ("identity", None)):
        with Flask("x").test_request_context(headers={"Accept-Encoding": accepted}):
            response = json_file(content)
        assert response.headers.get("Content-Encoding") == encoding
        data = response.get_data()
        assert json.loads(gzip.decompress(data) if encoding else data) == {"rows": [1, 2]}
