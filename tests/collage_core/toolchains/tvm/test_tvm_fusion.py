"""TVM in fusion mode: a candidate is one kernel, the search chooses among what may be one, and the plan's fusions are compiled."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from collage_core.graph.index_set import IndexSet
from collage_core.model.model import SubModel
from collage_core.model.onnx_model import load_model
from collage_core.model.samples.registry import resolve
from collage_core.rewrite.runtime.manifest import LISTING
from collage_core.rules.base_rules import OpCallByKind
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.combinators import CLASSIC, Combine, OnlyValid, Primitive
from collage_core.rules.rule import RuleOptions
from collage_core.rules.spec import find_candidates, gather_specs
from collage_core.toolchains.conformance.duties import assert_close, buffers, make
from collage_core.toolchains.conformance.small_models import conv_relu, drawn, node, normal, reference, sub_model, tensor
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import ToolchainError
from collage_core.toolchains.tvm.tvm_operators import OPERATORS
from tests.helpers.command import document_of

NAME = "tvm@fusion"
needs_tvm = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)


def chain_through_an_anchor() -> SubModel:
    """A product whose rows are normalised: `FuseOps` makes two kernels of it."""
    nodes = [node("MatMul", "x w", "a"), node("Softmax", "a", "b"), node("Relu", "b", "y")]
    return sub_model(nodes, [tensor("x", (4, 16))], [tensor("y", (4, 16))], {"w": normal(16, 16)})


def parallel_calls() -> SubModel:
    """Three products of one tensor, as those of an attention."""
    nodes = [node("MatMul", f"x w{index}", f"y{index}") for index in range(3)]
    outputs = [tensor(f"y{index}", (4, 16)) for index in range(3)]
    return sub_model(nodes, [tensor("x", (4, 16))], outputs, {f"w{index}": normal(16, 16) for index in range(3)})


def sort() -> SubModel:
    """A call of TVM's library."""
    outputs = [tensor("v", (4, 3)), tensor("i", (4, 3), "int64")]
    return sub_model([node("TopK", "x k", "v i", axis=1)], [tensor("x", (4, 16))], outputs, {"k": np.array([3])})


@needs_tvm
@pytest.mark.parametrize("build", [conv_relu, chain_through_an_anchor, parallel_calls, sort])
def test_a_candidate_is_one_kernel_and_right(build: Callable[[], SubModel]) -> None:
    model = build()
    module = get(NAME).relax_module(model)
    assert module is not None
    bindings = [binding for block in module["main"].body.blocks for binding in block.bindings]
    assert [one.value.op.name for one in bindings if getattr(getattr(one.value, "op", None), "name", "")] == ["relax.call_tir"]
    kernel = make(get(NAME), model)
    inputs, outputs = drawn(model.inputs), buffers(model)
    kernel.bind(inputs, outputs)
    kernel.run()
    assert_close(outputs, reference(model, inputs))


def folded() -> SubModel:
    """Weights of a quantised model, which nothing but constants feeds."""
    constants = {"q": np.arange(-32, 32, dtype=np.int8).reshape(4, 16), "scale": np.array(0.5, np.float32)}
    return sub_model([node("DequantizeLinear", "q scale", "y")], [], [tensor("y", (4, 16))], constants)


def renamed() -> SubModel:
    return sub_model([node("Identity", "x", "y")], [tensor("x", (4, 16))], [tensor("y", (4, 16))])


@needs_tvm
@pytest.mark.parametrize("build", [folded, renamed])
def test_what_leaves_nothing_to_compute_is_a_candidate_too(build: Callable[[], SubModel]) -> None:
    model = build()
    kernel = make(get(NAME), model)
    inputs, outputs = drawn(model.inputs), buffers(model)
    kernel.bind(inputs, outputs)
    kernel.run()
    assert_close(outputs, reference(model, inputs))
    kept = get(NAME).prepare(get(NAME).relax_module(model))
    assert [type(function).__name__ for function in kept.functions.values()] == ["Function"]


