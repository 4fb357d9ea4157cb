"""The numbers of computations against their digests, and both against what changes a computation and what does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collage_core.graph.computation import Computations, computation_key, values_at
from collage_core.graph.dataflow_graph import Constant, DataflowGraph, Node, OpPatternKind, Tensor, TensorType
from collage_core.graph.index_set import IndexSet

TYPES = [TensorType((1, 4), "float32"), TensorType((2, 4), "float32"), TensorType((1, 4), "int64")]


@st.composite
def repetitive(draw: st.DrawFn) -> DataflowGraph:
    """A random DAG of few operators and types, so that many of its sub-graphs are the same; constants and inputs are shared."""
    count = draw(st.integers(2, 8))
    constants = {
        "w": Constant(TYPES[0]),
        "v": Constant(TYPES[0]),
        "two": Constant(TYPES[2], (2,)),
        "three": Constant(TYPES[2], (3,)),
    }
    nodes, made = [], ["x", "y"]
    for index in range(count):
        inputs = tuple(draw(st.lists(st.sampled_from(["", *made[-5:], *constants]), min_size=1, max_size=3)))
        names = [f"n{index}", f"m{index}"][: draw(st.integers(1, 2))]
        tensors = tuple(Tensor(name, draw(st.sampled_from(TYPES))) for name in names)
        attributes = draw(st.sampled_from([{}, {"axis": 1}, {"axis": [1, 2]}]))
        nodes.append(Node(index, f"n{index}", draw(st.sampled_from(["A", "B"])), OpPatternKind.ELEMWISE, inputs, tensors, attributes))
        made += names
    outputs = draw(st.lists(st.sampled_from(made[2:]), max_size=2))
    return DataflowGraph(tuple(nodes), (Tensor("x", TYPES[0]), Tensor("y", TYPES[0])), tuple(outputs), constants)


@given(on=repetitive())
@settings(max_examples=150, deadline=None)
def test_equal_numbers_are_equal_digests(on: DataflowGraph) -> None:
    numbers, digests = Computations(on), {}
    for bits in range(1, 1 << len(on)):
        inside = IndexSet.from_bits(bits)
        digests.setdefault(numbers.of(inside), set()).add(computation_key(on, inside))
    assert all(len(same) == 1 for same in digests.values()), "one number, one computation"
    assert len({next(iter(same)) for same in digests.values()}) == len(digests) == len(numbers), "one computation, one number"


def chain(repeats: int, **changes: Any) -> DataflowGraph:
    """Pairs of a convolution with its weights and a Relu, one after the other; `changes` are to the second convolution."""
    nodes, source = [], "x"
    for layer in range(repeats):
        conv = Node(
            2 * layer, f"c{layer}", "Conv", OpPatternKind.OUT_EWISE_FUSABLE, (source, f"w{layer}"), (Tensor(f"c{layer}", TYPES[0]),)
        )
        nodes.append(replace(conv, **changes) if layer == 1 else conv)
        nodes.append(Node(2 * layer + 1, f"r{layer}", "Relu", OpPatternKind.ELEMWISE, (f"c{layer}",), (Tensor(f"r{layer}", TYPES[0]),)))
        source = f"r{layer}"
    constants = {f"w{layer}": Constant(TYPES[1]) for layer in range(repeats)}
    constants["other"] = Constant(TYPES[0])
    return DataflowGraph(tuple(nodes), (Tensor("x", TYPES[0]),), (source,), constants)


def test_repeated_layers_are_one_computation() -> None:
    on = chain(50)
    numbers = on.derive(Computations)
    assert {numbers.of(IndexSet((2 * layer, 2 * layer + 1))) for layer in range(50)} == {0}
    assert numbers.key(IndexSet((40, 41))) == numbers.key(IndexSet((0, 1))) == computation_key(on, IndexSet((2, 3)))
    assert numbers.of(IndexSet((1, 2))) == 1
    assert len(numbers) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"op": "ConvTranspose"},
        {"attributes": {"group": 2}},
        {"inputs": ("r0", "other")},
        {"inputs": ("r0",)},
        {"inputs": ("r0", "w1", "")},
        {"inputs": ("x", "w1", "r0")},
        {"outputs": (Tensor("c1", TYPES[1]),)},
    ],
    ids=["operator", "attribute", "type of a weight", "one input less", "absent input", "another input", "type made"],
)
def test_what_changes_a_computation(changes: dict[str, Any]) -> None:
    on = chain(3, **changes)
    assert on.derive(Computations).of(IndexSet((2, 3))) != on.derive(Computations).of(IndexSet((0, 1)))
    assert on.derive(Computations).key(IndexSet((2, 3))) != on.derive(Computations).key(IndexSet((0, 1)))


def test_names_change_nothing() -> None:
    on = chain(3, name="another", inputs=("r0", "w0"))
    assert on.derive(Computations).of(IndexSet((2, 3))) == on.derive(Computations).of(IndexSet((0, 1)))


def test_a_model_output_inside_is_another_computation() -> None:
    on = replace(chain(3), outputs=("r2", "c1"))
    assert on.derive(Computations).of(IndexSet((2, 3))) != on.derive(Computations).of(IndexSet((0, 1)))
    assert on.derive(Computations).of(IndexSet((4, 5))) == on.derive(Computations).of(IndexSet((0, 1)))


@given(nodes=st.sets(st.integers(0, 199), min_size=1))
def test_values_are_those_of_the_nodes(nodes: set[int]) -> None:
    values = tuple(range(1000, 1200))
    assert values_at(IndexSet(nodes), values) == tuple(1000 + node for node in sorted(nodes))
