"""Objectives other than time: what their text may say, what a plan has of each measure, and that the best plan is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from typing import Any

import pytest
import scipy.optimize
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collage_core.errors import CollageError, InfeasibleError
from collage_core.graph.dataflow_graph import HOST
from collage_core.graph.index_set import IndexSet
from collage_core.search import objective_search
from collage_core.search.alternatives.k_best import k_best
from collage_core.search.constraints.constraints import Constraint, allowed_indices, parse_constraints
from collage_core.search.objective_search import k_best_for, solve_for
from collage_core.search.objectives import PlanMeasures, measures, parse_objective
from collage_core.search.plan_properties import execution_order, peak_bytes, plan_total
from collage_core.search.problem import HOST_NAME, FlowTensor, SearchCandidate, SearchProblem, Transition
from collage_core.search.searcher import SearchReporter, SearchResult, SearchRun
from collage_core.search.solve import solve
from tests.helpers.problems import order_of
from tests.helpers.tiny_problems import (
    allowed_plans,
    assert_well_formed,
    constrained_problems,
    interrupted,
    small,
    tiny_problems,
    worth,
)

OBJECTIVES: Mapping[str, Sequence[Mapping[str, Fraction]]] = {
    "bytes": [{"bytes": Fraction(1)}],
    "time,bytes": [{"time": Fraction(1)}, {"bytes": Fraction(1)}],
    "bytes,partitions": [{"bytes": Fraction(1)}, {"partitions": Fraction(1)}],
    "partitions,bytes,time": [{"partitions": Fraction(1)}, {"bytes": Fraction(1)}],
    "time+2e-15*bytes": [{"time": Fraction(1), "bytes": Fraction(2)}],
    "0.75*time + 1.5e-15*partitions+0.5e-15*bytes": [
        {"time": Fraction(3, 4), "partitions": Fraction(3, 2), "bytes": Fraction(1, 2)},
    ],
    "bytes+2*partitions,time": [{"bytes": Fraction(1), "partitions": Fraction(2)}],
}
"""Text → its steps, worked out by hand; a second of time counts 1, so 1e-15 of it is one femtosecond."""

WITH_MEMORY: Mapping[str, Sequence[Mapping[str, Fraction]]] = {
    "memory": [{"memory": Fraction(1)}],
    "partitions,memory": [{"partitions": Fraction(1)}, {"memory": Fraction(1)}],
    "memory,bytes,partitions": [{"memory": Fraction(1)}, {"bytes": Fraction(1)}, {"partitions": Fraction(1)}],
    "time+1e-15*memory": [{"time": Fraction(1), "memory": Fraction(1)}],
    "bytes+memory,partitions": [{"bytes": Fraction(1), "memory": Fraction(1)}, {"partitions": Fraction(1)}],
}


def bytes_of(problem: SearchProblem, plan: Sequence[int]) -> int:
    """Bytes that one target makes and another reads, once for each partition that reads them; the host's not."""
    target = {node: problem.candidates[index].target for index in plan for node in problem.candidates[index].inside}
    owner = {node: index for index in plan for node in problem.candidates[index].inside}
    moved = 0
    for tensor in problem.tensors:
        if tensor.maker != HOST:
            ends = {(owner[node], target[node]) for node in tensor.readers}
            moved += sum(tensor.bytes for _, end in ends if len({end, target[tensor.maker], HOST_NAME}) == 3)
    return moved


def memory_of(problem: SearchProblem, plan: Sequence[int]) -> int:
    """The plan run step by step: what is there while each partition runs, and what is kept after it."""
    owner = {node: index for index in plan for node in problem.candidates[index].inside}
    makes = {index: [t for t in problem.tensors if t.maker != HOST and owner[t.maker] == index] for index in plan}
    left = set(plan)
    there = [t for t in problem.tensors if t.maker == HOST]
    peak = 0
    while left:
        runs = {i for i in left if all(owner[t.maker] in (*set(plan) - left, i) for t in _read_by(problem, owner, i))}
        index = min(runs, key=lambda i: problem.candidates[i].inside.first())
        left.remove(index)
        there += [t for t in makes[index] if t.is_output or any(owner[node] != index for node in t.readers)]
        peak = max(peak, sum(t.bytes for t in there))
        there = [t for t in there if t.is_output or any(owner[node] in left for node in t.readers)]
    return peak


def _read_by(problem: SearchProblem, owner: Mapping[int, int], index: int) -> list[FlowTensor]:
    return [t for t in problem.tensors if t.maker != HOST and any(owner[node] == index for node in t.readers)]


