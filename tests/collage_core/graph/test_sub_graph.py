"""Index sets, sub-graphs and their flavours of node, and the identity of computations."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from collage_core.graph.computation import computation_key
from collage_core.graph.dataflow_graph import DataflowGraph
from collage_core.graph.index_set import MANY, IndexSet, indices_of
from collage_core.graph.sub_graph import SubGraph, SubGraphConfig, fed, with_constant_fed
from tests.helpers.graphs import MINI_MNIST, graph, graphs

RESIDUAL = graph(["a: Conv <- x", "b: Relu <- a", "c: Conv <- b", "d: Add <- c, a"])


@given(st.sets(st.integers(0, 300)), st.sets(st.integers(0, 300)))
def test_index_sets_behave_as_sets(one: set[int], other: set[int]) -> None:
    left, right = IndexSet(one), IndexSet(other)
    assert list(left) == sorted(one)
    assert set(left | right) == one | other
    assert set(left & right) == one & other
    assert set(left - right) == one - other
    assert left.isdisjoint(right) == one.isdisjoint(other)
    assert left.issubset(right) == (one <= other)
    assert len(left) == len(one)
    assert (left == right) == (one == other)


@given(st.sets(st.integers(0, 5_000), min_size=MANY - 2, max_size=4 * MANY), st.integers(0, 10**6))
def test_large_index_sets_list_their_indices_in_order(indices: set[int], first: int) -> None:
    """From `MANY` on NumPy lists them; the base may lie anywhere."""
    held = IndexSet(first + index for index in indices)
    listed = list(held)
    assert listed == sorted(first + index for index in indices)
    assert {type(index) for index in listed} == {int}
    assert list(indices_of(held.rel)) == [index - held.base for index in listed]


def test_flavours_of_node() -> None:
    inside = SubGraph(RESIDUAL, IndexSet([0, 1]))
    assert list(inside.entries) == [0]
    assert list(inside.exits) == [0, 1]
    assert list(inside.taps) == [0]
    assert list(inside.outputs) == [2, 3]
    assert list(SubGraph(RESIDUAL, IndexSet([2, 3])).inputs) == [0, 1]
    assert SubGraph(RESIDUAL, IndexSet([2, 3])).input_tensors() == ("b", "a")
    assert inside.output_tensors() == ("a", "b")


def test_several_entries_are_valid() -> None:
    ends = SubGraph(RESIDUAL, IndexSet([2, 3]))
    assert list(ends.entries) == [2, 3]
    assert ends.violation(SubGraphConfig()) is None


def test_a_model_output_is_an_exit() -> None:
    on = graph(["a: Conv <- x", "b: Relu <- a"], outputs=["a"])
    assert list(SubGraph(on, IndexSet([0, 1])).exits) == [0, 1]


def test_what_nobody_reads_is_an_exit() -> None:
    on = replace(graph(["a: Conv <- x", "b: Relu <- a"]), outputs=("a",))
    assert on.ends == (True, True)
    assert list(SubGraph(on, IndexSet([0, 1])).exits) == [0, 1]


def test_a_constant_among_others_has_no_kind_of_its_own() -> None:
    on = graph(["w: Constant <-", "a: Conv <- x, w", "t: TopK <- a"])
    assert [SubGraph(on, IndexSet(nodes)).kind.letter for nodes in ([0], [0, 1], [1, 2], [0, 1, 2])] == ["O", "A", "O", "O"]


def test_who_reads_whom() -> None:
    assert RESIDUAL.sources == ((), (0,), (1,), (0, 2))
    assert RESIDUAL.consumers == ((1, 3), (2,), (3,), ())
    assert RESIDUAL.ends == (False, False, False, True)
    assert [list(IndexSet.from_bits(bits)) for bits in RESIDUAL.downstream] == [[1, 2, 3], [2, 3], [3], []]


def test_validity_names_the_check_and_the_nodes() -> None:
    gap = SubGraph(RESIDUAL, IndexSet([0, 1, 3])).violation(SubGraphConfig(max_exits=None, allow_taps=True))
    assert gap is not None
    assert (gap.check, gap.nodes) == ("convexity", (3,))
    deep = SubGraph(MINI_MNIST, IndexSet([1, 2, 3])).violation(SubGraphConfig(max_depth=2))
    assert deep is not None
    assert deep.reason == "its longest path holds 3 nodes, at most 2 may be"
    assert SubGraph(MINI_MNIST, IndexSet([1, 2, 3])).violation(SubGraphConfig(max_depth=3)) is None


@given(on=graphs(), bits=st.integers(1, 255))
@settings(max_examples=200)
def test_convexity_is_what_paths_say(on: DataflowGraph, bits: int) -> None:
    inside = {i for i in range(len(on)) if bits >> i & 1}
    if not inside:
        return

    def leads_back(node: int, left: bool) -> bool:
        return any((left and reader in inside) or leads_back(reader, reader not in inside) for reader in on.consumers[node])

    re_entered = any(leads_back(node, False) for node in inside)
    assert bool(SubGraph(on, IndexSet(inside)).re_entered) == re_entered


def test_equal_computations_have_equal_keys_wherever_they_stand() -> None:
    on = graph(["a: Conv <- x", "b: Relu <- a", "c: Conv <- b", "d: Relu <- c"])
    assert computation_key(on, IndexSet([0, 1])) == computation_key(on, IndexSet([2, 3]))
    assert computation_key(on, IndexSet([0, 1])) != computation_key(on, IndexSet([1, 2]))


def test_a_tap_is_another_computation() -> None:
    plain = graph(["a: Conv <- x", "b: Relu <- a"])
    tapped = graph(["a: Conv <- x", "b: Relu <- a"], outputs=["a"])
    assert computation_key(plain, IndexSet([0, 1])) != computation_key(tapped, IndexSet([0, 1]))


@given(on=graphs())
@settings(max_examples=50)
def test_a_graph_survives_its_json(on: DataflowGraph) -> None:
    assert DataflowGraph.from_json(on.to_json()) == on


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
