"""Phases 1 and 2 on a model of control flow: what runs inside a branch or a loop is no node of the graph, and in no candidate."""

from __future__ import annotations

from pathlib import Path

import onnx

from collage_core.model.onnx_model import OnnxModel
from collage_core.rules.base_rules import OpPredicate
from collage_core.rules.candidate import CandidatePartition, RejectionLog
from collage_core.rules.rule import RuleOptions
from collage_core.rules.spec import find_candidates, gather_specs
from collage_core.rules.trees import arbitrary_fusion, classic_fusion
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
