"""`Budget`: what it counts, when it is over, and how long it is unless the user says otherwise."""

from __future__ import annotations

import math

import pytest

from collage_core.options import Options
from collage_core.pipeline.loop.budget import (
    LEAST,
    MOST_COMPARING_S,
    MOST_FOR_INFERENCES_S,
    MOST_RESERVED_S,
    MOST_S,
    RUN_S,
    Budget,
    Deadline,
    budget_s,
    comparing_deadline,
    late_text,
    reserved_s,
    run_deadline,
)


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


def test_the_user_ends_it_at_once_and_before_there_is_a_plan() -> None:
    wishes = [False]
    budget = Budget(10.0, Clock(), should_stop=lambda: wishes[0])
    assert (budget.is_over(), budget.share_spent) == (False, 0.0)
    wishes[0] = True
    assert (budget.is_over(), budget.share_spent) == (True, math.inf)


def test_what_is_left_is_no_more_than_the_limit_leaves() -> None:
    clock = Clock()
    budget = Budget(10.0, clock)
    with budget.counting():
        clock.now_s += 4.0
        assert (budget.left_s(None), budget.left_s(2.0), budget.left_s(60.0)) == (6.0, 2.0, 6.0)
        clock.now_s += 7.0
        assert (budget.left_s(None), budget.left_s(5.0)) == (None, 5.0), "it ends nothing before there is a plan"
        budget.has_plan = True
        assert budget.left_s(5.0) == 0.0
    assert (Budget().left_s(None), Budget().left_s(5.0)) == (None, 5.0)


def test_what_is_left_of_the_run_includes_its_end() -> None:
    budget = Budget(10.0, Clock())
    budget.end_s = lambda: 4.0
    assert (budget.left_s(None), budget.left_s(2.0)) == (14.0, 6.0)
    budget = Budget()
    budget.end_s = lambda: 4.0
    assert (budget.left_s(None), budget.left_s(2.0)) == (None, 6.0)


def test_without_a_limit_it_is_never_over() -> None:
    clock = Clock()
    budget = Budget(clock=clock)
    budget.has_plan = True
    with budget.counting():
        clock.now_s += 1e9
        assert (budget.is_over(), budget.share_spent, budget.limit_s) == (False, 0.0, math.inf)


def test_shares_are_of_what_the_first_looks_left() -> None:
    clock = Clock()
    budget = Budget(10.0, clock)
    with budget.counting():
        clock.now_s += 6.0
        budget.begin_shares()
        assert budget.share_spent == 0.0
        clock.now_s += 1.0
        assert budget.share_spent == 0.25
        clock.now_s += 9.0
        budget.begin_shares()
        assert budget.share_spent == 1.0, "nothing was left"


@pytest.mark.parametrize(("whole_s", "more_s"), [(None, 0.0), (0.02, 1.5), (5.0, MOST_FOR_INFERENCES_S)])
def test_a_slow_model_gets_more_unless_the_user_says_how_long_it_may_take(whole_s: float | None, more_s: float) -> None:
    run = Deadline(30.0, lambda: 0.0)
    grown, fixed = Budget(10.0, extend_run=run.extend), Budget(10.0)
    for budget in (grown, fixed):
        budget.add_inferences(whole_s)
    assert (grown.limit_s, run.left_s, fixed.limit_s) == (10.0 + more_s, 30.0 + more_s, 10.0)


def test_a_faster_whole_takes_the_place_of_a_slower_one() -> None:
    run = Deadline(30.0, lambda: 0.0)
    budget = Budget(10.0, extend_run=run.extend)
    budget.add_inferences(0.2)
    budget.add_inferences(0.1)
    assert (budget.limit_s, run.left_s) == (17.5, 37.5)


@pytest.mark.parametrize(
    ("run_s", "seconds"), [(5.0, 2.5), (8.0, 4.0), (30.0, 12.0), (600.0, MOST_RESERVED_S), (math.inf, MOST_RESERVED_S)]
)
def test_measuring_leaves_a_share_of_the_run_for_its_end(run_s: float, seconds: float) -> None:
    assert reserved_s(run_s) == seconds


@pytest.mark.parametrize(("nodes", "seconds"), [(0, 15.0), (20, 25.0), (10_000, MOST_S)])
def test_the_default_grows_with_the_model_up_to_a_limit(nodes: int, seconds: float) -> None:
    assert budget_s(Options(("tvm",)), nodes) == seconds
    assert budget_s(Options(("tvm",), budget_s=7.0, measure_all=True), nodes) == 7.0


