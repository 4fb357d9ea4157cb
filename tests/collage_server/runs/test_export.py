"""The export of a run as one zip."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from collage_server.runs import export
from collage_server.runs.export import archive
from collage_server.runs.state import finish
from tests.helpers.live import Live

from .test_state import DOCUMENT, START


def unzip(data: bytes) -> zipfile.ZipFile:
    made = zipfile.ZipFile(io.BytesIO(data))
    assert made.testzip() is None
    return made


def test_with_and_without_an_artifact(live: Live, model: str) -> None:
    measured = live.ended(live.start(model, "fast")["id"])["id"]
    searched = live.ended(live.start(model, "fast", base=measured)["id"])["id"]
    for run, artifact in ((measured, {"artifact/model.so", "artifact/plan.json"}), (searched, set())):
        answer = live.http.get(f"{live.address}api/v1/runs/{run}/export", timeout=30)
        assert answer.headers["Content-Disposition"] == f"attachment; filename=tiny-{run}.zip"
        assert answer.headers["Content-Type"] == "application/zip"
        made = unzip(answer.content)
        assert set(made.namelist()) == {"README.txt", "plan.json", "run.json.gz"} | artifact
        text = made.read("README.txt").decode()
        assert ("collage run artifact" in text) == bool(artifact)
        assert ("collage apply plan.json MODEL --out artifact" in text) == (not artifact)
        assert "Costs from: the fake machine." in text


def test_its_contents_are_told_beforehand(live: Live, model: str) -> None:
    measured = live.ended(live.start(model, "fast")["id"])["id"]
    searched = live.ended(live.start(model, "fast", base=measured)["id"])["id"]
    for run, first in ((measured, "collage run artifact --bench"), (searched, "collage apply plan.json MODEL --out artifact")):
        told = live.get(f"runs/{run}/export/contents")
        names = {
            name.split("/")[0] for name in unzip(live.http.get(f"{live.address}api/v1/runs/{run}/export", timeout=30).content).namelist()
        }
        assert {one["name"].rstrip("/") for one in told["files"]} == names - {"README.txt"}
        names = [one["name"] for one in told["commands"]]
        assert (names[0], names[-1]) == (first, "collage explain plan.json --node 0")
        assert told["form"] == ("module" if run == measured else None)
        assert told["why_not"] == {}
    several = live.ended(live.start(model, "fast", constraints=[{"kind": "veto", "node": "a", "target": "several"}])["id"])["id"]
    assert live.get(f"runs/{several}/export/contents")["why_not"] == {"native": "its plan has 2 partitions"}
    crashed = live.ended(live.start(model, "crash")["id"])["id"]
    for path in ("export", "export/contents"):
        refused = live.http.get(f"{live.address}api/v1/runs/{crashed}/{path}", timeout=30)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "no_record")


def test_large_files_come_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "CHUNK_BYTES", 1 << 12)
    content = os.urandom(1 << 16)
    (tmp_path / "artifact" / "inner").mkdir(parents=True)
    (tmp_path / "artifact" / "inner" / "weights.bin").write_bytes(content)
    for name in ("run.json.gz", "plan.json"):
        (tmp_path / name).write_bytes(b"{}")
    snapshot = finish(START, DOCUMENT)
    pieces = list(archive(tmp_path, type(snapshot)(**{**vars(snapshot), "artifact": True})))
    assert max(map(len, pieces)) < 1 << 14
    made = unzip(b"".join(pieces))
    assert made.read("artifact/inner/weights.bin") == content


def test_readme_of_a_run_that_measured_nothing(tmp_path: Path) -> None:
    text = export.readme(tmp_path, START)
    assert "Costs from: no measurement. Total of the plan: not known." in text


def test_readme_names_the_targets_of_the_plan_apart_from_those_that_were_searched(tmp_path: Path) -> None:
    made = finish(START, DOCUMENT)
    first = export.readme(tmp_path, made).splitlines()[0]
    assert made.plan is not None
    used = ", ".join(dict.fromkeys(part.target for part in made.plan.partitions))
    assert first == f"{made.model_name}, run by {used}; searched over {', '.join(made.targets)}"
    assert export.readme(tmp_path, START).startswith(f"{START.model_name}, without a plan; searched over ")
