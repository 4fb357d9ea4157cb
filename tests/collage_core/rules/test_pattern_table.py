"""The rule of TVM's pattern tables, on matches that are given: what it takes, what it rejects, and that it is data."""

from __future__ import annotations

import pytest

from collage_core.errors import CollageError
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.combinators import OnlyValid, Primitive
from collage_core.rules.data import RuleError, rule_from_json
from collage_core.rules.pattern_table import PatternTable, table_prefixes
from collage_core.rules.rule import RuleContext, TableMatch
from collage_core.rules.segments import Segments
from collage_core.rules.spec import PartitionSpec, find_candidates, taken_nodes
from tests.helpers.graphs import graph

GRAPH = graph(["conv: Conv <- x", "relu: Relu <- conv", "mul: Mul <- relu, conv", "dense: MatMul <- mul"])
MATCHES = (
    TableMatch("mine.conv_relu", ("conv", "relu")),
    TableMatch("mine.all", ("conv", "relu", "mul")),
    TableMatch("mine.dense", ("dense",), refusal="the pattern's own check refuses it"),
    TableMatch("mine.other_dense", ("dense", "a folded node")),
    TableMatch("mine.same_dense", ("dense",)),
    TableMatch("mine.gone", ("a folded node",)),
)


def context(log: RejectionLog | None = None) -> RuleContext:
    return RuleContext(GRAPH, "t", log or RejectionLog(), tables={"mine": MATCHES, "none": ()})


def test_every_valid_match_is_a_candidate_labelled_by_its_pattern() -> None:
    found = [(tuple(item.inside), item.path, item.composites) for item in PatternTable("mine").find(context())]
    assert found == [((0, 1, 2), "pattern_table", ("mine.all",)), ((3,), "pattern_table", ("mine.other_dense",))]


def test_what_tvm_would_take_though_it_is_no_partition_is_rejected_and_so_is_what_the_check_refuses() -> None:
    log = RejectionLog()
    list(PatternTable("mine").find(context(log)))
    assert [(item.nodes, item.stage, item.reason) for item in log.sample] == [
        ((0, 1), "validity", "pattern mine.conv_relu: exits: 2 of its nodes are read outside, at most 1 may be"),
        ((3,), "predicate", "pattern mine.dense: the pattern's own check refuses it"),
    ]


def test_a_table_that_takes_nothing_is_noted() -> None:
    log = RejectionLog()
    assert list(PatternTable("none").find(context(log))) == []
    assert [note.reason for note in log.notes] == ["the pattern table none takes nothing in the model"]


def test_a_table_that_nobody_matched_is_one_clear_line() -> None:
    with pytest.raises(CollageError, match="the pattern table 'cublas' of t is TVM's, and was not matched here") as raised:
        list(PatternTable("cublas").find(context()))
    assert "collage partition" in raised.value.hint


def test_the_rule_is_data_and_composes() -> None:
    data = {"rule": "primitive", "of": {"rule": "only_valid", "of": {"rule": "pattern_table", "prefix": "mine"}, "max_depth": 2}}
    tree = rule_from_json(data, "rule")
    assert tree == Primitive(OnlyValid(PatternTable("mine"), max_depth=2))
    assert rule_from_json(tree.to_json(), "rule") == tree
    assert table_prefixes(tree) == ["mine"]
    assert [tuple(item.inside) for item in tree.find(context())] == [(3,)]
    with pytest.raises(RuleError, match=r"rule.prefix is None, it must be given: pattern_table needs it"):
        rule_from_json({"rule": "pattern_table"}, "rule")


def test_segments_over_a_table_are_those_of_the_nodes_that_it_takes_alone() -> None:
    spec = PartitionSpec(("t",), Segments(PatternTable("mine")))
    tables = {"mine": (*MATCHES, TableMatch("mine.mul", ("mul",)))}
    taken = taken_nodes(GRAPH, [spec], tables)
    assert taken == {"t": [False, False, True, True]}
    assert [tuple(one.inside) for one in find_candidates(GRAPH, spec, RejectionLog(), taken, tables)["t"]] == [(2, 3)]
