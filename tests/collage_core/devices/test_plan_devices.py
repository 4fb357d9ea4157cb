"""The cases follow RFC 38, TVM's own tests of its device planning, and the ways in which planners of others failed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.devices.copies import DeviceCopy
from collage_core.devices.device_problem import DeviceProblem
from collage_core.devices.plan_devices import DEFAULT, FIXED, HOST, MOVED, DevicePlan, plan_devices, planned
from collage_core.devices.read_problem import device_problem
from collage_core.errors import CollageError

CUDA = {"targets": {"cuda": "cuda", "llvm": "cpu"}, "default": "cuda"}
ADDS: list[dict[str, Any]] = [
    {"name": "left", "reads": ["a", "b"], "makes": ["l"]},
    {"name": "right", "reads": ["c", "d"], "makes": ["r"]},
    {"name": "difference", "reads": ["l", "r"], "makes": ["y"]},
]
"""``subtract(add(a, b), add(c, d))``: the expression of most of TVM's tests."""


def problem_of(nodes: list[dict[str, Any]], **others: Any) -> DeviceProblem:
    return device_problem({**CUDA, "nodes": nodes, "outputs": {"y": None}, **others})


def with_annotations(nodes: list[dict[str, Any]], **devices: Any) -> list[dict[str, Any]]:
    return [{**node, "on_device": devices[node["name"]]} if node["name"] in devices else node for node in nodes]


def types(plan: DevicePlan) -> str:
    return " ".join(f"{name}:{device.type}" for name, device in plan.nodes.items())


def copies(plan: DevicePlan) -> list[str]:
    return [f"{copy.tensor}:{copy.source.type}->{copy.destination.type} for {','.join(copy.readers)}" for copy in plan.copies]


def test_without_annotations_everything_is_on_the_default_device():
    plan = plan_devices(problem_of(ADDS))
    assert types(plan) == "left:cuda right:cuda difference:cuda"
    assert {device.type for device in plan.tensors.values()} == {"cuda"}
    assert plan.copies == ()
    assert set(plan.why.values()) == {DEFAULT}
    assert plan.nodes["left"].target == "cuda"


def test_an_annotated_node_is_there_with_what_it_reads_and_its_reader_gets_a_copy():
    plan = plan_devices(problem_of(with_annotations(ADDS, left="cpu")))
    assert types(plan) == "left:cpu right:cuda difference:cuda"
    assert [plan.tensors[name].type for name in "abcd"] == ["cpu", "cpu", "cuda", "cuda"]
    assert copies(plan) == ["l:cpu->cuda for difference"]
    assert plan.why == {"left": FIXED, "right": DEFAULT, "difference": DEFAULT}


def test_a_copy_of_the_user_says_where_both_of_its_sides_are():
    nodes = [
        ADDS[0],
        {"name": "copy", "reads": ["l"], "makes": ["l2"], "copy": {"from": "cpu", "to": "cuda"}},
        ADDS[1],
        {**ADDS[2], "reads": ["l2", "r"]},
    ]
    plan = plan_devices(problem_of(nodes))
    assert types(plan) == "left:cpu right:cuda difference:cuda"
    assert copies(plan) == ["l:cpu->cuda for difference"]


def test_a_value_that_is_read_twice_on_a_device_is_copied_once():
    nodes = [ADDS[0] | {"on_device": "cpu"}, {"name": "first", "reads": ["l"], "makes": ["f"]}, {**ADDS[2], "reads": ["f", "l"]}]
    assert copies(plan_devices(problem_of(nodes))) == ["l:cpu->cuda for first,difference"]


def test_an_annotation_spreads_over_what_nothing_separates_from_it():
    nodes = [
        {"name": "log", "reads": ["x"], "makes": ["a"]},
        {"name": "exp", "reads": ["a"], "makes": ["b"]},
        {"name": "tanh", "reads": ["b"], "makes": ["c"], "on_device": "cpu"},
        {"name": "add", "reads": ["c", "x2"], "makes": ["y"]},
    ]
    plan = plan_devices(problem_of(nodes))
    assert types(plan) == "log:cpu exp:cpu tanh:cpu add:cuda"
    assert plan.why["log"] == FIXED


