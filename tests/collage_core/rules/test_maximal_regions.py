"""Leftovers: what is left to a target beside the regions of others, on networks where others take only a part."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from collage_core.graph.dataflow_graph import DataflowGraph
from collage_core.graph.index_set import IndexSet
from collage_core.graph.sub_graph import SubGraph
from collage_core.graph.work_estimate import WorkEstimator
from collage_core.rules.base_rules import OpPredicate
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.maximal_regions import LARGE, MOST_SETS, leftovers, maximal_regions
from collage_core.rules.segments import Segments
from collage_core.rules.spec import find_candidates, gather_specs, taken_nodes
from tests.helpers.graphs import graphs
from tests.helpers.typed_graphs import GraphBuilder, detector

EVERY = OpPredicate()
CONVOLUTIONS = OpPredicate(("Conv", "Relu", "Reshape"))


def mask(on: DataflowGraph, *ops: str) -> list[bool]:
    return [node.op in ops for node in on.nodes]


def three_parts() -> DataflowGraph:
    """A quantised backbone, a head of floats that reads three tensors of it, and a tail that sorts."""
    b = GraphBuilder((1, 32, 16, 16))
    x, maps = "x", []
    for _ in range(3):
        x = b.qdq_conv(x)
        maps.append(x)
    heads = [b.relu(b.conv(made)) for made in maps]
    return b.graph(b.node("TopK", (b.node("Concat", heads, (1, 96, 16, 16)),)))


def test_what_a_toolchain_of_convolutions_leaves_is_the_tail() -> None:
    on = detector()
    found = leftovers(on, [True] * len(on), {"ncnn": mask(on, "Conv", "Relu", "Reshape")})
    assert [(names, [on.nodes[index].op for index in nodes]) for names, nodes in found.regions] == [
        (("ncnn",), ["Concat", "TopK", "NonMaxSuppression"])
    ]
    assert (found.looked_at, found.missing) == (1, 0)


def test_who_takes_everything_or_the_same_leaves_nothing() -> None:
    on = detector()
    every, convolutions = [True] * len(on), mask(on, "Conv", "Relu")
    assert not leftovers(on, every, {"a": every}).regions
    assert not leftovers(on, convolutions, {"a": every, "b": convolutions}).regions


def test_small_regions_of_others_are_not_left_out() -> None:
    on = detector()
    assert not leftovers(on, [True] * len(on), {"a": mask(on, "Relu")}).regions


def test_two_others_leave_what_neither_takes() -> None:
    on = three_parts()
    backbone = [index < 15 for index in range(len(on))]
    head = [index >= 15 and node.op != "TopK" for index, node in enumerate(on.nodes)]
    found = leftovers(on, [True] * len(on), {"a": backbone, "b": head})
    assert found.regions == [
        (("a",), list(range(15, len(on)))),
        (("b",), list(range(15))),
        (("b",), [len(on) - 1]),
        (("a", "b"), [len(on) - 1]),
        (("b", "a"), [len(on) - 1]),
    ]


def test_sets_of_others_are_bounded() -> None:
    on = detector()
    others = {f"t{k}": [index >= 2 * k for index in range(len(on))] for k in range(1, 8)}
    found = leftovers(on, [True] * len(on), others)
    assert (found.looked_at, found.looked_at + found.missing) == (MOST_SETS, 7 + 42)


@given(on=graphs(most_nodes=10), own=st.sets(st.integers(0, 9)), other=st.sets(st.integers(0, 9)))
@settings(max_examples=300)
def test_leftovers_fit_in_one_plan_with_what_the_other_takes(on: DataflowGraph, own: set[int], other: set[int]) -> None:
    others = [index in other for index in range(len(on))]
    found = leftovers(on, [index in own for index in range(len(on))], {"a": others})
    work = [WorkEstimator(on).operations(index) for index in range(len(on))]
    large = [nodes for nodes in maximal_regions(on.sources, others) if sum(work[index] for index in nodes) >= LARGE * sum(work)]
    label = {index: index for index in range(len(on))}
    for nodes in [*large, *(left for _, left in found.regions)]:
        assert not SubGraph(on, IndexSet(nodes)).re_entered
        label |= dict.fromkeys(nodes, nodes[0])
    assert all(set(left) <= own for _, left in found.regions)
    assert not has_cycle(on, label)


def has_cycle(on: DataflowGraph, label: dict[int, int]) -> bool:
    edges = {(label[source], label[index]) for index, read in enumerate(on.sources) for source in read if label[source] != label[index]}
    left = set(label.values())
    while left:
        free = {part for part in left if not any(lower == part and upper in left for upper, lower in edges)}
        if not free:
            return True
        left -= free
    return False


def test_candidates_name_who_leaves_them_and_are_not_deferred() -> None:
    on = detector()
    specs = gather_specs({"all": Segments(EVERY), "twin": Segments(EVERY), "some": Segments(CONVOLUTIONS), "single": EVERY})
    taken = taken_nodes(on, specs)
    assert list(taken) == ["all", "twin", "some"]
    made = find_candidates(on, specs[0], RejectionLog(), taken)
    beside = [candidate for candidate in made["twin"] if candidate.rule == "twin.segments.beside(some)"]
    assert [(candidate.sub_graph.label, candidate.deferred) for candidate in beside] == [("Concat+TopK+NonMaxSuppression", False)]
    assert not any("beside" in candidate.rule for candidate in find_candidates(on, specs[0], RejectionLog())["all"])
