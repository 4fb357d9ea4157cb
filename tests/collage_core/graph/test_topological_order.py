"""Numbered things in an order in which each comes after what it needs."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from hypothesis import given
from hypothesis import strategies as st

from collage_core.graph.topological_order import downstream_of_cycles, shortest_cycle, topological_order


def test_the_given_order_is_kept_where_it_can_be():
    assert topological_order([set(), {0}, {0}, {1, 2}]) == [0, 1, 2, 3]
    assert topological_order([{3}, set(), {0}, set()]) == [1, 3, 0, 2]


def test_what_is_on_a_cycle_or_after_one_is_left_out():
    assert topological_order([{1}, {0}, {0}, set()]) == [3]
    assert topological_order([]) == []


NODES = range(7)
successors = st.lists(st.sets(st.sampled_from(NODES), max_size=2), min_size=7, max_size=7).map(lambda ends: dict(enumerate(ends)))


def reached(graph: dict[int, set[int]], start: int) -> set[int]:
    """Return the nodes that one or more edges lead to from `start`."""
    found = set(graph[start])
    for _ in graph:
        found |= {end for node in found for end in graph[node]}
    return found


@given(graph=successors)
def test_what_is_downstream_of_cycles_is_what_a_node_on_a_cycle_reaches(graph: dict[int, set[int]]) -> None:
    on_cycles = [node for node in graph if node in reached(graph, node)]
    expected = {end for node in on_cycles for end in reached(graph, node)}
    assert downstream_of_cycles(graph) == sorted(expected)


@given(graph=successors)
def test_a_shortest_cycle_is_found_where_no_order_exists(graph: dict[int, set[int]]) -> None:
    found = shortest_cycle(graph)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        assert found is not None
        assert all(found & graph[node] for node in found), "each has a successor on the cycle"
        first = min(node for node in graph if node in reached(graph, node))
        assert first in found
        distance, ends = 1, set(graph[first])
        while first not in ends:
            distance, ends = distance + 1, {end for node in ends for end in graph[node]}
        assert len(found) == distance
        return
    assert found is None
