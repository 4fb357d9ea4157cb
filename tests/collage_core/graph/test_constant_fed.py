"""Nodes that only constants feed: which these are, and what is computed with what reads them."""

from __future__ import annotations

from collage_core.graph.constant_fed import fed, with_constant_fed
from collage_core.graph.index_set import IndexSet
from tests.helpers.graphs import graph

CHAIN = graph(
    ["q: Dequantize <- w", "t: Transpose <- q", "s: Scale <- w", "a: MatMul <- x, t, s", "b: MatMul <- a, s", "y: Add <- b, v"], ["t"]
)


def test_an_input_reaches_what_reads_it_and_what_follows() -> None:
    assert fed(CHAIN) == [False, False, False, True, True, True]


def test_a_graph_that_no_input_reaches_counts_as_reached() -> None:
    assert fed(graph(["a: Scale <- w", "y: Relu <- a"])) == [True, True]


def test_what_nothing_else_reads_is_added() -> None:
    inner = graph(["q: Dequantize <- w", "t: Transpose <- q", "a: MatMul <- x, t", "y: Relu <- a"])
    assert with_constant_fed(inner, IndexSet((2,)), {0, 1}) == IndexSet((0, 1, 2))
    assert with_constant_fed(inner, IndexSet((2,)), {0}) == IndexSet((2,)), "what lies between is not taken"


def test_what_is_read_elsewhere_stays_outside() -> None:
    assert with_constant_fed(CHAIN, IndexSet((3,)), {0, 1, 2}) == IndexSet((3,)), "t is an output, and s has another reader"
    assert with_constant_fed(CHAIN, IndexSet((3, 4)), {0, 1, 2}) == IndexSet((2, 3, 4))
