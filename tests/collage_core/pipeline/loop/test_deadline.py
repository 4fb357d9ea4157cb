"""`Deadline`: when a run should be over, and how long whole plans may be compared."""

from __future__ import annotations

import math

import pytest

from collage_core.options import Options
from collage_core.pipeline.loop.deadline import (
    LEAST_COMPARING_S,
    LEAST_S,
    MOST_COMPARING_S,
    RUN_S,
    Deadline,
    comparing_deadlines,
    run_deadline,
)


def test_it_comes_and_stays() -> None:
    now = [50.0]
    deadline = Deadline(10.0, lambda: now[0])
    now[0] += 4.0
    assert (deadline.left_s, deadline.is_over()) == (6.0, False)
    now[0] += 7.0
    assert (deadline.left_s, deadline.is_over()) == (0.0, True)
    assert (Deadline().left_s, Deadline().is_over()) == (math.inf, False)


@pytest.mark.parametrize(("elapsed_s", "left_s"), [(3.0, RUN_S - 3.0), (RUN_S, LEAST_S)])
def test_a_run_is_over_some_time_after_its_start_but_not_before_it_could_do_anything(elapsed_s: float, left_s: float) -> None:
    assert run_deadline(Options(("tvm",)), elapsed_s, lambda: 0.0).left_s == left_s


@pytest.mark.parametrize("given", [{"budget_s": 5.0}, {"measure_all": True}, {"costs": "roofline", "time_limit_s": 500.0}])
def test_it_takes_as_long_as_it_takes_where_the_user_says_how_long(given: dict[str, object]) -> None:
    assert run_deadline(Options(("tvm",), **given), 3.0).left_s == math.inf  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [{"costs": "roofline"}, {"time_limit_s": 500.0}])
def test_a_run_that_measures_nothing_ends_as_well_and_a_limit_of_each_search_is_none_of_measuring(given: dict[str, object]) -> None:
    assert run_deadline(Options(("tvm",), **given), 3.0, lambda: 0.0).left_s == RUN_S - 3.0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("measuring_s", "run_left_s", "wanted_s", "last_s"),
    [
        (40.0, math.inf, 30.0, MOST_COMPARING_S),
        (40.0, 80.0, 30.0, 80.0),
        (40.0, 20.0, 20.0, 20.0),
        (1.0, 80.0, LEAST_COMPARING_S, 80.0),
        (40.0, 0.0, LEAST_COMPARING_S, LEAST_COMPARING_S),
        (math.inf, math.inf, MOST_COMPARING_S, MOST_COMPARING_S),
    ],
)
def test_comparing_takes_its_share_of_the_budget_and_what_must_be_compared_what_the_run_has(
    measuring_s: float, run_left_s: float, wanted_s: float, last_s: float
) -> None:
    found = comparing_deadlines(measuring_s, Deadline(run_left_s, lambda: 0.0), lambda: 0.0)
    assert (found.wanted.left_s, found.last.left_s) == (wanted_s, last_s)
