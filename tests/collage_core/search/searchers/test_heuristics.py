"""`greedy`, `op_dp`, `evolutionary` and `random`: what they give is always a plan, and never called better than it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collage_core.errors import InfeasibleError
from collage_core.graph.index_set import IndexSet
from collage_core.search.constraints.constraints import Constraint, allowed_indices
from collage_core.search.problem import SearchCandidate, SearchProblem, Transition
from collage_core.search.result import plan_total
from collage_core.search.searcher import QUIET, SearchReporter, SearchResult, SearchRun
from collage_core.search.searchers import op_dp as op_dp_module
from collage_core.search.searchers import random_plan
from collage_core.search.searchers.candidate_pool import CandidatePool
from collage_core.search.searchers.contraction import Contraction
from collage_core.search.searchers.evolutionary import Evolution, evolutionary, evolve
from collage_core.search.searchers.exact import astar
from collage_core.search.searchers.greedy import greedy
from collage_core.search.searchers.op_dp import op_dp
from collage_core.search.searchers.random_plan import random_plans
from collage_core.search.solve import solve
from tests.helpers.tiny_problems import (
    CROSSED,
    allowed_plans,
    assert_well_formed,
    can_run,
    constrained_problems,
    small,
    tiny_problems,
    worth,
)

Case = tuple[SearchProblem, list[Constraint]]
BRIEF = Evolution(population=6, most_plans=60, patience=30)


def brief(problem: SearchProblem, usable: list[int], run: SearchRun = QUIET) -> SearchResult:
    """`evolutionary` with a small budget."""
    return evolve(problem, usable, run, BRIEF)


@pytest.mark.parametrize("searcher", [greedy, op_dp, brief, random_plans])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(constrained_problems())
def test_what_is_found_is_a_plan_and_nothing_wrong_is_said_of_it(
    monkeypatch: pytest.MonkeyPatch, searcher: Callable[..., SearchResult], case: Case
) -> None:
    monkeypatch.setattr(random_plan, "PLANS", 40)
    problem, constraints = case
    usable = allowed_indices(problem, constraints)
    found = searcher(problem, usable)
    assert not found.stopped
    if not found.chosen:
        assert (found.total, found.optimal) == (0, False)
        return
    assert_well_formed(problem, usable, found.chosen)
    assert found.total == plan_total(problem, found.chosen)
    assert list(found.chosen) == sorted(found.chosen, key=lambda index: problem.candidates[index].inside.first())
    best = min(worth(problem, plan) for plan in allowed_plans(problem, constraints))
    assert worth(problem, found.chosen) >= best
    assert found.lower_bound <= best[1]
    assert not found.optimal or worth(problem, found.chosen) == best


@settings(max_examples=40)
@given(constrained_problems())
def test_evolution_is_never_worse_than_where_it_began(case: Case) -> None:
    problem, constraints = case
    usable = allowed_indices(problem, constraints)
    begun = [worth(problem, plan.chosen) for plan in (op_dp(problem, usable), greedy(problem, usable)) if plan.chosen]
    bred = brief(problem, usable)
    assert not begun or worth(problem, bred.chosen) <= min(begun)


@pytest.mark.parametrize(("cost", "total"), [(50, 50), (103, 102)])
def test_evolution_begins_with_the_plans_of_op_dp_and_greedy(cost: int, total: int) -> None:
    """`op_dp` and the cheapest fill take 1 + 1 and pay 100 for the hand-over; `greedy` takes both nodes as one."""
    sets: list[tuple[tuple[int, ...], str, int | None]] = [((0,), "a", 1), ((1,), "b", 1), ((0, 1), "a", cost)]
    problem = small([(0, (1,), 1), (1, (), 1)], sets, transitions={("a", "b"): Transition(100)})
    unbred = evolve(problem, range(3), QUIET, Evolution(population=1, most_plans=1, patience=1))
    assert (unbred.total, unbred.states) == (total, 3)


@settings(max_examples=30)
@given(tiny_problems(), st.integers(0, 3))
def test_the_same_seed_gives_the_same_plan(problem: SearchProblem, seed: int) -> None:
    usable = allowed_indices(problem, ())
    once, again = (brief(problem, usable, SearchRun(seed=seed)) for _ in range(2))
    assert (once.chosen, once.total, once.states) == (again.chosen, again.total, again.states)


def grid(nodes: int = 12) -> SearchProblem:
    """A chain with singles and pairs on two targets, whose best plan lots hardly find."""
    edges = [(node, (node + 1,) if node + 1 < nodes else (), 1) for node in range(nodes)]
    sets: list[tuple[tuple[int, ...], str, int | None]] = []
    for node in range(nodes):
        sets += [((node,), "a", 5 + node % 3), ((node,), "b", 6 - node % 2)]
        if node + 1 < nodes:
            sets += [((node, node + 1), "a", 12 - 5 * (node % 2)), ((node, node + 1), "b", 8 + node % 5)]
    return small(edges, sets, transitions={("a", "b"): Transition(5), ("b", "a"): Transition(2)})


def test_lots_depend_on_the_seed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_plan, "PLANS", 1)
    problem = grid()
    usable = allowed_indices(problem, ())
    plans = [random_plans(problem, usable, SearchRun(seed=seed)).chosen for seed in range(8)]
    assert plans == [random_plans(problem, usable, SearchRun(seed=seed)).chosen for seed in range(8)]
    assert len(set(plans)) > 4


def test_more_lots_are_never_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = grid()
    usable = allowed_indices(problem, ())
    totals = []
    for plans in (1, 10, 100):
        monkeypatch.setattr(random_plan, "PLANS", plans)
        totals.append(random_plans(problem, usable).total)
    assert totals == sorted(totals, reverse=True)
    assert totals[0] > totals[-1]


def test_breeding_finds_what_op_dp_and_greedy_miss() -> None:
    """`op_dp` pays for changes of target that it does not see; `greedy` takes the pairs of ``a`` from the first node on."""
    problem = grid()
    usable = allowed_indices(problem, ())
    best, bred = astar(problem, usable), evolutionary(problem, usable)
    assert bred.total < min(op_dp(problem, usable).total, greedy(problem, usable).total)
    assert bred.total == best.total
    assert not bred.optimal, "it proves nothing"


# greedy


def test_greedy_takes_the_preferred_toolchain_first_and_its_largest_whatever_they_cost() -> None:
    edges = [(0, (1,), 1), (1, (2,), 1), (2, (3,), 1), (3, (), 1)]
    sets = [((0,), "a", 1), ((1, 2), "a", 900), ((0, 1, 2, 3), "b", 1), ((0,), "b", 1), ((3,), "b", 50), ((3,), "c", 1)]
    assert greedy(small(edges, sets), range(6)).chosen == (0, 1, 4), "a: {1, 2}, {0}; b: what is left of it; c is too late"
    assert greedy(small(edges, sets, priorities=("b", "a", "c")), range(6)).chosen == (2,)
    assert greedy(small(edges, sets, priorities=("c", "a", "b")), range(6)).chosen == (0, 1, 5)
    assert greedy(small(edges, sets, priorities=("b", "a", "c")), [0, 1, 3, 4, 5]).chosen == (3, 1, 4), "only what may be used"


def test_of_equal_sizes_greedy_takes_the_earlier() -> None:
    edges = [(0, (1,), 1), (1, (2,), 1), (2, (), 1)]
    sets = [((1, 2), "a", 1), ((0, 1), "a", 9), ((0,), "b", 1), ((2,), "b", 1)]
    assert greedy(small(edges, sets), range(4)).chosen == (1, 3)


def test_greedy_goes_into_a_dead_end_and_says_so() -> None:
    sets = [((0, 1), "a", 1), ((1, 2), "a", 1), ((0,), "a", 1)]
    found = greedy(small([(0, (1,), 1), (1, (2,), 1), (2, (), 1)], sets), range(3))
    assert (found.chosen, found.total, found.optimal) == ((), 0, False)


def test_greedy_leaves_out_what_would_close_a_cycle() -> None:
    """{0, 3} comes first; {1, 2} is as large, but each would wait for the other."""
    problem = CROSSED.with_candidates([replace(candidate, target="a") for candidate in CROSSED.candidates])
    assert greedy(problem, range(6)).chosen == (4, 1, 2)
    assert greedy(problem, [0, 1, 2, 3, 5]).chosen == (0, 5, 3)


def test_a_contraction_follows_ways_through_what_is_placed() -> None:
    """0→1 and 2→3: from {0, 3} a way leads over 1 to 2 once these are one, and from {1, 2} over 3 back to the earlier 0."""
    for first, second in (((1, 2), (0, 3)), ((0, 3), (1, 2))):
        plan = Contraction(CROSSED)
        assert plan.admits(IndexSet(first))
        plan.add(IndexSet(first))
        assert not plan.admits(IndexSet(second))
        assert all(plan.admits(IndexSet((node,))) for node in second)


def test_greedy_leaves_out_what_a_taken_target_excludes() -> None:
    sets = [((0,), "a", 1), ((1,), "b", 1), ((1,), "c", 1)]
    edges = [(0, (1,), 1), (1, (), 1)]
    assert greedy(small(edges, sets), range(3)).chosen == (0, 1)
    assert greedy(small(edges, sets, exclusive=(("b", "a"),)), range(3)).chosen == (0, 2)


@settings(max_examples=50)
@given(tiny_problems(), st.data())
def test_a_contraction_admits_just_what_leaves_no_cycle(problem: SearchProblem, data: st.DataObject) -> None:
    free = list(range(problem.nodes))
    plan, units = Contraction(problem), list[IndexSet]()
    while free:
        inside = IndexSet(data.draw(st.sets(st.sampled_from(free), min_size=1)))
        free = [node for node in free if node not in inside]
        rest = [IndexSet((node,)) for node in free]
        assert plan.admits(inside) is can_run(problem, [*units, inside, *rest])
        if plan.admits(inside):
            plan.add(inside)
            units.append(inside)
        else:
            units += [IndexSet((node,)) for node in inside]


# op_dp


def test_op_dp_does_not_see_what_a_hand_over_costs_but_its_total_does() -> None:
    edges = [(node, (node + 1,) if node < 2 else (), 1) for node in range(3)]
    sets = [((node,), target, cost) for target, row in (("a", (5, 5, 5)), ("b", (9, 3, 9))) for node, cost in enumerate(row)]
    problem = small(edges, sets, transitions={("a", "b"): Transition(4), ("b", "a"): Transition(4)})
    found = op_dp(problem, range(6))
    assert (found.total, found.lower_bound, found.optimal) == (5 + 3 + 5 + 8, 13, False)
    assert found.gap == 8
    free = op_dp(small(edges, sets), range(6))
    assert (free.total, free.lower_bound, free.optimal) == (13, 13, True)


def test_op_dp_claims_nothing_where_it_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Node 0 is taken alone, with 2, or with 3. The last one looks cheapest, and splits {1, 3, 4}."""
    edges = [(0, (1, 2, 3), 1), (1, (4,), 1), (2, (4,), 1), (3, (4,), 1), (4, (), 1)]
    sets = [*(((node,), "a", 6) for node in range(5)), ((0, 2), "a", 7), ((0, 3), "a", 6), ((1, 3, 4), "a", 9)]
    problem = small(edges, sets)
    whole = op_dp(problem, range(8))
    assert (whole.total, whole.lower_bound, whole.optimal) == (16, 16, True)
    monkeypatch.setattr(op_dp_module, "WIDTH", 1)
    cut = op_dp(problem, range(8))
    assert_well_formed(problem, range(8), cut.chosen)
    assert cut.total == 24
    assert (cut.lower_bound, cut.optimal) == (0, False)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(tiny_problems(most_nodes=7, unknown=False), st.integers(1, 2))
