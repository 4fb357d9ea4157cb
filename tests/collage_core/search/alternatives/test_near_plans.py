"""Plans near the best plan by their totals, and different from it and from each other in what costs much."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import assume, given

from collage_core.graph.index_set import IndexSet
from collage_core.search.alternatives.near_plans import near_plans
from collage_core.search.plan_properties import plan_total
from collage_core.search.problem import SearchCandidate, SearchProblem
from collage_core.search.searcher import SearchRun
from collage_core.search.solve import solve
from tests.helpers.examples import examples
from tests.helpers.problems import every_plan
from tests.helpers.tiny_problems import tiny_problems


def chain(*parts: tuple[str, tuple[int, ...], int]) -> SearchProblem:
    """Three nodes that nothing joins, and candidates as (target, nodes, femtoseconds)."""
    made = tuple(SearchCandidate(IndexSet(nodes), target, cost, f"{target}{nodes}") for target, nodes, cost in parts)
    return SearchProblem(nodes=3, tensors=(), candidates=made, transitions={}, priorities=("a", "b", "c"))


def found(problem: SearchProblem, most: int, keys: Sequence[object] | None = None, count: int = 9) -> list[list[str]]:
    best = solve(problem)
    listed = near_plans(problem, range(len(problem.candidates)), best.chosen, most, keys or list(range(99)), count)
    return [[problem.candidates[index].id for index in plan.chosen] for plan in listed]


SPLIT = chain(("a", (0, 1, 2), 1000), ("b", (0, 1), 900), ("c", (2,), 110), ("c", (0, 1, 2), 1040), ("b", (2,), 900))


def test_rivals_are_near_and_come_in_the_order_of_their_totals() -> None:
    assert found(SPLIT, 1050) == [["b(0, 1)", "c(2,)"], ["c(0, 1, 2)"]]
    assert found(SPLIT, 1039) == [["b(0, 1)", "c(2,)"]]
    assert found(SPLIT, 1009) == []
    assert found(SPLIT, 1050, count=1) == [["b(0, 1)", "c(2,)"]]


def test_a_plan_that_differs_in_little_or_only_exchanges_equal_computations_is_no_rival() -> None:
    little = chain(("a", (0, 1), 900), ("a", (2,), 50), ("b", (2,), 60))
    assert found(little, 2000) == []
    equal = chain(("a", (0,), 300), ("a", (1,), 300), ("a", (2,), 300), ("b", (0,), 300), ("b", (1,), 300), ("b", (2,), 301))
    assert found(equal, 2000, keys=["x"] * 6) == []
    assert found(equal, 2000) != []


def test_nothing_is_looked_for_when_the_time_is_over() -> None:
    over = SearchRun(should_stop=lambda: True)
    assert near_plans(SPLIT, range(5), solve(SPLIT).chosen, 1050, list(range(5)), 9, over) == []


@given(tiny_problems(most_nodes=5, unknown=False))
@examples(40)
def test_every_rival_is_a_plan_whose_total_is_what_it_says(problem: SearchProblem) -> None:
    plans = {frozenset(plan) for plan in every_plan(problem)}
    assume(plans)  # targets that exclude each other may leave none
    best = solve(problem)
    most = best.total + max(1, best.total // 2)
    usable = range(len(problem.candidates))
    listed = near_plans(problem, usable, best.chosen, most, list(usable), 3)
    assert len(listed) <= 3
    for plan in listed:
        assert frozenset(plan.chosen) in plans
        assert best.total <= plan.total == plan_total(problem, plan.chosen) <= most
        assert frozenset(plan.chosen) != frozenset(best.chosen)
    assert [plan.total for plan in listed] == sorted(plan.total for plan in listed)
