"""`collage survey` as a person uses it: a table on the terminal, files beside it, one document, and a second call that runs nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from collage_core.survey.survey import SurveyRow
from tests.helpers.command import document_of, in_this_process


def test_a_survey_prints_one_table_and_goes_on(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "mock.json").write_text(json.dumps({"targets": {"onnxruntime": {"op_s": 2}, "hook": {"op_s": 1, "invalid": ["Gemm"]}}}))
    (tmp_path / "hook.toml").write_text('name = "hook"\nstyle = "graph"\n[[pattern]]\nlabel = "relu"\nmatch = "Relu(*)"\n')
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    given = ["--targets", "onnxruntime,hook", "--toolchain", tmp_path / "hook.toml", "--costs", f"mock:{tmp_path / 'mock.json'}"]
    command = ["survey", "mini_mnist", tmp_path / "broken.onnx", *given, "--out", tmp_path / "out"]
    status, out, err = in_this_process(capsys, *command)
    assert status == 0
    lines = out.splitlines()
    assert lines[0].split() == ["model", "nodes", "onnxruntime", "alone", "hook", "alone", "plan", "on", "gain"]
    assert lines[1].split()[:2] == ["mini_mnist", "6"]
    assert "1.09× predicted" in lines[1]
    assert lines[2].split()[0] == "broken"
    assert any(line.startswith("broken: cannot read") or "broken.onnx" in line for line in lines[3:])
    assert "1 of 2: mini_mnist …" in err
    assert "2 of 2: broken: refused: " in err

    document = document_of(capsys, *command)
    assert document == json.loads((tmp_path / "out" / "survey.json").read_text())
    assert [SurveyRow(**row).status for row in document["models"]] == ["planned", "refused"]
    assert (tmp_path / "out" / "mini_mnist" / "plan.json").is_file()
    assert (tmp_path / "out" / "survey.html").read_text().startswith("<!doctype html>")
    _, printed, err = in_this_process(capsys, *command, "--csv")
    assert printed.replace("\r\n", "\n") == (tmp_path / "out" / "survey.csv").read_text()
    assert (
        "mini_mnist: 11000 ms predicted on onnxruntime + hook: 1.09 times faster than onnxruntime alone, predicted and not timed end to end"
        in err
    )
    assert "(known from before)" in err


def test_two_forms_at_once_are_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = in_this_process(capsys, "survey", "mini_mnist", "--targets", "tvm", "--json", "--csv")
    assert status == 2
    assert err.splitlines()[0] == "error: --json and --csv both print the table"
