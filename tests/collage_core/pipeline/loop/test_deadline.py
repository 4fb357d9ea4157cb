"""`Deadline`: when a run should be over, and how long whole plans may be compared."""

from __future__ import annotations

import math

import pytest

from collage_core.options import Options
from collage_core.pipeline.loop.budget import MOST_S
from collage_core.pipeline.loop.deadline import LEAST, MOST_COMPARING_S, RUN_S, Deadline, comparing_deadline, late_text, run_deadline


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