def value_of(problem: SearchProblem, plan: Sequence[int], steps: Sequence[Mapping[str, Fraction]]) -> tuple[Any, ...]:
    """Return the key by which plans are compared for an objective: unknown nodes, its steps, time."""
    unknown, time, _, partitions = worth(problem, plan)
    has = {"time": time, "bytes": bytes_of(problem, plan), "partitions": partitions}
    if any("memory" in step for step in steps):
        has["memory"] = memory_of(problem, plan)
    return (unknown, *(sum(factor * has[name] for name, factor in step.items()) for step in steps), time)


# the text of an objective


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the objective '' holds '', which is not a measure with a weight"),
        ("speed", "the objective 'speed' holds 'speed', which is not a measure with a weight"),
        ("time,", "the objective 'time,' holds '', which is not a measure with a weight"),
        ("time+", "the objective 'time+' holds '', which is not a measure with a weight"),
        ("time-bytes", "the objective 'time-bytes' holds 'time-bytes', which is not a measure with a weight"),
        ("-1*bytes", "the objective '-1*bytes' holds '-1*bytes', which is not a measure with a weight"),
        ("nan*bytes", "the objective 'nan*bytes' holds 'nan*bytes', which is not a measure with a weight"),
        ("1e999*bytes", "the objective '1e999*bytes' holds '1e999*bytes', which is not a measure with a weight"),
        ("2bytes", "the objective '2bytes' holds '2bytes', which is not a measure with a weight"),
        ("bytes*2", "the objective 'bytes*2' holds 'bytes*2', which is not a measure with a weight"),
        ("bytes+2*bytes", "the objective 'bytes+2*bytes' holds '2*bytes', which is not a measure with a weight"),
        ("time\n", None),
        ("bytes,time,bytes", "the objective 'bytes,time,bytes' names bytes twice"),
        ("time,3*time", "the objective 'time,3*time' names time twice"),
        ("time+0*bytes", "the objective 'time+0*bytes' gives bytes the weight 0"),
        ("0.000*memory", "the objective '0.000*memory' gives memory the weight 0"),
        ("time\nbytes", "the objective 'time\\nbytes' holds 'time\\nbytes', which is not a measure with a weight"),
    ],
)
def test_what_is_no_objective_is_reported_in_one_line(text: str, message: str | None) -> None:
    if message is None:
        assert parse_objective(text).is_time
        return
    with pytest.raises(CollageError) as caught:
        parse_objective(text)
    assert caught.value.message == message
    assert caught.value.hint
    assert caught.value.code == "bad_objective"
    assert "\n" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("time", [{"time": 1}]),
        ("TIME", [{"time": 1}]),
        ("3*time", [{"time": 1}]),
        ("bytes", [{"bytes": 1}, {"time": 1}]),
        (" bytes , partitions ", [{"bytes": 1}, {"partitions": 1}, {"time": 1}]),
        ("time,bytes", [{"time": 1}, {"bytes": 1}]),
        ("time+2e-15*bytes", [{"time": 1, "bytes": 2}, {"time": 1}]),
        ("1e+1*time+1e-15*bytes", [{"time": 10, "bytes": 1}, {"time": 1}]),
        ("0.5*time + 0.2e-15*partitions", [{"time": 5, "partitions": 2}, {"time": 1}]),
        ("bytes+memory", [{"bytes": 10**15, "memory": 10**15}, {"time": 1}]),
    ],
)
def test_an_objective_is_read_as_it_is_written(text: str, steps: list[dict[str, int]]) -> None:
    objective = parse_objective(text)
    assert [dict(step) for step in objective.steps] == steps
    assert objective.text == text
    assert objective.is_time is (steps == [{"time": 1}])
    assert objective.is_additive is ("memory" not in text)


# the measures of a plan