def test_nothing_bounds_what_is_not_measured_or_was_asked_for_whole() -> None:
    assert budget_s(Options(("tvm",), costs="roofline"), 8) == budget_s(Options(("tvm",), measure_all=True), 8) == math.inf


def test_a_share_of_it_may_be_all_for_a_while_once_there_is_a_plan() -> None:
    clock = Clock()
    budget = Budget(10.0, clock)
    with budget.counting():
        clock.now_s += 6.0
        with budget.within(0.5):
            assert not budget.is_over(), "there is no plan"
            budget.has_plan = True
            assert budget.is_over()
        assert not budget.is_over()


def test_it_comes_and_stays() -> None:
    now = [50.0]
    deadline = Deadline(10.0, lambda: now[0])
    now[0] += 4.0
    assert (deadline.left_s, deadline.is_over()) == (6.0, False)
    now[0] += 7.0
    assert (deadline.left_s, deadline.is_over()) == (0.0, True)
    assert (Deadline().left_s, Deadline().is_over()) == (math.inf, False)


def test_it_may_be_put_off() -> None:
    deadline = Deadline(10.0, lambda: 0.0)
    deadline.extend(5.0)
    assert deadline.left_s == 15.0
    deadline.leave(3.0)
    assert deadline.left_s == 15.0
    deadline.leave(20.0)
    assert deadline.left_s == 20.0


@pytest.mark.parametrize(("elapsed_s", "left_s"), [(3.0, MOST_S - 3.0), (MOST_S, LEAST * MOST_S)])
def test_a_run_is_over_some_time_after_its_start_but_not_before_it_could_do_anything(elapsed_s: float, left_s: float) -> None:
    assert run_deadline(Options(("tvm",)), 1000, elapsed_s, lambda: 0.0).left_s == left_s


@pytest.mark.parametrize(("elapsed_s", "left_s"), [(3.0, 27.0), (40.0, 0.0)])
def test_a_budget_is_the_time_from_the_start_to_the_answer(elapsed_s: float, left_s: float) -> None:
    assert run_deadline(Options(("tvm",), budget_s=30.0), 1000, elapsed_s, lambda: 0.0).left_s == left_s


def test_tuning_comes_on_top() -> None:
    assert run_deadline(Options(("tvm",), budget_s=30.0, tune_s=60.0), 1000, 5.0, lambda: 0.0).left_s == 85.0


@pytest.mark.parametrize(
    "given", [{"measure_all": True}, {"costs": "roofline", "time_limit_s": 500.0}, {"costs": "roofline", "budget_s": 500.0}]
)
def test_it_takes_as_long_as_it_takes_where_the_user_asks_for_it(given: dict[str, object]) -> None:
    assert run_deadline(Options(("tvm",), **given), 1000, 3.0).left_s == math.inf  # type: ignore[arg-type]


def test_a_run_that_measures_nothing_ends_as_well_and_a_limit_of_each_search_is_none_of_measuring() -> None:
    assert run_deadline(Options(("tvm",), costs="roofline"), 1000, 3.0, lambda: 0.0).left_s == RUN_S - 3.0
    assert run_deadline(Options(("tvm",), time_limit_s=500.0), 1000, 3.0, lambda: 0.0).left_s == MOST_S - 3.0


@pytest.mark.parametrize(
    ("whole_run_s", "left_s", "comparing_s"),
    [(40.0, 12.0, 12.0), (40.0, 0.0, 4.0), (math.inf, math.inf, MOST_COMPARING_S)],
)
def test_comparing_takes_what_the_run_has_and_may_be_a_little_late(whole_run_s: float, left_s: float, comparing_s: float) -> None:
    assert comparing_deadline(whole_run_s, Deadline(left_s, lambda: 0.0), lambda: 0.0).left_s == comparing_s


def test_a_run_that_is_late_says_why_and_which_budget_would_do() -> None:
    assert late_text(6.0, 5.0, 1.0) == ""
    assert late_text(100.0, math.inf, 90.0) == ""
    assert late_text(13.0, 5.0, 2.0) == (
        "the answer took 13 s, more than its budget of 5 s: loading the model, building, checking and comparing plans took 11 s of it, "
        "as busy as this machine is; a budget must be larger than that"
    )
