"""The best plan within an error budget, against the enumeration of every plan; and what the result says where there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.errors import InfeasibleError
from collage_core.graph.index_set import IndexSet
from collage_core.search.alternatives import within_budget
from collage_core.search.alternatives.within_budget import exceeds_budget, plan_error
from collage_core.search.constraints.constraints import Constraint
from collage_core.search.objective_search import k_best_for, solve_for
from collage_core.search.objectives import TIME, measures, parse_objective
from collage_core.search.plan_properties import plan_total
from collage_core.search.problem import FlowTensor, SearchCandidate, SearchProblem
from collage_core.search.problem_json import problem_from_json
from collage_core.search.searcher import QUIET, SearchRun
from collage_core.search.searchers.greedy import greedy
from tests.helpers.examples import examples
from tests.helpers.problems import every_plan
from tests.helpers.tiny_problems import tiny_problems


@st.composite
def budgeted(draw: st.DrawFn) -> SearchProblem:
    """Draw a problem whose candidates err by up to 9, and what a plan may err by."""
    problem = draw(tiny_problems(unknown=False, dear=draw(st.booleans())))
    errors = draw(st.lists(st.integers(0, 9), min_size=len(problem.candidates), max_size=len(problem.candidates)))
    candidates = [replace(item, error=0 if item.cost is None else error) for item, error in zip(problem.candidates, errors, strict=True)]
    return replace(problem, candidates=tuple(candidates), error_budget=draw(st.integers(0, 30)))


@examples(100)
@given(budgeted(), st.sampled_from(["astar", "dijkstra", "greedy"]))
def test_it_is_the_fastest_of_all_plans_within_the_budget(problem: SearchProblem, search: str):
    plans = list(every_plan(problem))
    within = [plan for plan in plans if not exceeds_budget(problem, plan)]
    if not plans:
        with pytest.raises(InfeasibleError):
            solve_for(problem, TIME, (), search)
        return
    try:
        found = solve_for(problem, TIME, (), search)
    except InfeasibleError:
        assert search == "greedy"
        return
    assert found.total == plan_total(problem, found.chosen)
    if not within:
        least = min(plan_error(problem, plan) for plan in plans)
        assert (plan_error(problem, found.chosen), found.optimal) == (least, False)
        return
    best = min(plan_total(problem, plan) for plan in within)
    assert not exceeds_budget(problem, found.chosen)
    assert found.lower_bound <= best <= found.total
    if search in ("astar", "dijkstra"):
        assert (found.total, found.optimal, found.lower_bound) == (best, True, best)


def test_a_heuristics_plan_that_is_slow_and_over_the_budget_gives_no_wrong_bound():
    """The greedy plan takes 4 and errs by 3; the one of least error takes 3; the best within the budget takes 2 and errs by 1."""
    made = [("a", [0], 3, 2), ("b", [0], 1, 0), ("a", [1], 1, 1), ("b", [1], 2, 0), ("a", [0, 1], 4, 3)]
    tensors = (FlowTensor("t0", 0, (1,), False, 0), FlowTensor("t1", 1, (), True, 0))
    candidates = [SearchCandidate(IndexSet(inside), target, cost, target, error) for target, inside, cost, error in made]
    problem = SearchProblem(2, tensors, tuple(candidates), error_budget=2)
    assert greedy(problem, range(len(made))).total == 4
    found = solve_for(problem, TIME, (), "greedy")
    assert (found.total, found.lower_bound) == (2, 2)


@examples(40)
@given(budgeted(), st.sampled_from(["bytes", "partitions,time", "time+2e-10*bytes", "memory"]))
def test_other_objectives_keep_to_it(problem: SearchProblem, text: str):
    objective = parse_objective(text)
    plans = list(every_plan(problem))
    within = [plan for plan in plans if not exceeds_budget(problem, plan)]
    if plans:
        found = solve_for(problem, objective)
        if not within:
            assert plan_error(problem, found.chosen) == min(plan_error(problem, plan) for plan in plans)
            return
        assert objective.value(measures(problem, found.chosen)) == min(objective.value(measures(problem, plan)) for plan in within)


@examples(30)
@given(budgeted())
def test_only_plans_within_it_are_listed(problem: SearchProblem):
    within = sorted(plan_total(problem, plan) for plan in every_plan(problem) if not exceeds_budget(problem, plan))
    assert [plan.total for plan in k_best_for(problem, TIME, (), 5)] == within[:5]


def chain(budget: float | None) -> SearchProblem:
    """Three nodes, each on `exact` for 10 s or on `low` for 4, 5 and 6 s with an error of 0.4."""
    candidates = [{"nodes": [node], "target": "exact", "cost_s": 10} for node in range(3)]
    candidates += [{"nodes": [node], "target": "low", "cost_s": 4 + node, "error": 0.4} for node in range(3)]
    edges = [[-1, 0, 1], [0, 1, 1], [1, 2, 1], [2, -1, 1]]
    return problem_from_json({"nodes": 3, "edges": edges, "candidates": candidates, "error_budget": budget, "lowered": ["low"]})


@pytest.mark.parametrize(("budget", "total_s"), [(None, 15), (1.2, 15), (1.0, 19), (0.5, 24), (0.3, 30)])
def test_errors_are_spent_where_they_save_most(budget: float | None, total_s: int):
    found = solve_for(chain(budget))
    assert (found.total, found.optimal) == (total_s * 10**15, True)


def test_a_constraint_comes_before_the_budget():
    pinned = [Constraint("pin", 1 << 2, "low")]
    assert solve_for(chain(0.5), TIME, pinned).total == 26 * 10**15


def test_what_was_not_proven_is_not_called_optimal(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(within_budget, "MOST_PLANS", 0)
    found = solve_for(chain(0.5))
    assert (found.total, found.optimal) == (24 * 10**15, False)
    assert 0 < found.lower_bound < found.total


def test_a_stopped_search_has_a_plan_within_the_budget():
    found = solve_for(chain(0.5), TIME, (), "astar", SearchRun(should_stop=lambda: True))
    assert not exceeds_budget(chain(0.5), found.chosen)
    assert found.lower_bound <= 24 * 10**15


def test_without_errors_it_is_the_search_without_a_budget():
    free = replace(chain(None), candidates=tuple(replace(item, error=0) for item in chain(None).candidates))
    assert replace(solve_for(replace(free, error_budget=0), TIME, (), "astar", QUIET), seconds=0) == replace(solve_for(free), seconds=0)


def test_its_json_reads_back():
    problem = chain(0.5)
    again = problem_from_json(problem.to_json())
    assert (again.candidates, again.error_budget, again.lowered) == (problem.candidates, problem.error_budget, problem.lowered)


@pytest.mark.parametrize("error", [-1, True, "0.1", float("nan")])
def test_an_error_is_a_number(error: object):
    from collage_core.errors import CollageError

    with pytest.raises(CollageError, match=r"candidates\[0\].error is"):
        problem_from_json({"nodes": 1, "candidates": [{"nodes": [0], "target": "a", "cost_s": 1, "error": error}]})
