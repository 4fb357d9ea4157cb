"""A survey goes on where it ended, runs again what changed or has no plan, and outlives a model that kills its process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from collage_core.base.isolation.worker import Worker
from collage_core.base.isolation.worker_errors import WorkerDied
from collage_core.documents.survey import SurveyRow
from collage_core.errors import CollageError, InfeasibleError
from collage_core.events import Emit, ignore
from collage_core.options import Options
from collage_core.survey import survey as module
from collage_core.survey.row import FAILED, PLANNED, REFUSED
from collage_core.survey.survey import ROW, SurveyStep, models_of, survey
from tests.collage_core.survey.test_row import document, other

DOCUMENT = document("a", alternatives=[other("a", 2.0, 0.1)], measured_s=2.0)
OPTIONS = Options(("a",))


class Runs:
    """Stands in for runs: records which models were asked for, and fails on request."""

    def __init__(self, **failures: Exception):
        self.asked: list[str] = []
        self.failures = failures

    def __call__(self, source: str, options: Options, emit: Emit) -> dict[str, Any]:
        name = Path(source).stem
        assert options.out is not None
        assert options.out.name == name
        self.asked.append(name)
        if name in self.failures:
            raise self.failures[name]
        return DOCUMENT


@pytest.fixture
def models(tmp_path: Path) -> dict[str, str]:
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.onnx").write_text(name)
    return models_of([str(tmp_path / f"{name}.onnx") for name in ("one", "two", "three")])


def steps_of(models: dict[str, str], folder: Path, runs: Runs, options: Options = OPTIONS) -> list[SurveyStep]:
    return list(survey(models, options, folder, ignore, runs))


def rows_of(models: dict[str, str], folder: Path, runs: Runs, options: Options = OPTIONS) -> dict[str, SurveyRow]:
    return {step.model: step.row for step in steps_of(models, folder, runs, options) if step.row is not None}


def spoil(file: Path, old: str, new: str) -> None:
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_what_was_planned_is_not_run_again(models: dict[str, str], tmp_path: Path) -> None:
    runs = Runs()
    first = rows_of(models, tmp_path / "out", runs)
    again = steps_of(models, tmp_path / "out", runs)
    assert runs.asked == ["one", "two", "three"]
    assert {step.model: step.row for step in again} == first
    assert all(step.was_known and step.left_s == 0 for step in again)


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        (lambda path: path.with_name("two.onnx").write_text("another"), ["two"]),
        (lambda path: (path / "two" / ROW).write_text("{"), ["two"]),
        (lambda path: (path / "two" / ROW).write_text('{"key": "", "row": {}}'), ["two"]),
        (lambda path: (path / "two" / ROW).unlink(), ["two"]),
        (lambda path: spoil(path / "two" / ROW, '"nodes":1', '"nodes":"1"'), ["two"]),
        (lambda path: spoil(path / "two" / ROW, '"measured_s":2.0', '"measured_s":Infinity'), ["two"]),
        (lambda path: spoil(path / "two" / ROW, '"measured_s":2.0', '"measured_s":1e999'), ["two"]),
    ],
)
def test_what_changed_is_run_again(models: dict[str, str], tmp_path: Path, change: Callable[[Path], object], asked: list[str]) -> None:
    rows_of(models, tmp_path, Runs())
    change(tmp_path / "two.onnx" if "another" in str(change.__code__.co_consts) else tmp_path)
    runs = Runs()
    rows_of(models, tmp_path, runs)
    assert runs.asked == asked


def test_other_options_run_all_again(models: dict[str, str], tmp_path: Path) -> None:
    rows_of(models, tmp_path / "out", Runs())
    runs = Runs()
    rows_of(models, tmp_path / "out", runs, replace(OPTIONS, accuracy=1e-2))
    assert runs.asked == ["one", "two", "three"]


def test_a_model_without_a_plan_is_a_row_with_its_reason_and_is_tried_again(models: dict[str, str], tmp_path: Path) -> None:
    failures = {"one": InfeasibleError("no target can take Foo", "add a target"), "two": WorkerDied("crashed with SIGSEGV", -11)}
    rows = rows_of(models, tmp_path, Runs(**failures))
    assert [(row.status, row.reason) for row in rows.values()] == [
        (REFUSED, "no target can take Foo"),
        (FAILED, f"the run of {models['two']!r} crashed with SIGSEGV"),
        (PLANNED, ""),
    ]
    assert rows["one"].hint == "add a target"
    runs = Runs()
    rows_of(models, tmp_path, runs)
    assert runs.asked == ["one", "two"]


def test_the_time_left_is_that_of_the_models_that_are_still_to_be_run(
    models: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 4.0, 10.0, 12.0, 20.0, 29.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    steps = steps_of(models, tmp_path, Runs())
    assert [step.left_s for step in steps] == [None, 8.0, 8.0, 3.0, 3.0, 0.0]


def test_names_are_those_of_the_files(tmp_path: Path) -> None:
    for name in ("b.onnx", "a.onnx", "readme.txt"):
        (tmp_path / name).touch()
    (tmp_path / "empty").mkdir()
    named = models_of([str(tmp_path), "crnn", str(tmp_path / "a.onnx")])
    assert named == {"a": str(tmp_path / "a.onnx"), "b": str(tmp_path / "b.onnx"), "crnn": "crnn", "a-2": str(tmp_path / "a.onnx")}
    with pytest.raises(CollageError, match="holds no model"):
        models_of([str(tmp_path / "empty")])


def die(source: str, options: Options) -> dict[str, Any]:
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def test_a_model_that_kills_its_process_ends_no_other_run(models: dict[str, str], tmp_path: Path) -> None:
    with Worker() as worker:

        def run(source: str, options: Options, emit: Emit) -> dict[str, Any]:
            if source != models["one"]:
                return DOCUMENT
            return worker.call(die, source, options, timeout_s=60)  # type: ignore[no-any-return]

        rows = [step.row for step in survey(models, OPTIONS, tmp_path, ignore, run) if step.row is not None]
    assert [row.status for row in rows] == [FAILED, PLANNED, PLANNED]