def test_op_dp_within_any_width_gives_plans_and_true_bounds(monkeypatch: pytest.MonkeyPatch, problem: SearchProblem, width: int) -> None:
    monkeypatch.setattr(op_dp_module, "WIDTH", width)
    usable = allowed_indices(problem, ())
    found, plans = op_dp(problem, usable), allowed_plans(problem)
    if found.chosen:
        best = min(worth(problem, plan) for plan in plans)
        assert_well_formed(problem, usable, found.chosen)
        assert found.lower_bound <= best[1]
        assert not found.optimal or worth(problem, found.chosen) == best


def test_op_dp_mends_a_plan_with_a_cycle() -> None:
    found = op_dp(CROSSED, range(6))
    assert_well_formed(CROSSED, range(6), found.chosen)
    assert found.lower_bound == 2, "the plan with the cycle"
    assert not found.optimal


def test_op_dp_at_its_bound_is_not_best_where_it_mended_a_cycle() -> None:
    """All covers cost 40. It takes both pairs, has to split both, and ends with four partitions where three would do."""
    candidates = tuple(replace(c, cost=20 if len(c.inside) == 2 else 10) for c in CROSSED.candidates)
    problem = CROSSED.with_candidates([*candidates, SearchCandidate(IndexSet((1,)), "b", 11, "spare")])
    found = op_dp(problem, range(7))
    assert (found.total, found.lower_bound, len(found.chosen)) == (40, 40, 4)
    assert not found.optimal


