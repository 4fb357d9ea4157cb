"""The verdict of `collage check` rests on times of now, of the plan and of what it was compared with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from collage_core.documents.verdict import verdict
from collage_core.pipeline.record.record import RunRecord, read_record
from collage_core.pipeline.whole.finalists import WholeTime
from collage_core.what_if.timed_beside import Beside
from collage_core.what_if.verdict_now import verdict_now
from tests.helpers.paths import RECORDED

UNSURE = "it takes 0.88 to 1.32 times as long"


@pytest.fixture(scope="module")
def crnn() -> RunRecord:
    return read_record(RECORDED / "crnn.json.gz")


@pytest.mark.parametrize(
    ("plan", "other", "text"),
    [
        (WholeTime(1.0, 0.01, 6), WholeTime(2.0, 0.02, 6), "2.0 times faster than ncnn alone (1.98 to 2.0), checked"),
        (WholeTime(1.0, 0.01, 6), WholeTime(0.8, 0.01, 6), "23 % to 27 % slower than ncnn alone, measured, checked"),
        (
            WholeTime(1.0, 0.2, 6),
            WholeTime(1.1, 0.1, 6),
            "not decided against ncnn alone (it takes 0.88 to 1.32 times as long): measure again",
        ),
    ],
)
def test_both_are_timed_again(crnn: RunRecord, monkeypatch: pytest.MonkeyPatch, plan: WholeTime, other: WholeTime, text: str) -> None:
    asked = []

    def timed(record: RunRecord, beside: Any, name: str, source: str, emit: Any) -> Beside:
        asked.append((beside.used_targets, name, source))
        return Beside(plan, other, None, "", ())

    monkeypatch.setattr("collage_core.what_if.verdict_now.timed_beside", timed)
    assert verdict_now(crnn, "crnn").text == text
    assert asked == [(["ncnn"], "ncnn", "crnn")]


def test_a_plan_that_was_compared_with_none_keeps_its_verdict() -> None:
    mnist = read_record(RECORDED / "mnist.json.gz")
    then = verdict(mnist.document)
    assert verdict_now(mnist, "mnist") == replace(then, text=f"as the run left it: {then.text}")
