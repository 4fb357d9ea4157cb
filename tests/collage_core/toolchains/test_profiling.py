"""Times of nodes from the toolchains' own profilers: which nodes a kernel counts for, whatever it fused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import onnx
import pytest
from onnx import helper

from collage_core.cost.measuring.profile_worker import profile_nodes
from collage_core.model.model import SubModel
from collage_core.toolchains import profiling
from collage_core.toolchains.abilities import layout_of
from collage_core.toolchains.blocked_layout import is_blocked, to_blocked
from collage_core.toolchains.conformance.small_models import conv_relu, drawn, node, normal, several_outputs, sub_model, tensor, untakable
from collage_core.toolchains.onnxruntime.onnxruntime_profile import numbered, steps
from collage_core.toolchains.profiling import Step, labelled, labels, node_times, watched_runs
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import ToolchainError


def step(kernel: str, seconds: float, nodes: Sequence[int], reads: str = "", makes: str = "") -> Step:
    return Step(kernel, seconds, frozenset(nodes), frozenset(reads.split()), frozenset(makes.split()))


def told(model: SubModel, *given: Step) -> list[tuple[tuple[int, ...], float, str]]:
    return [(one.nodes, one.seconds, one.kernel) for one in node_times(model, given)]


def chain(*ops: str) -> SubModel:
    """Operators one after another, each on what the one before made."""
    names = ["x", *(f"t{index}" for index in range(len(ops) - 1)), "y"]
    nodes = [node(op, names[index], names[index + 1]) for index, op in enumerate(ops)]
    return sub_model(nodes, [tensor("x", (1, 4))], [tensor("y", (1, 4))])


def test_labels_survive_what_toolchains_do_to_names():
    proto = onnx.load_model_from_string(labelled(several_outputs()).onnx)
    assert [labels(one.name) for one in proto.graph.node] == [{0}, {1}, {2}]
    assert [labels(name) for one in proto.graph.node for name in one.output] == [{0}, {1}, {1}, {2}]
    assert [value.name for value in proto.graph.input] == ["x"]
    assert labels(f"fused {proto.graph.node[0].name}/Fusion {proto.graph.node[2].output[0]}_nchwc") == {0, 2}
    assert labels("conv1 collage@ @3@ collage@x@") == set()


def test_bodies_of_control_flow_read_the_labelled_tensors():
    bodies = [
        helper.make_graph([node(op, "r", f"{op}_out")], op, [], [helper.make_tensor_value_info(f"{op}_out", 1, (2,))])
        for op in ("Neg", "Abs")
    ]
    nodes = [node("Relu", "x", "r"), node("If", "c", "y", then_branch=bodies[0], else_branch=bodies[1])]
    model = sub_model(nodes, [tensor("x", (2,)), tensor("c", (), "bool")], [tensor("y", (2,))])
    groups = get("onnxruntime").profile(model, drawn(model.inputs), 1)
    assert groups is not None
    assert [one.nodes for one in groups] == [(0,), (1,)]


def test_an_activation_that_a_convolution_applies_counts_with_it():
    model = chain("Conv", "Relu", "MaxPool")
    assert told(model, step("Conv", 3.0, [0]), step("MaxPool", 1.0, [2])) == [((0, 1), 3.0, "Conv"), ((2,), 1.0, "MaxPool")]


def test_what_a_fused_kernel_reads_counts_with_it_as_far_as_nothing_else_took_it():
    model = chain("Gemm", "Div", "Erf", "Mul")
    assert told(model, step("Gemm", 3.0, [0]), step("Gelu", 1.0, [3])) == [((0,), 3.0, "Gemm"), ((1, 2, 3), 1.0, "Gelu")]


def test_a_quantised_kernel_ends_with_the_quantisation_of_its_result():
    model = chain("DequantizeLinear", "Conv", "Relu", "QuantizeLinear", "DequantizeLinear", "Conv")
    expected = [((0, 1, 2, 3), 2.0, "QLinearConv"), ((4, 5), 5.0, "QLinearConv")]
    assert told(model, step("QLinearConv", 2.0, [1]), step("QLinearConv", 5.0, [5])) == expected


def test_a_change_of_layout_counts_for_who_reads_it_and_at_the_end_for_who_made_it():
    model = chain("Conv", "Conv")
    given = [
        step("ReorderInput", 0.5, [], "x", "b"),
        step("Conv", 2.0, [0], "b", "c"),
        step("Conv", 4.0, [1], "c", "d"),
        step("ReorderOutput", 0.25, [], "d", "y"),
    ]
    assert told(model, *given) == [((0,), 2.5, "Conv"), ((1,), 4.25, "Conv")]


def test_a_kernel_that_only_moves_what_another_computed_counts_with_that():
    model = chain("MatMul", "Add", "Reshape")
    given = [step("Gemm", 2.0, [0], "x", "g"), step("Reshape", 0.5, [1], "g", "t1"), step("Reshape", 0.25, [2], "t1", "y")]
    assert told(model, *given) == [((0, 1), 2.5, "Gemm + Reshape"), ((2,), 0.25, "Reshape")]


def test_what_belongs_to_no_node_is_told_apart():
    assert told(chain("Relu"), step("Relu", 2.0, [0], "x", "y"), step("Warm", 1.0, [], "p", "q")) == [((0,), 2.0, "Relu"), ((), 1.0, "")]


def test_labels_of_nodes_that_there_are_not_are_ignored():
    assert told(chain("Relu"), step("Relu", 2.0, [0, 7])) == [((0,), 2.0, "Relu")]


def test_a_profiler_watches_some_runs_and_ends_with_the_time(monkeypatch: pytest.MonkeyPatch):
    now: Iterator[float] = iter(range(1000))
    monkeypatch.setattr(profiling, "time", SimpleNamespace(perf_counter=lambda: next(now)))
    calls: list[int] = []
    assert watched_runs(lambda: calls.append(1)) == len(calls) == profiling.LEAST_RUNS + 1
    monkeypatch.setattr(profiling, "time", SimpleNamespace(perf_counter=lambda: 0.0))
    assert watched_runs(lambda: None) == profiling.MOST_RUNS + 1


def three_convolutions() -> SubModel:
    """Convolutions of 16 channels with a ReLU between two of them, and a softmax at the end."""
    nodes = [
        node("Conv", "x v", "a", pads=[1, 1, 1, 1]),
        node("Relu", "a", "b"),
        node("Conv", "b w", "c", pads=[1, 1, 1, 1]),
        node("Softmax", "c", "y", axis=3),
    ]
    weights = {name: normal(16, 16, 3, 3, scale=0.1, seed=seed) for seed, name in enumerate("vw")}
    return sub_model(nodes, [tensor("x", (1, 16, 24, 24))], [tensor("y", (1, 16, 24, 24))], weights)


PROFILERS = ("onnxruntime", "onnxruntime@nchw16c", "openvino", "ncnn", "ncnn@nchw16c")


@pytest.mark.parametrize("target", PROFILERS)
def test_each_profiler_tells_the_time_of_every_node_and_fused_ones_together(target: str):
    toolchain = get(target)
    if not toolchain.availability().usable:
        pytest.skip(toolchain.availability().reason)
    model = three_convolutions()
    given = drawn(model.inputs)
    if layout_of(toolchain):
        given = [to_blocked(array) if is_blocked(one.type) else array for array, one in zip(given, model.inputs, strict=True)]
    groups = toolchain.profile(model, given, 1)
    assert groups is not None
    assert [one.nodes for one in groups if one.nodes] == [(0, 1), (2,), (3,)]
    assert all(one.seconds > 0 for one in groups)
    assert "Conv" in groups[0].kernel


def test_a_toolchain_without_a_profiler_says_so():
    model = conv_relu()
    assert profile_nodes(get, "tvm", model, [], 1) is None


@pytest.mark.parametrize("target", ["onnxruntime", "openvino", "ncnn"])
def test_what_cannot_be_built_is_no_profile(target: str):
    with pytest.raises(ToolchainError):
        get(target).profile(untakable(), drawn(untakable().inputs), 1)


def test_a_profile_that_cannot_be_read_is_the_toolchains_fault(tmp_path):
    package, kernels = numbered(conv_relu().onnx)
    assert [one.name for one in onnx.load_model_from_string(package).graph.node] == ["collage-kernel-0", "collage-kernel-1"]
    for content in ("[", '{"a": 1}', '[{"cat": "Node"}]'):
        (tmp_path / "profile.json").write_text(content)
        with pytest.raises(ToolchainError, match="its profile cannot be read"):
            steps(kernels, tmp_path / "profile.json")


def test_runs_of_a_profile_are_summed_up_by_their_median_without_the_first(tmp_path):
    _, kernels = numbered(conv_relu().onnx)
    event = '{{"cat": "Node", "name": "collage-kernel-{}_kernel_time", "dur": {}}}'
    events = [event.format(0, dur) for dur in (9000, 2, 7, 3)] + [event.format(1, 5)]
    (tmp_path / "profile.json").write_text(f"[{', '.join(events)}]")
    assert [one.seconds for one in steps(kernels, tmp_path / "profile.json")] == pytest.approx([3e-6, 5e-6])
