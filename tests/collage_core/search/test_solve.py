"""The exact searchers against every plan there is, and what they promise about ties, cycles, exclusions and constraints."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collage_core.errors import CollageError, InfeasibleError
from collage_core.graph.dataflow_graph import HOST
from collage_core.graph.index_set import IndexSet
from collage_core.search.alternatives.regret import Regrets, regrets
from collage_core.search.constraints.constraints import parse_constraints
from collage_core.search.problem import FlowTensor, SearchCandidate, SearchProblem, Transition, problem_from_json
from collage_core.search.result import cycle, plan_total
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
@settings(max_examples=100, deadline=None)
def test_regret_is_the_cost_of_insisting(problem: SearchProblem) -> None:
    plans = list(every_plan(problem))
    if not plans:
        return
    best = solve(problem)
    for index, regret in enumerate(regrets(problem, (), best)):
        holding = [plan_total(problem, plan) for plan in plans if index in plan]
        assert regret == (min(holding) - best.total if holding else None)
    everything = range(len(problem.candidates))
    asked = Regrets(problem, (), best.chosen, best.total, best.total).of(everything)
    assert [None if regret is None else regret.low for regret in asked] == regrets(problem, (), best)
    assert all(regret is None or regret.is_exact for regret in asked)


@given(problem=problems(), data=st.data())
@settings(max_examples=150, deadline=None)
def test_constraints_hold_and_conflicts_are_minimal(problem: SearchProblem, data: st.DataObject) -> None:
    node = st.integers(0, problem.nodes - 1)
    target = st.sampled_from(["a", "b", "c"])
    sorts = [
        st.builds(lambda n, t: {"kind": "pin", "node": n, "target": t}, node, target),
        st.builds(lambda n, t: {"kind": "veto", "node": n, "target": t}, node, target),
        st.builds(lambda t: {"kind": "veto", "target": t}, target),
        st.builds(lambda ns: {"kind": "pin", "nodes": ns, "together": True}, st.lists(node, min_size=1, max_size=3)),
        st.builds(lambda c: {"kind": "pin", "candidate": str(c)}, st.integers(0, len(problem.candidates) - 1)),
    ]
    constraints = parse_constraints(data.draw(st.lists(st.one_of(sorts), max_size=4)), problem)
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
            assert is_feasible(problem, [c for place, c in enumerate(conflict) if place != dropped])


def chain(costs: dict[str, list[int]], transitions: dict[tuple[str, str], Transition] | None = None) -> SearchProblem:
    """Nodes in a row, one candidate a node and target."""
    nodes = len(next(iter(costs.values())))
    tensors = [FlowTensor("x", HOST, (0,), False, 4)]
    tensors += [FlowTensor(f"t{n}", n, (n + 1,) if n + 1 < nodes else (), n + 1 == nodes, 4) for n in range(nodes)]
    candidates = [
        SearchCandidate(IndexSet((n,)), target, price, f"{target}{n}") for target, row in costs.items() for n, price in enumerate(row)
    ]
    return SearchProblem(nodes, tuple(tensors), tuple(candidates), transitions or {}, priorities=tuple(costs))


def test_a_hand_over_that_costs_more_than_it_saves_is_not_made() -> None:
    costs = {"a": [5, 5, 5], "b": [9, 3, 9]}
    free = solve(chain(costs))
    assert free.total == 13
    dear = solve(chain(costs, {("a", "b"): Transition(1), ("b", "a"): Transition(1)}))
    assert dear.total == 15
    assert {chain(costs).candidates[i].target for i in dear.chosen} == {"a"}


def test_partitions_that_wait_for_each_other_are_not_a_plan() -> None:
    """0→1 and 2→3; {0, 3} and {1, 2} would each need the other's result first, if 0→1 and 2→3 are the only edges."""
    tensors = (
        FlowTensor("t0", 0, (1,), False, 1),
        FlowTensor("t1", 1, (), True, 1),
        FlowTensor("t2", 2, (3,), False, 1),
        FlowTensor("t3", 3, (), True, 1),
    )
    candidates = [SearchCandidate(IndexSet((n,)), "a", 10, f"s{n}") for n in range(4)]
    candidates += [SearchCandidate(IndexSet((0, 3)), "a", 1, "outer"), SearchCandidate(IndexSet((1, 2)), "b", 1, "inner")]
    problem = SearchProblem(4, tensors, tuple(candidates))
    assert cycle(problem, [4, 5]) == {4, 5}
    found = solve(problem)
    assert found.total == 21
    assert cycle(problem, found.chosen) is None


def test_the_same_tensor_read_twice_by_one_partition_is_handed_over_once() -> None:
    tensors = (FlowTensor("t0", 0, (1, 2), False, 8), FlowTensor("t1", 1, (), True, 1), FlowTensor("t2", 2, (), True, 1))
    both = SearchProblem(
        3,
        tensors,
        (SearchCandidate(IndexSet((0,)), "a", 1, "p"), SearchCandidate(IndexSet((1, 2)), "b", 1, "q")),
        {("a", "b"): Transition(5, 1)},
    )
    assert solve(both).total == 1 + 1 + 13


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"candidates": [{"nodes": [7], "target": "a", "cost_s": 1}]}, "candidates[0].nodes is 7, it must be nodes from 0 to 1"),
        ({"candidates": [{"nodes": [0], "target": "a", "cost_s": float("nan")}]}, "candidates[0].cost_s is nan"),
        ({"candidates": [{"nodes": [0], "target": "a", "cost_s": -1}]}, "candidates[0].cost_s is -1"),
        ({"edges": [[0, 1, 4], [1, 0, 4]]}, "the edges make a cycle through the nodes [0, 1]"),
        ({"edges": [[0, 9, 4]]}, "edges[0] is [0, 9, 4]"),
        ({"nodes": 0}, "nodes is 0"),
        ({"transitions": {"ab": {}}}, "transitions['ab'] is {}"),
    ],
)
def test_a_broken_problem_is_named(change: dict[str, object], message: str) -> None:
    data = {"schema": 1, "nodes": 2, "edges": [[0, 1, 4]], "candidates": [{"nodes": [0, 1], "target": "a", "cost_s": 1.0}]}
    with pytest.raises(CollageError) as caught:
        problem_from_json({**data, **change})
    assert caught.value.message.startswith(message)


@given(problem=problems(unknown=True))
@settings(max_examples=50, deadline=None)
def test_a_problem_survives_its_json(problem: SearchProblem) -> None:
    again = problem_from_json(problem.to_json())
    assert {(t.name, t.maker, t.readers, t.is_output) for t in again.tensors} >= {
        (t.name, t.maker, t.readers, t.is_output) for t in problem.tensors if t.readers or t.is_output
    }
    assert [(c.bits, c.target, c.id) for c in again.candidates] == [(c.bits, c.target, c.id) for c in problem.candidates]