def test_op_dp_bounds_nothing_where_unknown_costs_decide() -> None:
    """The cover of the fewest unknown nodes has a cycle, and costs more than the best plan, whose unknown costs count nothing."""
    candidates = tuple(replace(c, cost=10 if len(c.inside) == 2 else None) for c in CROSSED.candidates)
    problem = CROSSED.with_candidates(candidates)
    best = min(worth(problem, plan) for plan in allowed_plans(problem))
    assert best[:2] == (2, 10)
    found = op_dp(problem, range(6))
    assert found.lower_bound <= 10
    assert not found.optimal or worth(problem, found.chosen) == best


def test_op_dp_at_its_bound_is_not_best_where_another_set_of_targets_may_have_fewer_partitions() -> None:
    """``b`` and ``c`` exclude each other. With ``b``, the cheapest cover is one partition that pays for its output; with
    ``c``, three partitions reach the bound of 6. But ``a`` and ``b`` reach it with two."""
    edges = [(0, (1,), 1), (1, (2,), 1), (2, (), 1)]
    sets = [((0, 1, 2), "b", 6), ((0, 1), "b", 3), ((2,), "a", 3), ((0,), "c", 2), ((1,), "c", 1)]
    problem = small(edges, sets, transitions={("b", "host"): Transition(5)}, exclusive=(("b", "c"),))
    best = min(worth(problem, plan) for plan in allowed_plans(problem))
    assert best == (0, 6, 0, 2)
    found = op_dp(problem, range(5))
    assert worth(problem, found.chosen) == (0, 6, 0, 3)
    assert found.lower_bound == 6
    assert not found.optimal


