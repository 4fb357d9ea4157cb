"""`completions`: the parts that make plans with those of a target that cannot take the whole model; and that the loop measures them."""

from __future__ import annotations

from collections.abc import Sequence

from collage_core.cost.cost import Cost
from collage_core.graph.dataflow_graph import DataflowGraph
from collage_core.graph.index_set import IndexSet
from collage_core.pipeline.loop.completions import MOST_PARTS, completions
from collage_core.pipeline.loop.cost_table import CostTable
from collage_core.pipeline.loop.measuring_policy import MeasuringPolicy
from collage_core.rules.candidate import CandidatePartition
from tests.helpers.typed_graphs import GraphBuilder


def detector() -> DataflowGraph:
    """Two convolutions in floats, then two light nodes that one target does not take."""
    builder = GraphBuilder()
    features = builder.conv(builder.conv("x"))
    builder.relu(builder.flat(features))
    return builder.graph()


def parts(graph: DataflowGraph, target: str, *nodes: Sequence[int]) -> list[CandidatePartition]:
    return [CandidatePartition(graph, target, IndexSet(one), "test") for one in nodes]


def sets(groups: list[list[CandidatePartition]]) -> list[list[tuple[str, list[int]]]]:
    return [[(one.target, list(one.inside)) for one in group] for group in groups]


def test_beside_the_large_parts_of_a_partial_target_stand_the_largest_of_another() -> None:
    graph = detector()
    by_target = {
        "fast": parts(graph, "fast", [0], [1], [0, 1]),
        "whole": parts(graph, "whole", [0], [1], [2], [3], [2, 3], [1, 2, 3], [0, 1, 2, 3]),
    }
    assert sets(completions(graph, by_target)) == [[("fast", [0, 1]), ("whole", [2, 3])]]


def test_a_target_with_little_of_the_work_has_no_large_parts() -> None:
    graph = detector()
    by_target = {"light": parts(graph, "light", [2], [3], [2, 3]), "whole": parts(graph, "whole", [0, 1], [0, 1, 2, 3])}
    assert completions(graph, by_target) == []


def test_parts_that_wait_for_each_other_do_not_stand_in_one_group() -> None:
    """Nodes 0 and 3 around node 1: in one plan with it they could not run one after another."""
    builder = GraphBuilder()
    left = builder.conv("x")
    middle = builder.conv(left)
    right = builder.conv("x")
    builder.node("Add", (middle, right))
    graph = builder.graph()
    by_target = {"fast": parts(graph, "fast", [1, 2]), "whole": parts(graph, "whole", [0, 3], [0], [3], [0, 1, 2, 3])}
    assert sets(completions(graph, by_target)) == [[("fast", [1, 2]), ("whole", [0]), ("whole", [3])]]


def test_few_parts_are_enough() -> None:
    builder = GraphBuilder()
    last = builder.conv("x")
    for _ in range(10):
        last = builder.relu(last)
    graph = builder.graph()
    others = [*([index] for index in range(11)), list(range(11))]
    (group,) = completions(graph, {"fast": parts(graph, "fast", [0]), "whole": parts(graph, "whole", *others)})
    assert len(group) == 1 + MOST_PARTS


def test_the_policy_asks_for_them_unless_the_parts_are_slower_than_the_whole() -> None:
    graph = detector()
    own, tail, whole = parts(graph, "fast", [0, 1]), parts(graph, "whole", [2, 3]), parts(graph, "whole", [0, 1, 2, 3])
    for seconds, asked in ((1.0, tail), (3.0, [])):
        table = CostTable(graph, [*own, *tail, *whole], lambda one: one.id)
        assert MeasuringPolicy().complete(table) == [], "no whole model is known"
        table.learn({own[0]: Cost(seconds, "measured"), whole[0]: Cost(2.0, "measured")})
        assert MeasuringPolicy().complete(table) == asked
