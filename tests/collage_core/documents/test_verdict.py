"""The sentence that leads: a plan is called faster only where the measured interval lies on one side of 1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from collage_core.documents.run import Disturbance, RunDocument
from collage_core.documents.verdict import verdict
from tests.helpers.documents import PART, alternative, run_document

TARGET = {"candidates": 1, "unique": 1, "invalid": 0, "measured": 1, "cache_hits": 0}
MIX = {"total_s": 1.0, "partitions": [PART, {**PART, "id": "d", "target": "b"}]}
RIGHT = {"accuracy": 1e-3, "max_rel_error": 1e-6, "measured_s": 1.0, "interval_s": 0.01, "rounds": 10, "round_s": 1.0}


HARDLY = "the two are so near that measuring for 2.5 min would not tell"


def document(**changes: Any) -> RunDocument:
    return run_document(**{"targets": [{"name": name, **TARGET} for name in ("a", "b")], "plan": MIX, "verify": RIGHT, **changes})


def against(measured_s: float, interval_s: float | None = 0.1, **changes: Any) -> RunDocument:
    return document(alternatives=[alternative("a", measured_s=measured_s, interval_s=interval_s)], **changes)


@pytest.mark.parametrize(
    ("found", "kind", "text"),
    [
        (against(2.1, 0.2), "faster", "2.1 times faster than a alone (1.90 to 2.3), checked"),
        (against(1.05), "undecided", "not decided against a alone (it takes 0.95 to 1.15 times as long): measure again for about 40 s"),
        (against(1.5, None), "undecided", "not decided against a alone (it was timed too seldom): measure again for about 10 s"),
        (against(1.01), "undecided", f"not decided against a alone (it takes 0.91 to 1.11 times as long): {HARDLY}"),
        (against(0.8), "slower", "11 % to 43 % slower than a alone, measured, checked"),
        (document(verify={**RIGHT, "max_rel_error": 0.5}), "wrong", "wrong by 0.5, 0.001 is allowed"),
        (document(verify={"accuracy": 1e-3}), "unknown", "predicted 1 s; no target alone runs the whole model in a known time"),
        (
            document(verify={"accuracy": 1e-3}, baselines=[{"name": "b", "total_s": 1.5, "measured_s": None}]),
            "faster",
            "1.50 times faster than b alone, predicted and not timed end to end",
        ),
        (
            document(verify={"accuracy": 1e-3}, plan={**MIX, "partitions": [{**PART, "source": "unknown", "cost_s": None}, PART]}),
            "unknown",
            "predicted at least 1 s: 1 cost is not known; no target alone runs the whole model in a known time",
        ),
    ],
)
def test_a_mix_is_compared_with_the_best_target_alone(found: RunDocument, kind: str, text: str) -> None:
    told = verdict(found)
    assert (told.kind, told.text) == (kind, text)
    assert told.is_good == (kind == "faster" and told.statement.basis == "measured")


def test_the_lower_end_of_the_interval_decides_if_it_is_a_hundredth_away() -> None:
    """Noise reaches farther up than down: half of the interval, the wider one, would leave the first open."""
    row = alternative("a", measured_s=1.05, interval_s=0.1, at_least_s=1.03)
    told = verdict(document(alternatives=[row]))
    assert (told.kind, told.text) == ("faster", "1.05 times faster than a alone (1.03 to 1.15), checked")
    near = verdict(document(alternatives=[{**row, "at_least_s": 1.009}]))
    assert (near.kind, near.is_good) == ("undecided", False)
    disturbed = Disturbance(share=0.2, text="others keep cores busy")
    assert verdict(replace(document(alternatives=[row]), disturbance=disturbed)).kind == "undecided"
    alone = [alternative("b", measured_s=1.0, interval_s=0.01, is_plan=True), {**row, "name": "rival 1", "kind": "rival"}]
    assert verdict(document(alternatives=alone)).text == "b alone is best (others at least 3.0 % slower), checked"


@pytest.mark.parametrize(
    ("measured_s", "rounds", "kind"), [(1.6, 3, "faster"), (1.2, 3, "undecided"), (1.6, 5, "undecided"), (1.4, 2, "undecided")]
)
def test_what_was_so_far_behind_that_it_was_timed_no_further_is_decided(measured_s: float, rounds: int, kind: str) -> None:
    row = alternative("a", measured_s=measured_s, interval_s=None, rounds=rounds)
    told = verdict(document(alternatives=[row], verify={**RIGHT, "rounds": 5}))
    assert told.kind == kind
    assert told.is_good == (kind == "faster")
    if kind == "faster":
        assert told.text == "1.60 times faster than a alone (at least 1.25), checked"
        own = alternative("b", measured_s=1.0, interval_s=0.01, is_plan=True)
        alone = verdict(document(alternatives=[own, row], verify={**RIGHT, "rounds": 5}))
        assert alone.text == "b alone is best (others at least 25 % slower), checked"


def test_the_fastest_target_alone_counts_and_no_other_baseline() -> None:
    rows = [alternative("greedy", measured_s=1.1, interval_s=0.0), alternative("b", measured_s=2.0, interval_s=0.1)]
    told = verdict(document(alternatives=[*rows, alternative("a", measured_s=3.0, interval_s=0.1)]))
    assert (told.against, told.kind) == ("b", "faster")


def test_one_target_alone_is_best_only_where_all_others_are_slower_beyond_doubt() -> None:
    own = alternative("a", measured_s=1.0, interval_s=0.01, is_plan=True)
    rival = alternative("rival 1", kind="rival", measured_s=1.2, interval_s=0.05)
    told = verdict(document(alternatives=[own, rival, alternative("b", measured_s=1.5, interval_s=0.1)]))
    assert (told.kind, told.text, told.is_good) == ("alone", "a alone is best (others at least 15 % slower), checked", True)
    near = alternative("rival 1", kind="rival", measured_s=1.02, interval_s=0.05)
    told = verdict(document(alternatives=[own, near]))
    between = "rival 1 takes 0.97 to 1.07 times as long"
    assert told.text == f"a alone; whether another plan is faster is not decided ({between}): measure again for about 62 s"
    assert (told.kind, told.is_good) == ("undecided", False)
    told = verdict(document(alternatives=[own]))
    assert (told.text, told.is_good) == ("a alone, measured 1 s: no other plan was timed end to end", False)
    greedy = {"name": "greedy", "total_s": 1.0, "measured_s": 1.0}
    told = verdict(document(alternatives=[own, {**own, "name": "greedy"}], baselines=[greedy]))
    assert told.text == "a alone, measured 1 s: no other plan was timed end to end", "another name of the plan is no other plan"


def test_what_was_timed_at_another_time_than_the_plan_is_not_compared_and_not_denied() -> None:
    whole = {"plan": {"total_s": 1.0, "partitions": [PART]}, "alternatives": []}
    rows = [{"name": "b", "total_s": 1.5, "measured_s": 1.4}, {"name": "a", "total_s": 1.0, "measured_s": 1.0}]
    apart = document(**whole, baselines=rows)
    told = verdict(apart)
    assert told.text == "a alone, measured 1 s: no other plan was timed in turns with it; b alone takes 1.50 times as long, predicted"
    assert (told.kind, told.is_good, told.against) == ("alone", False, "b")
    assert told.statement is not None
    assert (told.statement.basis, told.statement.ratio) == ("predicted", 1.5)


def test_a_run_that_timed_nothing_says_that_of_its_plan_too() -> None:
    own = alternative("a", is_plan=True, total_s=1.0, measured_s=None)
    untimed = document(plan={"total_s": 1.0, "partitions": [PART]}, alternatives=[own], verify={"measured_s": None})
    assert verdict(untimed).text == "a alone, predicted 1 s: nothing was timed end to end"


def test_a_plan_in_several_parts_of_the_best_target_is_as_fast_as_that() -> None:
    parts = [{**PART, "cost_s": 0.5}, {**PART, "id": "d", "cost_s": 0.5}]
    rows = [{"name": "a", "total_s": 1.0, "measured_s": None}]
    told = verdict(document(plan={"total_s": 1.0, "partitions": parts}, alternatives=[], baselines=rows, verify={"measured_s": None}))
    assert told.text == "as fast as a alone, predicted and not timed end to end"


def test_a_disturbed_run_says_so_and_is_less_sure() -> None:
    busy = {"share": 0.5, "text": "other processes keep 1.0 of the 2 cores busy meanwhile"}
    quiet, disturbed = against(1.25), against(1.25, disturbance=busy)
    assert verdict(quiet).kind == "faster"
    told = verdict(disturbed)
    assert (told.kind, told.is_good) == ("undecided", False)
    assert told.text.endswith(f"measure again for about 17 s; {busy['text']}")
    assert verdict(against(3.0, disturbance=busy)).kind == "faster", "no such load makes thrice the time"
    assert disturbed.disturbance == Disturbance(**busy)
