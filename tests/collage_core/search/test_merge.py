"""Merging neighbours: each suggested set can be a partition of the plan, no pair is missed, and the total never rises."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collage_core.graph.dataflow_graph import HOST
from collage_core.graph.index_set import IndexSet
from collage_core.search.constraints.constraints import Constraint, allowed_indices
from collage_core.search.merge import mergeable_neighbours
from collage_core.search.problem import HOST_NAME, SearchCandidate, SearchProblem
from collage_core.search.solve import solve
from tests.helpers.tiny_problems import (
    allowed_plans,
    assert_well_formed,
    can_run,
    constrained_problems,
    small,
    tiny_problems,
    worth,
)


def are_neighbours(problem: SearchProblem, one: IndexSet, other: IndexSet) -> bool:
    """Return whether one of them reads what the other makes."""
    return any(
        (tensor.maker in one and any(node in other for node in tensor.readers))
        or (tensor.maker in other and any(node in one for node in tensor.readers))
        for tensor in problem.tensors
        if tensor.maker != HOST
    )


def hang_together(problem: SearchProblem, members: Sequence[IndexSet]) -> bool:
    reached, left = [members[0]], list(members[1:])
    for member in reached:
        near = [other for other in left if are_neighbours(problem, member, other)]
        left = [other for other in left if other not in near]
        reached += near
    return not left


def pairs_by_definition(problem: SearchProblem, plan: Sequence[int]) -> set[tuple[str, int]]:
    """Every two neighbours on one target that as one leave the plan without a cycle, but for what is a candidate already."""
    chosen = [problem.candidates[index] for index in plan]
    made = set()
    for one, other in combinations(chosen, 2):
        merged = one.inside | other.inside
        rest = [c.inside for c in chosen if c is not one and c is not other]
        is_asked = one.target == other.target != HOST_NAME and are_neighbours(problem, one.inside, other.inside)
        if is_asked and can_run(problem, [*rest, merged]):
            made.add((one.target, merged.bits))
    return made - {(candidate.target, candidate.bits) for candidate in problem.candidates}


@settings(max_examples=60)
@given(tiny_problems(most_nodes=7), st.data())
def test_what_is_suggested_is_valid_and_no_pair_is_forgotten(problem: SearchProblem, data: st.DataObject) -> None:
    plans = allowed_plans(problem)
    if not plans:
        return
    plan = data.draw(st.sampled_from(plans))
    chosen = [problem.candidates[index] for index in plan]
    found = mergeable_neighbours(problem, plan)
    assert len(set(found)) == len(found)
    pairs = set()
    for target, bits in found:
        members = [c.inside for c in chosen if c.bits & bits]
        assert sum(member.bits for member in members) == bits, "whole partitions"
        assert {c.target for c in chosen if c.bits & bits} == {target} != {HOST_NAME}
        assert len(members) > 1
        assert hang_together(problem, members)
        rest = [c.inside for c in chosen if not c.bits & bits]
        assert can_run(problem, [*rest, IndexSet.from_bits(bits)])
        assert not any((c.target, c.bits) == (target, bits) for c in problem.candidates)
        if len(members) == 2:
            pairs.add((target, bits))
    assert pairs == pairs_by_definition(problem, plan)
    assert set(found) == set(mergeable_neighbours(problem, plan[::-1])), "whatever the order in which the plan is given"


@settings(max_examples=40)
@given(constrained_problems(most_nodes=5), st.data())
def test_searching_again_with_neighbours_as_one_never_raises_the_total(
    case: tuple[SearchProblem, list[Constraint]], data: st.DataObject
) -> None:
    problem, constraints = case
    if not allowed_plans(problem, constraints):
        return
    for _ in range(3):
        before = solve(problem, constraints)
        merged = [
            SearchCandidate(IndexSet.from_bits(bits), target, data.draw(st.none() | st.integers(0, 8)), f"merged {target} {bits}")
            for target, bits in mergeable_neighbours(problem, before.chosen)
        ]
        larger = problem.with_candidates([*problem.candidates, *merged])
        after = solve(larger, constraints)
        assert_well_formed(larger, allowed_indices(larger, constraints), after.chosen)
        assert worth(larger, after.chosen) <= worth(problem, before.chosen)
        assert worth(larger, after.chosen) == min(worth(larger, plan) for plan in allowed_plans(larger, constraints))
        problem = larger


Sets = list[tuple[tuple[int, ...], str, int | None]]


def suggested(edges: list[tuple[int, tuple[int, ...], int]], targets: str) -> list[tuple[str, list[int]]]:
    """Return the merges suggested for a plan of single nodes, each on the target of its letter."""
    sets: Sets = [((node,), HOST_NAME if letter == "h" else letter, 1) for node, letter in enumerate(targets)]
    problem = small(edges, sets)
    return sorted((target, list(IndexSet.from_bits(bits))) for target, bits in mergeable_neighbours(problem, range(len(targets))))


CHAIN = [(0, (1,), 1), (1, (2,), 1), (2, (3,), 1), (3, (), 1)]
DIAMOND = [(0, (1, 2), 1), (1, (3,), 1), (2, (3,), 1), (3, (), 1)]
TRAP = [(0, (1, 2), 1), (1, (2,), 1), (2, (), 1)]
"""0 → 2, and 0 → 1 → 2."""


@pytest.mark.parametrize(
    ("edges", "targets", "expected"),
    [
        pytest.param(CHAIN, "aaaa", [("a", [0, 1]), ("a", [0, 1, 2, 3]), ("a", [1, 2]), ("a", [2, 3])], id="a chain: pairs, and all"),
        pytest.param(CHAIN, "aabb", [("a", [0, 1]), ("b", [2, 3])], id="each target for itself"),
        pytest.param(CHAIN, "abab", [], id="nothing next to its own"),
        pytest.param(CHAIN, "ahha", [], id="the host's are not merged"),
        pytest.param(TRAP, "aba", [], id="upstream's trap: 0 and 2 are neighbours, and 1 would wait for both"),
        pytest.param(TRAP, "aaa", [("a", [0, 1]), ("a", [0, 1, 2]), ("a", [1, 2])], id="the trap filled: all three, but not 0 and 2"),
        pytest.param(TRAP, "aha", [], id="the host between"),
        pytest.param(DIAMOND, "aaaa", [("a", [0, 1]), ("a", [0, 1, 2, 3]), ("a", [0, 2]), ("a", [1, 3]), ("a", [2, 3])], id="a diamond"),
        pytest.param(DIAMOND, "aaba", [("a", [0, 1]), ("a", [1, 3])], id="one arm on another target: not all three of a"),
        pytest.param(DIAMOND, "baab", [], id="two arms that do not touch"),
    ],
)
def test_suggestions_by_hand(edges: list[tuple[int, tuple[int, ...], int]], targets: str, expected: list[tuple[str, list[int]]]) -> None:
    assert suggested(edges, targets) == expected


def test_a_path_over_partitions_of_several_exits_is_a_path_too() -> None:
    """0 → 1 and 2 → 3 with {1, 2} on ``b`` as one: 0 and 3 on ``a`` are joined by an edge 0 → 3, and {1, 2} is between them."""
    edges = [(0, (1, 3), 1), (1, (), 1), (2, (3,), 1), (3, (), 1)]
    sets: Sets = [((0,), "a", 1), ((1, 2), "b", 1), ((3,), "a", 1), ((1,), "b", 1), ((2,), "b", 1)]
    problem = small(edges, sets)
    assert mergeable_neighbours(problem, (0, 1, 2)) == []
    assert mergeable_neighbours(problem, (0, 3, 4, 2)) == [("a", 0b1001)], "with 1 and 2 apart there is no such path"


def test_what_is_a_candidate_already_is_not_suggested_again() -> None:
    edges = [(0, (1,), 1), (1, (), 1)]
    sets: Sets = [((0,), "a", 1), ((1,), "a", 1)]
    assert mergeable_neighbours(small(edges, sets), (0, 1)) == [("a", 0b11)]
    assert mergeable_neighbours(small(edges, [*sets, ((0, 1), "b", 9)]), (0, 1)) == [("a", 0b11)], "another target's is another"
    assert mergeable_neighbours(small(edges, [*sets, ((0, 1), "a", 9)]), (0, 1)) == []
