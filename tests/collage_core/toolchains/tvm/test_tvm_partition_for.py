"""Groups of nodes that TVM's `partition_for_<toolchain>` functions take, compared with the functions that they make."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from collage_core.toolchains.conformance.small_models import node, sub_model, tensor
from collage_core.toolchains.registry import get
from collage_core.toolchains.tvm.tvm_byoc import MODULES, PARTITION_FOR
from tests.helpers.relax_operators import Ops, fused_convolutions, products

from .test_tvm_fuse_ops import attention
from .test_tvm_pattern_tables import gemm_relu, own_names

pytestmark = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)


def test_each_function_that_a_toolchain_gets_is_a_group() -> None:
    from collage_core.toolchains.tvm.tvm_partition_for import partition_groups

    assert partition_groups(gemm_relu(), "cublas") == [("Gemm_g", "Relu_r"), ("Gemm_h",), ("MatMul_y",)]


def test_functions_that_tvm_makes_one_of_since_they_are_equal_are_told_apart() -> None:
    """Three equal products of one tensor, of which TVM makes one function."""
    from collage_core.toolchains.tvm.tvm_partition_for import partition_groups

    groups = partition_groups(attention(), "cublas")
    assert {("MatMul_q1",), ("MatMul_k1",), ("MatMul_v1",)} <= set(groups)


def test_composites_that_are_merged_into_one_function_are_one_group() -> None:
    from collage_core.toolchains.tvm.tvm_partition_for import partition_groups

    nodes = [node("Relu", "x", "a"), node("Sigmoid", "a", "b"), node("CumSum", "b axis", "c"), node("Relu", "c", "y")]
    model = sub_model(nodes, [tensor("x", (4, 4))], [tensor("y", (4, 4))], {"axis": np.array(0)})
    assert partition_groups(model, "tensorrt") == [("Relu_a", "Sigmoid_b"), ("Relu_y",)]


@pytest.mark.parametrize("toolchain", ["cublas", "cudnn", "cutlass", "tensorrt", "nnapi", "hipblas", "coreml"])
def test_every_partition_for_that_tvm_has_runs_and_makes_as_many_functions_as_there_are_groups(toolchain: str) -> None:
    from collage_core.toolchains.tvm.tvm_named_import import bindings_of
    from collage_core.toolchains.tvm.tvm_partition_for import function_groups, partition_for

    assert toolchain in PARTITION_FOR
    named = own_names(Ops("float16").module(fused_convolutions if toolchain in ("cutlass", "cudnn") else products))
    made = partition_for(toolchain)(named.module)
    called = [getattr(binding.value, "op", None) for binding in bindings_of(made["main"])]
    theirs = [op for op in called if op in made.functions and any(name in (made[op].attrs or ()) for name in ("Codegen", "Composite"))]
    groups = function_groups(named, made)
    assert len(groups) == len(theirs)
    numbers = [number for group in groups for number in group]
    assert len(numbers) == len(set(numbers))
    assert theirs


@pytest.mark.parametrize(("toolchain", "stacked"), [("cutlass", False), ("cutlass", True), ("cudnn", True)])
def test_attention_is_in_a_group(toolchain: str, stacked: bool) -> None:
    """Although TVM's own passes fail on it as they note how much memory the kernel needs."""
    from tvm import relax

    from collage_core.toolchains.tvm.tvm_partition_for import function_groups, partition_for

    builder = relax.BlockBuilder()
    shape, kind = (2, 8, 4, 16), relax.TensorType((2, 8, 4, 16), "float16")
    given = [relax.Var("qkv", relax.TensorType((2, 8, 192), "float16"))] if stacked else [relax.Var(name, kind) for name in "qkv"]
    with builder.function("main", given):
        with builder.dataflow():
            parts = given
            if stacked:
                halves = builder.emit(relax.op.split(given[0], 3, axis=2), "parts")
                parts = [builder.emit(relax.op.reshape(relax.TupleGetItem(halves, at), shape), f"part{at}") for at in range(3)]
            made = builder.emit(relax.op.nn.attention(*parts), "attended")
            result = builder.emit_output(relax.op.nn.relu(made), "made")
        builder.emit_func_output(result)
    named = own_names(builder.get())
    groups = function_groups(named, partition_for(toolchain)(named.module))
    (nodes,) = [{named.nodes[number] for number in group} for group in groups]
    assert "attended" in nodes
    assert "made" not in nodes
    assert ("part0" in nodes) == stacked


def test_there_is_one_for_every_table_that_tvm_has_such_a_function_for() -> None:
    found = {
        name for name, module in MODULES.items() if hasattr(importlib.import_module(f"tvm.relax.backend.{module}"), f"partition_for_{name}")
    }
    assert set(PARTITION_FOR) == found
