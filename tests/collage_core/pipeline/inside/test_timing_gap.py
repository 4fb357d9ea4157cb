"""`timing_gap`: when a measured time is off the predicted one, and the reason that it names."""

from __future__ import annotations

from typing import Any

import pytest

from collage_core.documents.verify import Verify
from collage_core.pipeline.inside.timing_gap import Surroundings, timing_gap
from tests.collage_core.pipeline.whole.test_finalists import finalist

QUIET = Surroundings("a machine", 2, 0.1)


def gap(measured_s: float | None, around: Surroundings = QUIET, *, interval_s: float | None = None, **changes: Any) -> str:
    """Return what is said of a plan of 10 ms ± 1 %, with two threads."""
    fields = {"total_s": 10e-3, "total_interval_s": 0.1e-3, "machine": "a machine", "options": {"threads": 2}, **changes}
    plan = finalist("tvm").plan.model_copy(update=fields)
    return timing_gap(plan, Verify(measured_s=measured_s, interval_s=interval_s), around)


@pytest.mark.parametrize("measured_s", [None, float("nan"), 10e-3, 10.4e-3, 9.6e-3])
def test_a_small_difference_is_none(measured_s: float | None) -> None:
    assert gap(measured_s) == ""


def test_what_both_may_be_off_by_is_no_gap() -> None:
    assert gap(13e-3, total_interval_s=3e-3) == gap(13e-3, interval_s=3.1e-3) == ""
    assert gap(14e-3, total_interval_s=3e-3) != ""


@pytest.mark.parametrize(
    ("around", "changes", "reason"),
    [
        (Surroundings("a machine", 2, 1.9), {"options": {"threads": 8}}, "the plan has 8 threads, and this process may use 2 cores"),
        (Surroundings("a machine", 2, 1.9), {"machine": "another"}, "its costs are from another machine (another)"),
        (Surroundings("a machine", 2, 1.9), {}, "other processes keep 1.9 of the 2 cores busy, which may have been different while"),
        (QUIET, {}, "inside the whole plan, its partitions find other data in the caches"),
    ],
)
def test_a_gap_names_its_likely_reason(around: Surroundings, changes: dict[str, Any], reason: str) -> None:
    said = gap(30e-3, around, **changes)
    assert said.startswith("timed end to end, the plan takes 30 ms; 10 ± 0.1 ms were predicted. Likely reason: ")
    assert reason in said
    assert gap(5e-3, around, **changes) != "", "faster than predicted is a gap, too"
