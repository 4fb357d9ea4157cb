"""`make onnx-suite`: a fixed sample of ONNX's own operator tests is right; its report counts."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx_suite_case
import pytest
from onnx_suite import is_good, known, report, run_all
from onnx_suite_case import CRASHED, FAILED, NOT_RUN, REFUSED, RIGHT, WRONG, Outcome, run_case

from collage_core.base.isolation.worker import Pool

SAMPLE, LEAST_RUN = 150, 128


def test_of_a_sample_all_that_onnx_runtime_runs_are_right() -> None:
    with Pool() as pool:
        found = known(pool)
        outcomes = list(run_all(pool, found[:: len(found) // SAMPLE][:SAMPLE], ["onnxruntime"]))
    run = [outcome for outcome in outcomes if outcome.kind != NOT_RUN]
    assert [outcome for outcome in run if outcome.kind != RIGHT] == []
    assert len(run) > LEAST_RUN


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([RIGHT] * 97 + [REFUSED] * 3, True),
        ([RIGHT] * 96 + [REFUSED] * 4, False),
        ([RIGHT] * 99 + [WRONG], False),
        ([RIGHT] * 99 + [FAILED], False),
        ([RIGHT] * 99 + [CRASHED], False),
        ([RIGHT] + [NOT_RUN] * 99, True),
    ],
)
def test_the_goal_is_97_of_100_right_and_the_rest_refused(kinds: list[str], expected: bool) -> None:
    assert is_good([Outcome(f"test_{index}", kind) for index, kind in enumerate(kinds)]) is expected


@pytest.mark.long
def test_a_wrong_artifact_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnx_suite_case._through_collage", lambda *_: ({"y": np.zeros((3, 4, 5), np.float32)}, 1e-3, ""))
    found = run_case("test_abs", ["onnxruntime"])
    assert (found.kind, found.reason[:19]) == (WRONG, "the output 'y' errs")


@pytest.mark.long
def test_an_artifact_that_is_wrong_on_other_inputs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    run = onnx_suite_case.run_artifact
    runs = itertools.count()

    def wrong_later(folder: Path, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: value * (1 + (next(runs) > 1)) for name, value in run(folder, inputs).items()}

    monkeypatch.setattr(onnx_suite_case, "run_artifact", wrong_later)
    found = run_case("test_abs", ["onnxruntime"])
    assert (found.kind, found.reason[:42]) == (WRONG, "on extreme inputs: the output 'y' errs by ")


def test_the_report_groups_reasons() -> None:
    text = report([Outcome("test_a", RIGHT), Outcome("test_b", REFUSED, "node 'x' is odd"), Outcome("test_c", REFUSED, "node 'y' is odd")])
    assert "1 of the 3 that ONNX Runtime runs are right: 33.3%" in text
    assert "- 2: node … is odd (test_b, test_c)" in text
