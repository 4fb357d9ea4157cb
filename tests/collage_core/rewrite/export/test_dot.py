"""Graphs for Graphviz: every node once, every edge, whatever the names are; and the command that prints a plan so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.graph.dataflow_graph import DataflowGraph, Node, OpPatternKind, Tensor, TensorType
from collage_core.rewrite.export.dot import Cluster, Drawing, dot_text
from tests.collage_core.cli.test_main import MOCK
from tests.helpers.command import in_this_process
from tests.helpers.dot_reader import read_dot
from tests.helpers.graphs import MINI_MNIST, graphs

HOSTILE = 'a"];b\\\\N\\"->c{}&lt;<b>\n\x00é'


def test_a_plan_is_clusters_with_their_nodes_and_shapes_beside_the_edges() -> None:
    drawing = Drawing("mini", [Cluster("tvm 1 ms", "#b8639a", [1, 2, 3]), Cluster("onnxruntime", "#d55e00", [3, 4])], {1: "#b8639a"})
    dot = read_dot(dot_text(MINI_MNIST, drawing))
    assert dot.title == "mini"
    assert dot.clusters == [("tvm 1 ms", ["n1", "n2", "n3"]), ("onnxruntime", ["n4"])], "a node stands in one cluster alone"
    assert set(dot.nodes) == {"i0", "o0", *(f"n{index}" for index in range(len(MINI_MNIST)))}
    assert ("i0", "n0", "1×4") in dot.edges
    assert ("n7", "o0", "1×4") in dot.edges
    assert dot.nodes["n1"]["fillcolor"] == '"#b8639a66"'
    assert "fillcolor" not in dot.nodes["n2"]


def test_a_data_dependent_dimension_is_a_question_mark() -> None:
    boxes = TensorType((15, 3), "int64", (0,))
    nodes = (Node(0, "nms", "NonMaxSuppression", OpPatternKind.OPAQUE, ("x",), (Tensor("y", boxes),)),)
    dot = read_dot(dot_text(DataflowGraph(nodes, (Tensor("x", TensorType((1, 4), "float32")),), ("y",)), Drawing("boxes")))
    assert ("n0", "o0", "?×3") in dot.edges


@given(graphs())
def test_every_node_and_edge_of_any_graph(graph: DataflowGraph) -> None:
    dot = read_dot(dot_text(graph, Drawing("any")))
    assert len([name for name in dot.nodes if name.startswith("n")]) == len(graph)
    wanted = {(source, index) for index, node in enumerate(graph.nodes) for source in node.inputs}
    assert len([edge for edge in dot.edges if edge[1].startswith("n")]) == len(wanted)


@given(st.text())
def test_names_may_hold_anything(name: str) -> None:
    tensor = Tensor(f"{name}.", TensorType((), "float32"))
    node = Node(0, name, name, OpPatternKind.from_letter("E"), (tensor.name,), (Tensor("out", tensor.type),))
    text = dot_text(DataflowGraph((node,), (tensor,), ("out",)), Drawing(name, [Cluster(name, "#000000", [0])]))
    assert set(read_dot(text).nodes) == {"i0", "n0", "o0"}


def test_what_graphviz_would_read_as_something_else_is_shown_as_it_is() -> None:
    dot = read_dot(dot_text(MINI_MNIST, Drawing(HOSTILE)))
    assert dot.title == HOSTILE.replace("\n", "\N{REPLACEMENT CHARACTER}").replace("\x00", "\N{REPLACEMENT CHARACTER}")


@pytest.mark.long
def test_the_command_prints_a_plan(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "mock.json").write_text(json.dumps(MOCK))
    costs = f"mock:{tmp_path / 'mock.json'}"
    out = tmp_path / "out"
    assert in_this_process(capsys, "partition", "mini_mnist", "--targets", "tvm,onnxruntime", "--costs", costs, "--out", out)[0] == 0
    status, text, _ = in_this_process(capsys, "explain", out / "plan.json", "--dot")
    assert status == 0
    dot = read_dot(text)
    assert {label.split()[0] for label, _ in dot.clusters} <= {"tvm", "onnxruntime"}
    assert sum(len(nodes) for _, nodes in dot.clusters) == len([name for name in dot.nodes if name.startswith("n")])
