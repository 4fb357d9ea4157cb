"""Places at which a model is worth cutting: at values of its own, and never at sums of integer products."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collage_core.graph.cut_points import accumulators, cut_points
from collage_core.graph.dataflow_graph import DataflowGraph, TensorType
from collage_core.graph.index_set import IndexSet
from tests.helpers.graphs import graph


def typed(lines: list[str], **dtypes: str) -> DataflowGraph:
    """The graph of `lines`, whose tensors are floats but for those in `dtypes`."""
    plain = graph(lines)

    def of_type(node_output: str, declared: TensorType) -> TensorType:
        return replace(declared, dtype=dtypes.get(node_output, declared.dtype))

    nodes = [replace(node, outputs=tuple(replace(one, type=of_type(one.name, one.type)) for one in node.outputs)) for node in plain.nodes]
    return DataflowGraph(tuple(nodes), plain.inputs, plain.outputs)


QUANTISED = typed(
    ["norm: Add <- x", "q: QuantizeLinear <- norm", "dq: DequantizeLinear <- q", "conv: Conv <- dq", "relu: Relu <- conv"], q="int8"
)
DYNAMIC = typed(
    [
        "round: DynamicQuantizeLinear <- x",
        "sum: MatMulInteger <- round",
        "more: Add <- sum",
        "size: Shape <- more",
        "scaled: Cast <- more",
        "end: Reshape <- scaled, size",
    ],
    round="uint8",
    sum="int32",
    more="int32",
    size="int64",
)


def test_sums_of_integer_products_are_accumulators_until_they_are_scaled() -> None:
    assert accumulators(DYNAMIC) == {"sum", "more"}
    assert accumulators(QUANTISED) == frozenset()


def test_no_cut_is_at_an_accumulator() -> None:
    assert cut_points(DYNAMIC, IndexSet(range(6)), range(6), 24) == [0, 4]


@pytest.mark.parametrize(("most", "points"), [(24, [0, 1, 2, 3]), (2, [0, 3]), (1, [3])])
def test_a_stretch_is_cut_where_floats_cross_that_an_operator_computed(most: int, points: list[int]) -> None:
    assert cut_points(QUANTISED, IndexSet(range(5)), range(5), most) == points


def test_of_a_branch_the_narrowest_place_counts() -> None:
    branches = graph(["a: Relu <- x", "b: Relu <- a", "c: Relu <- a", "d: Add <- b, c", "e: Relu <- d"])
    assert cut_points(branches, IndexSet(range(5)), range(5), 1) == [3]
    assert cut_points(branches, IndexSet(range(5)), [1, 2], 1) == [2]
    assert cut_points(branches, IndexSet((0, 1, 2)), range(5), 1) == [0]
