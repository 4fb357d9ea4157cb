"""A run's snapshot, event by event."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import pytest

from collage_core.cost.cost import Cost
from collage_core.documents.json_form import from_json
from collage_core.documents.plan import Baseline, MeasuredPlan
from collage_core.documents.run import RivalInfo
from collage_core.documents.verify import VerifyInfo
from collage_core.events import (
    BaselineMeasured,
    CandidateBuilding,
    CandidateCosted,
    CandidatesFound,
    Event,
    Note,
    PhaseEnded,
    PhaseStarted,
    PlanConsidered,
    PlanDecided,
    PlanImproved,
    SearchingBody,
    SearchProgress,
    StepStarted,
    TargetAlone,
    Verified,
)
from collage_core.rules.candidate import candidate_id
from collage_server.messages.live import ApiError, Numbered, RunStateChanged
from collage_server.messages.runs import (
    BodyProgress,
    BudgetInfo,
    ConsideredPart,
    ConsideredPlan,
    ConvergencePoint,
    Doing,
    NewCost,
    PhaseTime,
    PlacedPart,
    RunSnapshot,
    SearchStand,
    TargetCounts,
)
from collage_server.protocol import EVENTS
from collage_server.runs import state
from collage_server.runs.state import NEW_COSTS_KEPT, NOTES_KEPT, POINTS_KEPT, apply, finish
from tests.helpers.documents import run_document
from tests.helpers.run_changes import DOCUMENT, START

NODES = (("conv1", "Conv"), ("relu1", "Relu"))


def after(*events: Event | dict[str, Any], start: RunSnapshot = START) -> RunSnapshot:
    for event in events:
        told = event.to_json() if isinstance(event, Event) else event
        start = apply(start, Numbered(start.seq + 1, told, start.now_s + 1.0), NODES)
    return start


MEASURED = {"seconds": 1.0, "source": "measured", "stage": ""}
INVALID = {"seconds": None, "source": "invalid", "stage": "build"}


def test_the_leaderboard_follows_the_events() -> None:
    start = after(CandidatesFound("a", 3, 2, 1), CandidatesFound("b", 0, 0, 4))
    assert [(row.name, row.seconds, row.reason) for row in start.leaders] == [("a", None, ""), ("b", None, "it takes no node of the model")]
    known = after(TargetAlone("a", 2, 2, 3e-3, 1e-4), PlanImproved(2e-3, (("a", (0,)), ("b", (1,))), 0), start=start)
    assert [(row.name, row.seconds) for row in known.leaders] == [("best mix", 2e-3), ("a", 3e-3), ("b", None)]


def test_the_costs_that_got_known_last_are_listed_the_newest_first() -> None:
    estimated = {"seconds": 1.0, "source": "estimate", "stage": ""}
    costs = [{**MEASURED, "interval_s": 0.1}, {**INVALID, "reason": "no linker"}, estimated]
    snapshot = after(*(CandidateCosted("a", ("c",), "Conv", cost, False, 1, 9) for cost in costs))
    assert snapshot.new_costs == [NewCost("a", "Conv", None, None, "no linker"), NewCost("a", "Conv", 1.0, 0.1, "")]
    many = after(*(CandidateCosted("a", ("c",), str(number), MEASURED, False, 1, 9) for number in range(50)))
    assert [cost.label for cost in many.new_costs] == [str(number) for number in range(49, 49 - NEW_COSTS_KEPT, -1)]


def test_seq_and_phase() -> None:
    snapshot = after(PhaseStarted("load"), PhaseEnded("load", 0.1), PhaseStarted("specs"))
    assert (snapshot.seq, snapshot.phase) == (3, "specs")


def test_the_old_snapshot_stays() -> None:
    after(PhaseStarted("load"), Note("x"), CandidatesFound("a", 3, 2, 1))
    assert START.seq == 0
    assert START.notes == []
    assert START.counts == [TargetCounts("a"), TargetCounts("b")]


def test_counts() -> None:
    snapshot = after(
        CandidatesFound("b", 5, 4, 3),
        CandidateBuilding("b", "c", "Conv", (0, 0), 0, 4),
        CandidateCosted("b", ("c",), "Conv", MEASURED, False, 1, 4, took_s=2.0, left_s=6.0),
        CandidateCosted("b", ("d",), "Conv", MEASURED, True, 2, 4),
        CandidateCosted("b", ("e",), "Conv", INVALID, True, 3, 4, took_s=1.0),
    )
    trials = {"built": 1, "trials": 2, "trials_s": 3.0}
    assert snapshot.counts == [TargetCounts("a"), TargetCounts("b", 5, 4, 3, measured=1, invalid=1, cache_hits=1, **trials)]
    assert (snapshot.done, snapshot.total) == (3, 4)


def test_phases_are_timed() -> None:
    snapshot = after(PhaseStarted("load"), PhaseEnded("load", 0.5), PhaseStarted("specs"))
    assert snapshot.phases == [PhaseTime("load", 1.0, 0.5), PhaseTime("specs", 3.0, None)]
    again = after(PhaseStarted("load"), PhaseEnded("load", 0.25), start=snapshot)
    assert again.phases == [PhaseTime("specs", 3.0, None), PhaseTime("load", 4.0, 0.25)], "the newest is kept"


def test_what_it_does_and_when_costing_is_over() -> None:
    snapshot = after(PhaseStarted("costs"), CandidateBuilding("a", "c", "Conv", (3, 5, 7, 7), 1, 9, left_s=40.0))
    assert snapshot.doing == Doing("a", "Conv", [3, 5, 7, 7], 2.0)
    assert snapshot.ends_s == 42.0
    assert after(StepStarted("settle"), start=snapshot).step == "settle"
    over = after(PhaseEnded("costs", 2.0), PhaseStarted("search"), start=snapshot)
    assert (over.doing, over.ends_s) == (None, 42.0), "the end of the run is not that of the phase"


def test_the_body_that_is_searched_is_told_until_the_model_itself_is() -> None:
    snapshot = after(PhaseStarted("costs"), SearchingBody("search", "body of loop", 1, 2, 3, 7))
    assert snapshot.body == BodyProgress("search", "body of loop", 1, 2, 3, 7)
    assert after(StepStarted("largest first"), start=snapshot).body is None
    assert after(CandidateBuilding("a", "c", "Conv", (3, 5), 1, 9), start=snapshot).body is None
    assert after(PhaseStarted("search"), start=snapshot).body is None


def test_what_the_bound_spared() -> None:
    costs = (CandidatesFound("a", 9, 7, 0), PhaseStarted("costs"), CandidateCosted("a", ("c",), "Conv", MEASURED, False, 1, 2, took_s=1.0))
    over = after(*costs, PhaseEnded("costs", 1.0))
    assert over.counts[0].spared == 6
    again = CandidateCosted("a", ("d",), "Conv", MEASURED, False, 2, 2, took_s=1.0)
    assert after(PhaseStarted("search"), again, start=over).counts[0].spared == 5
    assert after(PhaseStarted("merge"), again, start=over).counts[0].spared == 6, "what is merged was never among them"


def test_the_plan_that_is_considered_and_the_search() -> None:
    considered = PlanConsidered(0.5, None, (("a", (0, 1), True), ("b", (2, 2), False)))
    snapshot = after(PhaseStarted("costs"), considered)
    assert snapshot.considered == ConsideredPlan(0.5, [ConsideredPart("a", [0, 1], True), ConsideredPart("b", [2, 2], False)])
    assert snapshot.lower_bound_s is None, "an estimate proves nothing"
    searching = after(PhaseStarted("search"), SearchProgress(7, 8, 3, 1, 2, 0.4, None, (("a", (0, 0)),), 0.3), start=snapshot)
    assert (searching.considered, searching.search) == (None, SearchStand(7, 3, 1, 2, [PlacedPart("a", [0, 0])], 0.3, 0.4))
    rested = after({"type": "RunStateChanged", "state": "cancelled"}, start=searching)
    assert (rested.phase, rested.search) == (None, None)


def test_a_run_shows_a_trial_or_a_search_and_its_totals_are_those_of_whole_searches() -> None:
    trial = CandidateBuilding("a", "c", "Conv", (0, 0), 0, 2)
    unbounded = SearchProgress(7, 8, 3, 1, 2, None, None, (("a", (0, 0)),))
    snapshot = after(SearchProgress(5, 5, 1, 1, 2, 0.25, 0.75), PhaseStarted("costs"), trial, unbounded)
    assert (snapshot.doing, snapshot.search) == (None, SearchStand(7, 3, 1, 2, [PlacedPart("a", [0, 0])]))
    assert (snapshot.lower_bound_s, snapshot.best_s) == (0.25, 0.75)
    for event in (trial, PlanConsidered(0.5, None, ())):
        assert after(event, start=snapshot).search is None
    assert after(trial, start=snapshot).doing is not None


def test_how_the_total_went() -> None:
    considered = [PlanConsidered(0.5, None, ()), PlanConsidered(0.5, None, ()), PlanConsidered(0.75, 1.0, ())]
    snapshot = after(PhaseStarted("costs"), *considered, PhaseStarted("search"), SearchProgress(1, 1, 1, 1, 2, 0.5, 0.75))
    assert snapshot.convergence == [
        ConvergencePoint(2.0, None, None, 0.5),
        ConvergencePoint(4.0, 1.0, None, 0.75),
        ConvergencePoint(6.0, 0.75, 0.5, None),
    ]
    many = [SearchProgress(number, 1, 1, 1, 2, float(number), None) for number in range(2000)]
    curve = after(*many).convergence
    assert POINTS_KEPT / 2 < len(curve) <= POINTS_KEPT
    assert (curve[0].seconds, curve[-1].bound_s) == (1.0, 1999.0)


def test_points_that_follow_closely_are_one() -> None:
    snapshot = START
    for number in range(100):
        event = SearchProgress(number, 1, 1, 1, 2, float(number), None)
        snapshot = apply(snapshot, Numbered(number + 1, event.to_json(), number / 1000))
    assert [point.bound_s for point in snapshot.convergence] == [0.0, 99.0]


def test_counts_of_a_target_that_was_not_asked_for() -> None:
    assert after(CandidatesFound("host", 1, 1, 0)).counts[-1] == TargetCounts("host", 1, 1)


def test_search() -> None:
    snapshot = after(
        SearchProgress(9, 9, 1, 1, 2, 0.5, None), PlanImproved(0.75, (("a", (0, 1)),), 0), SearchProgress(9, 9, 1, 1, 2, 0.6, None)
    )
    assert (snapshot.lower_bound_s, snapshot.best_s) == (0.6, 0.75)
    assert snapshot.plan is not None
    (partition,) = snapshot.plan.partitions
    assert (partition.id, partition.names, partition.ops) == (candidate_id("a", ("conv1", "relu1")), ("conv1", "relu1"), ("Conv", "Relu"))
    assert partition.cost_s is None


def test_baselines_verification_and_notes() -> None:
    notes = [Note(str(number)) for number in range(NOTES_KEPT + 1)]
    snapshot = after(BaselineMeasured("a", 1.0, None), Verified(0.9, 1e-6, 1e-3), BaselineMeasured("a", 1.0, 1.5), *notes)
    assert snapshot.baselines == [Baseline("a", 1.0, 1.5)]
    assert snapshot.verify == VerifyInfo(0.9, None, 1e-6, 1e-3, None)
    assert (len(snapshot.notes), snapshot.notes[-1]) == (NOTES_KEPT, str(NOTES_KEPT))


def test_a_plan_that_is_verified_when_its_baselines_are_timed_already_is_timed_apart_from_them() -> None:
    snapshot = after(Verified(0.9, 1e-6, 1e-3), BaselineMeasured("a", 1.0, 1.5))
    assert snapshot.verify is not None
    assert not snapshot.verify.apart
    again = after(Verified(0.8, 1e-6, 1e-3), start=snapshot).verify
    assert again is not None
    assert again.apart


def test_the_plans_that_were_measured_whole() -> None:
    row = MeasuredPlan("search", "search", 1.0, 1.06, 0.01, 5, "", False, 2)
    snapshot = after(Verified(0.9, 1e-6, 1e-3), PlanDecided("whole", "b", 1.0, (row,)))
    assert (snapshot.decided_by, snapshot.alternatives) == ("whole", [row])
    assert snapshot.verify == VerifyInfo(1.0, None, 1e-6, 1e-3, None)
    partitions = [{"id": "c", "target": "a", "nodes": [0]}, {"id": "d", "target": "b", "nodes": [1]}]
    verify = {"measured_s": 1.0, "interval_s": 0.01, "rounds": 5}
    told = run_document(decided_by="whole", alternatives=[{**asdict(row), "partitions": partitions}], verify=verify)
    ended = finish(snapshot, told)
    assert (ended.decided_by, ended.alternatives) == ("whole", [row])
    assert ended.verify is not None
    assert ended.verify.interval_s == 0.01
    alone = finish(START, DOCUMENT)
    assert (alone.decided_by, alone.alternatives) == (None, []), "nothing was measured beside the plan, so nothing decided"


def test_state() -> None:
    error = {"code": "infeasible", "message": "no plan", "hint": ""}
    change = {"type": "RunStateChanged", "state": "failed", "error": error, "conflict": [0], "uncovered": [1], "artifact": False}
    snapshot = after(PhaseStarted("search"), change)
    assert (snapshot.state, snapshot.phase, snapshot.error) == ("failed", None, ApiError("infeasible", "no plan", ""))
    assert (snapshot.conflict, snapshot.uncovered) == ([0], [1])
    again = after({"type": "RunStateChanged", "state": "running"}, start=snapshot)
    assert (again.state, again.error, again.conflict) == ("running", None, [])


def test_every_event_of_the_protocol_has_its_change() -> None:
    assert set(state._CHANGES) == {kind.__name__ for kind in (*EVENTS, RunStateChanged)}


def test_an_unknown_event_changes_only_the_number() -> None:
    assert after({"type": "SomethingNew"}) == replace(START, seq=1, now_s=1.0)


def test_distinct_computations_are_counted_as_the_events_did() -> None:
    found = (CandidatesFound("a", 5, 4, 9), CandidateCosted("a", ("c",), "Conv", INVALID, False, 1, 2, took_s=1.0))
    targets = [{"name": "a", "candidates": 5, "invalid": 4, "unique": 4, "measured": 1, "cache_hits": 0, "spared": 3}]
    (counts,) = finish(after(*found), run_document(targets=targets)).counts
    assert (counts.measured, counts.invalid, counts.spared) == (0, 1, 3)


def test_phases_of_a_run_without_events() -> None:
    assert finish(START, run_document(phases={"load_s": 0.5, "specs_s": None, "costs_s": 2.0})).phases == [
        PhaseTime("load", None, 0.5),
        PhaseTime("costs", None, 2.0),
    ]


def test_finish() -> None:
    snapshot = finish(after(CandidatesFound("a", 5, 4, 9), Verified(0.7, 1e-6, 1e-3)), DOCUMENT)
    assert snapshot.counts == [TargetCounts("a", 5, 4, 9, 2, 1, 1)]
    assert (snapshot.best_s, snapshot.lower_bound_s, snapshot.optimal) == (0.7, 0.5, True)
    assert snapshot.plan is not None
    assert snapshot.plan == DOCUMENT.plan
    assert snapshot.baselines == [Baseline("b", None, None, "b cannot take every node")]
    assert snapshot.verify == VerifyInfo(0.72, 0.02, 1e-6, 1e-3, "onnxruntime", {"y": 0.0, "z": 1e-6})


def test_finish_says_what_measuring_left_undecided() -> None:
    rival = {"partitions": ["c"], "instead": [{"id": "d", "target": "b", "nodes": [0]}], "above_s": 0.1, "could_gain_s": 0.02}
    budget = {"limit_s": 20.0, "spent_s": 20.5, "undecided": ["c"], "rivals": [rival]}
    assert finish(START, run_document(budget=budget)).budget == BudgetInfo(20.0, 20.5, (from_json(RivalInfo, rival),))
    assert finish(START, DOCUMENT).budget is None, "nothing was measured"


def test_an_error_that_is_no_number_is_null_on_the_page() -> None:
    verify = finish(START, run_document(verify={"max_rel_error": math.inf, "errors": {"x": 0.5, "y": math.nan}})).verify
    assert verify is not None
    assert (verify.max_rel_error, verify.errors) == (None, {"x": 0.5, "y": None})


@pytest.mark.parametrize("from_cache", [False, True])
@pytest.mark.parametrize("cost", [Cost(1.5, "estimate"), Cost.unknown("the recording has no cost of it")], ids=["estimate", "unknown"])
def test_a_cost_that_nobody_knows_is_neither_measured_nor_found(cost: Cost, from_cache: bool) -> None:
    (counts, _) = after(CandidatesFound("a", 5, 4, 9), CandidateCosted("a", ("c",), "Conv", cost.to_json(), from_cache, 1, 2)).counts
    assert counts == TargetCounts("a", 5, 4, 9)
