"""`Line`: an order that keeps to one kind of work, what only constants feed, and what crosses."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from collage_core.graph.dataflow_graph import DataflowGraph
from collage_core.graph.sub_graph import SubGraph
from collage_core.rules.line import Line
from tests.helpers.graphs import graph, graphs
from tests.helpers.typed_graphs import GraphBuilder, speech


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
