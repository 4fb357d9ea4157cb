"""Which finalist becomes the plan, from given seconds of each round; what is said of the others."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from collage_core.cost.measuring.paired_rounds import FEWEST_ROUNDS, Round
from collage_core.documents.plan import PlanPart, PlanPartition
from collage_core.documents.run import RunDocument
from collage_core.pipeline.whole.finalists import (
    BASELINE,
    RIVAL,
    SEARCHED,
    Finalist,
    alternatives,
    barred,
    decision_text,
    whole_times,
    winner,
)
from collage_core.rewrite.plan import Plan, PlannedModel
from tests.helpers.documents import PART, alternative, run_document


def finalist(
    name: str, kind: str = BASELINE, *, rank: int = 0, partitions: int = 1, may_ship: bool = True, total_s: float = 1.0, reason: str = ""
) -> Finalist:
    part = PlanPartition(id=f"of {name}", target=name, nodes=(0,), names=("n",), ops=("Relu",), cost_s=total_s, source="measured")
    plan = Plan(model=PlannedModel(name="m", hash=""), targets=(), total_s=total_s, partitions=(part,))
    return Finalist({name: kind}, plan, (), (partitions, rank), may_ship, total_s, total_s, reason=reason)


def rounds(*times: list[float]) -> list[Round]:
    """The rounds in which each finalist took its `times`; a single one is that of every round."""
    each = [one * FEWEST_ROUNDS if len(one) == 1 else one for one in times]
    return [dict(enumerate(seconds)) for seconds in zip(*each, strict=True)]


def three(**changes: Any) -> list[Finalist]:
    return [finalist("search", SEARCHED, **changes), finalist("a", rank=2), finalist("b", rank=1)]


def test_the_fastest_is_the_plan_where_it_is_apart_by_more_than_a_hundredth() -> None:
    steady = [10.0]
    assert winner(rounds(steady, [9.8], steady), three()) == 1
    assert winner(rounds(steady, [9.92], steady), three()) == 0, "a tie: the search's plan is kept"
    assert winner(rounds(steady, [11.0], [12.0]), three()) == 0
    noisy = [10.0, 10.0, 8.7, 10.0, 10.0, 10.0]
    rivals = [finalist("search", SEARCHED), finalist("a", RIVAL), finalist("b", RIVAL)]
    assert winner(rounds(noisy, [8.8], steady), rivals) == 0, "in one of the rounds it was slower: that is noise"
    assert winner(rounds(noisy, [8.8], steady), three()) == 1, "of a baseline the ratio is enough"
    few = [[10.0] * 4, [9.0] * 4, [10.0] * 4]
    assert winner(rounds(*few), rivals) == 0, "too few rounds to tell"
    assert winner(rounds(*few), three()) == 1
    assert winner(rounds([10.0] * 3, [6.0] * 3, [10.0] * 3), rivals) == 1, "far ahead in every one of three"


def test_a_machine_that_drifts_slows_all_alike() -> None:
    drift = [1.0, 1.3, 1.7, 2.2, 1.1, 1.0]
    found = rounds([10 * one for one in drift], [9.5 * one for one in drift], [12 * one for one in drift])
    assert winner(found, three()) == 1
    plan, other, last = (whole_times(found, 1, 3)[index] for index in (1, 0, 2))
    assert (plan.measured_s, plan.rounds) == (pytest.approx(9.5), 6)
    assert (other.measured_s, other.interval_s) == (pytest.approx(10), pytest.approx(0.0, abs=1e-9))
    assert last.measured_s == pytest.approx(12)


def test_of_equally_fast_ones_the_preferred_becomes_the_plan() -> None:
    assert winner(rounds([10.0], [9.0], [9.05]), three()) == 2
    assert winner(rounds([10.0], [9.0], [9.2]), three()) == 1


def test_of_equally_fast_ones_a_baseline_of_fewer_partitions_becomes_the_plan() -> None:
    def listed(**changes: Any) -> list[Finalist]:
        return [finalist("search", SEARCHED, partitions=4), finalist("alone", **changes), finalist("greedy", partitions=5)]

    steady = [10.0]
    for alone_s in (9.95, 10.0, 10.05):
        assert winner(rounds(steady, [alone_s], [12.0]), listed()) == 1
    assert winner(rounds(steady, [10.2], [12.0]), listed()) == 0
    assert winner(rounds(steady, [10.0], [12.0]), listed(partitions=4)) == 0, "as many partitions: the search's plan is kept"
    assert winner(rounds(steady, [10.0], [12.0]), listed(may_ship=False)) == 0
    assert winner(rounds(steady, [10.08], [9.92]), listed()) == 0, "it is slower than another baseline by more than a tie"


def test_what_may_not_be_the_plan_never_is() -> None:
    found = rounds([10.0], [5.0], [9.0])
    listed = [three()[0], finalist("a", may_ship=False), finalist("b")]
    assert winner(found, listed) == 2
    assert barred(listed, whole_times(found, 2, 3), 2) == ["a"]
    assert winner(found, [three()[0], finalist("a", reason="it errs by 1, 0.001 is allowed"), finalist("b")]) == 2
    crashed = [finalist("search", SEARCHED, reason="timing the artifact failed"), finalist("a"), finalist("b")]
    assert winner([{1: 5.0, 2: 9.0}], crashed) == 1


def test_never_is_the_plan_slower_than_a_baseline_beyond_a_hundredth() -> None:
    """Or what is stated: times of any spread, however few rounds; the stated interval is that of the baseline's row."""
    draw = random.Random(0)
    changed = 0
    for _ in range(300):
        count, spread = draw.choice([1, 3, 5, 9, 15]), draw.choice([0.001, 0.02, 0.2])
        means = [10.0, *(draw.uniform(7, 13) for _ in range(3))]
        found = [{index: mean * draw.lognormvariate(0, spread) for index, mean in enumerate(means)} for _ in range(count)]
        listed = [finalist("search", SEARCHED), *(finalist(name, rank=draw.randrange(3)) for name in "abc")]
        best = winner(found, listed)
        rows = alternatives(listed, whole_times(found, best, 4), best)
        plan_s = whole_times(found, best, 4)[best].measured_s
        assert plan_s is not None
        changed += best != 0
        for row in rows:
            stated_s = row.interval_s or (0.0 if spread < 0.1 else math.inf)
            assert row.measured_s is not None
            assert plan_s <= max(1.010001 * row.measured_s, row.measured_s + stated_s)
    assert 50 < changed < 290