def test_an_annotation_without_fields_only_separates():
    nodes = with_annotations(ADDS, left={}, difference="cpu")
    plan = plan_devices(problem_of(nodes))
    assert types(plan) == "left:cuda right:cpu difference:cpu"
    assert copies(plan) == ["l:cuda->cpu for difference"]


def test_an_output_is_copied_to_where_it_has_to_be():
    plan = plan_devices(problem_of(ADDS, outputs={"y": "cpu"}))
    assert copies(plan) == ["y:cuda->cpu for "]


def test_shapes_and_conditions_are_on_the_host_and_what_is_computed_from_them_alone():
    nodes = [
        {"name": "conv", "reads": ["x"], "makes": ["a"]},
        {"name": "shape", "reads": ["a"], "makes": ["s"], "host_makes": ["s"]},
        {"name": "twice", "reads": ["s", "two"], "makes": ["t"]},
        {"name": "reshape", "reads": ["a", "t"], "makes": ["r"], "host_reads": ["t"]},
        {"name": "less", "reads": ["r"], "makes": ["c"]},
        {"name": "if", "reads": ["c", "r"], "makes": ["y"], "host_reads": ["c"]},
    ]
    plan = plan_devices(problem_of(nodes, constants=["two"]))
    assert types(plan) == "conv:cuda shape:cuda twice:cpu reshape:cuda less:cuda if:cuda"
    assert plan.why["twice"] == HOST
    assert plan.tensors["s"].type == "cpu"
    assert copies(plan) == ["c:cuda->cpu for if"]


def test_two_devices_of_one_type_are_told_apart_by_number_and_by_target():
    nodes = with_annotations(ADDS, left="cpu:1", right={"target": "big"})
    plan = plan_devices(problem_of(nodes, targets={"big": "cpu:0", "little": "cpu:1"}, default="cpu:0"))
    assert [(device.number, device.target) for device in plan.nodes.values()] == [(1, "little"), (0, "big"), (0, "big")]
    assert [copy.tensor for copy in plan.copies] == ["l"]


def test_another_target_on_one_device_needs_no_copy():
    nodes = with_annotations(ADDS, left={"target": "blas"})
    plan = plan_devices(problem_of(nodes, targets={"llvm": "cpu:0", "blas": "cpu:0"}, default="cpu"))
    assert [device.target for device in plan.nodes.values()] == ["blas", "llvm", "llvm"]
    assert plan.copies == ()


def test_buffers_whose_memory_scopes_disagree_are_copied_on_one_device():
    """RFC 38, proposal 5: planning after lowering follows the scopes of the buffers of each function."""
    nodes = [
        {"name": "matmul", "reads": ["x", "w"], "makes": ["m"], "memory_scopes": {"x": "scopeA", "w": "scopeB", "m": "scopeC"}},
        {"name": "relu", "reads": ["m"], "makes": ["y"], "memory_scopes": {"m": "scopeB"}},
    ]
    plan = plan_devices(problem_of(nodes))
    assert [plan.tensors[name].memory_scope for name in ("x", "w", "m")] == ["scopeA", "scopeB", "scopeC"]
    assert [(copy.tensor, copy.source.memory_scope, copy.destination.memory_scope) for copy in plan.copies] == [("m", "scopeC", "scopeB")]


def test_a_scope_of_an_annotation_reaches_what_the_node_makes():
    plan = plan_devices(problem_of(with_annotations(ADDS, left="cuda/texture")))
    assert plan.tensors["l"].memory_scope == "texture"
    assert plan.copies[0].destination.memory_scope == "global"