def diamond() -> SearchProblem:
    """x (10 bytes) → 0 → t0 (4) → 1 and 2; 1 → t1 (6) → 3; 2 → t2 (5) → 3 → t3 (2), which the host reads, as it does t1."""
    tensors = (
        FlowTensor("x", HOST, (0,), False, 10),
        FlowTensor("t0", 0, (1, 2), False, 4),
        FlowTensor("t1", 1, (3,), True, 6),
        FlowTensor("t2", 2, (3,), False, 5),
        FlowTensor("t3", 3, (), True, 2),
    )
    sets: list[tuple[tuple[int, ...], str, int | None]] = [
        ((0,), "a", 1),
        ((1,), "b", 2),
        ((2,), "a", 3),
        ((3,), "b", 4),
        ((1, 2), "b", 5),
        ((0, 2), "a", None),
        ((1, 3), "b", 1),
        ((0, 1, 2, 3), "c", 50),
        ((3,), HOST_NAME, None),
    ]
    candidates = tuple(SearchCandidate(IndexSet(nodes), target, cost, str(index)) for index, (nodes, target, cost) in enumerate(sets))
    transitions = {("a", "b"): Transition(1, 1), ("host", "a"): Transition(100), ("b", "host"): Transition(0, 10)}
    return SearchProblem(4, tensors, candidates, transitions, (), ("a", "b", "c"))


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        # Own 10; x to a 100; t0 to {1} 5; t2 to {3} 6; t1 and t3 to the host 60 + 20. Moved: t0 to {1}, t2 to {3}.
        # Held: x t0 = 14 · t0 t1 = 10 · t0 t1 t2 = 15 · t1 t2 t3 = 13.
        ((0, 1, 2, 3), PlanMeasures(10 + 100 + 5 + 6 + 80, 4 + 5, 4, 15, 0)),
        # {1, 2} reads t0 once. Held: x t0 = 14 · t0 t1 t2 = 15 · t1 t2 t3 = 13.
        ((0, 4, 3), PlanMeasures(10 + 100 + 5 + 80, 4, 3, 15, 0)),
        # {0, 2} of unknown cost first: x t0 t2 = 19 · t0 t2 t1 t3 = 17.
        ((5, 6), PlanMeasures(1 + 100 + 5 + 6 + 80, 4 + 5, 2, 19, 2)),
        # All in one: x, t1 and t3 at once. No transition of c costs anything.
        ((7,), PlanMeasures(50, 0, 1, 18, 0)),
        # The host's node 3 reads t1 from b, which costs as for the host, and is one partition; t1 is an output too.
        ((0, 4, 8), PlanMeasures(6 + 100 + 5 + 60 + 50 + 60, 4, 3, 15, 0)),
    ],
)
def test_the_measures_of_plans_of_a_diamond(plan: tuple[int, ...], expected: PlanMeasures) -> None:
    assert measures(diamond(), plan) == expected
    assert measures(diamond(), plan[::-1]) == expected


def test_measures_are_printed_with_their_units() -> None:
    assert PlanMeasures(2 * 10**15, 3, 4, 5, 6).to_json() == {
        "time_s": 2.0,
        "bytes": 3,
        "partitions": 4,
        "memory_bytes": 5,
        "unknown_nodes": 6,
    }


def test_of_what_can_run_the_partition_of_the_least_node_does() -> None:
    """{0, 4} waits for {3}, and {1} for nobody: 1, 2, 3, then {0, 4}, though it holds the first node."""
    problem = small(
        [(0, (), 1), (1, (2,), 7), (2, (), 2), (3, (4,), 3), (4, (), 4)],
        [((0, 4), "a", 1), ((1,), "a", 1), ((2,), "a", 1), ((3,), "a", 1)],
    )
    assert execution_order(problem, (0, 1, 2, 3)) == [1, 2, 3, 0]
    # Held: 7 · 7 + 2 · 2 + 3 · 2 + 3 + 1 + 4.
    assert peak_bytes(problem, (0, 1, 2, 3)) == 10


def test_of_two_that_become_ready_at_once_the_one_of_the_lesser_node_runs() -> None:
    assert execution_order(diamond(), (3, 2, 1, 0)) == [0, 1, 2, 3]


def test_what_nobody_reads_is_not_held() -> None:
    """t0 and the input y are read by nobody: t0 is never handed over, y is there at the start and needed no more."""
    tensors = (
        FlowTensor("y", HOST, (), False, 5),
        FlowTensor("x", HOST, (0, 1), False, 2),
        FlowTensor("t0", 0, (), False, 100),
        FlowTensor("t1", 1, (), True, 4),
    )
    candidates = tuple(SearchCandidate(IndexSet((node,)), "a", 1, str(node)) for node in range(2))
    assert peak_bytes(SearchProblem(2, tensors, candidates), (0, 1)) == 7, "y and x; then x and t1 are 6"


@settings(max_examples=40)
@given(tiny_problems())
def test_measures_are_those_of_the_definitions(problem: SearchProblem) -> None:
    for plan in allowed_plans(problem)[:25]:
        has, (unknown, time, _, partitions) = measures(problem, plan), worth(problem, plan)
        assert has == PlanMeasures(time, bytes_of(problem, plan), partitions, memory_of(problem, plan), unknown)
        order = execution_order(problem, plan)
        assert sorted(order) == sorted(plan)


