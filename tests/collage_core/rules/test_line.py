"""`Line`: an order that keeps to one kind of work, what only constants feed, and what crosses."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collage_core.graph.dataflow_graph import DataflowGraph
from collage_core.graph.sub_graph import SubGraph
from collage_core.rules.line import LONG, MOST_PARTS, MOST_TENSORS, Crossing, Line, majors, split
from tests.helpers.graphs import graph, graphs
from tests.helpers.typed_graphs import GraphBuilder, detector, speech, u_net


@st.composite
def with_constants(draw: st.DrawFn) -> DataflowGraph:
    """A random graph in which some nodes read nothing, or only what such nodes make."""
    lines = []
    for index in range(draw(st.integers(1, 9))):
        sources = draw(st.lists(st.sampled_from(["x", *[f"n{i}" for i in range(index)]]), max_size=3, unique=True))
        lines.append(f"n{index}: {draw(st.sampled_from(['Conv', 'MatMul', 'LSTM', 'Relu', 'Identity']))} <- {', '.join(sources)}")
    return graph(lines, draw(st.lists(st.sampled_from([f"n{i}" for i in range(len(lines))]), max_size=2)))


@given(on=with_constants(), ends=st.tuples(st.integers(0, 9), st.integers(0, 9)))
@settings(max_examples=400)
def test_what_lies_between_two_positions_is_convex_and_nothing_is_lost(on: DataflowGraph, ends: tuple[int, int]) -> None:
    line = Line(on)
    begin, end = sorted(min(position, len(line)) for position in ends)
    parts = [line.between(0, begin), line.between(begin, end), line.between(end, len(line))]
    assert sorted(index for part in parts for index in part) == list(range(len(on)))
    assert not any(SubGraph(on, part).re_entered for part in parts)
    label = {index: number for number, part in enumerate(parts) for index in part}
    assert all(label[source] <= label[index] for index, sources in enumerate(on.sources) for source in sources), "they fit in one plan"


@given(on=with_constants())
@settings(max_examples=300)
def test_what_no_input_reaches_is_with_its_first_reader(on: DataflowGraph) -> None:
    line = Line(on)
    where = {index: position for position, members in enumerate(line.members) for index in members}
    for index in set(range(len(on))) - set(line.order):
        assert where[index] == min((where[reader] for reader in on.consumers[index]), default=len(line) - 1)


@given(on=graphs(most_nodes=9))
@settings(max_examples=200)
def test_tensors_cross_from_their_maker_to_their_last_reader(on: DataflowGraph) -> None:
    line = Line(on)
    for position in range(len(line) + 1):
        before = set(line.order[:position])
        handed = {name for index in line.order[position:] for name in on.nodes[index].inputs if on.producer[name] in before}
        assert sum(crossing.begin <= position <= crossing.end for crossing in line.crossings) == len(handed)


def test_dequantised_weights_are_no_obstacle_to_cut_points() -> None:
    on = speech(convolutions=2, layers=0)
    line = Line(on)
    ops = [on.nodes[line.order[position]].op for position in line.cut_points]
    assert ops == ["QuantizeLinear", "DequantizeLinear", "Conv", "Relu"] * 2, "the output of Reshape is read by the host alone"
    assert [on.nodes[index].op for index in line.members[2]] == ["DequantizeLinear", "Conv"]
    ends = [on.nodes[line.order[position - 1]].op for position in range(1, 9) if line.can_end[position]]
    assert ends == ["QuantizeLinear", "QuantizeLinear", "Conv", "Relu"], "what is quantised next is handed over quantised"


def test_one_kind_of_work_goes_on_as_long_as_it_can() -> None:
    """The heads stand between the parts of the backbone in the model, and come after it here."""
    b = GraphBuilder((1, 32, 16, 16))
    x, heads = "x", []
    for _ in range(3):
        x = b.qdq_conv(x)
        heads.append(b.conv(x))
    line = Line(b.graph(*heads))
    assert [kind for kind in line.kinds if kind] == ["quantised_convolution"] * 3 + ["convolution"] * 3


def test_all_nodes_count_where_no_input_reaches_any() -> None:
    on = graph(["a: Conv <- ", "b: Relu <- a"])
    assert Line(on).order == [0, 1]


CROSSINGS = st.lists(st.tuples(st.integers(1, 79), st.integers(0, 60)), max_size=60)


def frontiers(on: DataflowGraph) -> list[int]:
    line = Line(on)
    return split([0, *(position + 1 for position in line.cut_points), len(line)], line.crossings, line.can_end)


def crossing(on: DataflowGraph, position: int) -> int:
    return sum(item.begin <= position <= item.end for item in Line(on).crossings)


def masked(layers: int) -> DataflowGraph:
    b = GraphBuilder((1, 64, 32))
    mask = b.node("Cast", (b.input("mask", (1, 64, 64)),))
    x = "x"
    for _ in range(layers):
        x = b.layer(x, mask=mask)
    return b.graph(x)


def test_a_mask_that_every_layer_reads_forbids_no_frontier() -> None:
    on = masked(6)
    found = frontiers(on)
    assert len(Line(on).cut_points) < 3
    assert max(high - low for low, high in pairwise(found)) <= LONG
    ends = [on.nodes[Line(on).order[position - 1]].op for position in found if crossing(on, position) == 2]
    assert ends.count("Add") >= 6, "the mask and the stream of the layers"


@pytest.mark.parametrize(("on", "most"), [(u_net(), 4), (detector(), 6)])
def test_skip_connections_and_feature_maps_cross_frontiers(on: DataflowGraph, most: int) -> None:
    assert {crossing(on, position) for position in frontiers(on)[1:-1]} == set(range(1, most + 1))


def test_a_residual_block_stays_whole_beside_a_long_skip() -> None:
    on = u_net(levels=2, blocks=4)
    line = Line(on)
    short = [item for item in line.crossings if 1 < item.span < 8]
    assert short
    assert not [position for position in frontiers(on)[1:-1] for item in short if item.begin < position <= item.end and item.span > 3]


def test_short_intervals_are_not_split() -> None:
    assert split([0, 16, 20], [Crossing(1, 15, 4), Crossing(5, 5, 4)], [True] * 20) == [0, 16, 20]


@given(spans=CROSSINGS)
@settings(max_examples=200)
def test_few_tensors_cross_a_frontier(spans: list[tuple[int, int]]) -> None:
    crossings = [Crossing(begin, min(begin + more, 79), 1) for begin, more in spans]
    found = split([0, 80], crossings, [True] * 80)
    assert found == sorted(set(found))
    for position in found[1:-1]:
        across = [item for item in crossings if item.begin <= position <= item.end]
        assert len(across) <= MOST_TENSORS
        assert sum(item.span < 8 for item in across) <= 1


def test_major_frontiers_lie_where_the_kind_of_work_changes_at_the_fewest_bytes() -> None:
    labels = ["a", "a", None, None, "b", "b", None]
    crossings = [Crossing(1, 1, 9), Crossing(2, 2, 9), Crossing(3, 3, 5), Crossing(4, 4, 5), Crossing(5, 5, 1), Crossing(6, 6, 1)]
    assert majors(labels, [1.0] * 7, crossings, [True] * 7) == ([0, 4, 7], 2)
    assert majors(labels, [1.0] * 7, crossings, [True] * 4 + [False] + [True] * 2) == ([0, 3, 7], 2)
    crowd = [Crossing(1, 6, 1)] * 9
    assert majors(labels, [1.0] * 7, crowd, [True] * 7) == ([0, 7], 2)


def test_the_lightest_parts_join_their_neighbours() -> None:
    labels = ["a", "b", "a", "c"]
    assert majors(labels, [9.0, 1.0, 9.0, 5.0], [], [True] * 4, most=2) == ([0, 3, 4], 4)


@given(labels=st.lists(st.sampled_from(["a", "b", "c", None]), max_size=200), data=st.data())
@settings(max_examples=100)
def test_there_are_never_more_parts_than_the_bound(labels: list[str | None], data: st.DataObject) -> None:
    work = data.draw(st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=len(labels), max_size=len(labels)))
    found, before = majors(labels, work, [], [False, *[True] * len(labels)][: len(labels)])
    assert found == sorted(found)
    assert len(found) <= MOST_PARTS + 1
    assert before == len([1 for one, other in pairwise([None, *[label for label in labels if label]]) if one != other])


def test_the_front_of_a_speech_model_ends_at_a_major_frontier() -> None:
    on = speech()
    line = Line(on)
    found, _ = majors(line.kinds, [1.0] * len(line), line.crossings, line.can_end)
    assert on.nodes[line.order[found[1] - 1]].op in ("Relu", "Reshape")
    assert not any(kind == "quantised_convolution" for kind in line.kinds[found[1] :])


def test_ten_thousand_nodes_take_a_fraction_of_a_second() -> None:
    on = masked(700)
    began = time.process_time()
    assert len(frontiers(on)) > 700
    assert time.process_time() - began < 3.0, "a tenth of that on a machine that does nothing else"


def test_of_many_equal_parts_some_remain_all_over_the_model() -> None:
    labels = ["a", "b"] * 200
    found, before = majors(labels, [2.0, 1.0] * 200, [], [False, *[True] * 399])
    assert before == 400
    assert len(found) > MOST_PARTS // 2
    assert max(high - low for low, high in pairwise(found)) < 200