IMAGE = tensor("x", (1, 4, 8, 8))
ENDS = {
    "pool, padding": ([node("MaxPool", "x", "a", kernel_shape=[2, 2], strides=[2, 2]), node("Pad", "a pads", "y")], (1, 4, 6, 6)),
    "two convolutions": ([node("Conv", "x w", "a", pads=[1] * 4), node("Conv", "a w", "y", pads=[1] * 4)], (1, 4, 8, 8)),
    "convolution, more channels": ([node("Conv", "x w", "a", pads=[1] * 4), node("Concat", "a more", "y", axis=1)], (1, 5, 8, 8)),
}
CONSTANTS = {
    "w": normal(4, 4, 3, 3),
    "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]),
    "more": normal(1, 1, 8, 8),
}


@needs_tvm
@pytest.mark.parametrize("name", ENDS)
def test_a_kernel_writes_all_that_it_reads_later(name: str) -> None:
    """The reader of a sum or a pool may be larger than it. A first run may find zeros where nothing was written, a later one does not."""
    nodes, shape = ENDS[name]
    used = {name: CONSTANTS[name] for one in nodes for name in one.input if name in CONSTANTS}
    model = sub_model(nodes, [IMAGE], [tensor("y", shape)], used)
    kernel, inputs, outputs = make(get(NAME), model), drawn(model.inputs), buffers(model)
    given = inputs[0].copy()
    kernel.bind(inputs, outputs)
    for image in (given + 1e3, given):
        inputs[0][...] = image
        kernel.run()
    assert_close(outputs, reference(model, inputs))


@needs_tvm
def test_what_cannot_be_one_kernel_says_why() -> None:
    """A sort calls TVM's own library: it is a kernel, and no part of one."""
    nodes = [node("TopK", "x k", "v i", axis=1), node("Relu", "v", "y")]
    model = sub_model(nodes, [tensor("x", (4, 16))], [tensor("y", (4, 3))], {"k": np.array([3])})
    with pytest.raises(ToolchainError, match=r"^topk is a call of TVM's library, which is a kernel of its own"):
        get(NAME).relax_module(model)


def test_its_candidates_are_those_of_fuse_ops_and_more() -> None:
    graph = load_model(resolve("bert")).graph
    fuse_ops = Primitive(OnlyValid(Combine(OpCallByKind("O", OPERATORS), CLASSIC, 2), 2))
    found: dict[str, set[IndexSet]] = {"fuse_ops": set(), NAME: set()}
    for name, rule in (("fuse_ops", fuse_ops), (NAME, get(NAME).rule(RuleOptions(max_depth=2)))):
        for spec in gather_specs({name: rule}):
            found[name].update(one.inside for one in find_candidates(graph, spec, RejectionLog()).get(name, ()))
    assert found["fuse_ops"] < found[NAME]
    more = {tuple(sorted(graph.nodes[index].op for index in inside)) for inside in found[NAME] - found["fuse_ops"]}
    assert ("MatMul", "MatMul", "MatMul") in more, "parallel products"
    assert len(graph) > max(map(len, found[NAME])), "what would be several kernels is no candidate"


@needs_tvm
@pytest.mark.long
def test_the_fusions_of_the_plan_are_what_is_compiled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cuts = [{"kind": "cut", "between": ["relu1", "pool1"]}, {"kind": "cut", "between": ["reshape", "dense"]}]
    (tmp_path / "cuts.json").write_text(json.dumps({"constraints": cuts}))
    command = ("partition", "mini_mnist", "--targets", NAME, "--costs", "roofline", "--constraints", tmp_path / "cuts.json")
    found = document_of(capsys, *command, "--out", tmp_path / "out", "--threads", "1")
    kernels = [part for part in found["plan"]["partitions"] if part["target"] == NAME]
    assert len(kernels) == 4
    assert (tmp_path / "out" / LISTING).read_text().count("R.call_tir(") == len(kernels)
