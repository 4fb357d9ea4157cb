"""Partitionings: groups that come from elsewhere become candidates of their target, where they are valid."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from collage_core.graph.index_set import IndexSet
from collage_core.graph.sub_graph import SubGraphConfig
from collage_core.rules.candidate import CandidatePartition, RejectionLog
from collage_core.rules.partitionings import (
    GREEDY,
    Partitioning,
    is_alone,
    is_partitioning,
    main_target,
    make_partitioning,
    partitioning_name,
    with_partitionings,
    with_rest,
)
from tests.helpers.graphs import graph


@pytest.mark.parametrize(
    ("name", "main", "alone", "partitioning"),
    [
        ("ncnn", None, True, False),
        ("openvino@bf16+host", "openvino@bf16", False, False),
        ("onnxruntime:cuda:0", None, True, False),
        ("onnxruntime@tf32:cuda:1+host", "onnxruntime@tf32:cuda:1", False, False),
        (partitioning_name("onnxruntime:cuda:0", "FuseOps"), None, False, True),
        (GREEDY, None, False, False),
        (partitioning_name("tvm@fusion", "FuseOps"), None, False, True),
    ],
)
def test_a_name_says_what_the_baseline_is(name: str, main: str | None, alone: bool, partitioning: bool) -> None:
    assert (main_target(name), is_alone(name), is_partitioning(name)) == (main, alone, partitioning)
    assert main_target(with_rest(name)) == name


CHAIN = graph(["conv: Conv <- x", "relu: Relu <- conv", "name: Identity <- relu", "top: TopK <- name", "add: Add <- top, relu"])


def partitioning(groups: Sequence[Sequence[str]], log: RejectionLog | None = None) -> Partitioning:
    return make_partitioning(CHAIN, "FuseOps", "t", groups, ("t",), SubGraphConfig(), log or RejectionLog())


def test_groups_are_sets_of_nodes_in_their_order_and_folded_nodes_are_left_out() -> None:
    made = partitioning([["top"], ["conv", "relu", "a folded one"], ["a folded one"]])
    assert [tuple(inside) for inside in made.groups] == [(0, 1), (3,)]
    assert made.name == "t:FuseOps"


def test_a_node_that_only_renames_is_the_hosts_unless_it_is_inside_of_a_group() -> None:
    assert [tuple(inside) for inside in partitioning([["name"], ["conv"]]).groups] == [(0,)]
    assert [tuple(inside) for inside in partitioning([["name", "top"]]).groups] == [(2, 3)]


def test_groups_that_are_not_valid_or_overlap_are_logged() -> None:
    log = RejectionLog()
    made = partitioning([["conv", "relu"], ["top", "add", "conv"]], log)
    assert [tuple(inside) for inside in made.groups] == [(0, 1)]
    assert [(item.target, item.rule, item.stage, item.reason) for item in log.sample] == [
        ("t", "FuseOps", "validity", "exits: 2 of its nodes are read outside, at most 1 may be"),
    ]
    partitioning([["conv"], ["conv", "relu"]], log)
    assert log.sample[-1].reason == "overlap: it shares a node with another group"


def test_groups_become_candidates_of_the_target_that_say_where_they_come_from() -> None:
    def candidate(nodes: Sequence[int], deferred: bool = False) -> CandidatePartition:
        return CandidatePartition(CHAIN, "t", IndexSet(nodes), "t.rule", ("label",), deferred)

    known, segment = candidate((0, 1)), candidate((3,), deferred=True)
    other = CandidatePartition(CHAIN, "u", IndexSet((0,)), "u.rule")
    made = with_partitionings(CHAIN, [partitioning([["conv", "relu"], ["name", "top"], ["add"]])], {"t": [known, segment], "u": [other]})
    assert [(tuple(one.inside), one.rule) for one in made["t"]] == [
        ((0, 1), "t.rule"),
        ((2, 3), "t.FuseOps"),
        ((3,), "t.rule"),
        ((4,), "t.FuseOps"),
    ]
    assert made["t"][0] is known
    assert made["u"] == [other]
    (now,) = (one for one in with_partitionings(CHAIN, [partitioning([["top"]])], {"t": [segment]})["t"])
    assert (now.deferred, now.rule, now.composites) == (False, "t.rule", ("label",)), "a group is measured with the first"
