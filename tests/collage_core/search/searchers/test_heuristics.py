"""`greedy`, `op_dp`, `evolutionary` and `random`: they return well-formed plans, and claim no more than is true of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collage_core.errors import CollageError
from collage_core.graph.index_set import IndexSet
from collage_core.search.constraints.constraints import Constraint, allowed_indices
from collage_core.search.decomposition.exact import astar
from collage_core.search.plan_properties import plan_total
from collage_core.search.problem import SearchProblem, Transition
from collage_core.search.searcher import QUIET, SearchReporter, SearchResult, SearchRun
from collage_core.search.searchers import op_dp as op_dp_module
from collage_core.search.searchers import random_plan
from collage_core.search.searchers.candidate_pool import CandidatePool
from collage_core.search.searchers.evolutionary import Evolution, evolutionary, evolve, parse_evolution
from collage_core.search.searchers.greedy import Contraction, greedy
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
    """`op_dp` and the cheapest fill take 1 + 1 and pay 100 for the transition; `greedy` takes both nodes as one."""
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
    """A chain with singles and pairs on two targets, whose best plan random choices hardly find."""
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


# contractions


def test_a_contraction_follows_paths_through_partitions() -> None:
    """0→1 and 2→3: a path from {0, 3} leads over 1 to 2 once these are joined, and one from {1, 2} over 3 back to 0."""
    for first, second in (((1, 2), (0, 3)), ((0, 3), (1, 2))):
        plan = Contraction(CROSSED)
        assert plan.admits(IndexSet(first))
        plan.add(IndexSet(first))
        assert not plan.admits(IndexSet(second))
        assert all(plan.admits(IndexSet((node,))) for node in second)


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


def test_op_dp_claims_nothing_when_it_dropped_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Node 0 is covered alone, with 2, or with 3. The last looks cheapest, and splits {1, 3, 4}."""
    edges = [(0, (1, 2, 3), 1), (1, (4,), 1), (2, (4,), 1), (3, (4,), 1), (4, (), 1)]
    sets = [*(((node,), "a", 6) for node in range(5)), ((0, 2), "a", 7), ((0, 3), "a", 6), ((1, 3, 4), "a", 9)]
    problem = small(edges, sets)
    whole = op_dp(problem, range(8))
    assert (whole.total, whole.lower_bound, whole.optimal) == (16, 16, True)
    monkeypatch.setattr(op_dp_module, "WIDTH", 1)
    narrow = op_dp(problem, range(8))
    assert_well_formed(problem, range(8), narrow.chosen)
    assert narrow.total == 24
    assert (narrow.lower_bound, narrow.optimal) == (0, False)


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


# stopping, reporting, and the candidate pool


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
def test_every_better_plan_is_reported_and_the_end_once(searcher: Callable[..., SearchResult]) -> None:
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


@pytest.mark.parametrize(
    ("text", "effort"),
    [
        ("population=7", Evolution(population=7)),
        ("population=100,plans=50000,patience=9", Evolution(population=100, most_plans=50_000, patience=9)),
    ],
)
def test_the_effort_of_evolution_is_read(text: str, effort: Evolution) -> None:
    assert parse_evolution(text) == effort


@pytest.mark.parametrize("text", ["population", "population=0", "population=-1", "plans=1e3", "mothers=2", "population=3,,", ""])
def test_what_is_no_effort_of_evolution_is_refused(text: str) -> None:
    with pytest.raises(CollageError, match="is not a setting of the search 'evolutionary'"):
        solve(CROSSED, (), f"evolutionary:{text}")


def test_a_search_tries_as_many_plans_as_its_user_says() -> None:
    problem = grid()
    assert solve(problem, (), "evolutionary:plans=300,patience=300").states == 300
    assert solve(problem, (), "evolutionary:plans=40,population=3").states == 40
    with pytest.raises(CollageError, match="the search 'astar' has no settings"):
        solve(problem, (), "astar:plans=3")
