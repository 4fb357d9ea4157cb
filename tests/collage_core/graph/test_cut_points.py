"""Places at which a model is worth cutting: at values of its own, and never at sums of integer products."""

from __future__ import annotations

import pytest

from collage_core.graph.cut_points import accumulators, cut_points, rounded
from collage_core.graph.index_set import IndexSet
from tests.helpers.graphs import graph, typed

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


def test_integers_that_were_rounded_from_floats_are_known_whatever_moves_them() -> None:
    moved = typed(
        [
            "q: QuantizeLinear <- x",
            "pool: MaxPool <- q",
            "conv: com.microsoft.QLinearAdd <- pool",
            "at: ArgMax <- conv",
            "y: QuantizeLinear <- x",
        ],
        q="int8",
        pool="int8",
        conv="uint8",
        at="int64",
        y="int8",
    )
    assert rounded(moved) == {"q", "pool", "conv"}, "neither positions nor the outputs of the model"
    assert rounded(DYNAMIC) == {"round"}


@pytest.mark.parametrize(("most", "points"), [(24, [0, 1, 2, 3]), (2, [0, 3]), (1, [3])])
def test_a_stretch_is_cut_where_floats_cross_that_an_operator_computed(most: int, points: list[int]) -> None:
    assert cut_points(QUANTISED, IndexSet(range(5)), range(5), most) == points


def test_of_a_branch_the_narrowest_place_counts() -> None:
    branches = graph(["a: Relu <- x", "b: Relu <- a", "c: Relu <- a", "d: Add <- b, c", "e: Relu <- d"])
    assert cut_points(branches, IndexSet(range(5)), range(5), 1) == [3]
    assert cut_points(branches, IndexSet(range(5)), [1, 2], 1) == [2]
    assert cut_points(branches, IndexSet((0, 1, 2)), range(5), 1) == [0]
