"""Dry runs: what a run would build and how long that takes, or the reason why nobody knows; a run that measures comes first."""

from __future__ import annotations

import threading
from typing import Any

from tests.helpers.live import Live, until


def dry_run(live: Live, model: str, target: str, **options: Any) -> dict[str, Any]:
    return live.post("dry-run", {"model": model, "targets": [target], **options})


def test_builds_and_time_before_anything_is_started(live: Live, model: str) -> None:
    before = live.get("runs")
    found = dry_run(live, model, "fast", budget_s=30.0, tune_s=60.0)
    assert found["reason"] == ""
    assert found["dry_run"] == {
        "builds_expected": 57,
        "builds_at_most": 228,
        "seconds_expected": 21.5,
        "seconds_at_most": 40.0,
        "after_expected_s": 12.5,
        "after_at_most_s": 50.0,
        "budget_s": 30.0,
        "tuning_s": 60.0,
        "basis": "fast: 0.4 s a trial",
        "busy": "",
    }
    assert live.get("runs") == before


def test_other_processes_that_take_the_cores_are_told(live: Live, model: str) -> None:
    assert dry_run(live, model, "busy")["dry_run"]["busy"] == "other processes keep 1.8 of the 2 cores busy"


def test_the_reason_where_there_is_none(live: Live, model: str) -> None:
    assert dry_run(live, model, "mistake") == {"dry_run": None, "reason": "no toolchain is called 'mistake'"}


def test_the_newest_wins_and_a_run_that_measures_comes_first(live: Live, model: str) -> None:
    answers: list[dict[str, Any]] = []
    hanging = threading.Thread(target=lambda: answers.append(dry_run(live, model, "hang")))
    hanging.start()
    until(lambda: live.services.dry_runs._going is not None, "the dry run")
    assert dry_run(live, model, "fast")["dry_run"] is not None
    hanging.join()
    assert answers == [{"dry_run": None, "reason": "it was not finished"}]
    hanging = threading.Thread(target=lambda: answers.append(dry_run(live, model, "hang")))
    hanging.start()
    until(lambda: live.services.dry_runs._going is not None, "the dry run")
    run = live.start(model, "wait")["id"]
    hanging.join()
    assert answers[1]["reason"] == "a run measures: it has the machine for itself"
    assert dry_run(live, model, "fast") == answers[1]
    live.post(f"runs/{run}/cancel")
