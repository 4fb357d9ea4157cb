"""The writers of the explorer's server: found by an entry point, given the run as a folder, and missed where there is no server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from collage_core.errors import CollageError
from collage_core.pipeline.record.record import RunRecord
from collage_core.results import served_files
from collage_core.results.formats import export
from collage_core.results.served_files import GROUP, report_text, write_served
from tests.collage_core.results.conftest import Kept
from tests.helpers.report import answers_in

Asked = list[tuple[RunRecord, dict[str, Any]]]


class Point:
    """An entry point whose writer notes what it is asked for."""

    def __init__(self, asked: Asked):
        self._asked = asked

    def load(self) -> Any:
        return self._write

    def _write(self, run: str, target: Path, **given: Any) -> None:
        self._asked.append((RunRecord.load(Path(run)), given))
        target.write_text("made")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    found: Asked = []

    def entry_points(*, group: str, name: str) -> list[Point]:
        return [Point(found)] if (group, name) == (GROUP, "session") else []

    monkeypatch.setattr(served_files.metadata, "entry_points", entry_points)
    return found


def test_the_writer_gets_the_run_and_its_model(kept: Kept, tmp_path: Path, asked: Asked) -> None:
    written = export(kept.record, ["session", "csv"], tmp_path, kept.model)
    assert written == [tmp_path / name for name in ("nodes.csv", "partitions.csv", "run.collage")]
    [(run, given)] = asked
    assert (run.plan, given) == (kept.record.plan, {"run_model": str(kept.model)})
    assert (tmp_path / "run.collage").read_text() == "made"


def test_a_model_that_was_not_folded_stays_out(kept: Kept, tmp_path: Path, asked: Asked) -> None:
    plan = kept.record.plan.model_copy(update={"options": {**kept.record.plan.options, "fold": False}})
    write_served("session", replace(kept.record, plan=plan), tmp_path / "out", kept.model)
    write_served("session", kept.record, tmp_path / "out", None)
    assert [given for _, given in asked] == [{"run_model": None}] * 2


def test_without_the_server_the_error_says_what_brings_it(kept: Kept, tmp_path: Path, asked: Asked) -> None:
    with pytest.raises(CollageError, match="the format 'report' is made by the explorer's server, which is not installed") as caught:
        export(kept.record, ["report"], tmp_path)
    assert caught.value.hint == "run it from a checkout, or install the wheel that `make wheel` builds there (README.md)"
    with pytest.raises(CollageError, match="not installed"):
        report_text(kept.record, 1.0)
    assert not asked


@pytest.mark.long
def test_the_report_for_a_notebook_leaves_nothing_behind(kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    answers = answers_in(report_text(kept.record, 120.0))
    [row] = answers["GET runs"]["runs"]
    assert answers[f"GET runs/{row['id']}"]["plan"]["total_s"] == kept.record.plan.total_s
    assert not (tmp_path / "home" / "runs").exists()
