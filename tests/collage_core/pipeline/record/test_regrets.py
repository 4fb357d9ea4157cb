"""The regret of a candidate: a bound is no cost, and an estimate says that it is one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from collage_core.base.durations import duration
from collage_core.pipeline.record.known_regret import KnownRegret
from collage_core.pipeline.record.regrets import PlanRegrets
from collage_core.search.problem import SearchProblem
from collage_core.search.problem_json import problem_from_json

A0, A1, B0, B1 = range(4)
"""Two nodes in a row, each on one of two targets."""


@pytest.fixture
def problem() -> SearchProblem:
    candidates = [
        {"nodes": [node], "target": target, "cost_s": cost_s}
        for target, costs in (("a", (1.0, 1.0)), ("b", (3.0, 1.5)))
        for node, cost_s in enumerate(costs)
    ]
    return problem_from_json({"schema": 1, "nodes": 2, "edges": [[0, 1, 4]], "candidates": candidates, "transitions": {}})


def told(problem: SearchProblem, sources: Sequence[str], chosen: Sequence[int] = (A0, A1)) -> list[KnownRegret]:
    asked = PlanRegrets(problem, sources, [], chosen, is_optimal=True, is_by_time=True, known_s={str(index): 7.0 for index in range(4)})
    return [asked.of(index) for index in range(4)]


def test_measured_costs_give_exact_regrets(problem: SearchProblem) -> None:
    regrets = PlanRegrets(problem, ["measured"] * 4, [], (A0, A1), is_optimal=True, is_by_time=True)
    assert [regrets.of(index) for index in range(4)] == [KnownRegret(0.0), KnownRegret(0.0), KnownRegret(2.0), KnownRegret(0.5)]


def test_a_heuristic_bound_is_no_cost(problem: SearchProblem) -> None:
    regrets = told(problem, ["measured", "measured", "measured", "bound"])
    assert [one.exact_s for one in regrets] == [0.0, 0.0, 2.0, None]
    assert (regrets[B1].rests_on_unknown, regrets[B1].text(duration)) == (True, "unknown")
    of_bound_plan = told(problem, ["bound", "measured", "measured", "measured"])
    assert [one.exact_s for one in of_bound_plan] == [0.0, 0.0, None, None], "the plan rests on it"


def test_a_regret_that_rests_on_an_estimate_says_so(problem: SearchProblem) -> None:
    regrets = told(problem, ["measured", "measured", "measured", "profile"])
    assert [(one.exact_s, one.basis) for one in regrets] == [
        (0.0, "predicted"),
        (0.0, "predicted"),
        (2.0, "predicted"),
        (0.5, "estimated"),
    ]
    assert [one.text(duration) for one in regrets[B0:]] == ["2 s", "≈ 500 ms"]
    of_estimated_plan = told(problem, ["profile", "measured", "measured", "measured"])
    assert [one.basis for one in of_estimated_plan[B0:]] == ["estimated", "estimated"]
