"""The totals of a run: each plan with its time, and how it compares with the plan of the run by the rule for all."""

from __future__ import annotations

from typing import Any

from collage_core.documents.run import RunDocument
from collage_core.what_if.totals import totals
from tests.helpers.documents import PART, alternative, run_document

TIMED = {"accuracy": 1e-3, "measured_s": 1.0, "interval_s": 0.01, "rounds": 5}


def rows(**changes: Any) -> list[tuple[str, str, str]]:
    return [(row.name, row.kind, row.against) for row in totals(run_document(**changes)).rows]


def test_what_was_timed_end_to_end_comes_first_and_the_fastest_of_that() -> None:
    timed = [
        alternative("search", kind="search", total_s=0.6, measured_s=1.2, interval_s=0.05),
        alternative("b", total_s=0.7, measured_s=1.01, interval_s=0.05),
    ]
    others = [
        {"name": name, "total_s": total_s, "measured_s": None, "reason": reason}
        for name, total_s, reason in (("c", 0.9, ""), ("d", None, "it refuses"))
    ]
    assert rows(alternatives=timed, baselines=others, verify=TIMED) == [
        ("this plan", "plan", ""),
        ("b", "baseline", "+10 ms measured, which is not decided"),
        ("search", "search", "+200 ms measured"),
        ("c", "baseline", "+200 ms predicted"),
        ("d", "baseline", ""),
    ]


def test_a_cost_that_nobody_knows_makes_no_total() -> None:
    plan = {"total_s": 0.1, "partitions": [{**PART, "cost_s": None, "source": "unknown"}]}
    found = totals(run_document(plan=plan, baselines=[{"name": "b", "total_s": 0.5, "measured_s": None, "reason": ""}]))
    assert [(row.name, row.time.predicted_s, row.reason, row.against) for row in found.rows] == [
        ("this plan", None, "some of its costs are not known", ""),
        ("b", 0.5, "", ""),
    ]


def test_the_plan_that_was_timed_as_a_baseline_does_not_differ_from_itself() -> None:
    document: RunDocument = run_document(alternatives=[alternative("a", measured_s=1.0, interval_s=0.0, is_plan=True)], verify=TIMED)
    assert totals(document).rows[1].against == "no change"
