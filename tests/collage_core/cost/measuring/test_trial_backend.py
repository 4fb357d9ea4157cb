"""How much is read before each run of a part, by what the rest of the model moves."""

from __future__ import annotations

from dataclasses import replace

from collage_core.cost.measuring.trial_backend import RestOfModel
from collage_core.graph.dataflow_graph import Constant, DataflowGraph, Tensor, TensorType
from tests.helpers.graphs import graph

MIB = 1 << 20


def of_bytes(*sizes: int, weights: int = 0) -> DataflowGraph:
    """A chain whose nodes make tensors of `sizes` bytes; every other node reads one weight of `weights` bytes, the same for all."""
    plain = graph([f"n{index}: Relu <- {f'n{index - 1}' if index else 'x'}" for index in range(len(sizes))])
    made = [Tensor(f"n{index}", TensorType((size // 4,), "float32")) for index, size in enumerate(sizes)]
    nodes = tuple(
        replace(node, outputs=(tensor,), inputs=(*node.inputs, "w") if weights and node.index % 2 == 0 else node.inputs)
        for node, tensor in zip(plain.nodes, made, strict=True)
    )
    constants = {"w": Constant(TensorType((weights // 4,), "float32"))} if weights else {}
    return DataflowGraph(nodes, plain.inputs, plain.outputs, constants)


def test_a_whole_model_is_timed_warm_as_it_is_met_and_a_small_part_after_all_that_the_rest_moves() -> None:
    rest = RestOfModel(of_bytes(MIB, 2 * MIB, 2 * MIB, MIB // 4, weights=16 * MIB))
    assert rest.flushed_bytes(range(4)) == 0
    assert rest.flushed_bytes([3]) == 32 * MIB
    assert rest.flushed_bytes() == 32 * MIB
    assert rest.flushed_bytes([0]) == 8 * MIB, "the weight that several nodes read counts once"


def test_a_large_part_meets_what_a_small_rest_leaves() -> None:
    rest = RestOfModel(of_bytes(30 * MIB, 30 * MIB, 2 * MIB, MIB // 2))
    assert rest.flushed_bytes([0, 1, 3]) == 2 * MIB
    assert rest.flushed_bytes([0, 1, 2]) == 0, "half a MiB stays in a core's own cache"
    assert RestOfModel(of_bytes(200 * MIB, MIB)).flushed_bytes([1]) == 64 * MIB
