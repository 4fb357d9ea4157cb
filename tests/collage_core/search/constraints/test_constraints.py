"""Every form of a constraint: what it says of each candidate, and that plans hold it and are still the best ones."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.errors import CollageError, InfeasibleError
from collage_core.graph.dataflow_graph import HOST
from collage_core.graph.index_set import IndexSet
from collage_core.search.alternatives.regret import regret_intervals
from collage_core.search.conflict import find_conflict
from collage_core.search.constraints.constraint_text import constraint_text
from collage_core.search.constraints.constraints import (
    Constraint,
    allowed_indices,
    compatible_sets,
    exclusions_of,
    parse_constraints,
    violations,
)
from collage_core.search.objective_search import k_best_for
from collage_core.search.objectives import TIME
from collage_core.search.plan_properties import plan_copies, plan_total
from collage_core.search.problem import FlowTensor, SearchCandidate, SearchProblem
from collage_core.search.solve import solve
from collage_core.search.source_lines import ProblemMistake
from tests.helpers.examples import examples
from tests.helpers.located_problems import located_problem
from tests.helpers.problems import every_plan, order_of, problems
from tests.helpers.tiny_problems import small

SETS = {
    "a0": (0,),
    "a1": (1,),
    "a2": (2,),
    "a3": (3,),
    "a01": (0, 1),
    "a012": (0, 1, 2),
    "b0": (0,),
    "b1": (1,),
    "b23": (2, 3),
    "b0123": (0, 1, 2, 3),
    "host3": (3,),
}
"""Id → nodes; the id begins with the target."""


def four() -> SearchProblem:
    """Conv, Relu, Conv, Reshape in a row."""
    tensors = (
        FlowTensor("x", HOST, (0,), False, 4),
        *(FlowTensor(f"t{n}", n, (n + 1,) if n < 3 else (), n == 3, 4) for n in range(4)),
    )
    made = (SearchCandidate(IndexSet(nodes), name.rstrip("0123456789"), 10, name) for name, nodes in SETS.items())
    names = ("blk/0/conv", "blk/0/relu", "blk/1/conv", "7")
    return SearchProblem(4, tensors, tuple(made), priorities=("a", "b"), names=names, ops=("Conv", "Relu", "Conv", "Reshape"))


PIN_A: dict[str, Any] = {"kind": "pin", "target": "a"}
VETO_A: dict[str, Any] = {"kind": "veto", "target": "a"}
ALL_OF_A = "a0 a1 a2 a3 a01 a012"


@pytest.mark.parametrize(
    ("item", "refused"),
    [
        ({**PIN_A, "node": "blk/0/relu"}, "b1 b0123"),
        ({**PIN_A, "node": 1}, "b1 b0123"),
        ({**PIN_A, "node": "1"}, "b1 b0123"),
        ({**PIN_A, "node": "7"}, "b23 b0123"),
        ({**PIN_A, "nodes": ["blk/0/conv", 1]}, "b0 b1 b0123"),
        ({**PIN_A, "op": "Conv"}, "b0 b23 b0123"),
        ({**PIN_A, "name": "blk/0/*"}, "b0 b1 b0123"),
        ({**PIN_A, "name": "blk/?/conv"}, "b0 b23 b0123"),
        ({**PIN_A, "name": "blk/*", "op": "Relu"}, "b1 b0123"),
        (PIN_A, "b0 b1 b23 b0123"),
        ({**VETO_A, "node": 2}, "a2 a012"),
        ({**VETO_A, "op": "Relu"}, "a1 a01 a012"),
        ({**VETO_A, "name": "*relu"}, "a1 a01 a012"),
        ({**VETO_A, "nodes": [0, 3]}, "a0 a3 a01 a012"),
        (VETO_A, ALL_OF_A),
        ({"kind": "pin", "nodes": [0, 1], "together": True}, "a0 a1 b0 b1"),
        ({"kind": "pin", "nodes": [0, 1], "exact": True}, "a012 b0123"),
        ({"kind": "pin", "nodes": [0, 1], "together": True, "exact": True}, "a0 a1 a012 b0 b1 b0123"),
        ({**PIN_A, "nodes": [0, 1], "together": True, "exact": True}, "a0 a1 a012 b0 b1 b0123"),
        ({**PIN_A, "nodes": [0, 1], "together": True}, "a0 a1 b0 b1 b0123"),
        ({"kind": "pin", "together": True}, f"{ALL_OF_A} b0 b1 b23 host3"),
        ({"kind": "pin", "candidate": "a01"}, "a0 a1 a012 b0 b1 b0123"),
        ({"kind": "pin", "candidate": 4}, "a0 a1 a012 b0 b1 b0123"),
        ({"kind": "veto", "candidate": "a01"}, "a01"),
        ({"kind": "veto", "candidate": 10}, "host3"),
        ({"kind": "cut", "between": ["blk/0/relu", 2]}, "a012 b0123"),
        ({"kind": "cut", "between": [0, 3]}, "b0123"),
        ({"kind": "veto", "node": 3, "target": "host"}, "host3"),
    ],
)
def test_each_form_refuses_these_and_no_others(item: dict[str, Any], refused: str) -> None:
    problem = four()
    constraints = parse_constraints([item], problem)
    allowed = {problem.candidates[index].id for index in allowed_indices(problem, constraints)}
    assert set(SETS) - allowed == set(refused.split())


@pytest.mark.parametrize(
    ("item", "refused"),
    [
        (PIN_A, "b0 b1 b23 b0123 host3"),
        ({**PIN_A, "op": "Loop"}, "b23 b0123 host3"),
        ({**PIN_A, "node": 0}, "b0 b0123"),
        ({"kind": "pin", "node": 3, "target": "host"}, "a3 b23 b0123"),
        ({**VETO_A, "node": 3}, "a3"),
    ],
)
def test_a_node_with_bodies_is_pinned_away_from_the_host(item: dict[str, Any], refused: str) -> None:
    problem = replace(four(), ops=("Conv", "Relu", "Conv", "Loop"))
    constraints = parse_constraints([item], problem)
    allowed = {problem.candidates[index].id for index in allowed_indices(problem, constraints)}
    assert set(SETS) - allowed == set(refused.split())


def test_the_host_may_be_named_where_it_has_no_candidate() -> None:
    problem = four()
    without = replace(problem, candidates=problem.candidates[:-1])
    assert len(allowed_indices(without, parse_constraints([{"kind": "veto", "target": "host"}], without))) == len(SETS) - 1


def forms(problem: SearchProblem) -> st.SearchStrategy[dict[str, Any]]:
    """Any constraint that `problem` may have."""
    node, target = st.integers(0, problem.nodes - 1), st.sampled_from(sorted({c.target for c in problem.candidates}))
    about = st.one_of(
        st.builds(lambda n: {"node": n}, node),
        st.builds(lambda n: {"node": f"n{n}"}, node),
        st.builds(lambda ns: {"nodes": ns}, st.lists(node, min_size=1, max_size=3)),
        st.builds(lambda n: {"op": problem.ops[n]}, node),
        st.builds(lambda n: {"name": f"?{n}*"}, node),
        st.just({}),
    )
    candidate = st.one_of(st.integers(0, len(problem.candidates) - 1), st.sampled_from([c.id for c in problem.candidates]))
    kinds = [
        st.builds(lambda a, t: {"kind": "pin", "target": t, **a}, about, target),
        st.builds(lambda a, t: {"kind": "veto", "target": t, **a}, about, target),
        st.builds(lambda a, e: {"kind": "pin", "together": True, "exact": e, **a}, about, st.booleans()),
        st.builds(lambda a, t, e: {"kind": "pin", "exact": True, "together": e, "target": t, **a}, about, target, st.booleans()),
        st.builds(lambda kind, c: {"kind": kind, "candidate": c}, st.sampled_from(["pin", "veto"]), candidate),
    ]
    if problem.nodes > 1:
        kinds.append(st.builds(lambda ends: {"kind": "cut", "between": ends}, st.lists(node, min_size=2, max_size=2, unique=True)))
    if problem.locations:
        location, tensor = st.sampled_from(sorted(problem.locations)), st.sampled_from([tensor.name for tensor in problem.tensors])
        kinds.append(st.builds(lambda a, at: {"kind": "pin", "location": at, **a}, about, location))
        kinds.append(st.builds(lambda a, at: {"kind": "veto", "location": at, **a}, about, location))
        kinds += [st.builds(lambda name: {"kind": "stay", "tensor": name}, tensor)] * 4
    return st.one_of(kinds)


def drawn(data: st.DataObject, problem: SearchProblem, most: int = 4) -> list[Constraint]:
    return parse_constraints(data.draw(st.lists(forms(problem), max_size=most)), problem)


def with_host(problem: SearchProblem) -> SearchProblem:
    """The same problem with its target c called host."""
    renamed = (replace(c, target="host") if c.target == "c" else c for c in problem.candidates)
    return replace(problem, candidates=tuple(renamed), exclusive=(), ops=tuple("Loop" if op == "Relu" else op for op in problem.ops))


@given(problem=st.one_of(problems(), problems().map(with_host)), data=st.data())
@examples(300)
def test_the_fast_way_says_what_the_definition_says(problem: SearchProblem, data: st.DataObject) -> None:
    constraints = drawn(data, problem, 6)
    refused = violations(problem, constraints)
    for index, candidate in enumerate(problem.candidates):
        assert refused.get(index, 0) == sum(1 << number for number, one in enumerate(constraints) if not one.allows(candidate))
    assert allowed_indices(problem, constraints) == [index for index in range(len(problem.candidates)) if index not in refused]


def holds(problem: SearchProblem, plan: tuple[int, ...], item: dict[str, Any]) -> bool:
    """Return whether a plan holds a constraint, judged by the whole plan, as docs/files.md says it; `item` names nodes by index."""
    chosen = [problem.candidates[index] for index in plan]
    if item["kind"] == "cut":
        return not any(set(item["between"]) <= set(c.inside) for c in chosen)
    if "candidate" in item:
        return (int(item["candidate"]) in plan) == (item["kind"] == "pin")
    nodes = set(item.get("nodes", range(problem.nodes)))
    holding = [c for c in chosen if nodes & set(c.inside)]
    if item["kind"] == "veto":
        return all(c.target != item["target"] for c in holding)
    return (
        all(item.get("target") in (None, c.target) for c in holding)
        and (not item.get("together") or len(holding) == 1)
        and (not item.get("exact") or all(set(c.inside) <= nodes for c in holding))
    )


@given(problem=problems(), data=st.data())
@examples(300)
def test_the_best_plan_that_holds_every_constraint_is_found(problem: SearchProblem, data: st.DataObject) -> None:
    nodes = st.lists(st.integers(0, problem.nodes - 1), min_size=1, max_size=3, unique=True)
    target = st.sampled_from("abc").filter(lambda name: any(c.target == name for c in problem.candidates))
    flags = st.fixed_dictionaries({"kind": st.just("pin"), "nodes": nodes, "together": st.booleans(), "exact": st.just(True)})
    kinds: list[st.SearchStrategy[dict[str, Any]]] = [
        st.fixed_dictionaries({"kind": st.sampled_from(["pin", "veto"]), "target": target}, optional={"nodes": nodes}),
        st.fixed_dictionaries({"kind": st.just("pin"), "together": st.just(True), "target": target}, optional={"nodes": nodes}),
        flags,
        st.fixed_dictionaries(
            {"kind": st.sampled_from(["pin", "veto"]), "candidate": st.integers(0, len(problem.candidates) - 1).map(str)},
        ),
    ]
    if problem.nodes > 1:
        kinds.append(st.fixed_dictionaries({"kind": st.just("cut"), "between": nodes.filter(lambda ends: len(ends) == 2)}))
    items = data.draw(st.lists(st.one_of(kinds), min_size=1, max_size=3))
    constraints = parse_constraints(items, problem)
    plans = [plan for plan in every_plan(problem) if all(holds(problem, plan, item) for item in items)]
    if not plans:
        with pytest.raises(InfeasibleError):
            solve(problem, constraints)
        return
    found = solve(problem, constraints)
    assert found.total == min(plan_total(problem, plan) for plan in plans)
    assert all(holds(problem, found.chosen, item) for item in items)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (3, "constraints[0] is 3, it must be an object"),
        ({}, "constraints[0].kind is None, it must be pin, veto, cut or stay"),
        ({"kind": "pinn", "node": 0}, "constraints[0].kind is 'pinn', it must be pin, veto, cut or stay"),
        ({"kind": ["pin"]}, "constraints[0].kind is ['pin'], it must be pin, veto, cut or stay"),
        ({**PIN_A, "node": 4}, "constraints[0].node is 4, it must be the name of a node, or its index from 0 to 3"),
        ({**PIN_A, "node": -1}, "constraints[0].node is -1, it must be the name of a node"),
        ({**PIN_A, "node": True}, "constraints[0].node is True, it must be the name of a node"),
        ({**PIN_A, "node": 1.0}, "constraints[0].node is 1.0, it must be the name of a node"),
        ({**PIN_A, "node": "conv"}, "constraints[0].node is 'conv', it must be the name of a node"),
        ({**PIN_A, "nodes": []}, "constraints[0].nodes is [], it must be a list of nodes"),
        ({**PIN_A, "nodes": "0"}, "constraints[0].nodes is '0', it must be a list of nodes"),
        ({**PIN_A, "nodes": [0, [1]]}, "constraints[0].nodes is [1], it must be the name of a node"),
        ({**PIN_A, "op": "Convv"}, "constraints[0] speaks of no node: {'op': 'Convv'} matches none"),
        ({**PIN_A, "name": "BLK/*"}, "constraints[0] speaks of no node: {'name': 'BLK/*'} matches none"),
        ({**PIN_A, "op": 3}, "constraints[0].op is 3, it must be a string"),
        ({"kind": "pin", "target": "z"}, "constraints[0].target is 'z', it must be a target (a, b, host)"),
        ({"kind": "pin", "target": []}, "constraints[0].target is [], it must be a target (a, b, host)"),
        ({"kind": "pin", "node": 0}, "constraints[0].target is None, it must be the target to pin to (or set together or exact)"),
        ({"kind": "veto", "node": 0}, "constraints[0].target is None, it must be the target that is vetoed (or name a candidate)"),
        ({**PIN_A, "together": "yes"}, "constraints[0].together is 'yes', it must be true or false"),
        ({**VETO_A, "exact": True}, "constraints[0].exact is True, it must be left out: it means nothing in this veto"),
        ({**VETO_A, "not": 1}, "constraints[0].not is 1, it must be left out: a constraint has between, candidate, exact,"),
        ({"kind": "cut", "between": [0]}, "constraints[0].between is [0], it must be two nodes"),
        ({"kind": "cut", "between": [0, 0]}, "constraints[0].between is [0, 0], it must be two different nodes"),
        ({"kind": "cut", "between": [0, 9]}, "constraints[0].between is 9, it must be the name of a node"),
        ({"kind": "cut", "between": [0, 1], "target": "a"}, "constraints[0].target is 'a', it must be left out: it means nothing in this"),
        ({"kind": "pin", "candidate": 11}, "constraints[0].candidate is 11, it must be the id of a candidate"),
        ({"kind": "pin", "candidate": -1}, "constraints[0].candidate is -1, it must be the id of a candidate"),
        ({"kind": "pin", "candidate": "a9"}, "constraints[0].candidate is 'a9', it must be the id of a candidate"),
        ({"kind": "pin", "candidate": True}, "constraints[0].candidate is True, it must be the id of a candidate"),
        ({"kind": "pin", "candidate": 1, "node": 1}, "constraints[0].node is 1, it must be left out: it means nothing in this pin"),
    ],
)
def test_a_mistake_is_reported_with_path_and_value(item: Any, message: str) -> None:
    with pytest.raises(CollageError) as caught:
        parse_constraints([item], four())
    assert caught.value.message.startswith(message)
    assert (caught.value.code, caught.value.hint) == ("bad_constraint", "docs/files.md shows the constraints file")


def test_constraints_that_are_no_list() -> None:
    with pytest.raises(CollageError, match=r"^constraints is \{\}, it must be a list$"):
        parse_constraints({}, four())


def test_a_name_goes_before_an_index_of_the_same_digits() -> None:
    problem = four()
    (by_name,) = parse_constraints([{**PIN_A, "node": "7"}], problem)
    assert by_name.bits == 0b1000
    (by_index,) = parse_constraints([{**PIN_A, "node": "2"}], problem)
    assert by_index.bits == 0b100


def drawn_of_locations(draw: Random, problem: SearchProblem) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for _ in range(draw.randint(1, 3)):
        kind = draw.choice(("stay", "stay", "pin", "veto"))
        if kind == "stay":
            items.append({"kind": kind, "tensor": draw.choice(problem.tensors).name})
        else:
            items.append({"kind": kind, "location": draw.choice(list(problem.locations)), "node": draw.randrange(problem.nodes)})
    return items


@pytest.mark.parametrize("seed", range(60))
def test_the_plan_under_constraints_of_locations_is_that_of_enumeration(seed: int) -> None:
    problem = located_problem(seed, most_nodes=4)
    items = drawn_of_locations(Random(seed), problem)
    constraints = parse_constraints(items, problem)
    staying = {item["tensor"] for item in items if item["kind"] == "stay"}

    def holds(plan: tuple[int, ...]) -> bool:
        return not any(problem.tensors[copy.tensor].name in staying for copy in plan_copies(problem, plan))

    plans = [plan for plan in every_plan(problem, allowed_indices(problem, constraints)) if holds(plan)]
    plans.sort(key=lambda plan: order_of(problem, plan))
    if not plans:
        with pytest.raises(InfeasibleError):
            solve(problem, constraints)
        conflict = find_conflict(problem, constraints)
        assert bool(conflict) == any(True for _ in every_plan(problem))
        return
    best = solve(problem, constraints)
    assert best.chosen == plans[0]
    assert solve(problem, constraints, "milp").total == best.total
    assert [plan.chosen for plan in k_best_for(problem, TIME, constraints, 5)] == plans[:5]
    regrets = regret_intervals(problem, constraints, best)
    assert {index for index, regret in enumerate(regrets) if regret is not None} == {index for plan in plans for index in plan}
    for name in ("greedy", "random", "op_dp"):
        with suppress(InfeasibleError):
            assert holds(solve(problem, constraints, name).chosen)


def test_a_location_stands_for_the_targets_that_are_there() -> None:
    problem = located_problem(1)
    at = {location: {t for t in (*problem.target_locations, "host") if problem.location(t) == location} for location in problem.locations}
    for location, targets in at.items():
        pin, veto, never_off = parse_constraints(
            [
                {"kind": "pin", "location": location, "node": 0},
                {"kind": "veto", "location": location},
                {"kind": "pin", "location": "host"},
            ],
            problem,
        )
        for candidate in problem.candidates:
            assert pin.allows(candidate) == (0 not in candidate.inside or candidate.target in targets)
            assert veto.allows(candidate) == (candidate.target not in targets)
            assert never_off.allows(candidate) == (problem.location(candidate.target) == "host")


@pytest.mark.parametrize(
    ("item", "path", "message"),
    [
        ({"kind": "pin", "location": "moon"}, "location", "is 'moon', it must be a location ("),
        ({"kind": "pin", "location": "host", "target": "a"}, "location", "is 'host', it must be left out: the constraint names a target"),
        ({"kind": "stay", "tensor": "none"}, "tensor", "is 'none', it must be the name of a tensor"),
        ({"kind": "stay"}, "tensor", "is None, it must be the name of a tensor"),
        ({"kind": "stay", "tensor": "x", "node": 0}, "node", "is 0, it must be left out: it means nothing in this stay"),
    ],
)
def test_a_mistake_about_locations_is_reported(item: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(ProblemMistake) as caught:
        parse_constraints([item], located_problem(1))
    assert caught.value.json_path == f"constraints[0].{path}"
    assert caught.value.message.startswith(f"constraints[0].{path} {message}")


def test_constraints_of_locations_in_words() -> None:
    problem = located_problem(1)
    about = {"node": 0, "location": "cuda:0"}
    listed = parse_constraints([{"kind": "pin", **about}, {"kind": "veto", **about}, {"kind": "stay", "tensor": "x"}], problem)
    assert [constraint_text(problem, item) for item in listed] == [
        "pin of n0 to cuda:0",
        "veto of cuda:0 for n0",
        "x stays where it is made",
    ]


NAMES = ("a", "b", "c", "d", "e", "host")
pairs = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=9)


def with_exclusive(exclusive: list[tuple[str, str]]) -> SearchProblem:
    return small([(0, (), 1)], [((0,), "a", 1)], exclusive=tuple(exclusive))


def sets_by_definition(targets: list[str], exclusive: list[tuple[str, str]]) -> set[frozenset[str]]:
    """Every set of targets of which no two exclude each other, and that no other such set holds."""
    apart = {frozenset(pair) for pair in exclusive if pair[0] != pair[1]}
    every = [frozenset(some) for size in range(len(targets) + 1) for some in combinations(targets, size)]
    may_meet = [some for some in every if not any(pair <= some for pair in apart)]
    return {some for some in may_meet if not any(some < other for other in may_meet)}


@examples(150)
@given(st.lists(st.sampled_from(NAMES), unique=True), pairs)
def test_the_sets_that_may_meet_are_those_of_the_definition(targets: list[str], exclusive: list[tuple[str, str]]) -> None:
    found = list(compatible_sets(with_exclusive(exclusive), targets))
    assert len(set(found)) == len(found)
    assert set(found) == sets_by_definition(targets, exclusive)
    assert found == list(compatible_sets(with_exclusive(exclusive), targets)), "in the same order again"


@examples(80)
@given(st.lists(st.sampled_from(NAMES), unique=True), pairs)
def test_rivals_are_mutual_and_among_the_targets_asked_for(targets: list[str], exclusive: list[tuple[str, str]]) -> None:
    rivals = exclusions_of(with_exclusive(exclusive), targets)
    assert list(rivals) == targets
    for a in targets:
        assert rivals[a] == {b for b in targets if a != b and ((a, b) in exclusive or (b, a) in exclusive)}


def test_where_nothing_excludes_anything_all_may_meet() -> None:
    assert list(compatible_sets(with_exclusive([]), ["b", "a"])) == [frozenset({"a", "b"})]
    assert list(compatible_sets(with_exclusive([("a", "z")]), ["b", "a"])) == [frozenset({"a", "b"})], "z is not used"