@pytest.mark.parametrize(
    ("nodes", "others", "message"),
    [
        (
            [{"name": "h", "reads": ["x"], "makes": ["a"]}, *with_annotations(
                [{"name": "f", "reads": ["a"], "makes": ["b"]}, {"name": "g", "reads": ["a"], "makes": ["y"]}], f="cpu", g="cuda")],
            {},
            "reading 'a' would have to be on two devices: the annotation of node 'f' fixes its type to 'cpu', "
            "the annotation of node 'g' to 'cuda'",
        ),
        (
            with_annotations(ADDS, left="cpu"),
            {"tensors": {"l": {"device": "cuda"}}},
            "tensor 'l' would have to be on two devices: the annotation of node 'left' fixes its type to 'cpu', "
            "the annotation of tensor 'l' to 'cuda'",
        ),
        (
            with_annotations(ADDS, left={"type": "cuda", "target": "llvm"}),
            {},
            "the annotation of node 'left' names the target 'llvm' on cuda, and that target computes on cpu",
        ),
        (
            with_annotations(ADDS, left={"target": "metal"}),
            {},
            "the annotation of node 'left' names the target 'metal', which is not among the targets",
        ),
        (with_annotations(ADDS, left="metal"), {}, "node 'left' is on metal:0, and no target computes there"),
    ],
)  # fmt: skip
def test_a_conflict_names_the_annotations_that_clash(nodes: list[dict[str, Any]], others: dict[str, Any], message: str):
    with pytest.raises(CollageError) as error:
        plan_devices(problem_of(nodes, **others))
    assert error.value.message == message


def test_two_readers_of_one_input_may_be_on_different_devices():
    nodes = [
        {"name": "f", "reads": ["x"], "makes": ["a"], "on_device": "cpu"},
        {"name": "g", "reads": ["x"], "makes": ["b"], "on_device": "cuda"},
        {"name": "add", "reads": ["a", "b"], "makes": ["y"]},
    ]
    plan = plan_devices(problem_of(nodes))
    assert types(plan) == "f:cpu g:cuda add:cuda"
    assert copies(plan) == ["x:cpu->cuda for g", "a:cpu->cuda for add"]


def test_a_copy_without_a_device_gets_both_ends_from_its_neighbours():
    nodes = [
        ADDS[0] | {"on_device": "cpu"},
        {"name": "copy", "reads": ["l"], "makes": ["l2"], "copy": {}},
        {"name": "neg", "reads": ["l2"], "makes": ["n"], "on_device": "cuda"},
        {"name": "again", "reads": ["n"], "makes": ["n2"], "copy": {}},
        {"name": "last", "reads": ["n2"], "makes": ["y"], "on_device": "cuda"},
    ]
    plan = plan_devices(problem_of(nodes))
    assert copies(plan) == ["l:cpu->cuda for neg"]
    assert all(None not in (*copy.source.memory, *copy.destination.memory) for copy in plan.copies)


def test_a_buffer_that_is_tagged_for_a_device_is_made_there_or_the_tag_is_a_conflict():
    plan = plan_devices(problem_of(ADDS, tensors={"l": {"device": "cpu"}}))
    assert (plan.tensors["l"].type, plan.nodes["left"].type) == ("cpu", "cpu")
    nodes = [{"name": "shape", "reads": ["x"], "makes": ["y"], "host_makes": ["y"]}]
    with pytest.raises(CollageError, match="node 'shape', which has 'y' on the host, fixes its type to 'cpu'"):
        plan_devices(problem_of(nodes, tensors={"y": {"device": "cuda"}}))


def test_the_body_of_a_loop_is_on_one_device_with_its_state():
    nodes = [
        {"name": "init", "reads": ["x"], "makes": ["s0"]},
        {"name": "loop", "reads": ["n", "s0"], "makes": ["y"], "host_reads": ["n"], "on_device": "cuda"},
        {"name": "step", "reads": ["s"], "makes": ["s1"], "inside": "loop"},
        {"name": "noise", "reads": ["k"], "makes": ["z"], "inside": "loop"},
    ]
    plan = plan_devices(problem_of(nodes, default="cpu", same=[["s0", "s", "s1"]]))
    assert types(plan) == "init:cuda loop:cuda step:cuda noise:cuda"
    assert plan.copies == ()


