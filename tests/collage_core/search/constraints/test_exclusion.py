"""Toolchains that exclude each other: which sets of them may meet, and that no searcher lets others meet."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from collage_core.search.constraints.exclusion import compatible_sets, exclusions_of
from collage_core.search.problem import SearchProblem
from tests.helpers.examples import examples
from tests.helpers.tiny_problems import small

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