# the best plan for one


@settings(max_examples=50)
@given(constrained_problems(), st.sampled_from(sorted(OBJECTIVES)))
def test_the_best_plan_for_an_objective_is_that_of_enumeration(case: tuple[SearchProblem, list[Constraint]], text: str) -> None:
    problem, constraints = case
    plans, objective = allowed_plans(problem, constraints), parse_objective(text)
    for search in ("astar", "dijkstra", "milp"):
        if not plans:
            with pytest.raises(InfeasibleError):
                solve_for(problem, objective, constraints, search)
            continue
        found = solve_for(problem, objective, constraints, search)
        assert_well_formed(problem, allowed_indices(problem, constraints), found.chosen)
        best = min(value_of(problem, plan, OBJECTIVES[text]) for plan in plans)
        assert value_of(problem, found.chosen, OBJECTIVES[text]) == best
        assert found.optimal
        assert found.total == plan_total(problem, found.chosen)
        assert found.lower_bound in (0, found.total) if text.startswith("time,") else found.lower_bound == 0


@settings(max_examples=40)
@given(constrained_problems(most_nodes=5), st.sampled_from(sorted(WITH_MEMORY)))
def test_the_best_plan_where_memory_is_asked_for_is_that_of_enumeration(case: tuple[SearchProblem, list[Constraint]], text: str) -> None:
    problem, constraints = case
    plans, objective = allowed_plans(problem, constraints), parse_objective(text)
    if not plans:
        with pytest.raises(InfeasibleError):
            solve_for(problem, objective, constraints)
        return
    found = solve_for(problem, objective, constraints)
    assert_well_formed(problem, allowed_indices(problem, constraints), found.chosen)
    best = min(value_of(problem, plan, WITH_MEMORY[text]) for plan in plans)
    assert value_of(problem, found.chosen, WITH_MEMORY[text]) == best
    assert (found.optimal, found.stopped) == (True, False)
    assert found.total == plan_total(problem, found.chosen)


@pytest.mark.parametrize("search", ["greedy", "op_dp", "evolutionary", "random"])
@pytest.mark.parametrize("text", ["bytes", "time+2e-15*bytes", "bytes,partitions"])
def test_heuristics_take_an_objective_too_and_do_not_call_it_best_unless_it_is(search: str, text: str) -> None:
    problem = diamond()
    found = solve_for(problem, parse_objective(text), (), search)
    assert_well_formed(problem, range(9), found.chosen)
    assert found.total == plan_total(problem, found.chosen)
    best = min(value_of(problem, plan, OBJECTIVES[text]) for plan in allowed_plans(problem))
    assert not found.optimal or value_of(problem, found.chosen, OBJECTIVES[text]) == best


@settings(max_examples=40)
@given(constrained_problems(), st.sampled_from(sorted(OBJECTIVES)), st.integers(1, 12))
def test_the_best_plans_for_an_objective_come_in_its_order(case: tuple[SearchProblem, list[Constraint]], text: str, count: int) -> None:
    problem, constraints = case
    values = sorted(value_of(problem, plan, OBJECTIVES[text]) for plan in allowed_plans(problem, constraints))
    listed = k_best_for(problem, parse_objective(text), constraints, count)
    assert [value_of(problem, plan.chosen, OBJECTIVES[text]) for plan in listed] == values[:count]
    assert len({frozenset(plan.chosen) for plan in listed}) == len(listed)
    assert all(plan.total == plan_total(problem, plan.chosen) for plan in listed)
    for plan in listed:
        assert_well_formed(problem, allowed_indices(problem, constraints), plan.chosen)


@settings(max_examples=40)
@given(tiny_problems(most_nodes=5, unknown=False))
def test_all_plans_by_time_come_in_the_order_of_plans(problem: SearchProblem) -> None:
    plans = sorted((plan for plan in allowed_plans(problem)), key=lambda plan: (worth(problem, plan), order_of(problem, plan)[-1]))
    usable = allowed_indices(problem, ())
    assert [plan.chosen for plan in k_best(problem, usable, len(plans) + 1)] == plans
    assert [plan.chosen for plan in k_best_for(problem, parse_objective("time"), (), 3)] == plans[:3]


