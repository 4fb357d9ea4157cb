"""Dry runs: what a run would build and how long that takes, or the reason why nobody knows; a run that measures comes first."""

from __future__ import annotations

import threading
from typing import Any

from collage_core.documents.dry_run import DryRun
from collage_core.documents.json_form import from_json
from tests.helpers.live import Live, until


def dry_run(live: Live, model: str, target: str, **options: Any) -> dict[str, Any]:
    return live.post("dry-run", {"model": model, "targets": [target], **options})


def test_builds_and_time_before_anything_is_started(live: Live, model: str) -> None:
    before = live.get("runs")
    found = dry_run(live, model, "fast", budget_s=30.0, tune_s=60.0)
    assert found["reason"] == ""
    told = from_json(DryRun, found["dry_run"])
    assert (told.builds_expected, told.builds_at_most) == (57, 228)
    assert (told.seconds_expected, told.seconds_at_most, told.after_expected_s, told.after_at_most_s) == (21.5, 40.0, 12.5, 50.0)
    assert (told.budget_s, told.tuning_s, told.basis, told.busy) == (30.0, 60.0, "fast: 0.4 s a trial", "")
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
