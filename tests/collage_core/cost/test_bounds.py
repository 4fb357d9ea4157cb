"""The budget of a trial is proven: a candidate above it loses to its own nodes alone, in every plan around it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collage_core.cost.bounds import upper_bound_s
from collage_core.cost.cost import Transition, TransitionModel
from collage_core.graph.dataflow_graph import DataflowGraph
from collage_core.graph.index_set import IndexSet
from collage_core.rules.spec import HOST_TARGET
from tests.helpers.graphs import MINI_MNIST, graph, graphs

TARGETS = ("a", "b")
FREE = TransitionModel()


def total(graph: DataflowGraph, parts: list[tuple[str, frozenset[int], float]], transitions: TransitionModel) -> float:
    """Compute the cost of a plan naively, of partitions as (target, nodes, seconds)."""
    owner = {node: index for index, (_, nodes, _) in enumerate(parts) for node in nodes}
    flows = set()
    for node in graph.nodes:
        for name in node.inputs:
            maker = graph.producer[name]
            flows.add((None if maker < 0 else owner[maker], owner[node.index], name))
    flows |= {(owner[graph.producer[name]], None, name) for name in graph.outputs if graph.producer[name] >= 0}
    seconds = sum(cost for _, _, cost in parts)
    for maker, reader, name in flows:
        if maker != reader:
            ends = [HOST_TARGET if part is None else parts[part][0] for part in (maker, reader)]
            seconds += transitions.cost_s(ends[0], ends[1], graph.types[name].bytes, "float32")
    return seconds


seconds = st.floats(0, 10)


@st.composite
def transition_models(draw: st.DrawFn) -> TransitionModel:
    names = (*TARGETS, HOST_TARGET)
    pairs = {(m, r): Transition(draw(seconds), draw(st.floats(0, 0.1))) for m in names for r in names if m != r}
    return TransitionModel(pairs)


@given(st.data())
def test_no_plan_with_a_candidate_above_its_bound_is_best(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    transitions = data.draw(transition_models())
    inside = frozenset(data.draw(st.sets(st.integers(0, len(graph) - 1), min_size=1)))
    cheapest = {index: (data.draw(st.sampled_from(TARGETS)), data.draw(seconds)) for index in range(len(graph))}
    bound = upper_bound_s(graph, IndexSet(inside), cheapest, transitions, TARGETS)
    assert bound is not None
    around = [
        (data.draw(st.sampled_from((*TARGETS, HOST_TARGET))), frozenset((index,)), data.draw(seconds))
        for index in range(len(graph))
        if index not in inside
    ]
    whole = (data.draw(st.sampled_from(TARGETS)), inside, bound * (1 + 1e-9) + 1e-9)
    alone = [(cheapest[index][0], frozenset((index,)), cheapest[index][1]) for index in sorted(inside)]
    assert total(graph, [*around, *alone], transitions) <= total(graph, [*around, whole], transitions)


def test_bound_is_the_sum_of_the_cheapest_where_transitions_are_free() -> None:
    cheapest = {index: ("a", float(index)) for index in range(len(MINI_MNIST))}
    assert upper_bound_s(MINI_MNIST, IndexSet([1, 2, 3]), cheapest, FREE, TARGETS) == 6.0


def test_no_bound_while_a_node_has_no_known_cost() -> None:
    assert upper_bound_s(MINI_MNIST, IndexSet([1, 2]), {1: ("a", 1.0)}, FREE, TARGETS) is None


def test_transitions_inside_count_and_the_most_expensive_outside() -> None:
    chain = graph(["p: Relu <- x", "q: Relu <- p", "r: Relu <- q"])
    pairs = {("a", "b"): Transition(1.0), ("b", "a"): Transition(10.0), ("host", "a"): Transition(100.0), ("b", "host"): Transition(1000.0)}
    cheapest = {0: ("a", 0.0), 1: ("b", 0.0)}
    # host → p is 100, p → q is 1, and q's reader may be on b (0), a (10) or left to the host (1000).
    assert upper_bound_s(chain, IndexSet([0, 1]), cheapest, TransitionModel(pairs), TARGETS) == 100 + 1 + 1000
