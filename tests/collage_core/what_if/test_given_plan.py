"""Plans from elsewhere are read in all their forms, and what is wrong with one is said with its name and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from collage_core.errors import CollageError
from collage_core.graph.dataflow_graph import DataflowGraph, Node, OpPatternKind, Tensor
from collage_core.graph.index_set import IndexSet
from collage_core.what_if.given_plan import GivenPlan, assign, read_given
from tests.helpers.graphs import FLOAT
from tests.helpers.graphs import graph as graph_of

_SAYS = "2026-01-01 10:00:00.1 [V:onnxruntime:, session_state.cc:1265 VerifyEachNodeIsAssignedToAnEp] "
LOG = f"""\
{_SAYS}Node placements
{_SAYS} Node(s) placed on [CUDAExecutionProvider]. Number of nodes: 2
{_SAYS}  Relu (a)
{_SAYS}  Add (b (2))
{_SAYS} Node(s) placed on [CPUExecutionProvider]. Number of nodes: 1
{_SAYS}  Sigmoid (c)
\x1b[0;93m2026-01-01 10:00:00.2 [W:onnxruntime:, session_state.cc:1300 Finalize] Some nodes (d)\x1b[m
"""
ALL = f"{_SAYS} All nodes placed on [CPUExecutionProvider]. Number of nodes: 6\n"


@pytest.fixture
def graph() -> DataflowGraph:
    """a → b → c."""
    return graph_of(["a: Relu <- x", "b: Add <- a", "c: Sigmoid <- b"])


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.txt"
    path.write_text(text)
    return path


def test_lines_and_json_say_the_same(tmp_path: Path) -> None:
    wanted = (("*", "tvm"), ("a=b", "openvino"))
    assert read_given(written(tmp_path, "# mine\n*=tvm\n\n a=b = openvino \n")).assigned == wanted
    assert read_given(written(tmp_path, json.dumps(dict(wanted)))).assigned == wanted
    assert read_given(dict(wanted)).assigned == wanted


def test_partitions_are_a_list_with_targets(tmp_path: Path) -> None:
    given = read_given(written(tmp_path, '[{"target": "tvm", "nodes": ["a", "b"]}, {"target": "host", "nodes": ["c"]}]'))
    assert (given.assigned, given.groups) == ((), (("tvm", ("a", "b")), ("host", ("c",))))


def test_a_log_of_onnx_runtime_gives_each_node_its_provider(tmp_path: Path) -> None:
    cuda, cpu = "CUDAExecutionProvider", "CPUExecutionProvider"
    assert read_given(written(tmp_path, LOG)).assigned == (("a", cuda), ("b (2)", cuda), ("c", cpu))
    assert read_given(written(tmp_path, ALL)).assigned == (("*", cpu),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\n", "line 1 is 'a', it must be NAME=TARGET"),
        ("a=tvm\n=tvm\n", "line 2 is '=tvm', it must be NAME=TARGET"),
        ("# nothing\n", "it names no node"),
        ("{", "it is not JSON"),
        ('{"a": 1}', "its JSON is neither a plan, nor names with targets, nor a list of partitions"),
        ('[{"target": "tvm"}]', "its JSON is neither a plan"),
        ('{"partitions": []}', "is not a plan: model: Field required"),
    ],
)
def test_what_has_no_form_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(CollageError, match=r"mine\.txt") as caught:
        read_given(written(tmp_path, text))
    assert said in caught.value.message


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CollageError, match=r"cannot read '.*nothing': No such file"):
        read_given(tmp_path / "nothing")


def test_the_last_place_that_fits_a_node_counts(graph: DataflowGraph) -> None:
    given = GivenPlan("mine", (("*", "tvm"), ("[bc]", "openvino"), ("c", "CPU"), ("gone", "tvm"), ("gone", "tvm")))
    found = assign(given, graph, ("tvm", "openvino"), {"CPU": "tvm"})
    assert dict(found.target_of) == {0: "tvm", 1: "openvino", 2: "tvm"}
    assert found.ignored == ("gone",)


def test_a_node_is_found_by_the_tensor_that_it_makes() -> None:
    graph = DataflowGraph(
        tuple(Node(index, name, "Relu", OpPatternKind.ELEMWISE, (reads,), (Tensor(makes, FLOAT),))
              for index, (name, reads, makes) in enumerate((("a", "x", "t"), ("t", "t", "y")))),
        (Tensor("x", FLOAT),), ("y",),
    )  # fmt: skip
    found = assign(GivenPlan("mine", (("a", "tvm"), ("y", "openvino"), ("x", "tvm"))), graph, ("tvm", "openvino"), {})
    assert (dict(found.target_of), found.ignored) == ({0: "tvm", 1: "openvino"}, ("x",))
    assert dict(assign(GivenPlan("mine", (("t", "tvm"),)), graph, ("tvm",), {}).target_of) == {1: "tvm"}, "a node's own name comes first"


def test_partitions_keep_their_nodes_and_share_none(graph: DataflowGraph) -> None:
    found = assign(GivenPlan("mine", (), (("tvm", ("a", "b")), ("tvm", ("c", "gone")))), graph, ("tvm",), {})
    assert found.groups == (("tvm", IndexSet([0, 1])), ("tvm", IndexSet([2])))
    with pytest.raises(CollageError, match="mine has the node 'b' in two partitions"):
        assign(GivenPlan("mine", (), (("tvm", ("a", "b")), ("tvm", ("b", "c")))), graph, ("tvm",), {})


def test_a_device_that_is_no_target_is_named(graph: DataflowGraph) -> None:
    with pytest.raises(CollageError, match=r"mine gives nodes to 'GPU\.1', which is not a target of the run") as caught:
        assign(GivenPlan("mine", (("a", "GPU.1"),)), graph, ("tvm", "openvino"), {})
    assert caught.value.hint == "say which target it is with --as GPU.1=TARGET; the run has tvm, openvino"
