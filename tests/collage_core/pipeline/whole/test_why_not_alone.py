"""The sentence that says why a target cannot have the whole model."""

from __future__ import annotations

from collage_core.cost.cost import Cost
from collage_core.graph.index_set import IndexSet
from collage_core.pipeline.record.record import CostedCandidate
from collage_core.pipeline.whole.why_not_alone import why_not_alone
from collage_core.rules.candidate import CandidatePartition, Rejection
from tests.helpers.graphs import graph

GRAPH = graph(["a: Relu <- x", "b: Relu <- a", "c: Relu <- b", "d: Relu <- c", "pick: TopK <- d"])


def costed(nodes: tuple[int, ...], cost: Cost) -> CostedCandidate:
    return CostedCandidate(CandidatePartition(GRAPH, "ncnn", IndexSet(nodes), "op"), cost)


def test_the_operators_left_and_the_words_of_the_rule_are_told() -> None:
    rejections = [
        Rejection("openvino", (4,), "op", "predicate", "another target's words"),
        Rejection("ncnn", (3, 4), "combine", "validity", "words about two nodes"),
        Rejection("ncnn", (4,), "op", "predicate", "ncnn has no layer for TopK"),
    ]
    told = why_not_alone(GRAPH, "ncnn", [costed((0, 1, 2, 3), Cost(1.0, "measured"))], rejections)
    assert told == "ncnn cannot take 1 of 5 nodes (TopK): ncnn has no layer for TopK ('pick')"


def test_a_node_whose_trial_failed_is_left_for_the_reason_of_the_trial() -> None:
    works = costed((0, 1), Cost(1.0, "measured"))
    fails = costed((2,), Cost.invalid("build", "out of memory"))
    told = why_not_alone(GRAPH, "ncnn", [works, fails], [])
    assert told == "ncnn cannot take 3 of 5 nodes (Relu, TopK): out of memory ('c')"


def test_without_any_words_the_operator_is_named() -> None:
    assert why_not_alone(GRAPH, "ncnn", [], []).endswith("no rule of it takes Relu ('a')")


def test_nodes_that_are_taken_only_together_are_said_to_be() -> None:
    apart = [costed((0, 1, 2), Cost(1.0, "measured")), costed((2, 3, 4), Cost(1.0, "measured"))]
    assert why_not_alone(GRAPH, "ncnn", apart, []) == "ncnn takes every node, but the parts that work do not make up the model"
