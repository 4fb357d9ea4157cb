"""`Budget`: what it counts, when it is over, and how long it is unless the user says otherwise."""

from __future__ import annotations

import math

import pytest

from collage_core.options import Options
from collage_core.pipeline.budget import MOST_S, Budget, budget_s


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_it_counts_while_something_is_measured_and_not_in_between() -> None:
    clock = Clock()
    budget = Budget(10.0, clock)
    with budget.counting():
        clock.now_s += 3.0
        assert budget.spent_s == 3.0
    clock.now_s += 50.0
    with budget.counting():
        clock.now_s += 4.0
    assert (budget.spent_s, budget.share_spent) == (7.0, 0.7)


def test_it_ends_nothing_before_there_is_a_plan() -> None:
    clock = Clock()
    budget = Budget(1.0, clock)
    with budget.counting():
        clock.now_s += 2.0
        assert not budget.is_over()
        budget.has_plan = True
        assert budget.is_over()


def test_without_a_limit_it_is_never_over() -> None:
    clock = Clock()
    budget = Budget(clock=clock)
    budget.has_plan = True
    with budget.counting():
        clock.now_s += 1e9
        assert (budget.is_over(), budget.share_spent, budget.limit_s) == (False, 0.0, math.inf)


@pytest.mark.parametrize(("nodes", "seconds"), [(0, 15.0), (100, 25.0), (10_000, MOST_S)])
def test_the_default_grows_with_the_model_up_to_a_limit(nodes: int, seconds: float) -> None:
    assert budget_s(Options(("tvm",)), nodes) == seconds
    assert budget_s(Options(("tvm",), budget_s=7.0, measure_all=True), nodes) == 7.0


def test_nothing_bounds_what_is_not_measured_or_was_asked_for_whole() -> None:
    assert budget_s(Options(("tvm",), costs="roofline"), 8) == budget_s(Options(("tvm",), measure_all=True), 8) == math.inf
