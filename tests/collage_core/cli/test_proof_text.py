"""The text of what is proven of a plan: "optimal" only of the total that is shown, and the reason where it is above the least."""

from __future__ import annotations

from typing import Any

import pytest

from collage_core.cli.proof_text import proof_text
from tests.helpers.documents import PART, SEARCH, run_document

BEST = {"optimal": True, "lower_bound_s": 1e-3}
STOPPED = {"optimal": False, "lower_bound_s": 1e-3}
TIE = [{**PART, "decided_by": "priority", "cost_s": 1e-3}]

UNKNOWN = [{**PART, "decided_by": "priority", "cost_s": None}]


def said(search: dict[str, Any], total_s: float = 1.0409e-3, interval_s: float | None = 1e-4, decided_by: str = "sum", **plan: Any) -> str:
    shown = {"total_s": total_s, "total_interval_s": interval_s, "partitions": [PART], **plan}
    last = search.get("final", search)
    return proof_text(run_document(search={**SEARCH, **search, "final": {**SEARCH, **last}}, plan=shown, decided_by=decided_by))


def test_the_last_search_is_about_the_total_that_is_shown() -> None:
    assert said(BEST, 1e-3) == "optimal for these costs"
    assert said({**BEST, "final": STOPPED}, partitions=TIE) == "tie broken by priority: at most 40.9 µs above the best, within noise"
    assert said({**STOPPED, "final": {"optimal": True, "lower_bound_s": 9e-4}}, 9e-4) == "optimal for these costs"


@pytest.mark.parametrize(
    ("search", "changes", "text"),
    [
        (STOPPED, {"partitions": TIE}, "tie broken by priority: at most 40.9 µs above the best, within noise"),
        (STOPPED, {}, "stopped early: at most 40.9 µs above the best, within noise"),
        (STOPPED, {"partitions": UNKNOWN}, "stopped early: at most 40.9 µs above the best, within noise"),
        (STOPPED, {"interval_s": 1e-6}, "stopped early: at most 40.9 µs above the best"),
        (STOPPED, {"interval_s": None}, "stopped early: at most 40.9 µs above the best"),
        (BEST, {"interval_s": None}, "at most 40.9 µs above the best"),
        (STOPPED, {"decided_by": "whole"}, "chosen by measuring the whole"),
        ({"optimal": False, "lower_bound_s": 0.0}, {}, "not proven to be the best"),
        (BEST, {"total_s": 1e-3, "partitions": UNKNOWN}, "optimal for the known costs"),
    ],
)
def test_a_plan_that_is_not_the_best_gives_its_reason(search: dict[str, Any], changes: dict[str, Any], text: str) -> None:
    assert said(search, **changes) == text
