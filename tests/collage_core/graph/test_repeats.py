"""Repeated blocks, name scopes and sections: what is called equal is equal, what repeats is found, and no edge runs backwards."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.graph.computation import computation_key
from collage_core.graph.dataflow_graph import Constant, DataflowGraph, TensorType
from collage_core.graph.groups import NodeGroup, scope_groups, sections
from collage_core.graph.index_set import IndexSet
from collage_core.graph.repeats import repeats
from collage_core.model.onnx_model import load_model
from collage_core.model.samples import registry as samples
from tests.helpers.graphs import KINDS, graph, graphs

LAYER = [
    "ln: Relu <- {at}",
    "q: MatMul <- {ln}",
    "k: MatMul <- {ln}",
    "scores: MatMul <- {q}, {k}",
    "masked: Add <- {scores}, mask",
    "soft: TopK <- {masked}",
    "mixed: MatMul <- {soft}",
    "sum: Add <- {mixed}, {at}",
]


def transformer(layers: int, scope: str = "encoder/layer.{}") -> DataflowGraph:
    """Layers of eight nodes that all read one mask, between an embedding of two nodes and a head of one."""
    lines, at = ["mask: Add <- x", "embed: MatMul <- x"], "embed"
    for number in range(layers):
        names = {line.split(":")[0]: f"{scope.format(number)}/{line.split(':')[0]}" for line in LAYER}
        for line in LAYER:
            head, rest = line.split(":")
            lines.append(f"{names[head]}:{rest.format(**names, at=at)}")
        at = names["sum"]
    return graph([*lines, f"head: Pad <- {at}"])


def blocks_of(group: NodeGroup) -> list[IndexSet]:
    length = group.count // group.times
    return [IndexSet(range(group.first + at, group.first + at + length)) for at in range(0, group.count, length)]


def assert_disjoint(groups: list[NodeGroup], nodes: int) -> None:
    assert all(one.first + one.count <= other.first for one, other in pairwise(groups))
    assert all(group.first >= 0 and group.first + group.count <= nodes for group in groups)


def test_layers_are_one_run_named_by_their_scopes() -> None:
    assert repeats(transformer(12)) == [NodeGroup(2, 96, "encoder layer", 12)]
    assert repeats(transformer(12, "h.{}"))[0].name == "h"
    assert repeats(transformer(12, "layer1/{}"))[0].name == "layer1"
    assert repeats(transformer(12, "n{}"))[0].name == "n"


def test_a_layer_of_its_own_kind_ends_a_run() -> None:
    twelve = transformer(12)
    odd = twelve.nodes[2 + 8 * 4 + 3]
    changed = type(odd)(odd.index, odd.name, odd.op, odd.kind, odd.inputs, odd.outputs, {"alpha": 2.0})
    nodes = (*twelve.nodes[: odd.index], changed, *twelve.nodes[odd.index + 1 :])
    found = repeats(DataflowGraph(nodes, twelve.inputs, twelve.outputs))
    assert [(one.first, one.times) for one in found] == [(2, 4), (2 + 8 * 5, 7)]


def test_equal_operators_with_other_edges_are_no_repeat() -> None:
    straight = ["a{n}: Relu <- {at}", "b{n}: Add <- a{n}, {at}", "c{n}: Pad <- b{n}", "d{n}: Concat <- c{n}, a{n}"]
    crossed = [*straight[:3], "d{n}: Concat <- c{n}, b{n}"]
    lines, at = ["s: Relu <- x"], "s"
    for number, layer in enumerate([straight, crossed, straight, crossed]):
        lines += [line.format(n=number, at=at) for line in layer]
        at = f"d{number}"
    assert repeats(graph(lines)) == [NodeGroup(1, 16, "block", 2)]


def test_blocks_of_other_sizes_are_alike_and_said_to_be() -> None:
    model = load_model(samples.resolve("squeezenet"))
    found = repeats(model.graph)
    assert found
    assert all(group.is_alike for group in found)
    resnet = repeats(load_model(samples.resolve("resnet50")).graph)
    assert [(group.name, group.times, group.is_alike) for group in resnet] == [
        ("layer1", 2, False),
        ("layer2", 3, False),
        ("layer3", 5, False),
        ("layer4", 2, False),
    ]


def test_a_weight_of_another_shape_makes_another_block() -> None:
    lines, constants = ["s: Relu <- x"], {}
    for number in range(4):
        lines += [f"a{number}: MatMul <- {'s' if number == 0 else f'c{number - 1}'}, w{number}"]
        lines += [f"b{number}: Relu <- a{number}", f"c{number}: Add <- b{number}, a{number}"]
        constants[f"w{number}"] = Constant(TensorType((4, 4 + number // 2), "float32"))
    plain = graph(lines)
    found = repeats(DataflowGraph(plain.nodes, plain.inputs, plain.outputs, constants))
    assert [(one.times, one.is_alike) for one in found] == [(4, True)]


@given(graphs(most_nodes=14))
def test_blocks_of_a_run_are_one_computation(random: DataflowGraph) -> None:
    found = repeats(random, least_block=1)
    assert_disjoint(found, len(random))
    for group in found:
        assert len({computation_key(random, block) for block in blocks_of(group)}) == 1


@given(graphs(most_nodes=7).filter(lambda block: len(block) > 3), st.permutations(sorted(KINDS)), st.integers(3, 6))
def test_whatever_is_repeated_is_found(block: DataflowGraph, ops: list[str], times: int) -> None:
    """A block of different operators again and again, each reading the one before: no node is left over, but for the ends."""
    lines, at = ["s: Relu <- x"], "s"
    for number in range(times):
        for node in block.nodes:
            sources = ", ".join(at if name == "x" else f"{name}.{number}" for name in node.inputs)
            lines.append(f"{node.name}.{number}: {ops[node.index]} <- {sources}")
        at = f"n{len(block) - 1}.{number}"
    whole = graph(lines)
    covered = sum(group.count for group in repeats(whole))
    assert covered >= (times - 1) * len(block)


def test_scopes_are_a_tree_and_a_scope_entered_again_is_a_group_again() -> None:
    lines = ["a/x/1: Relu <- x", "a/x/2: Relu <- a/x/1", "a/y: Relu <- a/x/2", "b/1: Relu <- a/y", "b/2: Relu <- b/1"]
    found = scope_groups(graph([*lines, "a/z/1: Relu <- b/2", "a/z/2: Relu <- a/z/1"]))
    assert [(one.first, one.count, one.name) for one in found] == [(0, 3, "a"), (0, 2, "a/x"), (3, 2, "b"), (5, 2, "a/z")]


@given(graphs(most_nodes=14))
def test_names_without_scopes_give_no_groups(random: DataflowGraph) -> None:
    assert scope_groups(random) == []


def test_sections_cover_a_long_model_and_are_cut_between_layers() -> None:
    long = transformer(1250)
    found = sections(long)
    assert_disjoint(found, len(long))
    assert sum(one.count for one in found) == len(long)
    assert all((one.first - 2) % 8 in (0, 1) for one in found[1:])
    assert 50 < len(found) < 150


@pytest.mark.parametrize("lines", [["a: Relu <- x"], ["a: Relu <- x", "b: Relu <- a"]])
def test_tiny_models_have_nothing_to_fold(lines: list[str]) -> None:
    assert repeats(graph(lines)) == []
    assert scope_groups(graph(lines)) == []
