"""Phases 1 and 2 on a model of control flow: what runs inside a branch or a loop is no node of the graph, and in no candidate."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
from hypothesis import given, settings

from collage_core.documents.json_form import to_json
from collage_core.graph.dataflow_graph import DataflowGraph
from collage_core.model.onnx_model import OnnxModel
from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import RunRecord
from collage_core.pipeline.run_specs import run_rules
from collage_core.rules.base_rules import DFPattern, Host, OpPredicate
from collage_core.rules.candidate import CandidatePartition, RejectionLog
from collage_core.rules.combinators import Composite, OnlyValid, Union, arbitrary_fusion, classic_fusion
from collage_core.rules.rule import PartitionRule, RuleOptions
from collage_core.rules.spec import (
    PartitionSpec,
    RuleReport,
    find_candidates,
    gather_specs,
    make_report,
    specs_with_counts,
    tree_with_counts,
    tree_without_counts,
)
from tests.helpers.graphs import MINI_MNIST, graphs
from tests.helpers.models import loaded

BRANCHES = """g (float[1,4] x, bool flag) => (float[1,4] y) {
    [before] n = Neg(x)
    [if] m = If(flag) <
        then_branch = t () => (float[1,4] p) { [inner_exp] q = Exp(n) [inner_add] p = Add(q, x) },
        else_branch = e () => (float[1,4] r) { [inner_relu] r = Relu(n) }>
    [after] y = Relu(m)
}"""


def found(model: OnnxModel) -> list[CandidatePartition]:
    """Return the candidates of both styles of fusion, the host's included."""
    specs = gather_specs(
        {"anything": arbitrary_fusion(OpPredicate(), RuleOptions(), 4), "classic": classic_fusion(OpPredicate(), RuleOptions(), 4)}
    )
    log = RejectionLog()
    return [candidate for spec in specs for listed in find_candidates(model.graph, spec, log).values() for candidate in listed]


def test_no_candidate_reaches_into_an_inner_graph(tmp_path: Path) -> None:
    model = loaded(tmp_path, BRANCHES, fold=False)
    assert [node.name for node in model.graph.nodes] == ["before", "if", "after"]
    candidates = found(model)
    assert {(0, 1, 2), (0,), (1,), (2,)} <= {tuple(candidate.inside) for candidate in candidates}
    for candidate in candidates:
        proto = onnx.load_from_string(model.cut(candidate.inside).onnx)
        assert {node.name for node in proto.graph.node} == {model.graph.nodes[index].name for index in candidate.inside}
        if 1 in candidate.inside:
            (branching,) = (node for node in proto.graph.node if node.op_type == "If")
            inner = {node.name for attribute in branching.attribute for node in attribute.g.node}
            assert inner == {"inner_exp", "inner_add", "inner_relu"}, "it is taken whole"


MOCK = {"targets": {"onnxruntime": {"op_s": 3}, "tvm": {"op_s": 2, "decay": 0.9}}}


def reported(rule: PartitionRule, on: DataflowGraph, *targets: str) -> tuple[dict[str, RuleReport], RejectionLog]:
    log = RejectionLog()
    found = find_candidates(on, PartitionSpec(targets, rule), log)
    return {target: make_report(target, rule, found[target], log) for target in targets}, log