def test_the_best_plans_by_memory_cannot_be_listed() -> None:
    with pytest.raises(CollageError) as caught:
        k_best_for(diamond(), parse_objective("memory,time"), (), 3)
    assert caught.value.message == "the best 3 plans for the objective 'memory,time' cannot be listed: memory does not add up"
    assert caught.value.code == "bad_objective"


@pytest.mark.parametrize("text", ["time", "bytes", "memory"])
def test_an_unknown_searcher_is_reported_whatever_the_objective(text: str) -> None:
    with pytest.raises(CollageError) as caught:
        solve_for(diamond(), parse_objective(text), (), "astra")
    assert caught.value.message == "unknown search 'astra'"


def test_the_searches_agree_that_time_alone_is_time() -> None:
    problem = diamond()
    assert solve_for(problem, parse_objective("7*time")).chosen == solve(problem).chosen == solve_for(problem).chosen


# stopped, and reported


class _Heard(SearchReporter):
    def __init__(self) -> None:
        self.plans: list[tuple[tuple[int, ...], int]] = []
        self.ends: list[SearchResult] = []

    def better_plan(self, chosen: Sequence[int], total: int) -> None:
        self.plans.append((tuple(chosen), total))

    def end(self, result: SearchResult) -> None:
        self.ends.append(result)


@pytest.mark.parametrize("search", ["astar", "milp", "op_dp", "evolutionary", "random"])
@pytest.mark.parametrize("text", ["bytes", "time+2e-15*bytes", "time,bytes", "memory", "bytes+memory,partitions"])
def test_when_stopped_at_once_there_is_a_plan_and_no_claim(monkeypatch: pytest.MonkeyPatch, text: str, search: str) -> None:
    for name in ("searchers.best_first", "alternatives.k_best"):
        monkeypatch.setattr(import_module(f"collage_core.search.{name}"), "REPORT_EVERY", 1)
    monkeypatch.setattr(scipy.optimize, "milp", interrupted(lambda: False))
    problem, heard = diamond(), _Heard()
    found = solve_for(problem, parse_objective(text), (), search, SearchRun(heard, lambda: True))
    assert_well_formed(problem, range(9), found.chosen)
    assert found.total == plan_total(problem, found.chosen)
    assert (found.optimal, found.stopped) == (False, True)
    assert found.lower_bound <= 50
    assert len(heard.ends) == 1


def test_when_stopped_where_there_is_no_plan_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scipy.optimize, "milp", interrupted(lambda: False))
    problem = diamond()
    vetoed = parse_constraints([{"kind": "pin", "node": 0, "target": "b"}], problem)
    with pytest.raises(InfeasibleError):
        solve_for(problem, parse_objective("bytes"), vetoed, "milp", SearchRun(should_stop=lambda: True))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(tiny_problems(), st.sampled_from(sorted(OBJECTIVES)), st.data())
def test_milp_cut_short_claims_nothing_of_an_objective(
    monkeypatch: pytest.MonkeyPatch, problem: SearchProblem, text: str, data: st.DataObject
) -> None:
    plans = allowed_plans(problem)
    if not plans:
        return
    with monkeypatch.context() as patch:
        patch.setattr(scipy.optimize, "milp", interrupted(lambda: data.draw(st.booleans())))
        found = solve_for(problem, parse_objective(text), (), "milp", SearchRun(should_stop=lambda: True))
    assert_well_formed(problem, allowed_indices(problem, ()), found.chosen)
    assert found.stopped
    assert not found.optimal
    assert found.total == plan_total(problem, found.chosen)
    assert found.lower_bound <= min(plan_total(problem, plan) for plan in plans)


def test_past_the_most_plans_the_best_so_far_is_given_and_not_called_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, objective = diamond(), parse_objective("memory")
    whole = solve_for(problem, objective)
    assert (whole.optimal, whole.stopped) == (True, False)
    monkeypatch.setattr(objective_search, "MOST_PLANS", 1)
    found = solve_for(problem, objective)
    assert found.chosen
    assert (found.optimal, found.stopped) == (False, True)
    assert found.states == 1


@pytest.mark.parametrize("text", ["bytes,time", "memory"])
@pytest.mark.parametrize("search", ["astar", "milp"])
def test_what_is_reported_of_a_plan_is_its_time(search: str, text: str) -> None:
    problem, heard = diamond(), _Heard()
    found = solve_for(problem, parse_objective(text), (), search, SearchRun(heard))
    assert heard.ends == [found]
    assert all(total == plan_total(problem, plan) for plan, total in heard.plans)
    assert text != "memory" or heard.plans[-1] == (found.chosen, found.total)
