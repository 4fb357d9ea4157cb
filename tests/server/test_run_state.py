"""A run's snapshot, event by event."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from collage_server.protocol import ApiError, Baseline, PlanTransition, RunSnapshot, TargetCounts, VerifyInfo
from collage_server.run_state import NOTES_KEPT, apply, finish

from collage_core.events import (
    BaselineMeasured,
    CandidateBuilding,
    CandidateCosted,
    CandidatesFound,
    Event,
    Note,
    PhaseEnded,
    PhaseStarted,
    PlanImproved,
    SearchProgress,
    Verified,
)
from collage_core.rules.candidate import candidate_id

START = RunSnapshot(
    id="r",
    state="running",
    seq=0,
    model="m",
    model_name="tiny",
    targets=["a", "b"],
    constraints=[],
    created="2026-01-01T00:00:00+00:00",
    base=None,
    machine="",
    phase=None,
    done=0,
    total=0,
    counts=[TargetCounts("a"), TargetCounts("b")],
    lower_bound_s=None,
    best_s=None,
    optimal=None,
    plan=None,
    baselines=[],
    verify=None,
    notes=[],
)
NODES = (("conv1", "Conv"), ("relu1", "Relu"))


def after(*events: Event | dict[str, Any], start: RunSnapshot = START) -> RunSnapshot:
    for event in events:
        start = apply(start, start.seq + 1, event.to_json() if isinstance(event, Event) else event, NODES)
    return start


def test_seq_and_phase() -> None:
    snapshot = after(PhaseStarted("load"), PhaseEnded("load", 0.1), PhaseStarted("specs"))
    assert (snapshot.seq, snapshot.phase) == (3, "specs")


def test_the_old_snapshot_stays() -> None:
    after(PhaseStarted("load"), Note("x"), CandidatesFound("a", 3, 2, 1))
    assert START.seq == 0
    assert START.notes == []
    assert START.counts == [TargetCounts("a"), TargetCounts("b")]


def test_counts() -> None:
    measured, invalid = {"seconds": 1.0, "source": "measured"}, {"seconds": None, "source": "invalid"}
    snapshot = after(
        CandidatesFound("b", 5, 4, 3),
        CandidateBuilding("b", "c", "Conv", 0, 4),
        CandidateCosted("b", ("c",), "Conv", measured, False, 1, 4),
        CandidateCosted("b", ("d",), "Conv", measured, True, 2, 4),
        CandidateCosted("b", ("e",), "Conv", invalid, True, 3, 4),
    )
    assert snapshot.counts == [TargetCounts("a"), TargetCounts("b", 5, 4, 3, measured=1, invalid=1, cache_hits=1)]
    assert (snapshot.done, snapshot.total) == (3, 4)


def test_counts_of_a_target_that_was_not_asked_for() -> None:
    assert after(CandidatesFound("host", 1, 1, 0)).counts[-1] == TargetCounts("host", 1, 1)


def test_search() -> None:
    snapshot = after(
        SearchProgress(9, 9, 1, 1, 2, 0.5, None), PlanImproved(0.75, (("a", (0, 1)),), 0), SearchProgress(9, 9, 1, 1, 2, 0.6, None)
    )
    assert (snapshot.lower_bound_s, snapshot.best_s) == (0.6, 0.75)
    assert snapshot.plan is not None
    (partition,) = snapshot.plan.partitions
    assert (partition.id, partition.names, partition.ops) == (candidate_id("a", ("conv1", "relu1")), ["conv1", "relu1"], ["Conv", "Relu"])
    assert partition.cost_s is None


def test_baselines_verification_and_notes() -> None:
    notes = [Note(str(number)) for number in range(NOTES_KEPT + 1)]
    snapshot = after(BaselineMeasured("a", 1.0, None), BaselineMeasured("a", 1.0, 1.5), Verified(0.9, 1e-6, 1e-3), *notes)
    assert snapshot.baselines == [Baseline("a", 1.0, 1.5)]
    assert snapshot.verify == VerifyInfo(0.9, None, 1e-6, 1e-3, None)
    assert (len(snapshot.notes), snapshot.notes[-1]) == (NOTES_KEPT, str(NOTES_KEPT))


def test_state() -> None:
    error = {"code": "infeasible", "message": "no plan", "hint": ""}
    change = {"type": "RunStateChanged", "state": "failed", "error": error, "conflict": [0], "uncovered": [1], "artifact": False}
    snapshot = after(PhaseStarted("search"), change)
    assert (snapshot.state, snapshot.phase, snapshot.error) == ("failed", None, ApiError("infeasible", "no plan", ""))
    assert (snapshot.conflict, snapshot.uncovered) == ([0], [1])
    again = after({"type": "RunStateChanged", "state": "running"}, start=snapshot)
    assert (again.state, again.error, again.conflict) == ("running", None, [])


def test_an_unknown_event_changes_only_the_number() -> None:
    assert after({"type": "SomethingNew"}) == replace(START, seq=1)


DOCUMENT: dict[str, Any] = {
    "targets": [{"name": "a", "candidates": 5, "invalid": 1, "unique": 4, "measured": 2, "cache_hits": 1}],
    "search": {"optimal": True, "lower_bound_s": 0.5, "total_s": 0.8},
    "plan": {
        "total_s": 0.7,
        "partitions": [
            {
                "id": "c",
                "target": "a",
                "nodes": [0],
                "names": ["x"],
                "ops": ["Conv"],
                "cost_s": 0.7,
                "samples": 3,
                "source": "measured",
                "more": 1,
            }
        ],
        "transitions": [{"from": "host", "to": "a", "tensor": "t", "bytes": 4, "cost_s": 0.0}],
    },
    "baselines": [{"name": "b", "total_s": None, "measured_s": None, "reason": "b cannot take every node"}],
    "verify": {"measured_s": 0.72, "additive_error_s": 0.02, "max_rel_error": 1e-6, "reference": "onnxruntime"},
}


def test_finish() -> None:
    snapshot = finish(after(CandidatesFound("a", 5, 4, 9), Verified(0.7, 1e-6, 1e-3)), DOCUMENT)
    assert snapshot.counts == [TargetCounts("a", 5, 4, 9, 2, 1, 1)]
    assert (snapshot.best_s, snapshot.lower_bound_s, snapshot.optimal) == (0.7, 0.5, True)
    assert snapshot.plan is not None
    assert snapshot.plan.partitions[0].spread_s is None
    assert snapshot.plan.transitions == [PlanTransition("host", "a", "t", 4, 0.0)]
    assert snapshot.baselines == [Baseline("b", None, None, "b cannot take every node")]
    assert snapshot.verify == VerifyInfo(0.72, 0.02, 1e-6, 1e-3, "onnxruntime")


@pytest.mark.parametrize("missing", ["verify", "baselines", "search", "targets"])
def test_finish_with_parts_that_were_not_done(missing: str) -> None:
    assert finish(START, {**DOCUMENT, missing: None if missing != "targets" else []}).best_s == 0.7


def test_finish_without_a_plan() -> None:
    assert finish(START, {**DOCUMENT, "plan": None}).plan is None
