"""`make bench-budget`: the time of a run beside its budget, and the time left as it was predicted after the first seconds."""

from __future__ import annotations

import bench_budget
import pytest
from bench_budget import Clock, factor

from collage_core.events import StepStarted, TargetAlone
from tests.helpers.documents import run_document


def test_the_prediction_is_off_by_a_factor_either_way() -> None:
    assert factor(25.0, 15.0) == 2.0
    assert factor(15.0, 25.0) == 2.0
    assert factor(15.0, 15.0) == 1.0
    assert factor(None, 15.0) is None
    assert factor(8.0, 4.0) is None, "it was over by then"


def test_what_was_told_last_in_the_first_seconds_counts() -> None:
    now = [100.0]
    clock = Clock(lambda: now[0])
    for at_s, event in ((1.0, StepStarted("largest first", 30.0)), (2.0, TargetAlone("a", 1, 1, 1e-3)), (4.0, StepStarted("settle", 20.0))):
        now[0] = 100.0 + at_s
        clock(event)
    now[0] = 106.0
    clock(StepStarted("search", 1.0))
    assert (clock.first_s, clock.predicted_s, clock.elapsed_s) == (2.0, 24.0, 6.0)


def test_a_run_that_is_late_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    took_s, now = [0.0], [0.0]

    def run(name: str, options: object, emit: Clock) -> object:
        emit.began = 0.0
        emit.clock = lambda: now[0]
        emit(StepStarted("largest first", 30.0))
        now[0] = took_s[0]
        budget = {"limit_s": 30.0, "spent_s": 1.0, "undecided": [], "rivals": []}
        return type("Record", (), {"document": run_document(budget=budget)})

    monkeypatch.setattr(bench_budget, "partition", run)
    for seconds, status in ((33.0, 0), (37.0, 1), (15.0, 1)):
        now[0], took_s[0] = 0.0, seconds
        assert bench_budget.main(["--only", "mnist", "--budget", "30"]) == status
    assert capsys.readouterr().out.count("PASS") == 1
