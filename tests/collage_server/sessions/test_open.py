"""A session that is opened in another store: what comes over, twice, without the model; and that nothing comes over of a bad one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collage_core.base.isolation.worker_errors import WorkerDied, WorkerFailed, WorkerTimeout
from collage_core.errors import CollageError
from collage_server.app import create_app
from collage_server.config import ServerConfig
from collage_server.launch import open_first
from collage_server.messages.kept import OpenedSession
from collage_server.model_store import FixedInputs, ModelStore
from collage_server.runs import run_store
from collage_server.sessions.open import open_session
from tests.helpers.sessions import (
    NOTE,
    RECORDED,
    Entries,
    manifest_of,
    with_digests,
    with_record,
    with_snapshot,
    write_session,
)

from .conftest import InProcess, Made

ENGINE_MODEL = "f" * 64


def opened(path: Path) -> OpenedSession:
    config = ServerConfig()
    return open_session(config, ModelStore(config), path)


def left_in(home: Path) -> set[str]:
    """Return the names in the folders of models and runs, hidden ones too."""
    return {path.name for folder in ("models", "runs") if (home / folder).exists() for path in (home / folder).iterdir()}


def without_model(entries: Entries) -> Entries:
    manifest = manifest_of(entries)
    manifest["model"]["files"] = []
    files = {name: data for name, data in entries.items() if not name.startswith("model/")}
    return with_digests({**files, "manifest.json": json.dumps(manifest).encode()})


def test_a_run_comes_over_with_plan_constraints_and_note(made: Made, store: Path) -> None:
    kept = made.kept
    found = opened(made.path)
    assert (found.shown, found.added, set(found.runs), found.notice) == (kept["id"], 1, {kept["id"], RECORDED}, "")
    app, _ = create_app()
    client = app.test_client()
    there = client.get(f"/api/v1/runs/{kept['id']}").json
    same = ("plan", "constraints", "groups", "targets", "base", "created", "machine", "counts", "optimal", "best_s", "baselines")
    assert {name: there[name] for name in same} == {name: kept[name] for name in same}
    assert (there["state"], there["recorded"], there["artifact"]) == ("done", True, False)
    [row] = [row for row in run_store.summaries() if row.id == kept["id"]]
    assert (row.name, row.note, row.is_starred, row.constraints) == ("no TVM first", NOTE, True, 1)
    assert client.get(f"/api/v1/runs/{kept['id']}/log").json["items"]
    why = client.get(f"/api/v1/runs/{kept['id']}/candidates?node=0").json
    assert any(one["chosen"] for one in why["candidates"])
    again = client.post(f"/api/v1/runs/{kept['id']}/what-if", json={"targets": kept["targets"], "constraints": []}).json
    assert again["plan"]["total_s"] <= kept["best_s"]
    app.extensions["collage"].close()


@pytest.mark.usefixtures("in_process")
def test_opening_it_twice_adds_nothing(made: Made, store: Path) -> None:
    first, before = opened(made.path), left_in(store)
    second = opened(made.path)
    assert (first.added, second.added) == (1, 0)
    assert (second.runs, second.shown) == (first.runs, first.shown)
    assert left_in(store) == before


@pytest.mark.usefixtures("in_process")
def test_a_run_whose_id_is_taken_gets_one_of_its_own_each_time_the_same(made: Made, store: Path, tmp_path: Path) -> None:
    other = with_record(made.entries, made.kept["id"], lambda record: record.update(created="2020-01-01T00:00:00+00:00"))
    changed = write_session(tmp_path / "other.collage", other)
    opened(made.path)
    found = opened(changed)
    assert found.added == 1
    assert found.shown is not None
    assert found.shown.startswith(f"{made.kept['id']}-")
    assert opened(changed).runs == found.runs


@pytest.mark.usefixtures("in_process")
def test_a_recorded_run_of_another_version_becomes_an_ordinary_one_and_what_rests_on_it_follows(
    made: Made, store: Path, tmp_path: Path
) -> None:
    other = with_record(made.entries, RECORDED, lambda record: record.update(created="2020-01-01T00:00:00+00:00"))
    found = opened(write_session(tmp_path / "other.collage", other))
    assert found.added == 2
    assert RECORDED not in found.runs
    [renamed] = [run for run in found.runs if run != made.kept["id"]]
    assert run_store.load(made.kept["id"]).base == renamed
    assert run_store.load(renamed).state == "done"


def test_without_the_model_runs_are_shown_and_running_says_what_is_missing(made: Made, store: Path, tmp_path: Path) -> None:
    found = opened(write_session(tmp_path / "bare.collage", without_model(made.entries)))
    assert found.model.is_missing
    assert found.model.id in found.notice
    app, _ = create_app()
    client = app.test_client()
    model = found.model.id
    graph = client.get(f"/api/v1/models/{model}/graph").json["graph"]
    assert len(graph["nodes"]) == found.model.nodes
    assert client.get(f"/api/v1/models/{model}/groups").status_code == 200
    refused = client.post("/api/v1/runs", json={"model": model, "targets": ["onnxruntime"]})
    assert (refused.status_code, refused.json["error"]["code"]) == (409, "missing_model")
    assert refused.json["error"]["hint"] == f"open the model's own file, with the hash {model}"
    complete = client.post("/api/v1/models", json={"sample": "mini_mnist"}).json
    assert (complete["id"], complete["is_missing"], complete["stale"]) == (model, False, False)
    assert client.get(f"/api/v1/runs/{made.kept['id']}").status_code == 200
    app.extensions["collage"].close()


@pytest.mark.usefixtures("in_process")
def test_without_the_model_one_that_is_here_stays(made: Made, store: Path, tmp_path: Path) -> None:
    opened(made.path)
    found = opened(write_session(tmp_path / "bare.collage", without_model(made.entries)))
    assert (found.model.is_missing, found.notice, found.added) == (False, "", 0)


def other_graph(record: dict[str, Any]) -> None:
    record["graph"]["nodes"][0]["name"] = "another"


LIES: dict[str, tuple[Callable[[Entries, str], Entries], str]] = {
    "a run of another model": (
        lambda entries, run: with_record(entries, run, lambda record: record["plan"]["model"].update(hash=ENGINE_MODEL)),
        "is of another model",
    ),
    "a run with another graph": (lambda entries, run: with_record(entries, run, other_graph), "is not that of its model"),
    "a plan that leaves nodes out": (
        lambda entries, run: with_record(entries, run, lambda record: record["plan"]["partitions"].pop()),
        "cannot be read: its plan does not hold every node once",
    ),
    "a cost that is no number": (
        lambda entries, run: with_record(entries, run, lambda record: record["candidates"][0]["cost"].update(seconds=-1)),
        "cannot be read",
    ),
    "a record that is none": (
        lambda entries, run: with_digests({**entries, f"runs/{run}/run.json.gz": b"nothing"}),
        "cannot be read",
    ),
    "a document with words for numbers": (
        lambda entries, run: with_record(entries, run, lambda record: record["document"]["plan"].update(total_s="short")),
        "it must be a valid number",
    ),
    "a snapshot with a list for a name": (
        lambda entries, run: with_snapshot(entries, run, lambda snapshot: snapshot.update(notes=[[]])),
        "it must be a valid string",
    ),
    "a log that is no log": (
        lambda entries, run: with_digests({**entries, f"runs/{run}/events.jsonl.gz": b"nothing"}),
        "is damaged, or too large",
    ),
    "another model": (
        lambda entries, run: with_digests({**entries, "manifest.json": entries["manifest.json"].replace(b'"id": "a', b'"id": "b')}),
        "its model has the hash",
    ),
}


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("lie", LIES)
def test_of_a_session_that_lies_nothing_is_kept(lie: str, made: Made, store: Path, tmp_path: Path) -> None:
    change, says = LIES[lie]
    bad = write_session(tmp_path / "bad.collage", change(made.entries, made.kept["id"]))
    with pytest.raises(CollageError, match=says) as caught:
        opened(bad)
    assert "\n" not in caught.value.message
    assert str(store) not in caught.value.message
    assert left_in(store) == set()


@pytest.mark.usefixtures("in_process", "store")
def test_the_explorer_begins_with_it(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    config = open_first(ServerConfig(), str(made.path), FixedInputs())
    assert (config.model, config.run) == (manifest_of(made.entries)["model"]["id"], made.kept["id"])
    assert capsys.readouterr().err == "opened the session of 'mini_mnist', with runs: 2, new here: 1\n"
    with pytest.raises(CollageError, match="has the shapes and values of its model"):
        open_first(ServerConfig(), str(made.path), FixedInputs({"x": [1]}))


@pytest.mark.usefixtures("in_process")
def test_a_model_that_may_hold_code_is_refused(made: Made, store: Path, tmp_path: Path) -> None:
    manifest = manifest_of(made.entries)
    manifest["model"]["files"] = ["model/evil.py"]
    files = {name: data for name, data in made.entries.items() if not name.startswith("model/")}
    files |= {"model/evil.py": b"open('/tmp/pwned', 'w')", "manifest.json": json.dumps(manifest).encode()}
    with pytest.raises(CollageError, match="may hold code"):
        opened(write_session(tmp_path / "evil.collage", with_digests(files)))
    assert left_in(store) == set()


@pytest.mark.usefixtures("in_process")
def test_where_a_run_cannot_be_moved_in_none_is(made: Made, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: object, folder: Path, meta: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ModelStore, "move_in", full)
    with pytest.raises(OSError, match="No space"):
        opened(made.path)
    assert left_in(store) == set()


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        (WorkerFailed("OSError", "[Errno 28] No space left on device", ""), "No space left on device"),
        (WorkerFailed("MemoryError", "", ""), "this session cannot be opened: reading it failed: MemoryError"),
        (WorkerDied("ran out of memory"), "this session cannot be opened: reading it ran out of memory"),
        (WorkerTimeout(3.0), "this session cannot be opened: reading it took longer than 3 s"),
    ],
)
@pytest.mark.usefixtures("in_process")
def test_whatever_the_file_does_to_the_process_that_reads_it_is_told(
    failure: Exception, says: str, made: Made, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(InProcess, "call", fail)
    with pytest.raises((CollageError, OSError), match=says):
        opened(made.path)
    assert left_in(store) == set()


@pytest.mark.usefixtures("in_process")
def test_what_the_snapshot_says_of_the_outcome_is_not_believed(made: Made, store: Path, tmp_path: Path) -> None:
    def lie(snapshot: dict[str, Any]) -> None:
        snapshot.update(state="failed", artifact=True, best_s=1e-9, machine="a faster one", constraints=[{"kind": "pin"}], id="../../up")

    opened(write_session(tmp_path / "lie.collage", with_snapshot(made.entries, made.kept["id"], lie)))
    there = run_store.load(made.kept["id"])
    assert (there.state, there.artifact, there.id) == ("done", False, made.kept["id"])
    assert (there.best_s, there.machine) == (made.kept["best_s"], made.kept["machine"])
    assert there.groups == []
    assert all(one["kind"] == "veto" for one in there.constraints)
