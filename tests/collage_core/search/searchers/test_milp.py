"""`milp` against every plan there is, and against A* and Dijkstra; its claims when HiGHS is inexact or cut short."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import scipy.optimize
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collage_core.search.constraints.constraints import Constraint, allowed_indices
from collage_core.search.decomposition.exact import astar, dijkstra
from collage_core.search.plan_properties import plan_total
from collage_core.search.problem import SearchProblem, Transition
from collage_core.search.searcher import SearchReporter, SearchResult, SearchRun
from collage_core.search.searchers import milp as module
from collage_core.search.searchers.milp import milp
from tests.helpers.examples import examples
from tests.helpers.tiny_problems import (
    CROSSED,
    allowed_plans,
    assert_well_formed,
    constrained_problems,
    interrupted,
    small,
    tiny_problems,
    worth,
)


def everything(problem: SearchProblem) -> list[int]:
    return allowed_indices(problem, ())


@examples(100)
@given(constrained_problems())
def test_all_exact_searchers_agree_with_enumeration(case: tuple[SearchProblem, list[Constraint]]) -> None:
    problem, constraints = case
    usable, plans = allowed_indices(problem, constraints), allowed_plans(problem, constraints)
    best = min((worth(problem, plan) for plan in plans), default=None)
    for searcher in (astar, dijkstra, milp):
        found = searcher(problem, usable)
        assert not found.stopped
        if best is None:
            assert (found.chosen, found.total, found.optimal) == ((), 0, False)
            continue
        assert_well_formed(problem, usable, found.chosen)
        assert worth(problem, found.chosen) == best
        assert found.optimal
        assert found.total == found.lower_bound == best[1]


@examples(50)
@given(tiny_problems(dear=True))
def test_costs_as_they_are_measured_are_never_claimed_beyond_what_is_proven(problem: SearchProblem) -> None:
    """Femtoseconds are finer than HiGHS's tolerances: then it may miss the best plan by some billionths, and says so."""
    plans = allowed_plans(problem)
    found = milp(problem, everything(problem))
    if not plans:
        assert not found.is_feasible
        return
    best = min(worth(problem, plan) for plan in plans)
    assert_well_formed(problem, everything(problem), found.chosen)
    assert found.total == plan_total(problem, found.chosen)
    assert found.lower_bound <= best[1] <= found.total <= best[1] * (1 + 1e-6) + 1
    assert not found.optimal or worth(problem, found.chosen) == best
    assert worth(problem, found.chosen)[0] == best[0]


