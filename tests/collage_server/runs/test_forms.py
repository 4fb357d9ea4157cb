"""The form of a run's artifact: which it has, which was asked for, and how it leaves."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collage_core.events import ignore
from collage_core.options import Options
from collage_server.messages.runs import AskedForm
from collage_server.runs import run_store
from collage_server.runs.export import contents
from collage_server.runs.forms import form_asked, form_of, has_form
from collage_server.runs.state import finish
from collage_server.shared.run_files import ARTIFACT, FORM
from collage_server.worker.engine import COLLAGE
from tests.helpers.live import Live, until
from tests.helpers.models import model_of, write

from .test_state import DOCUMENT, START


def built(folder: Path, form: str | None, asked: str | None) -> Path:
    (folder / ARTIFACT).mkdir()
    if form is not None:
        (folder / ARTIFACT / "artifact.json").write_text(json.dumps({"form": form}))
    if asked is not None:
        (folder / FORM).write_text(asked)
    return folder


@pytest.mark.parametrize(
    ("form", "asked", "enough_for"),
    [
        (None, None, {"module"}),
        ("module", None, {"module"}),
        ("module", "auto", {"module", "auto"}),
        ("pieces", "pieces", {"pieces"}),
        ("pieces", "auto", {"pieces", "auto"}),
        ("native", "native", {"native", "auto"}),
        ("another", "yet another", {"module"}),
    ],
)
def test_an_artifact_is_enough_for_what_it_is_and_for_what_was_asked(
    tmp_path: Path, form: str | None, asked: str | None, enough_for: set[AskedForm]
) -> None:
    folder = built(tmp_path, form, asked)
    every: tuple[AskedForm, ...] = ("auto", "module", "pieces", "native")
    assert {one for one in every if has_form(folder, one)} == enough_for
    assert form_of(folder) == (form if form in every else "module")
    assert form_asked(folder) == (asked if asked in every else "module")


def test_an_artifact_whose_manifest_is_damaged_counts_as_a_module(tmp_path: Path) -> None:
    manifest = built(tmp_path, "native", None) / ARTIFACT / "artifact.json"
    for text in ("[]", "{", '{"form": ["native"]}'):
        manifest.write_text(text)
        assert form_of(tmp_path) == "module"


def ask(live: Live, run: str, form: str | None, query: str = "") -> tuple[int, dict[str, Any]]:
    """Ask for the artifact; the status, and the snapshot once nothing is built any more."""
    answer = live.http.post(f"{live.address}api/v1/runs/{run}/artifact{query}", json={"form": form}, timeout=30)
    return answer.status_code, live.ended(run)


def test_another_form_is_built_and_the_same_is_not(live: Live, model: str) -> None:
    run = live.ended(live.start(model, "fast")["id"])["id"]
    for form, status, then in (
        ("module", 200, "module"),
        ("pieces", 202, "pieces"),
        (None, 200, "pieces"),
        ("pieces", 200, "pieces"),
        ("auto", 202, "native"),
        ("auto", 200, "native"),
        ("native", 200, "native"),
    ):
        assert (ask(live, run, form)[0], live.get(f"runs/{run}/export/contents")["form"]) == (status, then), form
    assert ask(live, run, None, "?again=1")[0] == 202
    assert form_asked(run_store.run_folder(run)) == "auto", "once more as it was asked for"
    told = live.get(f"runs/{run}/export/contents")
    assert "artifact/load.py" in told["commands"][1]["name"]
    zipped = live.http.get(f"{live.address}api/v1/runs/{run}/export", timeout=30).content
    with zipfile.ZipFile(io.BytesIO(zipped)) as archive:
        assert json.loads(archive.read("artifact/artifact.json"))["form"] == "native"
        assert "which needs that one and numpy, and no package of ours" in archive.read("README.txt").decode()


def test_a_form_that_the_plan_cannot_have_leaves_the_artifact_as_it_is(live: Live, model: str) -> None:
    run = live.ended(live.start(model, "fast", constraints=[{"kind": "veto", "target": "several"}])["id"])["id"]
    status, end = ask(live, run, "native")
    assert (status, end["state"], end["artifact"]) == (202, "done", True)
    assert (end["error"]["code"], end["error"]["message"]) == ("form", "the artifact cannot be native: its plan has 2 partitions")
    assert live.get(f"runs/{run}/export/contents")["form"] == "module"
    assert ask(live, run, "auto")[1]["error"] is None
    assert live.get(f"runs/{run}/export/contents")["form"] == "pieces"


def test_what_is_no_form_is_refused(live: Live, model: str) -> None:
    run = live.ended(live.start(model, "fast")["id"])["id"]
    answer = live.http.post(f"{live.address}api/v1/runs/{run}/artifact", json={"form": "zip"}, timeout=30)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid")
    assert "form" in answer.json()["error"]["message"]


def test_another_form_than_the_one_that_is_being_built_is_refused(live: Live, model: str) -> None:
    run = live.ended(live.start(model, "fast")["id"])["id"]
    held = live.start(model, "wait")["id"]
    until(lambda: live.get(f"runs/{held}")["state"] == "running")
    path = f"{live.address}api/v1/runs/{run}/artifact"
    answers = [live.http.post(path, json={"form": form}, timeout=30) for form in ("pieces", "pieces", None, "native")]
    assert [answer.status_code for answer in answers] == [202, 200, 200, 409]
    assert answers[-1].json()["error"]["message"] == f"the artifact of the run {run!r} is being built as 'pieces'"
    (run_store.run_folder(held) / "go").touch()
    live.ended(run)
    assert live.get(f"runs/{run}/export/contents")["form"] == "pieces"


@pytest.mark.long
@pytest.mark.parametrize("form", ["native", "pieces"])
def test_the_commands_for_a_form_load_it(tmp_path: Path, form: str) -> None:
    """The engine builds it, and a shell runs what the page shows."""
    from collage_core.pipeline.searched_run import SearchedRun

    model = write(tmp_path, model_of("g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }"))
    run = SearchedRun(model, Options(targets=("onnxruntime",), costs="roofline"), ignore)
    try:
        record = run.record(run.search(run.cost()))
    finally:
        run.close()
    COLLAGE.build(record, model, tmp_path / ARTIFACT, form, ignore)
    assert record.document.verify.max_rel_error == 0
    told = contents(tmp_path, replace(finish(START, DOCUMENT), artifact=True))
    assert told.form == form
    says = subprocess.run(
        told.commands[1].name.replace("python", f"{sys.executable} -P", 1),
        shell=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert ("function run" in says) if form == "native" else ("'x'" in says)
    outputs = COLLAGE.profile(tmp_path / ARTIFACT)
    assert np.isfinite(outputs.whole_s)
