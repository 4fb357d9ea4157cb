"""The exact searchers against every plan there is, and what they promise about ties, cycles, exclusions and constraints."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.errors import InfeasibleError
from collage_core.search.alternatives import regret
from collage_core.search.alternatives.regret import Regret, Regrets, regret_intervals, regrets_within
from collage_core.search.constraints.constraints import parse_constraints
from collage_core.search.plan_properties import cycle, plan_total
from collage_core.search.problem import SearchProblem
from collage_core.search.problem_json import problem_from_json
from collage_core.search.solve import is_feasible, solve
from tests.helpers.examples import examples
from tests.helpers.problems import every_plan, order_of, problems


@pytest.mark.parametrize("search", ["astar", "dijkstra"])
@given(problem=problems())
@examples(600)
def test_exact_search_finds_the_first_of_the_best_plans(search: str, problem: SearchProblem) -> None:
    plans = list(every_plan(problem))
    if not plans:
        with pytest.raises(InfeasibleError):
            solve(problem, search=search)
        return
    best = min(plans, key=lambda plan: order_of(problem, plan))
    found = solve(problem, search=search)
    assert order_of(problem, found.chosen) == order_of(problem, best)
    assert found.total == plan_total(problem, found.chosen) == found.lower_bound
    assert found.optimal


@given(problem=problems(unknown=True))
@examples(200)
def test_unknown_costs_come_last_and_fall_back_to_priorities(problem: SearchProblem) -> None:
    plans = list(every_plan(problem))
    if plans:
        best = min(plans, key=lambda plan: order_of(problem, plan))
        assert order_of(problem, solve(problem).chosen) == order_of(problem, best)


@given(problem=problems(most_nodes=5))
@examples(100, deadline=None)
def test_regret_is_the_cost_of_insisting(problem: SearchProblem) -> None:
    plans = list(every_plan(problem))
    if not plans:
        return
    best = solve(problem)
    expected: list[Regret | None] = []
    for index in range(len(problem.candidates)):
        above = [plan_total(problem, plan) - best.total for plan in plans if index in plan]
        expected.append(Regret(min(above), min(above)) if above else None)
    assert regret_intervals(problem, (), best) == expected
    everything = range(len(problem.candidates))
    assert Regrets(problem, (), best.chosen, best.total, best.total).of(everything) == expected


@given(problem=problems(most_nodes=5, unknown=True))
@examples(300, deadline=None)
def test_an_unknown_cost_is_no_regret(problem: SearchProblem) -> None:
    """The best plan with a candidate is the one of fewest unknown nodes; if it has any, the regret is only bounded from below."""
    plans = [(order_of(problem, plan), plan) for plan in every_plan(problem)]
    if not plans:
        return
    best, (best_unknown, best_total, *_) = solve(problem), min(plans)[0]
    optimistic = problem.with_candidates([replace(one, cost=one.cost or 0) for one in problem.candidates])
    expected: list[Regret | None] = []
    for index in range(len(problem.candidates)):
        orders = [order for order, plan in plans if index in plan]
        if not orders:
            expected.append(None)
        elif min(orders)[0]:
            floor = min(plan_total(optimistic, plan) for _, plan in plans if index in plan)
            expected.append(Regret(0 if best_unknown else max(0, floor - best_total), None, rests_on_unknown=True))
        else:
            expected.append(Regret(min(orders)[1] - best_total, min(orders)[1] - best_total))
    assert regret_intervals(problem, (), best) == expected
    everything = range(len(problem.candidates))
    assert Regrets(problem, (), best.chosen, best.total, best.total).of(everything) == expected
    single, by_sweep = Regrets(problem, (), best.chosen, best.total, best.total), regrets_within(problem, (), best, 10_000)
    assert by_sweep is not None
    for quick in (single.alone(everything), by_sweep):
        for known, found in zip(expected, quick, strict=True):
            if known is None or known.is_exact:
                assert found == known or (known is None and found is not None and found.rests_on_unknown)
            else:
                assert found is not None
                assert found.rests_on_unknown
                assert 0 <= found.low <= known.low
    for index, bound in single.bounds().items():
        regret = expected[index]
        assert regret is None or bound.low <= regret.low


def test_the_regrets_of_a_long_model_look_for_cycles_near_each_candidate_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of ten thousand nodes has as many candidates as partitions: looking through the whole plan for each took minutes."""
    blocks = 40
    edges = [[first + maker, first + reader, 0] for first in range(0, 4 * blocks, 4) for maker, reader in ((0, 1), (0, 2), (1, 3), (2, 3))]
    edges += [[first + 3, first + 4, 0] for first in range(0, 4 * (blocks - 1), 4)]
    single = [{"nodes": [node], "target": "a", "cost_s": 1} for node in range(4 * blocks)]
    around = [{"nodes": [first, first + 3], "target": "a", "cost_s": 3} for first in range(0, 4 * blocks, 4)]
    between = [{"nodes": [first + 1, first + 2], "target": "a", "cost_s": 2.5} for first in range(0, 4 * blocks, 4)]
    problem = problem_from_json({"nodes": 4 * blocks, "edges": edges, "candidates": [*single, *around, *between]})
    looked_at = []
    monkeypatch.setattr(regret, "cycle", lambda problem, chosen: looked_at.append(len(chosen)) or cycle(problem, chosen))
    found = regret_intervals(problem, (), solve(problem))
    half = 500_000_000_000_000
    assert found == [Regret(0, 0)] * len(single) + [None] * len(around) + [Regret(half, half)] * len(between)
    assert max(looked_at) <= 4


