"""Plans within the memory of each location: the best of those that fit, against enumeration, with its proof or the shortfall."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from random import Random

import pytest

from collage_core.errors import InfeasibleError
from collage_core.search.alternatives import within_memory
from collage_core.search.memory import shortfall
from collage_core.search.objective_search import k_best_for, solve_for
from collage_core.search.objectives import TIME, measures, parse_objective
from collage_core.search.plan_properties import plan_total
from collage_core.search.problem import HOST_NAME, SearchProblem
from tests.collage_core.search.test_memory import weighted
from tests.helpers.located_problems import located_problem
from tests.helpers.problems import every_plan


def limited_problem(seed: int) -> SearchProblem:
    problem, draw = located_problem(seed, most_nodes=5), Random(seed)
    limits = {name: draw.randint(2, 14) if name != HOST_NAME or draw.random() < 0.3 else None for name in problem.locations}
    return replace(problem, locations=limits)


def test_the_plan_is_the_best_that_fits() -> None:
    cases = Counter[str]()
    for seed in range(500):
        problem = limited_problem(seed)
        plans = list(every_plan(problem))
        totals = [plan_total(problem, plan) for plan in plans if shortfall(problem, plan) is None]
        if not plans:
            continue
        if not totals:
            with pytest.raises(InfeasibleError, match=r"^no plan fits into "):
                solve_for(problem)
            cases["none fits"] += 1
            continue
        found = solve_for(problem)
        assert shortfall(problem, found.chosen) is None
        assert (found.total, found.optimal, found.lower_bound) == (min(totals), True, min(totals)), seed
        cases["slower" if found.total > min(plan_total(problem, plan) for plan in plans) else "as fast"] += 1
    assert min(cases.values()) > 10, cases


@pytest.mark.parametrize("seed", range(0, 200, 8))
def test_other_objectives_and_lists_of_plans_hold_the_limits(seed: int) -> None:
    problem = limited_problem(seed)
    fitting = [plan for plan in every_plan(problem) if shortfall(problem, plan) is None]
    if not fitting:
        return
    assert {plan.chosen for plan in k_best_for(problem, TIME, (), 1000)} == set(fitting)
    for text in ("bytes,time", "memory,time"):
        objective = parse_objective(text)
        least = min(objective.value(measures(problem, plan)) for plan in fitting)
        for search in ("astar", "milp"):
            assert objective.value(measures(problem, solve_for(problem, objective, search=search).chosen)) == least


def test_the_error_names_the_location_the_shortfall_and_the_node() -> None:
    with pytest.raises(InfeasibleError) as caught:
        solve_for(replace(weighted(), locations={"g": 100}))
    assert caught.value.message == (
        "no plan fits into 'g', which holds 100 bytes: the nearest one needs 34 more, most while the partition of 'y' runs"
    )
    assert caught.value.hint == "give the location more bytes, or add a target at another one"


def test_a_plan_that_fits_is_found_before_any_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """On large problems listing ends early; the price on all that partitions hold finds the best plan in most of these small ones."""
    monkeypatch.setattr(within_memory._Fitting, "_relax", lambda self, found: False)
    monkeypatch.setattr(within_memory._Fitting, "_list", lambda self: False)
    cases = Counter[str]()
    for seed in range(200):
        problem = limited_problem(seed)
        fitting = [plan_total(problem, plan) for plan in every_plan(problem) if shortfall(problem, plan) is None]
        if not fitting:
            continue
        with suppress(InfeasibleError):
            found = solve_for(problem)
            cases["best" if found.total == min(fitting) else "slower"] += not found.optimal
    assert cases["best"] > 2 * cases["slower"] > 0, cases


def test_without_a_proof_the_gap_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(within_memory, "MOST_PLANS", 0)
    results = []
    for seed in range(60):
        with suppress(InfeasibleError):
            results.append(solve_for(limited_problem(seed)))
    unproven = [result for result in results if not result.optimal]
    assert unproven
    assert all(result.lower_bound <= result.total and result.gap == result.total - result.lower_bound for result in unproven)
