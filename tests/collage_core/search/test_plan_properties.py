"""The partition graph of a plan and its cycles, by hand; the searchers' tests use `plan_total` and `cycle` throughout."""

from __future__ import annotations

from collage_core.search.plan_properties import cycle, may_loop, owners, partition_graph, plan_transitions
from collage_core.search.problem import Transition
from tests.helpers.tiny_problems import CROSSED, small


def test_partitions_that_wait_for_each_other_are_a_cycle() -> None:
    assert partition_graph(CROSSED, [4, 5]) == {4: {5}, 5: {4}}
    assert cycle(CROSSED, [4, 5]) == {4, 5}
    assert may_loop(CROSSED, range(6)) == {4, 5}


def test_a_plan_without_a_cycle_has_none() -> None:
    assert partition_graph(CROSSED, [4, 1, 2]) == {4: {1}, 1: set(), 2: {4}}
    assert cycle(CROSSED, [4, 1, 2]) is None


def test_nodes_without_a_partition_are_left_out() -> None:
    assert owners(CROSSED, [4]) == {0: 4, 3: 4}
    assert partition_graph(CROSSED, [4]) == {4: set()}
    assert cycle(CROSSED, [4]) is None


def test_transitions_come_once_for_each_reading_partition() -> None:
    """Node 0 is read by 1 and 2; the host reads the outputs of 1 and 2."""
    edges = [(0, (1, 2), 8), (1, (), 1), (2, (), 2)]
    problem = small(edges, [((0,), "a", 1), ((1,), "b", 1), ((2,), "b", 1), ((1, 2), "b", 1)], transitions={("a", "b"): Transition(5, 1)})
    apart = [("a", "b", 0, 13), ("a", "b", 0, 13), ("b", "host", 1, 0), ("b", "host", 2, 0)]
    assert plan_transitions(problem, (0, 1, 2)) == apart
    assert plan_transitions(problem, (0, 3)) == apart[1:]