@given(problem=problems(), data=st.data())
@examples(150, deadline=None)
def test_constraints_hold_and_conflicts_are_minimal(problem: SearchProblem, data: st.DataObject) -> None:
    node = st.integers(0, problem.nodes - 1)
    target = st.sampled_from(["a", "b", "c"])
    kinds = [
        st.builds(lambda n, t: {"kind": "pin", "node": n, "target": t}, node, target),
        st.builds(lambda n, t: {"kind": "veto", "node": n, "target": t}, node, target),
        st.builds(lambda t: {"kind": "veto", "target": t}, target),
        st.builds(lambda ns: {"kind": "pin", "nodes": ns, "together": True}, st.lists(node, min_size=1, max_size=3)),
        st.builds(lambda c: {"kind": "pin", "candidate": str(c)}, st.integers(0, len(problem.candidates) - 1)),
    ]
    constraints = parse_constraints(data.draw(st.lists(st.one_of(kinds), max_size=4)), problem)
    plans = [plan for plan in every_plan(problem) if all(c.allows(problem.candidates[i]) for i in plan for c in constraints)]
    if plans:
        found = solve(problem, constraints)
        assert found.total == min(plan_total(problem, plan) for plan in plans)
        assert all(c.allows(problem.candidates[i]) for i in found.chosen for c in constraints)
        return
    with pytest.raises(InfeasibleError) as caught:
        solve(problem, constraints)
    conflict = [constraints[index] for index in caught.value.conflict]
    if is_feasible(problem, []):
        assert conflict
        assert not is_feasible(problem, conflict)
        for dropped in range(len(conflict)):
            assert is_feasible(problem, [c for index, c in enumerate(conflict) if index != dropped])


def test_where_known_costs_cover_the_model_no_unknown_one_is_looked_at() -> None:
    """A problem of mostly unknown costs has many plans that are alike, and a run that was cut off searches it again and again."""
    unknown = [{"nodes": [node, node + 1], "target": target, "cost_s": None} for node in range(19) for target in "ab"]
    known = [{"nodes": list(range(12)), "target": "a", "cost_s": 2}, {"nodes": list(range(12, 20)), "target": "b", "cost_s": 1}]
    data = {"nodes": 20, "edges": [[node, node + 1, 4] for node in range(19)], "candidates": [*unknown, *known]}
    found = solve(problem_from_json(data))
    assert found.chosen == (len(unknown), len(unknown) + 1)
    assert found.moves <= 2