def test_the_rows_name_every_other_finalist_and_all_baselines() -> None:
    listed = [finalist("search", SEARCHED), finalist("a"), finalist("rival 1", RIVAL), finalist("c", reason="no")]
    listed[0].names["b"] = BASELINE
    found = rounds([10.0], [11.0], [12.0])
    rows = alternatives(listed, whole_times(found, 0, 4), 0)
    assert [(row.name, row.is_plan, row.rounds) for row in rows] == [
        ("b", True, 6),
        ("a", False, 6),
        ("rival 1", False, 6),
        ("c", False, 0),
    ]
    assert (rows[1].measured_s, rows[3].measured_s, rows[3].reason) == (11.0, None, "no")
    assert rows[1].partitions == (PlanPart(id="of a", target="a", nodes=(0,)),)
    assert rows[0].summary.partitions == 1
    assert [row.name for row in alternatives(listed, whole_times(found, 1, 4), 1)] == ["search", "b", "a", "rival 1", "c"]


def document(decided_by: str, total_s: float, measured_s: float | None, *rows: dict[str, Any], partitions: int = 1) -> RunDocument:
    plan = {"total_s": total_s, "partitions": [PART] * partitions}
    return run_document(decided_by=decided_by, plan=plan, verify={"measured_s": measured_s}, alternatives=rows)


def test_one_sentence_says_what_decided() -> None:
    searched = alternative("search", kind=SEARCHED, total_s=1.0, measured_s=1.06)
    assert decision_text(document("whole", 1.03, 1.0, searched)) == (
        "end-to-end timing decided: this plan's sum is 3.0% above the least, but timed end to end the plan of the least sum is 6.0% slower"
    )
    near = {**searched, "measured_s": 0.995, "partitions": [{"id": name, "target": "a", "nodes": [0]} for name in "cd"]}
    assert decision_text(document("whole", 1.03, 1.0, near)).endswith(
        "but timed end to end the two are not apart (that of the least sum is 0.5% faster), and this one has fewer partitions"
    )
    assert decision_text(document("whole", 1.03, 1.0, near, partitions=2)).endswith(
        "(that of the least sum is 0.5% faster), and this one is of targets that come first"
    )
    wrong = {**searched, "measured_s": None, "reason": "it errs by 0.1, 0.001 is allowed"}
    assert decision_text(document("whole", 1.03, 1.0, wrong)).endswith(
        "but the plan of the least sum is out: it errs by 0.1, 0.001 is allowed"
    )
    other = {**searched, "kind": BASELINE, "measured_s": 1.2}
    assert (
        decision_text(document("sum", 1.0, 1.0, other)) == "the sum of the costs decided: timed end to end, the next plan is 20.0% slower"
    )
    assert decision_text(document("sum", 1.0, 1.25, other)).endswith("is 4.0% faster, which is not enough to tell the two apart")
    assert decision_text(document("sum", 1.0, 1.0, {**other, "is_plan": True})) == (
        "the sum of the costs decided: no other plan was timed end to end"
    )
    assert decision_text(document("whole", 1.0, 1.0, other)) == (
        "end-to-end timing decided for the plan of the least sum: timed end to end, the next plan is 20.0% slower"
    ), "over several shapes another one was to take its place"
    assert decision_text(document("sum", 1.0, None, other)) == ""
