"""`docs/rules.md`: every file on the page is loaded and finds what the page says; and the figures of RFC 62 on the mini-MNIST."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from collage_core.graph.dataflow_graph import DataflowGraph
from collage_core.graph.index_set import IndexSet
from collage_core.graph.sub_graph import SubGraph
from collage_core.model.onnx_model import load_model
from collage_core.model.samples.registry import resolve
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.combiners import _NAMED
from collage_core.rules.data import RULES, rule_from_json
from collage_core.rules.rule import RuleContext, RuleOptions
from collage_core.toolchains.described import read_description
from tests.helpers.command import document_of
from tests.helpers.paths import DOCS

DOC = (DOCS / "rules.md").read_text()
BLOCKS = re.findall(r"```toml\n(.*?)```", DOC, re.DOTALL)
Sets = list[tuple[int, ...]]


@pytest.fixture(scope="module")
def mini_mnist() -> DataflowGraph:
    return load_model(resolve("mini_mnist"), {}, False, "mini_mnist").graph


def claimed(block: str) -> Sets:
    listed = re.search(r"^# finds: (.*)$", block, re.MULTILINE)
    assert listed, "a block says what it finds"
    return sorted(tuple(int(index) for index in inside.split()) for inside in listed.group(1).split("|"))


def written(block: str, folder: Path) -> Path:
    path = folder / "described.toml"
    path.write_text(block if "name = " in block.splitlines()[0] and block.startswith("name") else f'name = "mine"\n{block}')
    return path


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_each_block_finds_what_the_page_says(mini_mnist: DataflowGraph, tmp_path: Path, block: str) -> None:
    toolchain = read_description(written(block, tmp_path))
    found = toolchain.rule(RuleOptions()).find(RuleContext(mini_mnist, toolchain.name, RejectionLog()))
    assert sorted(tuple(item.inside) for item in found) == claimed(block)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.startswith("name")], ids=lambda block: block.split('"')[1])
def test_each_typical_tree_is_a_toolchain_of_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path, block: str) -> None:
    path = written(block, tmp_path)
    name = block.split('"')[1]
    document = document_of(capsys, "candidates", "mini_mnist", "--no-fold", "--targets", name, "--toolchain", path)
    found = sorted(tuple(item["nodes"]) for item in document["candidates"] if item["target"] == name)
    assert found == claimed(block)


def test_the_page_has_every_rule_and_every_combiner() -> None:
    assert [name for name in RULES if f"`{name}`" not in DOC] == []
    assert [name for name in _NAMED if f"`{name}`" not in DOC] == []


def test_the_page_shows_the_nodes_as_they_are(mini_mnist: DataflowGraph) -> None:
    rows = dict(re.findall(r"^\| (name|operator|kind) \| (.*) \|$", DOC, re.MULTILINE))
    assert rows["name"].replace("`", "").split(" | ") == [node.name for node in mini_mnist.nodes]
    assert rows["operator"].split(" | ") == [node.op for node in mini_mnist.nodes]
    assert rows["kind"].split(" | ") == [node.kind.letter for node in mini_mnist.nodes]


def test_the_command_prints_every_tree_and_gives_it_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    document = document_of(capsys, "toolchains", "--rules")
    assert {"onnxruntime", "openvino", "tvm"} <= {item["name"] for item in document["toolchains"]}
    for item in document["toolchains"]:
        if "op_check" in item["rules"] or "match_check" in item["rules"]:  # code, which is printed by its name and cannot be read
            continue
        assert str(rule_from_json(item["tree"], "rule")) == item["rules"]


CONV_ADD_RELU, DENSE_ADD = (1, 2, 3), (6, 7)


def sets_of(rule: str, graph: DataflowGraph, folder: Path) -> set[tuple[int, ...]]:
    toolchain = read_description(written(f"rule = {rule}", folder))
    return {tuple(item.inside) for item in toolchain.rule(RuleOptions()).find(RuleContext(graph, "mine", RejectionLog()))}


def test_figure_1_the_dataflow_graph_and_a_sub_graph(mini_mnist: DataflowGraph, tmp_path: Path) -> None:
    """The nodes in post-dfs order, and convolution, addition and ReLU as one sub-graph with its four flavours of node."""
    assert [node.op for node in mini_mnist.nodes] == ["Pad", "Conv", "Add", "Relu", "MaxPool", "Reshape", "MatMul", "Add"]
    sub_graph = SubGraph(mini_mnist, IndexSet(CONV_ADD_RELU))
    flavours = (sub_graph.entries, sub_graph.exits, sub_graph.inputs, sub_graph.outputs)
    assert [tuple(flavour) for flavour in flavours] == [(1,), (3,), (0,), (4,)]
    assert CONV_ADD_RELU in sets_of('{rule = "only_valid", of = {rule = "combine", of = {rule = "op_call_by_kind"}}}', mini_mnist, tmp_path)


def test_figure_2_base_rules_and_what_combinators_make_of_them(mini_mnist: DataflowGraph, tmp_path: Path) -> None:
    """Patterns give the sets that they match, kinds give single calls, and combining gives both and all that lies between."""
    pattern = '{rule = "df_pattern", match = "Relu(Add(Conv, *))"}'
    dense = '{rule = "df_pattern", match = "Add(MatMul, *)"}'
    kinds = '{rule = "op_call_by_kind"}'
    assert sets_of(pattern, mini_mnist, tmp_path) == {CONV_ADD_RELU}
    assert sets_of(f'{{rule = "union", of = [{pattern}, {dense}]}}', mini_mnist, tmp_path) == {CONV_ADD_RELU, DENSE_ADD}
    assert sets_of(kinds, mini_mnist, tmp_path) == {(index,) for index in range(8)}
    combined = sets_of(f'{{rule = "only_valid", of = {{rule = "combine", of = {kinds}}}}}', mini_mnist, tmp_path)
    assert {CONV_ADD_RELU, DENSE_ADD, (1, 2), (2, 3)} <= combined
    anything = f'{{rule = "combine", combiners = ["kind:A-A"], of = [{pattern}, {kinds}]}}'
    assert tuple(range(8)) in sets_of(f'{{rule = "only_valid", of = {anything}}}', mini_mnist, tmp_path)


MOCK = {
    "targets": {"tvm": {"op_s": 3, "decay": 0.8, "ops": {"Conv": 9}}, "hook": {"op_s": 2, "decay": 0.5}},
    "transitions": {"tvm->hook": {"fixed_s": 0.1, "per_byte_s": 0}, "hook->tvm": {"fixed_s": 0.1, "per_byte_s": 0}},
}
HOOK = """
name = "hook"
[[pattern]]
label = "conv_relu"
match = "Relu(Add(Conv, *))"
[[pattern]]
label = "dense"
match = "Add(MatMul, *)"
"""


@pytest.fixture
def searched(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> dict[str, object]:
    (tmp_path / "mock.json").write_text(json.dumps(MOCK))
    (tmp_path / "hook.toml").write_text(HOOK)
    problem = tmp_path / "problem.json"
    given = ("--no-fold", "--targets", "tvm,hook", "--toolchain", tmp_path / "hook.toml", "--costs", f"mock:{tmp_path / 'mock.json'}")
    document = document_of(capsys, "partition", "mini_mnist", *given, "--save-problem", problem)
    return {**document, "problem": json.loads(problem.read_text())}


def test_figure_3_states_of_the_search(searched: dict[str, object]) -> None:
    """From nothing covered, each step takes a candidate of the first node that is not covered yet."""
    sets = {(item["target"], tuple(item["nodes"])) for item in searched["problem"]["candidates"]}  # type: ignore[index]

    def steps(covered: set[int]) -> set[tuple[str, tuple[int, ...]]]:
        first = min(set(range(8)) - covered)
        return {(target, nodes) for target, nodes in sets if first in nodes and not covered & set(nodes)}

    assert ("tvm", (0,)) in steps(set())
    assert {("tvm", (1,)), ("tvm", (1, 2)), ("tvm", CONV_ADD_RELU), ("hook", CONV_ADD_RELU)} <= steps({0})
    assert all(nodes[0] == 1 for _, nodes in steps({0}))
    assert ("tvm", (4,)) in steps({0, *CONV_ADD_RELU})
    assert steps(set(range(6))) >= {("tvm", (6,)), ("tvm", DENSE_ADD), ("hook", DENSE_ADD)}


def test_figure_4_the_cheapest_path_covers_every_node_once(searched: dict[str, object]) -> None:
    """By hand: the pattern toolchain takes what it has a pattern for (2 + 1 + 0.5 and 2 + 1), TVM the rest at 3 each."""
    parts = [(part["target"], tuple(part["nodes"])) for part in searched["plan"]["partitions"]]  # type: ignore[index]
    assert ("hook", CONV_ADD_RELU) in parts
    assert ("hook", DENSE_ADD) in parts
    assert sorted(index for _, nodes in parts for index in nodes) == list(range(8))
