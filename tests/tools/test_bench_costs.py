"""`make bench-costs`: the verdict on estimates from profiles."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from bench_costs import FirstNumbers, estimates_verdict, numbers_verdict, spread

from collage_core.cost.cost import Cost
from collage_core.events import StepStarted


def test_the_worst_of_95_in_100_is_told_beside_the_median() -> None:
    assert spread([share / 100 for share in range(100, 0, -1)]) == (0.505, 0.95)
    assert spread([]) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ([0.1] * 19 + [5.0], "PASS"),
        ([0.1] * 18 + [0.4, 5.0], "FAIL"),
        ([0.11] * 20, "FAIL"),
        ([], "FAIL"),
    ],
)
def test_estimates_are_near_where_one_in_twenty_misses_by_more(errors: list[float], said: str) -> None:
    assert estimates_verdict(errors).startswith(f"{said}  profiles: estimates of {len(errors)} candidates miss their trials by ")


def test_the_first_numbers_are_costs_and_estimates_at_the_end_of_profiles() -> None:
    costs = [Cost(1.0, "measured"), Cost.from_profile(1.0, 0.1), Cost.bound(0.5), Cost.unknown("not asked"), Cost.invalid("build", "no")]
    asked: list[str] = []
    table = SimpleNamespace(set_estimates=lambda: asked.append("set"), costed=lambda: [SimpleNamespace(cost=cost) for cost in costs])
    first, run = FirstNumbers(), SimpleNamespace(loop=SimpleNamespace(table=table))
    first(StepStarted("settle"))
    assert not asked, "of no run"
    given: Any = run
    first.run = given
    for step in ("largest first", "profile", "settle"):
        first(StepStarted(step))
    seconds = first.seconds
    first(StepStarted("settle"))
    assert (asked, first.seconds) == (["set"], seconds), "a later search is none of the first"
    assert (first.numbered, first.candidates) == (3, 5)


@pytest.mark.parametrize(("seconds", "said"), [([2.0, 9.9], "PASS"), ([2.0, 10.1], "FAIL"), ([2.0, float("nan")], "FAIL"), ([], "FAIL")])
def test_numbers_come_within_ten_seconds(seconds: list[float], said: str) -> None:
    assert numbers_verdict(seconds).startswith(f"{said}  profiles: candidates of models under 500 nodes had a number ")
