"""Toolchains that exclude each other: which sets of them may meet, and that no searcher lets others meet."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collage_core.errors import InfeasibleError
from collage_core.search.constraints.constraints import parse_constraints
from collage_core.search.constraints.exclusion import compatible_sets, rivals_of
from collage_core.search.problem import SearchProblem
from collage_core.search.solve import SEARCHERS, solve
from tests.helpers.tiny_problems import assert_well_formed, small

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


@settings(max_examples=150)
@given(st.lists(st.sampled_from(NAMES), unique=True), pairs)
def test_the_sets_that_may_meet_are_those_of_the_definition(targets: list[str], exclusive: list[tuple[str, str]]) -> None:
    found = list(compatible_sets(with_exclusive(exclusive), targets))
    assert len(set(found)) == len(found)
    assert set(found) == sets_by_definition(targets, exclusive)
    assert found == list(compatible_sets(with_exclusive(exclusive), targets)), "in the same order again"


@settings(max_examples=80)
@given(st.lists(st.sampled_from(NAMES), unique=True), pairs)
def test_rivals_are_mutual_and_among_the_targets_asked_for(targets: list[str], exclusive: list[tuple[str, str]]) -> None:
    rivals = rivals_of(with_exclusive(exclusive), targets)
    assert list(rivals) == targets
    for a in targets:
        assert rivals[a] == {b for b in targets if a != b and ((a, b) in exclusive or (b, a) in exclusive)}


def test_where_nothing_excludes_anything_all_may_meet() -> None:
    assert list(compatible_sets(with_exclusive([]), ["b", "a"])) == [frozenset({"a", "b"})]
    assert list(compatible_sets(with_exclusive([("a", "z")]), ["b", "a"])) == [frozenset({"a", "b"})], "z is not used"


def two_steps(*exclusive: tuple[str, str]) -> SearchProblem:
    """Node 0 is cheapest on ``a``, node 1 on ``b``; ``c`` does both, dearer."""
    sets = [((0,), "a", 1), ((1,), "b", 1), ((0,), "c", 5), ((1,), "c", 7), ((1,), "host", None)]
    return small([(0, (1,), 1), (1, (), 1)], sets, exclusive=exclusive, names=("first", "second"), ops=("Conv", "Relu"))


@pytest.mark.parametrize("search", sorted(SEARCHERS))
def test_no_searcher_lets_excluded_targets_meet(search: str) -> None:
    free = solve(two_steps(), parse_constraints([{"kind": "veto", "target": "host"}], two_steps()), search)
    assert (free.chosen, free.total) == ((0, 1), 2)
    apart = two_steps(("b", "a"), ("host", "a"))
    found = solve(apart, [], search)
    assert_well_formed(apart, range(5), found.chosen)
    # The cheapest are 5 of c and nothing of the host; `greedy` takes a first, whatever it costs.
    assert (found.chosen, found.total) == (((0, 3), 8) if search == "greedy" else ((2, 4), 5))


@pytest.mark.parametrize("search", ["astar", "dijkstra", "milp"])
def test_the_host_can_be_excluded_too(search: str) -> None:
    assert solve(two_steps(("host", "a"), ("a", "b")), [], search).total == 5, "c, and the host"
    assert solve(two_steps(("host", "a"), ("b", "a"), ("c", "host")), [], search).total == 6, "c and b"
    found = solve(two_steps(("host", "a"), ("b", "a"), ("c", "host"), ("c", "b")), [], search)
    assert (found.chosen, found.total, found.optimal) == ((0, 3), 8, True), "a and c"


@pytest.mark.parametrize("search", sorted(SEARCHERS))
def test_where_what_is_left_cannot_meet_there_is_no_plan(search: str) -> None:
    only = parse_constraints([{"kind": "pin", "node": 0, "target": "a"}, {"kind": "pin", "node": 1, "target": "b"}], two_steps())
    problem = small([(0, (1,), 1), (1, (), 1)], [((0,), "a", 1), ((1,), "b", 1), ((1,), "a", 3)], exclusive=(("a", "b"),))
    with pytest.raises(InfeasibleError) as caught:
        solve(problem, only, search)
    assert caught.value.conflict == [1], "b for node 1 leaves node 0 to a; a for node 0 leaves a for node 1"
