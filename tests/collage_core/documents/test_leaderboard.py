"""The leaderboard: a row for each toolchain alone and for the best mix, from the events of a run, the fastest first."""

from __future__ import annotations

from collage_core.documents.leaderboard import MIX, Leader, leaders_after
from collage_core.events import BaselineMeasured, CandidatesFound, Event, PhaseStarted, PlanDecided, PlanImproved, TargetAlone

FOUND = (CandidatesFound("a", 3, 3, 0), CandidatesFound("b", 3, 3, 0), CandidatesFound("c", 0, 0, 3))
TWO_PARTS = PlanImproved(1e-3, (("a", (0, 1)), ("b", (2,))), 0)


def board(*events: Event) -> list[Leader]:
    rows: tuple[Leader, ...] = ()
    for event in events:
        rows = leaders_after(rows, event.to_json())
    return list(rows)


def names(*events: Event) -> list[str]:
    return [row.name for row in board(*events)]


def test_from_the_first_candidates_on_each_target_has_a_row() -> None:
    assert board(*FOUND) == [Leader("a"), Leader("b"), Leader("c", reason="it takes no node of the model")]


def test_the_fastest_is_first_and_what_is_not_known_comes_last() -> None:
    slow, quick = TargetAlone("a", 3, 3, 3e-3, 1e-4), TargetAlone("b", 3, 3, 2e-3)
    assert names(*FOUND, slow, quick) == ["b", "a", "c"]
    assert board(*FOUND, slow)[0] == Leader("a", 3e-3, 1e-4, nodes=3, of=3)
    failed = TargetAlone("b", 3, 3, None, reason="no converter for Relu")
    assert [(row.name, row.reason) for row in board(*FOUND, failed, slow)][1] == ("b", "no converter for Relu")


def test_a_part_of_the_model_is_no_rival_of_the_whole() -> None:
    assert names(*FOUND[:2], TargetAlone("a", 3, 3, 3e-3), TargetAlone("b", 1, 3, 1e-4)) == ["a", "b"]


def test_the_mix_is_there_while_the_best_plan_is_one() -> None:
    alone = TargetAlone("a", 3, 3, 3e-3)
    assert board(*FOUND, alone, TWO_PARTS)[0] == Leader(MIX, 1e-3, nodes=3, of=3, targets=("a", "b"), partitions=2)
    assert MIX not in names(*FOUND, alone, TWO_PARTS, PlanImproved(9e-4, (("a", (0, 1, 2)),), 0))


def test_times_of_whole_plans_count_once_they_are_known() -> None:
    known = (*FOUND, TargetAlone("a", 3, 3, 3e-3), TWO_PARTS)
    rows = {row.name: row for row in board(*known, BaselineMeasured("a", 3e-3, 2e-3), BaselineMeasured("greedy", 3e-3, 2e-3))}
    assert (rows["a"].seconds, rows["a"].total_s, set(rows)) == (2e-3, 3e-3, {MIX, "a", "b", "c"})
    decided = board(*known, BaselineMeasured("a", 3e-3, 2e-3), PlanDecided("sum", "search", 4e-3, ()))
    assert [(row.name, row.seconds) for row in decided][:2] == [("a", 2e-3), (MIX, 4e-3)]
    assert board(*known, PlanDecided("whole", "a", 2e-3, ()))[0].measured_s is None, "the plan is no mix"
    assert {row.reason for row in board(*known, BaselineMeasured("b", None, None, "no time was left"))} >= {"no time was left"}


def test_another_shape_begins_anew() -> None:
    assert board(*FOUND, TWO_PARTS, PhaseStarted("load")) == []
    assert len(board(*FOUND, PhaseStarted("costs"))) == 3
