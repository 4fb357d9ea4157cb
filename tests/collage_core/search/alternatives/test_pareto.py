"""The Pareto list against every plan there is, and whether it says so when it may lack one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
import scipy.optimize
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collage_core.search.alternatives.pareto import pareto
from collage_core.search.constraints.constraints import Constraint, allowed_indices
from collage_core.search.objectives import measures
from collage_core.search.problem import SearchProblem, Transition
from collage_core.search.searcher import SearchReporter, SearchRun
from tests.helpers.tiny_problems import CROSSED, allowed_plans, assert_well_formed, constrained_problems, interrupted, small, tiny_problems


def undominated(problem: SearchProblem, constraints: Sequence[Constraint] = ()) -> list[tuple[int, int]]:
    """(time, bytes) of the plans of fewest unknown nodes, of which no other has less of one and no more of the other."""
    every = [measures(problem, plan) for plan in allowed_plans(problem, constraints)]
    least = min((has.unknown_nodes for has in every), default=0)
    pairs = {(has.time, has.bytes) for has in every if has.unknown_nodes == least}
    return sorted(p for p in pairs if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in pairs))


def listed(found: Any) -> list[tuple[int, int]]:
    return [(plan.measures.time, plan.measures.bytes) for plan in found.plans]


@settings(max_examples=50)
@given(constrained_problems())
def test_the_list_is_that_of_enumeration(case: tuple[SearchProblem, list[Constraint]]) -> None:
    problem, constraints = case
    usable = allowed_indices(problem, constraints)
    found = pareto(problem, usable)
    assert listed(found) == undominated(problem, constraints)
    assert found.is_complete
    for plan in found.plans:
        assert_well_formed(problem, usable, plan.chosen)
        assert plan.measures == measures(problem, plan.chosen)


@settings(max_examples=30)
@given(tiny_problems(dear=True))
def test_with_costs_as_they_are_measured_it_is_complete_where_it_says_so(problem: SearchProblem) -> None:
    found, every = pareto(problem, allowed_indices(problem, ())), undominated(problem)
    assert bool(found.plans) is bool(every)
    got = listed(found)
    assert all(a[0] < b[0] and a[1] > b[1] for a, b in pairwise(got)), "the fastest first, each moves fewer bytes"
    if found.is_complete:
        assert got == every


def ladder() -> SearchProblem:
    """A chain of three whose middle is dear on ``a``: alone on ``b`` it is fast and moves 8 + 4 bytes, with node 2 only the 8."""
    return small(
        [(0, (1,), 8), (1, (2,), 4), (2, (), 1)],
        [((0,), "a", 1), ((1,), "a", 50), ((2,), "a", 1), ((1,), "b", 5), ((2,), "b", 9)],
        transitions={("a", "b"): Transition(0, 1), ("b", "a"): Transition(2)},
    )


def test_a_ladder_by_hand() -> None:
    found = pareto(ladder(), range(5))
    assert [(plan.chosen, plan.measures.time, plan.measures.bytes) for plan in found.plans] == [
        ((0, 3, 2), 1 + 8 + 5 + 2 + 1, 12),
        ((0, 3, 4), 1 + 8 + 5 + 9, 8),
        ((0, 1, 2), 52, 0),
    ]
    assert found.is_complete


def test_a_plan_that_moves_nothing_is_found_below_one_that_moves_a_byte() -> None:
    """HiGHS's presolve said that there is none while the limit of bytes was half a byte more."""
    problem = small(
        [(0, (), 0), (1, (2,), 1), (2, (3,), 1), (3, (), 0)],
        [((0,), "a", 0), ((1,), "c", 0), ((2,), "a", 0), ((2,), "c", 0), ((3,), "c", 0), ((2, 3), "a", 0)],
        transitions={("c", "c"): Transition(1, 1)},
    )
    found = pareto(problem, range(6))
    assert listed(found) == undominated(problem) == [(0, 1), (4, 0)]
    assert found.is_complete


def test_where_one_plan_is_best_in_both_there_is_one() -> None:
    found = pareto(CROSSED, range(6))
    assert listed(found) == [(21, 0)]
    assert found.is_complete


def test_without_a_plan_the_list_is_empty_and_complete() -> None:
    found = pareto(CROSSED, [4, 5])
    assert (found.plans, found.is_complete) == ((), True)
    assert pareto(CROSSED, []).plans == ()


def test_stopped_before_it_begins_it_claims_nothing() -> None:
    found = pareto(ladder(), range(5), SearchRun(should_stop=lambda: True))
    assert (found.plans, found.is_complete) == ((), False)


class _StopsAfter(SearchReporter):
    """Stops a run once it has heard so many plans."""

    def __init__(self, plans: int) -> None:
        self.left = plans

    def better_plan(self, chosen: Sequence[int], total: int) -> None:
        self.left -= 1

    def is_over(self) -> bool:
        return self.left <= 0


@pytest.mark.parametrize("plans", [1, 2])
def test_stopped_on_the_way_it_has_what_it_found_and_is_not_complete(plans: int) -> None:
    heard = _StopsAfter(plans)
    found = pareto(ladder(), range(5), SearchRun(heard, heard.is_over))
    assert listed(found) == [(17, 12), (23, 8)][:plans]
    assert not found.is_complete


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(tiny_problems(), st.data())
def test_cut_short_by_highs_it_is_not_called_complete(monkeypatch: pytest.MonkeyPatch, problem: SearchProblem, data: st.DataObject) -> None:
    if not allowed_plans(problem):
        return
    begins = iter([False])
    with monkeypatch.context() as patch:
        patch.setattr(scipy.optimize, "milp", interrupted(lambda: data.draw(st.booleans())))
        found = pareto(problem, allowed_indices(problem, ()), SearchRun(should_stop=lambda: next(begins, True)))
    assert not found.is_complete
    for plan in found.plans:
        assert_well_formed(problem, allowed_indices(problem, ()), plan.chosen)
        assert plan.measures == measures(problem, plan.chosen)


def test_an_unproven_step_makes_the_list_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that HiGHS leaves a step below its plan: a plan between the two may be missing."""
    real = scipy.optimize.milp

    def loose(*given: Any, **options: Any) -> Any:
        answer = real(*given, **options)
        if answer.mip_dual_bound is not None:
            answer.mip_dual_bound -= 2.0
        return answer

    monkeypatch.setattr(scipy.optimize, "milp", loose)
    found = pareto(ladder(), range(5))
    assert listed(found) == [(17, 12), (23, 8), (52, 0)]
    assert not found.is_complete


@pytest.mark.parametrize("size", [10**6 + 1, 10**9 + 1, 10**12 + 1, 2**50 - 1])
def test_beside_huge_tensors_small_ones_may_be_missed_and_that_is_said(size: int) -> None:
    """HiGHS cannot tell 10^9 + 4 bytes from 10^9 + 3: it ends all the same, and does not claim to have every plan."""
    costs = {"a": (1, 50, 60, 1), "b": (100, 5, 9, 12)}
    sets = [((node,), target, cost) for target, row in costs.items() for node, cost in enumerate(row)]
    problem = small([(0, (1,), size), (1, (2,), 1), (2, (3,), 3), (3, (), 1)], sets)
    found = pareto(problem, range(8))
    got = listed(found)
    assert got
    assert got[0] == (16, size + 3)
    assert all(a[0] < b[0] and a[1] > b[1] for a, b in pairwise(got))
    assert found.is_complete is False or got == undominated(problem)
    assert not (found.is_complete and size > 10**6 + 1)