def test_devices_that_no_node_uses_are_named():
    assert plan_devices(problem_of(ADDS)).unused == ("llvm",)
    assert plan_devices(problem_of(with_annotations(ADDS, left="cpu"))).unused == ()


def test_a_copy_moves_behind_a_light_node_that_makes_less():
    nodes = [
        {"name": "conv", "reads": ["x"], "makes": ["a"], "on_device": "cuda"},
        {"name": "crop", "reads": ["a"], "makes": ["b"], "light": True},
        {"name": "nms", "reads": ["b"], "makes": ["y"], "on_device": "cpu"},
    ]
    sizes = {"x": {"bytes": 9}, "a": {"bytes": 800}, "b": {"bytes": 8}, "y": {"bytes": 1}}
    plan = plan_devices(problem_of(nodes, tensors=sizes))
    assert types(plan) == "conv:cuda crop:cuda nms:cpu"
    assert plan.why["crop"] == MOVED
    assert copies(plan) == ["b:cuda->cpu for nms"]
    heavy = [{**node, "light": False} for node in nodes]
    assert copies(plan_devices(problem_of(heavy, tensors=sizes))) == ["a:cuda->cpu for crop"]


@st.composite
def problems(draw: st.DrawFn) -> DeviceProblem:
    tensors, nodes = ["x0", "x1", "x2"], []
    choices = st.sampled_from([None, None, "cpu", "cuda", "cuda:1", "cuda/texture", {}])
    for index in range(draw(st.integers(1, 8))):
        reads = draw(st.lists(st.sampled_from(tensors), min_size=1, max_size=3, unique=True))
        node: dict[str, Any] = {"name": f"n{index}", "reads": reads, "makes": [f"t{index}"], "light": draw(st.booleans())}
        if draw(st.integers(0, 5)) == 0:
            node = {**node, "reads": reads[:1], "light": False, "copy": {"to": draw(st.sampled_from(["cpu", "cuda"]))}}
        elif draw(st.booleans()):
            node["on_device"] = draw(choices)
        elif draw(st.integers(0, 3)) == 0:
            node["host_reads"] = reads[:1]
        nodes.append(node)
        tensors.append(f"t{index}")
    sizes = {name: {"bytes": draw(st.integers(1, 9))} for name in {name for node in nodes for name in (*node["reads"], *node["makes"])}}
    return device_problem({"nodes": nodes, "outputs": {f"t{len(nodes) - 1}": "cpu"}, "tensors": sizes, "default": "cuda"})


@given(problems())
def test_every_reading_is_where_its_tensor_is_or_was_copied_and_planning_again_changes_nothing(problem: DeviceProblem):
    try:
        plan = plan_devices(problem)
    except CollageError as error:
        if error.code != "device_conflict":
            raise
        return
    again = plan_devices(planned(problem, plan))
    assert again.nodes == plan.nodes
    assert again.tensors.items() <= plan.tensors.items()  # a tensor that was only copied in vain is gone

    def plain(copy: DeviceCopy) -> tuple[Any, ...]:
        return copy.tensor, copy.source.memory, copy.destination.memory, copy.readers

    assert sorted(map(plain, again.copies)) == sorted(map(plain, plan.copies))
    assert len({(copy.tensor, copy.destination.memory) for copy in plan.copies}) == len(plan.copies)
    reached = {reading: copy.destination for copy in plan.copies for reading in copy.readings}
    for node in problem.nodes:
        for name in node.reads if node.copy is None else ():
            tensor = problem.origin[name]
            device = reached.get((name, node.name), plan.tensors[tensor])
            wanted = plan.nodes[node.name] if name not in node.host_reads else problem.completed(problem.host, "the host")
            assert device.memory == wanted.memory
        if node.copy is None:
            assert all(plan.tensors[name].memory == plan.nodes[node.name].memory for name in node.makes)
    assert all(copy.source.memory != copy.destination.memory for copy in plan.copies)