# stopping, telling, and what they are made of


@pytest.mark.parametrize("searcher", [op_dp, evolutionary, random_plans])
def test_when_stopped_they_give_what_they_have(searcher: Callable[..., SearchResult]) -> None:
    problem = grid()
    usable = allowed_indices(problem, ())
    found = searcher(problem, usable, SearchRun(should_stop=lambda: True))
    assert found.stopped
    assert_well_formed(problem, usable, found.chosen)
    assert found.total == plan_total(problem, found.chosen)
    assert not found.optimal
    assert found.lower_bound == 0
    assert found.states < 200, "it did not go on"


@pytest.mark.parametrize("searcher", [evolutionary, random_plans])
def test_they_stop_as_soon_as_they_are_asked(searcher: Callable[..., SearchResult]) -> None:
    problem = grid()
    asked = 0

    def at_the_fifth() -> bool:
        nonlocal asked
        asked += 1
        return asked >= 5

    found = searcher(problem, allowed_indices(problem, ()), SearchRun(should_stop=at_the_fifth))
    assert found.stopped
    assert asked <= 6
    assert found.states <= 8


def test_op_dp_stopped_between_two_sets_of_targets_claims_nothing() -> None:
    sets = [((0,), "a", 1), ((0,), "b", 2)]
    problem = small([(0, (), 1)], sets, exclusive=(("a", "b"),))
    assert op_dp(problem, range(2)).optimal
    found = op_dp(problem, range(2), SearchRun(should_stop=lambda: True))
    assert (found.stopped, found.optimal, found.lower_bound) == (True, False, 0)


class _Heard(SearchReporter):
    def __init__(self) -> None:
        self.totals: list[int] = []
        self.ends: list[SearchResult] = []

    def better_plan(self, chosen: Any, total: int) -> None:
        self.totals.append(total)

    def end(self, result: SearchResult) -> None:
        self.ends.append(result)


@pytest.mark.parametrize("searcher", [greedy, op_dp, evolutionary, random_plans])
def test_every_better_plan_is_told_and_the_end_once(searcher: Callable[..., SearchResult]) -> None:
    problem, heard = grid(), _Heard()
    found = searcher(problem, allowed_indices(problem, ()), SearchRun(heard))
    assert heard.ends == [found]
    assert heard.totals == sorted(heard.totals, reverse=True)
    assert heard.totals[-1] == found.total


@settings(max_examples=40)
@given(tiny_problems(), st.data())
def test_a_pool_values_plans_as_the_definition_does(problem: SearchProblem, data: st.DataObject) -> None:
    plans = allowed_plans(problem)
    pool = CandidatePool(problem, allowed_indices(problem, ()))
    for plan in plans[:10]:
        assert pool.value(plan) == worth(problem, plan)
        assert pool.complete(data.draw(st.permutations(plan)), lambda fitting: fitting[0]) == plan, "a plan is complete as it is"


def test_a_searcher_that_misses_the_only_plan_does_not_say_that_there_is_none() -> None:
    problem = small([(0, (1,), 1), (1, (2,), 1), (2, (), 1)], [((0, 1), "a", 1), ((1, 2), "a", 1), ((0,), "a", 1)])
    assert solve(problem).total == 2
    with pytest.raises(InfeasibleError) as error:
        solve(problem, (), "greedy")
    assert error.value.message == "the search 'greedy' found no plan, though there is one"
