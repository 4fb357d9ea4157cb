"""`make value-cases`: what counts as right in a case is right, and a wrong artifact is found."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import value_cases
from value_cases import FAILED, REFUSED, RIGHT, WRONG, run_case, write_cases

from collage_core.model.reference.accuracy import output_errors
from collage_core.model.reference.ort_session import OrtSession
from tests.helpers.value_cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_onnx_runtime_unoptimised_has_what_numpy_says(name: str) -> None:
    case = CASES[name]
    got = OrtSession(case.model()).run(case.inputs, ["y"])
    (error,) = output_errors(got, case.expected()).values()
    assert error <= (2e-3 if case.expected()["y"].dtype.kind == "f" else 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_cases(tmp_path)
    return tmp_path


def _answers(monkeypatch: pytest.MonkeyPatch, status: int, said: str, outputs: dict[str, np.ndarray] | None = None) -> None:
    """Have `collage partition` end with a status and a last word, and `collage run` write these outputs."""

    def answer(command: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
        if command[1] == "partition":
            document = json.dumps({"plan": {"partitions": [{"target": "openvino"}]}})
            return subprocess.CompletedProcess(list(command), status, document, said)
        np.savez(command[command.index("--outputs") + 1], allow_pickle=False, **(outputs or {}))
        return subprocess.CompletedProcess(list(command), 0, "", "")

    monkeypatch.setattr(value_cases.subprocess, "run", answer)


@pytest.mark.parametrize(("values", "kind"), [([3, 1, 2], RIGHT), ([3, 1, 1], WRONG)])
def test_an_artifact_is_compared_with_what_is_right(folder: Path, monkeypatch: pytest.MonkeyPatch, values: list[int], kind: str) -> None:
    np.savez(folder / "int64_less.expected.npz", allow_pickle=False, y=np.array([3, 1, 2]))
    _answers(monkeypatch, 0, "", {"y": np.array(values)})
    assert run_case(folder / "int64_less.onnx", "openvino", True).kind == kind


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        (3, "error: no target can run it\nhint: add one", REFUSED),
        (1, "Traceback (most recent call last):\nKeyError: 1", FAILED),
        (-11, "", FAILED),
    ],
)
def test_a_clear_refusal_is_no_fault(folder: Path, monkeypatch: pytest.MonkeyPatch, status: int, said: str, kind: str) -> None:
    _answers(monkeypatch, status, said)
    outcome = run_case(folder / "int64_less.onnx", "openvino", True)
    assert (outcome.kind, "hint" in outcome.detail) == (kind, False)


@pytest.mark.parametrize(("value", "asks"), [(1.0, False), (1e4, False), (np.nan, True), (-np.inf, True), (3e38, True)])
def test_a_case_with_nan_infinities_or_huge_values_asks_for_these(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: float, asks: bool
) -> None:
    np.savez(tmp_path / "one.inputs.npz", allow_pickle=False, x=np.array([1.0], np.float32))
    np.savez(tmp_path / "one.expected.npz", allow_pickle=False, y=np.array([value], np.float32))
    commands: list[list[str]] = []

    def refuse(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 3, "", "error: none")

    monkeypatch.setattr(value_cases.subprocess, "run", refuse)
    run_case(tmp_path / "one.onnx", "openvino", False)
    assert [tuple(command[-2:]) == ("--values", "any") for command in commands] == [asks]


def test_a_case_that_takes_too_long_fails_and_the_others_go_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(command: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
        raise subprocess.TimeoutExpired(list(command), value_cases.LONGEST_S)

    monkeypatch.setattr(value_cases.subprocess, "run", late)
    outcome = run_case(folder / "int64_less.onnx", "openvino", True)
    assert (outcome.kind, outcome.detail) == (FAILED, "it took longer than 120 s")