def nodes_of(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield tree
    for sub in tree["of"]:
        yield from nodes_of(sub)


def rejections(tree: dict[str, Any]) -> int:
    return sum(item["count"] for node in nodes_of(tree) for item in node["rejected"])


@settings(max_examples=30, deadline=None)
@given(graphs())
def test_the_root_gives_every_candidate_and_no_rejection_is_lost(on: DataflowGraph) -> None:
    for rule in (
        arbitrary_fusion(OpPredicate(), RuleOptions(), 3),
        classic_fusion(OpPredicate(ops=("Conv", "Relu", "Add")), RuleOptions(), 3),
    ):
        log = RejectionLog()
        found = find_candidates(on, PartitionSpec(("t",), rule), log)["t"]
        tree = tree_with_counts(make_report("t", rule, found, log))
        assert tree["candidates"] == len(found)
        assert tree["deferred"] == sum(candidate.deferred for candidate in found)
        assert rejections(tree) + len(log.notes) == sum(log.counts.values())
        assert all(sum(sub["candidates"] for sub in node["of"]) <= node["candidates"] for node in nodes_of(tree))


def test_each_rule_of_the_bundled_tree_has_its_share() -> None:
    reports, _ = reported(arbitrary_fusion(OpPredicate(ops=("Conv", "Add", "Relu")), RuleOptions(), 3), MINI_MNIST, "a", "b")
    (spec,) = specs_with_counts(reports)
    assert spec["targets"] == ["a", "b"]
    told = {node["path"].removeprefix("primitive.union."): node for node in nodes_of(spec["tree"])}
    valid, predicate = told["only_valid"], told["only_valid.combine.op_predicate"]
    assert valid["options"] == {"max_depth": "3", "max_exits": "1", "allow_taps": "false"}
    assert valid["candidates"] == spec["tree"]["candidates"] == 7, "the largest region was found by combining first"
    assert predicate["rejected"] == [{"stage": "predicate", "check": op, "count": 1} for op in ("Pad", "MaxPool", "Reshape", "MatMul")]
    assert told["segments.op_predicate"]["rejected"] == [], "the same rule a second time rejects nothing more"


def test_patterns_keep_their_own_rejections_and_notes() -> None:
    patterns = (
        Composite("conv", DFPattern("Conv(*)", "conv", dtypes=("float16",))),
        Composite("dense", DFPattern("MatMul(*)", "dense", dtypes=("int8",))),
        DFPattern("Softmax(*)"),
        DFPattern("Relu(*)"),
        DFPattern("Add(*)"),
    )
    reports, _ = reported(OnlyValid(Union(patterns)), MINI_MNIST, "t")
    union = specs_with_counts(reports)[0]["tree"]["of"][0]
    conv, dense, softmax, relu, add = union["of"]
    for composite, label in ((conv, "conv"), (dense, "dense")):
        assert composite["path"] == f"only_valid.union.composite({label})"
        assert composite["of"][0]["rejected"] == [{"stage": "predicate", "check": label, "count": 1}]
        assert not composite["is_shared"]
    assert "Softmax" in " ".join(note for node in nodes_of(union) for note in node["notes"])
    assert relu["is_shared"]
    assert relu["candidates"] == add["candidates"] == softmax["candidates"] == 3, "three of one path: the count is of all"


def test_a_run_keeps_its_reports(tmp_path: Path) -> None:
    (tmp_path / "mock.json").write_text(json.dumps(MOCK))
    options = Options(("onnxruntime", "tvm"), costs=f"mock:{tmp_path / 'mock.json'}", max_depth={"tvm": 2})
    record = partition("mini_mnist", options)
    record.save(tmp_path)
    again = RunRecord.load(tmp_path)
    specs = run_rules(again).specs
    assert specs == run_rules(record).specs
    assert [spec.targets for spec in specs] == [("onnxruntime",), ("tvm",), ("host",)]
    by_rule = {node["rule"]: node for node in nodes_of(to_json(specs[1].tree))}
    assert by_rule["combine"]["options"]["max_depth"] == "2"
    counted = {row.name: row.candidates for row in record.document.targets}
    assert {spec.targets[0]: spec.tree.candidates for spec in specs[:2]} == counted


def test_rules_that_are_only_shown_have_no_counts() -> None:
    assert tree_without_counts(Host()) == {
        "path": "host", "rule": "host", "options": {}, "candidates": 0, "deferred": 0, "is_shared": False,
        "rejected": [], "notes": [], "of": [],
    }  # fmt: skip
