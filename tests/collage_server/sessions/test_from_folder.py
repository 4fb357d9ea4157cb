"""A run of the command line is opened: with its model and without, twice, on the page, in a report, in a session; and not a bad one."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collage_core.errors import CollageError
from collage_core.model.samples import registry as samples
from collage_core.pipeline.record.record import RunRecord
from collage_server.app import create_app
from collage_server.config import ServerConfig
from collage_server.launch import open_first
from collage_server.messages.kept import OpenedSession
from collage_server.model_store import FixedInputs, ModelStore
from collage_server.runs import run_store
from collage_server.session_file import save_session
from collage_server.sessions.from_folder import is_run, open_run
from tests.helpers.command import document_of, in_this_process
from tests.helpers.report import answers_in
from tests.helpers.sessions import SAMPLE, entries_of, manifest_of

from .test_open import left_in

RECORD = Path(samples.__file__).parent / "recorded" / f"{SAMPLE}.json.gz"
Change = Callable[[dict[str, Any]], object]


def put(folder: Path, change: Change | None = None) -> Path:
    """Write a run as `collage partition --out` does, in which `change` was done."""
    record = json.loads(gzip.decompress(RECORD.read_bytes()))
    if change is not None:
        change(record)
    folder.mkdir()
    (folder / "run.json.gz").write_bytes(gzip.compress(json.dumps(record).encode()))
    (folder / "plan.json").write_text(json.dumps(record["plan"]))
    return folder


def renamed(record: dict[str, Any]) -> None:
    """Name the model as no sample is named."""
    record["plan"]["model"]["name"] = record["document"]["model"]["name"] = "theirs"


def opened(folder: Path, model: str | None = None) -> OpenedSession:
    config = ServerConfig()
    return open_run(config, ModelStore(config), str(folder), model)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return put(tmp_path / "out", renamed)


@pytest.mark.usefixtures("in_process")
def test_a_run_without_its_model_is_shown_and_opening_it_twice_adds_nothing(folder: Path, store: Path) -> None:
    first, before = opened(folder), left_in(store)
    assert (first.added, first.model.is_missing, first.model.name) == (1, True, "theirs")
    assert first.model.id in first.notice
    assert (opened(folder / "plan.json").added, opened(folder).runs, left_in(store)) == (0, first.runs, before)
    record, [run] = RunRecord.load(folder), first.runs
    there = run_store.load(run)
    assert (there.state, there.model, there.created, there.machine) == ("done", record.plan.model.hash, record.created, record.machine)
    assert there.plan is not None
    assert [part.id for part in there.plan.partitions] == [part.id for part in record.plan.partitions]
    assert there.best_s == record.plan.total_s
    app, _ = create_app()
    client = app.test_client()
    why = client.get(f"/api/v1/runs/{run}/candidates?node=0").json
    assert any(one["chosen"] for one in why["candidates"])
    again = client.post(f"/api/v1/runs/{run}/what-if", json={"targets": there.targets, "constraints": []}).json
    assert again["plan"]["total_s"] <= record.plan.total_s
    assert client.get(f"/api/v1/models/{first.model.id}/graph").json["graph"]["nodes"]
    app.extensions["collage"].close()


@pytest.mark.usefixtures("in_process")
def test_the_file_of_its_model_is_used_where_it_lies(folder: Path, store: Path, tmp_path: Path) -> None:
    assert opened(folder).model.is_missing
    file = shutil.copy(samples.resolve(SAMPLE), tmp_path / "mine.onnx")
    found = opened(folder, str(file))
    assert (found.added, found.model.is_missing, found.model.name, found.notice) == (0, False, "mine", "")
    config = ServerConfig()
    assert ModelStore(config).files(found.model.id) == [tmp_path / "mine.onnx"]
    assert not opened(folder).model.is_missing, "the model that is open serves"


@pytest.mark.usefixtures("in_process", "store")
def test_a_sample_is_found_by_its_name_unless_its_hash_is_another(tmp_path: Path) -> None:
    found = opened(put(tmp_path / "out"))
    assert (found.model.sample, found.model.is_missing) == (SAMPLE, False)

    def of_older_sample(record: dict[str, Any]) -> None:
        record["plan"]["model"]["hash"] = record["document"]["model"]["hash"] = "e" * 64

    older = opened(put(tmp_path / "older", of_older_sample))
    assert (older.model.id, older.model.is_missing, older.model.sample) == ("e" * 64, True, None)


@pytest.mark.usefixtures("in_process")
def test_another_model_is_refused(folder: Path, store: Path, tmp_path: Path) -> None:
    with pytest.raises(CollageError, match=r"is about the model 'theirs' with the hash [0-9a-f]{12}, and 'mnist' has [0-9a-f]{12}$"):
        opened(folder, "mnist")
    with pytest.raises(CollageError, match="the explorer folds every model"):
        opened(put(tmp_path / "unfolded", lambda record: record["plan"]["options"].update(fold=False)), SAMPLE)
    assert left_in(store) == set()


LIES: dict[str, tuple[Change, str]] = {
    "another version": (lambda record: record.update(schema=2), "its schema is 2, this version reads 1"),
    "a plan that leaves nodes out": (lambda record: record["plan"]["partitions"].pop(), "its plan does not hold every node once"),
    "a cost that is no number": (lambda record: record["candidates"][0]["cost"].update(seconds="1"), "it is damaged"),
    "a hash that leads elsewhere": (lambda record: record["plan"]["model"].update(hash="../../up"), r"model\.id is '\.\./\.\./up'"),
    "targets without counts": (lambda record: record["document"]["targets"][0].update(measured="many"), "must be"),
}


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("lie", LIES)
def test_of_a_record_that_lies_nothing_is_kept(lie: str, store: Path, tmp_path: Path) -> None:
    change, says = LIES[lie]
    bad = put(tmp_path / "bad", change)
    with pytest.raises(CollageError, match=says) as caught:
        opened(bad)
    assert caught.value.message.startswith(f"the run in {str(bad)!r} cannot be opened: ")
    assert "\n" not in caught.value.message
    assert str(store) not in caught.value.message
    assert left_in(store) == set()


@pytest.mark.usefixtures("in_process", "store")
def test_what_is_no_run_is_told(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CollageError, match="there is no folder 'nowhere'"):
        opened(Path("nowhere"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(CollageError, match=r"there is no run in '.*empty': it has no run\.json\.gz"):
        opened(tmp_path / "empty")
    whole = (folder / "run.json.gz").read_bytes()
    (folder / "run.json.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CollageError, match="cannot be opened: it is damaged"):
        opened(folder)
    assert [is_run(str(path)) for path in (folder, folder / "plan.json", tmp_path / "empty", RECORD)] == [True, True, False, True]


@pytest.mark.usefixtures("in_process", "store")
def test_the_explorer_begins_with_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = open_first(ServerConfig(), str(folder), FixedInputs(), SAMPLE)
    [run] = opened(folder).runs
    assert (config.run, config.model) == (run, run_store.load(run).model)
    assert capsys.readouterr().err == f"opened the run of '{SAMPLE}', with runs: 1, new here: 1\n"
    with pytest.raises(CollageError, match="has the shapes and values of its model"):
        open_first(ServerConfig(), str(folder), FixedInputs({"x": [1]}))
    with pytest.raises(CollageError, match=f"--model 'mnist' says .*, and '{SAMPLE}' is no folder of a run"):
        open_first(ServerConfig(), SAMPLE, FixedInputs(), "mnist")


@pytest.mark.long
@pytest.mark.usefixtures("store")
def test_it_is_exported_as_report_and_session(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = document_of(capsys, "export", folder, "--as", "report,session,dot")["files"]
    assert [Path(file).name for file in files] == ["graph.dot", "report.html", "run.collage"]
    [run] = [row.id for row in run_store.summaries() if not row.id.startswith(run_store.RECORDED)]
    assert answers_in((folder / "report.html").read_text())[f"GET runs/{run}"]["model"] == RunRecord.load(folder).plan.model.hash
    manifest = manifest_of(entries_of(folder / "run.collage"))
    assert (manifest["shown"], manifest["model"]["name"], manifest["model"]["files"]) == (run, "theirs", [])


def test_a_format_that_there_is_not_is_told_before_anything_is_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name for path in folder.iterdir()}
    status, _, err = in_this_process(capsys, "export", folder, "--as", "report,pdf")
    assert (status, err.splitlines()[0]) == (2, "error: there is no format 'pdf'")
    assert "report, session" in err
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.usefixtures("in_process", "store")
def test_its_session_holds_the_model_that_is_given(folder: Path, tmp_path: Path) -> None:
    contents = save_session(str(folder), tmp_path / "out.collage", run_model=SAMPLE)
    manifest = manifest_of(entries_of(tmp_path / "out.collage"))
    assert (manifest["model"]["id"], manifest["model"]["files"]) == (RunRecord.load(folder).plan.model.hash, [f"model/{SAMPLE}.onnx"])
    assert [run["id"] for run in manifest["runs"]] == [contents.shown] == opened(folder).runs
