"""Conflicts against brute force over every plan: minimal, none where the constraints are not to blame, and the uncovered nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.errors import InfeasibleError
from collage_core.graph.index_set import IndexSet
from collage_core.search.conflict import Feasibility, find_conflict
from collage_core.search.constraints.constraints import Constraint, parse_constraints
from collage_core.search.problem import FlowTensor, SearchCandidate, SearchProblem
from collage_core.search.solve import is_feasible, solve
from tests.helpers.examples import examples
from tests.helpers.problems import every_plan, problems

from .constraints.test_constraints import forms


def with_dead_ends(problem: SearchProblem) -> SearchProblem:
    """The same problem, but the host reads nothing: some results nobody reads."""
    return replace(problem, tensors=tuple(replace(tensor, is_output=False) for tensor in problem.tensors))


def without_singles(problem: SearchProblem) -> SearchProblem:
    """The same problem over its larger candidates, which often leave nodes uncovered or make cycles."""
    larger = [candidate for candidate in problem.candidates if len(candidate.inside) > 1]
    return problem.with_candidates(larger or problem.candidates)


PROBLEMS = st.one_of(problems(), problems().map(with_dead_ends), problems(most_nodes=5).map(without_singles))


def has_plan(problem: SearchProblem, constraints: Sequence[Constraint]) -> bool:
    """By the definition: some plan of all of them holds every constraint."""
    return any(all(one.allows(problem.candidates[index]) for index in plan for one in constraints) for plan in every_plan(problem))


@given(problem=PROBLEMS, data=st.data())
@examples(400)
def test_a_conflict_is_minimal_and_is_one(problem: SearchProblem, data: st.DataObject) -> None:
    constraints = parse_constraints(data.draw(st.lists(forms(problem), max_size=5)), problem)
    conflict = find_conflict(problem, constraints)
    assert is_feasible(problem, constraints) == has_plan(problem, constraints)
    assert bool(conflict) == (has_plan(problem, []) and not has_plan(problem, constraints))
    if conflict:
        assert conflict == sorted(set(conflict))
        assert not has_plan(problem, [constraints[index] for index in conflict])
        for dropped in conflict:
            assert has_plan(problem, [constraints[index] for index in conflict if index != dropped])


@given(problem=PROBLEMS, data=st.data())
@examples(200)
def test_a_plan_exists_where_one_is_found_and_else_the_error_says_why(problem: SearchProblem, data: st.DataObject) -> None:
    constraints = parse_constraints(data.draw(st.lists(forms(problem), max_size=4)), problem)
    if has_plan(problem, constraints):
        assert solve(problem, constraints).is_feasible
        return
    with pytest.raises(InfeasibleError) as caught:
        solve(problem, constraints)
    assert caught.value.conflict == find_conflict(problem, constraints)
    blamed = constraints if caught.value.conflict else []
    left = [candidate for candidate in problem.candidates if all(one.allows(candidate) for one in blamed)]
    assert caught.value.uncovered == [node for node in range(problem.nodes) if not any(node in c.inside for c in left)]
    assert caught.value.hint
    assert "\n" not in caught.value.message


def is_coverable(problem: SearchProblem, usable: Sequence[int]) -> bool:
    refused = dict.fromkeys(set(range(len(problem.candidates))).difference(usable), 1)
    return Feasibility(problem, refused).holds(1)


@given(problem=PROBLEMS, data=st.data())
@examples(200)
def test_whether_any_candidates_cover_the_model(problem: SearchProblem, data: st.DataObject) -> None:
    usable = sorted(data.draw(st.sets(st.integers(0, len(problem.candidates) - 1))))
    assert is_coverable(problem, usable) == any(True for _ in every_plan(problem, usable))


def test_nodes_that_are_held_alone_by_an_excluded_target_do_not_hide_a_plan() -> None:
    """Node 1 goes to `a` beside the partition of `c`; `b`, which comes first, excludes `c`. The other partition of node 3 makes a cycle."""
    made = [("a", [0]), ("b", [1]), ("a", [1]), ("a", [2]), ("a", [0, 3]), ("c", [0, 2, 3])]
    tensors = (
        FlowTensor("t0", 0, (1, 2), False, 0), FlowTensor("t1", 1, (), True, 0), FlowTensor("t2", 2, (3,), False, 0),
        FlowTensor("t3", 3, (), True, 0),
    )  # fmt: skip
    candidates = tuple(SearchCandidate(IndexSet(inside), target, 1, target) for target, inside in made)
    problem = SearchProblem(4, tensors, candidates, exclusive=(("b", "c"),))
    assert is_coverable(problem, range(len(made)))


def row(nodes: int, *made: tuple[str, tuple[int, ...]], exclusive: Sequence[tuple[str, str]] = ()) -> SearchProblem:
    """Nodes in a row, and candidates as (target, nodes)."""
    tensors = [FlowTensor(f"t{n}", n, (n + 1,) if n + 1 < nodes else (), n + 1 == nodes, 4) for n in range(nodes)]
    candidates = tuple(SearchCandidate(IndexSet(inside), target, 1, str(index)) for index, (target, inside) in enumerate(made))
    names = tuple(f"n{node}" for node in range(nodes))
    return SearchProblem(nodes, tuple(tensors), candidates, exclusive=tuple(exclusive), names=names, ops=("Relu",) * nodes)


def refused(problem: SearchProblem, *items: dict[str, Any]) -> InfeasibleError:
    with pytest.raises(InfeasibleError) as caught:
        solve(problem, parse_constraints(list(items), problem))
    return caught.value


def test_very_many_exclusions_are_not_gone_through_one_by_one() -> None:
    """Forty pairs are 2^40 sets of targets that may meet; none of them takes node 1."""
    pairs = [(f"a{number}", f"b{number}") for number in range(40)]
    problem = row(2, *((target, (0,)) for pair in pairs for target in pair), exclusive=pairs)
    assert refused(problem).uncovered == [1]


def test_without_constraints_nothing_collides() -> None:
    problem = row(1, ("a", (0,)))
    assert find_conflict(problem, []) == []
    assert find_conflict(problem, parse_constraints([{"kind": "pin", "target": "a"}], problem)) == []