def test_a_plan_that_is_dearer_by_a_hair_is_not_called_best() -> None:
    """Two plans a femtosecond apart in 0.1 s: whichever HiGHS takes, the bound holds for both."""
    dear = 10**14
    problem = small([(0, (1,), 1), (1, (), 1)], [((0, 1), "a", dear), ((0, 1), "b", dear + 1), ((0,), "a", dear // 3)])
    found = milp(problem, everything(problem))
    assert found.chosen
    assert found.lower_bound <= dear
    assert found.optimal is (found.lower_bound == found.total)
    assert found.gap < dear * 1e-6


def test_only_a_plan_with_a_cycle_is_no_plan() -> None:
    found = milp(CROSSED, [4, 5])
    assert (found.chosen, found.total, found.lower_bound, found.optimal, found.stopped) == ((), 0, 0, False, False)


@pytest.mark.parametrize("usable", [[], [0], [2, 3]])
def test_what_covers_too_little_or_too_much_is_no_plan(usable: list[int]) -> None:
    problem = small(
        [(0, (1,), 1), (1, (2,), 1), (2, (), 1)],
        [((0,), "a", 1), ((1,), "a", 1), ((0, 1), "a", 1), ((1, 2), "a", 1)],
    )
    found = milp(problem, usable)
    assert (found.chosen, found.optimal, found.lower_bound, found.stopped) == ((), False, 0, False)


class _Heard(SearchReporter):
    def __init__(self) -> None:
        self.plans: list[tuple[tuple[int, ...], int]] = []
        self.ends: list[SearchResult] = []

    def better_plan(self, chosen: Any, total: int) -> None:
        self.plans.append((tuple(chosen), total))

    def end(self, result: SearchResult) -> None:
        self.ends.append(result)


def test_the_reporter_hears_the_plan_and_the_end_with_its_bound() -> None:
    heard = _Heard()
    found = milp(CROSSED, everything(CROSSED), SearchRun(heard))
    assert heard.plans == [(found.chosen, 21)]
    assert heard.ends == [found]
    assert found.lower_bound == 21


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(tiny_problems(), st.data())
def test_what_is_cut_short_claims_nothing_that_is_wrong(
    monkeypatch: pytest.MonkeyPatch, problem: SearchProblem, data: st.DataObject
) -> None:
    plans = allowed_plans(problem)
    after = data.draw(st.integers(0, 3))
    with monkeypatch.context() as patch:
        patch.setattr(scipy.optimize, "milp", interrupted(lambda: data.draw(st.booleans()), after))
        found = milp(problem, everything(problem), SearchRun(should_stop=lambda: True))
    if not plans:
        assert found.chosen == ()
        return
    best = min(worth(problem, plan) for plan in plans)
    assert found.lower_bound <= best[1]
    assert found.optimal is not found.stopped
    assert found.stopped or after
    if found.chosen:
        assert_well_formed(problem, everything(problem), found.chosen)
        assert found.total == plan_total(problem, found.chosen)
    assert not found.optimal or worth(problem, found.chosen) == best


@pytest.mark.parametrize("leaves_plan", [True, False])
@pytest.mark.parametrize(("after", "bound"), [(0, 0), (1, 0), (2, 21)])
def test_when_a_later_step_is_cut_short_the_plan_before_it_counts(
    monkeypatch: pytest.MonkeyPatch, leaves_plan: bool, after: int, bound: int
) -> None:
    """First the least unknown nodes (none), then the least total, then fewest partitions: of two at 21, 3 and 4."""
    problem = small(
        [(0, (1,), 1), (1, (2,), 1), (2, (3,), 1), (3, (), 1)],
        [*(((node,), "a", 5) for node in range(3)), ((3,), "a", 6), ((0, 1), "a", 10), ((2, 3), "b", None)],
    )
    monkeypatch.setattr(scipy.optimize, "milp", interrupted(lambda: leaves_plan, after))
    found = milp(problem, everything(problem), SearchRun(should_stop=lambda: True))
    assert (found.stopped, found.optimal, found.lower_bound) == (True, False, bound)
    if after or leaves_plan:
        assert_well_formed(problem, everything(problem), found.chosen)
    if after:
        assert worth(problem, found.chosen)[0] == 0
    if after > 1:
        assert found.total == 21


def test_a_cycle_found_when_time_is_over_is_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = scipy.optimize.milp, 0

    def out_of_time(*given: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        answer = real(*given, **options)
        answer.status = 1
        return answer

    monkeypatch.setattr(scipy.optimize, "milp", out_of_time)
    found = milp(CROSSED, everything(CROSSED), SearchRun(should_stop=lambda: True))
    assert calls == 1
    assert (found.chosen, found.total, found.lower_bound, found.optimal, found.stopped) == ((), 0, 2, False, True)


def test_it_is_solved_in_growing_slices_until_it_is_over_or_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    real, limits = scipy.optimize.milp, list[float | None]()
    asked = 0

    def slow(*given: Any, **options: Any) -> Any:
        limit = options["options"].get("time_limit")
        limits.append(limit)
        answer = real(*given, **options)
        if limit is not None and limit < 4:
            answer.status, answer.x = 1, None
        return answer

    def never_now() -> bool:
        nonlocal asked
        asked += 1
        return False

    monkeypatch.setattr(scipy.optimize, "milp", slow)
    one = small([(0, (), 1)], [((0,), "a", 7)])
    found = milp(one, [0], SearchRun(should_stop=never_now))
    assert limits[:3] == [module.FIRST_SLICE_S, 2 * module.FIRST_SLICE_S, 4 * module.FIRST_SLICE_S]
    assert asked >= 2
    assert (found.total, found.optimal, found.stopped) == (7, True, False)
    limits.clear()
    stopped = milp(one, [0], SearchRun(should_stop=lambda: True))
    assert limits == [module.FIRST_SLICE_S]
    assert (stopped.chosen, stopped.total, stopped.optimal, stopped.lower_bound, stopped.stopped) == ((), 0, False, 0, True)
    limits.clear()
    assert milp(one, [0]).optimal
    assert set(limits) == {None}, "nobody can stop it, so it is not cut up"


def test_a_bound_that_highs_overstates_within_its_tolerance_is_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS may say 5.0000004 of a least of 5: rounded up as it is, that would be 6."""
    real = scipy.optimize.milp

    def overstated(*given: Any, **options: Any) -> Any:
        answer = real(*given, **options)
        answer.mip_dual_bound += 4e-7
        return answer

    monkeypatch.setattr(scipy.optimize, "milp", overstated)
    problem = small([(0, (1,), 1), (1, (), 1)], [((0,), "a", 2), ((1,), "a", 3), ((0, 1), "b", 7)])
    found = milp(problem, range(3))
    assert (found.total, found.lower_bound, found.optimal) == (5, 5, True)


@settings(max_examples=40)
@given(tiny_problems(unknown=False), st.integers(2, 10**9))
def test_a_common_factor_of_all_costs_changes_nothing_but_the_total(problem: SearchProblem, factor: int) -> None:
    candidates = tuple(replace(c, cost=None if c.cost is None else c.cost * factor) for c in problem.candidates)
    transitions = {pair: Transition(t.fixed * factor, t.per_byte * factor) for pair, t in problem.transitions.items()}
    once, scaled = milp(problem, everything(problem)), replace(problem, candidates=candidates, transitions=transitions)
    found = milp(scaled, everything(scaled))
    assert (found.total, found.lower_bound, found.optimal) == (once.total * factor, once.lower_bound * factor, once.optimal)


def test_a_large_program_is_solved_in_a_child_process_that_can_be_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = CROSSED
    asked: list[bool] = []

    def child(function: Callable[[], Any], should_stop: Callable[[], bool]) -> Any:
        asked.append(should_stop())
        return function()

    monkeypatch.setattr(module, "call_in_child", child)
    limited = SearchRun(should_stop=lambda: False)
    assert milp(problem, everything(problem), limited).optimal
    assert asked == [], "a small one needs none"
    monkeypatch.setattr(module, "SMALL_PROGRAM", 0)
    assert milp(problem, everything(problem), limited).chosen == milp(problem, everything(problem)).chosen
    assert asked
