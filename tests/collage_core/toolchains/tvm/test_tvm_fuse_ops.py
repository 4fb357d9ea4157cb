"""The groups of `FuseOps`: TVM's own kernels of a model as groups of its nodes, compared with what TVM makes of the model and of each."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from collage_core.graph.index_set import IndexSet
from collage_core.model.model import SubModel
from collage_core.model.onnx_model import OnnxModel, load_model
from collage_core.toolchains.conformance.small_models import node, normal, sub_model, tensor
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import ToolchainError
from collage_core.toolchains.tvm.tvm_fuse_ops import folded, fuse_ops_groups, owned
from tests.helpers.graphs import graph

pytestmark = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)


def conv_bn_relu() -> SubModel:
    """A convolution, a batch norm that stays, a Relu, and a second branch that adds."""
    weights = {"w": normal(8, 3, 3, 3), **{name: abs(normal(8, seed=index)) for index, name in enumerate(("s", "b", "m", "v"))}}
    nodes = [
        node("Conv", "x w", "c", pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
        node("BatchNormalization", "c s b m v", "n"),
        node("Relu", "n", "r"),
        node("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("Sigmoid", "p", "g"),
        node("Mul", "p g", "y"),
    ]
    return sub_model(nodes, [tensor("x", (1, 3, 8, 8))], [tensor("y", (1, 8, 4, 4))], weights)


def attention() -> SubModel:
    """One head: three products, a scaled softmax of the scores, and the sum with the input."""
    weights = {name: normal(16, 16, seed=index) for index, name in enumerate("qkvo")} | {"half": normal(1)}
    nodes = [
        *(node("MatMul", f"x {name}", f"{name}1") for name in "qkv"),
        node("Transpose", "k1", "k2", perm=[0, 2, 1]),
        node("MatMul", "q1 k2", "s"),
        node("Mul", "s half", "scaled"),
        node("Softmax", "scaled", "p", axis=-1),
        node("MatMul", "p v1", "a"),
        node("MatMul", "a o", "out"),
        node("Add", "out x", "y"),
    ]
    return sub_model(nodes, [tensor("x", (1, 4, 16))], [tensor("y", (1, 4, 16))], weights)


def kernels(model: SubModel) -> list[str]:
    """The kernels that the toolchain `tvm` makes of a model, by their names without numbers."""
    from collage_core.toolchains.tvm.tvm_build import lowered

    values = [binding.value for block in lowered(model, 1)["main"].body.blocks for binding in block.bindings]
    called = [value.args[0].name_hint for value in values if getattr(getattr(value, "op", None), "name", "") == "relax.call_tir"]
    return sorted(re.sub(r"\d+(?=_|$)", "", name) for name in called)


@pytest.mark.parametrize("build", [conv_bn_relu, attention])
def test_each_group_is_one_kernel_of_tvms_and_together_they_are_all(tmp_path: Path, build: Callable[[], SubModel]) -> None:
    (tmp_path / "model.onnx").write_bytes(build().onnx)
    model: OnnxModel = load_model(tmp_path / "model.onnx", fold=False)
    whole = model.cut(IndexSet(range(len(model.graph))))
    groups = fuse_ops_groups(whole)
    index = model.graph.index_by_name
    alone = [kernels(model.cut(IndexSet(index[name] for name in group))) for group in groups]
    assert [len(found) for found in alone] == [1] * len(groups)
    assert sorted(found[0] for found in alone) == kernels(whole)
    assert sorted(name for group in groups for name in group) == sorted(index), "every node is in one group"
    assert max(map(len, groups)) > 1


def test_the_groups_of_a_convolution_with_a_batch_norm() -> None:
    assert fuse_ops_groups(conv_bn_relu()) == [
        ("Conv_c", "BatchNormalization_n", "Relu_r"),
        ("MaxPool_p", "Sigmoid_g", "Mul_y"),
    ]


def test_a_node_of_several_kernels_is_where_most_of_it_is() -> None:
    assert owned([["a", "b"], ["b", "b", "c"], ["", "c"], ["d", "a"]]) == [("a",), ("b", "c"), ("d",)]


def test_control_flow_is_refused_by_its_name() -> None:
    branch = onnx.helper.make_graph([node("Relu", "x", "z")], "branch", [], [onnx.helper.make_tensor_value_info("z", 1, (4,))])
    model = sub_model(
        [node("If", "c", "y", then_branch=branch, else_branch=branch)], [tensor("c", (), "bool"), tensor("x", (4,))], [tensor("y", (4,))]
    )
    with pytest.raises(ToolchainError, match="`If` is no single dataflow block"):
        fuse_ops_groups(model)


def test_what_only_constants_feed_is_in_the_group_that_alone_reads_it() -> None:
    lines = ["wq: Dequantize <- w", "bq: Dequantize <- b", "conv: Conv <- x, wq, bq", "relu: Relu <- conv", "y: Conv <- relu, bq"]
    quantised = graph(lines)
    assert folded([("wq",), ("bq",), ("conv", "relu"), ("y",)], quantised) == [("bq",), ("wq", "conv", "relu"), ("y",)]
    assert folded([("conv", "relu"), ("y",)], quantised) == [("wq", "conv", "relu"), ("y",)], "TVM may have folded it already"
    assert folded([("wq",), ("bq",), ("conv", "relu", "y")], quantised) == [("wq", "bq", "conv", "relu", "y")]
