"""Segments: cut points, runs, regions and the whole model, against their definitions on random graphs."""

from __future__ import annotations

from itertools import islice

from hypothesis import given, settings
from hypothesis import strategies as st

from collage_core.graph.dataflow_graph import DataflowGraph
from collage_core.graph.index_set import IndexSet
from collage_core.graph.sub_graph import SubGraph
from collage_core.graph.work_estimate import WorkEstimator
from collage_core.rules.base_rules import OpPredicate
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.combinators import OnlyValid, Primitive, Union, arbitrary_fusion
from collage_core.rules.rule import RuleContext, RuleMatch, RuleOptions
from collage_core.rules.segments import LARGE, MOST_SETS, Segments, cut_points, leftovers, maximal_regions
from collage_core.rules.spec import find_candidates, gather_specs, taken_nodes
from tests.helpers.graphs import MINI_MNIST, graph, graphs
from tests.helpers.typed_graphs import GraphBuilder, alternating, detector, speech, u_net

EVERY = OpPredicate()
FRONT = {"QuantizeLinear", "DequantizeLinear", "Conv", "Relu", "Reshape"}
NOT_RELU = OpPredicate(ops=("Pad", "Conv", "Add", "MaxPool", "Reshape", "MatMul"))


def find(rule: Segments, on: DataflowGraph, log: RejectionLog | None = None) -> list[RuleMatch]:
    items = list(rule.find(RuleContext(on, "t", log or RejectionLog())))
    assert len({item.inside for item in items}) == len(items), "each set once"
    return items


def sets(items: list[RuleMatch], *, deferred: bool) -> list[tuple[int, ...]]:
    return [tuple(item.inside) for item in items if item.deferred == deferred]


def reachable(on: DataflowGraph) -> list[set[int]]:
    """For each node what comes before it."""
    before: list[set[int]] = []
    for sources in on.sources:
        before.append(set(sources).union(*(before[source] for source in sources)))
    return before


def defined_cut_points(on: DataflowGraph) -> list[int]:
    """As the definition says it, one node after another."""
    before, found = reachable(on), []
    for node in on.nodes:
        index = node.index
        if node.is_host or any(other not in before[index] and index not in before[other] for other in range(len(on)) if other != index):
            continue
        upper = before[index] | {index}
        handed = {name for later in on.nodes if later.index not in upper for name in later.inputs if on.producer.get(name, -1) in upper}
        if len(handed) == 1 and on.producer[next(iter(handed))] == index:
            found.append(index)
    return found


@given(on=graphs(most_nodes=9))
@settings(max_examples=300)
def test_cut_points_are_those_of_the_definition(on: DataflowGraph) -> None:
    assert cut_points(on) == defined_cut_points(on)


@given(on=graphs(most_nodes=7), taken=st.sets(st.integers(0, 6)), depth=st.none() | st.integers(1, 4))
@settings(max_examples=300)
def test_runs_are_all_that_lies_between_two_cut_points_and_is_taken(on: DataflowGraph, taken: set[int], depth: int | None) -> None:
    takes = [node for node in on.nodes if node.index in taken]
    items = find(Segments(_Named(tuple(node.name for node in takes)), depth), on)
    ends = [-1, *(index for index in defined_cut_points(on) if index < len(on) - 1), len(on) - 1]
    wanted = set()
    for index, begin in enumerate(ends):
        for end in ends[index + 1 :]:
            inside = range(begin + 1, end + 1)
            if len(inside) > 1 and set(inside) <= taken and (depth is None or SubGraph(on, IndexSet(inside)).depth <= depth):
                wanted.add(tuple(inside))
    runs = sets(items, deferred=True)
    assert set(runs) | set(sets(items, deferred=False)) >= wanted
    assert set(runs) <= wanted
    assert [len(run) for run in runs] == sorted(len(run) for run in runs), "the shortest first"
    assert not any(SubGraph(on, IndexSet(run)).re_entered for run in runs)


class _Named(OpPredicate):
    """Takes the nodes of some names: a test's own rule, for any subset of a graph."""

    def __init__(self, names: tuple[str, ...]):
        object.__setattr__(self, "names", names)

    def find(self, context: RuleContext):  # type: ignore[no-untyped-def]
        for node in context.graph.nodes:
            if node.name in self.names:  # type: ignore[attr-defined]
                yield RuleMatch(IndexSet((node.index,)), self.name)


def has_cycle(on: DataflowGraph, label: list[int]) -> bool:
    """Return whether the graph between the nodes' labels has a cycle."""
    edges: dict[int, set[int]] = {}
    for index, sources in enumerate(on.sources):
        for source in sources:
            if label[source] != label[index]:
                edges.setdefault(label[index], set()).add(label[source])
    left = set(label)
    while left:
        free = {part for part in left if not edges.get(part, set()) & left}
        if not free:
            return True
        left -= free
    return False


@given(on=graphs(most_nodes=12), taken=st.sets(st.integers(0, 11)))
@settings(max_examples=200)
def test_regions_are_disjoint_fit_in_one_plan_and_cannot_be_joined(on: DataflowGraph, taken: set[int]) -> None:
    made = maximal_regions(on.sources, [node.index in taken for node in on.nodes])
    assert sorted(index for nodes in made for index in nodes) == [node.index for node in on.nodes if node.index in taken]
    label = list(range(len(on)))
    for nodes in made:
        assert not SubGraph(on, IndexSet(nodes)).re_entered
        for index in nodes:
            label[index] = nodes[0]
    assert not has_cycle(on, label)
    touching = {
        (label[source], label[index])
        for index, sources in enumerate(on.sources)
        for source in sources
        if {source, index} <= taken and label[source] != label[index]
    }
    for upper, lower in touching:
        assert has_cycle(on, [upper if part == lower else part for part in label]), "these two could be one"


def test_regions_join_what_is_fed_from_aside() -> None:
    on = graph(["p: Conv <- x", "u: TopK <- x", "q: Relu <- u", "r: Add <- p, q"])
    assert maximal_regions(on.sources, [True, False, True, True]) == [[0, 2, 3]]


def test_regions_do_not_make_a_cycle_between_them() -> None:
    """Both a-c and b-d are convex, but together each would wait for the other."""
    on = graph(["a: Conv <- x", "b: Conv <- x", "u: TopK <- a", "v: TopK <- b", "c: Add <- v, a", "d: Add <- u, b"])
    made = maximal_regions(on.sources, [True, True, False, False, True, True])
    assert made == [[0, 4], [1], [5]]


def test_the_whole_model_comes_first_and_then_every_run() -> None:
    items = find(Segments(EVERY), MINI_MNIST)
    now, runs = sets(items, deferred=False), sets(items, deferred=True)
    assert now == [tuple(range(8)), (6, 7), tuple(range(6))], "Reshape is the last one before the product"
    assert runs[:2] == [(0, 1), (1, 2)]
    assert {*now, *runs} == {tuple(range(i, j)) for i in range(8) for j in range(i + 2, 9)}


def test_segments_stop_at_what_is_not_taken() -> None:
    items = find(Segments(NOT_RELU), MINI_MNIST)
    assert sets(items, deferred=False) == [(0, 1, 2), (4, 5, 6, 7), (6, 7)], "the product"
    assert sets(items, deferred=True) == [(0, 1), (1, 2), (4, 5), (5, 6), (4, 5, 6), (5, 6, 7)]


def test_a_residual_is_no_cut_until_it_is_added() -> None:
    on = graph(["a: Conv <- x", "b: Relu <- a", "c: Conv <- b", "d: Add <- c, a", "e: Relu <- d"])
    assert cut_points(on) == [0, 3]
    assert sets(find(Segments(EVERY), on), deferred=True) == [(1, 2, 3), (0, 1, 2, 3), (1, 2, 3, 4)]


def test_several_readers_of_the_one_tensor_are_fine_and_so_are_the_hosts_tensors() -> None:
    on = graph(["a: Conv <- x", "b: Relu <- a", "c: Relu <- a", "d: Add <- b, c", "e: Add <- d, x"])
    assert cut_points(on) == [0, 3]


def test_host_nodes_are_taken_along_and_make_no_runs_of_their_own() -> None:
    on = graph(["a: Conv <- x", "i: Identity <- a", "b: Relu <- i", "j: Identity <- b"])
    items = find(Segments(EVERY), on)
    assert sets(items, deferred=False) == [(0, 1, 2, 3)]
    assert sets(items, deferred=True) == [], "one node and the host's are what the sub-rule has found already"


def test_a_depth_bounds_regions_and_runs() -> None:
    log = RejectionLog()
    items = find(Segments(EVERY, max_depth=2), MINI_MNIST, log)
    assert sets(items, deferred=False) == [(6, 7)]
    assert sets(items, deferred=True) == [(i, i + 1) for i in range(6)]
    assert [rejection.reason for rejection in log.sample] == ["depth: its longest path holds 8 nodes, at most 2 may be"]


def test_too_many_runs_are_cut_off_and_that_is_said() -> None:
    log = RejectionLog()
    items = find(Segments(EVERY, limit=3), MINI_MNIST, log)
    runs = sets(items, deferred=True)
    assert runs[:3] == [(0, 1), (1, 2), (2, 3)]
    assert set(runs[3:]) == {tuple(range(end)) for end in (3, 4, 5, 7)} | {tuple(range(begin, 8)) for begin in range(1, 6)}
    said = "stopped at 3 runs: longer ones of t were not looked at, but for some that begin or end the model"
    assert [(rejection.nodes, rejection.reason) for rejection in log.sample] == [((), said)]


def test_runs_are_not_made_before_they_are_asked_for() -> None:
    """A chain of 3,000 has 4.5 million runs; the first ten need none of the others."""
    on = graph([f"n{index}: Relu <- {f'n{index - 1}' if index else 'x'}" for index in range(3_000)])
    first = list(islice(Segments(EVERY, limit=10**9).find(RuleContext(on, "t", RejectionLog())), 11))
    assert [len(item.inside) for item in first] == [3_000] + [2] * 10


def test_what_the_sub_rule_rejects_is_logged_once() -> None:
    alone, twice = RejectionLog(), RejectionLog()
    find(Segments(NOT_RELU), MINI_MNIST, alone)
    list(arbitrary_fusion(NOT_RELU, RuleOptions(), depth=2).find(RuleContext(MINI_MNIST, "t", twice)))
    refused = [(3,)]
    assert [rejection.nodes for rejection in alone.sample] == refused
    assert [rejection.nodes for rejection in twice.sample if rejection.stage == "predicate"] == refused


def test_combinators_keep_what_is_deferred_deferred() -> None:
    tree = Primitive(Union((OnlyValid(Segments(EVERY)),)))
    items = list(tree.find(RuleContext(MINI_MNIST, "t", RejectionLog())))
    assert [item.deferred for item in items] == [False] * 3 + [True] * 25


def test_runs_take_along_what_only_constants_feed() -> None:
    on = speech(convolutions=2, layers=0)
    runs = [[on.nodes[index].op for index in run] for run in sets(find(Segments(EVERY), on), deferred=True)]
    assert ["DequantizeLinear", "Conv"] in runs, "with its weights"
    assert ["QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv", "Relu"] in runs


def test_the_front_and_the_tail_of_two_kinds_of_work_are_not_deferred() -> None:
    on = speech()
    now = sets(find(Segments(EVERY), on), deferred=False)
    fronts = [run for run in now if run[0] == 0 and {on.nodes[index].op for index in run} <= FRONT]
    assert len(fronts) == 1
    assert tuple(range(len(fronts[0]), len(on))) in now
    assert len(now) <= 1 + 276


def test_more_changes_than_are_measured_are_said() -> None:
    log = RejectionLog()
    on = alternating(10)
    assert len(sets(find(Segments(EVERY), on, log), deferred=False)) <= 277
    said = "the kind of work or who takes it changes 59 times: only the runs between the 21 frontiers with the most work beside them"
    assert f"{said} are not deferred" in [rejection.reason for rejection in log.notes]


@given(on=st.sampled_from([speech(2, 1), u_net(2, 2), detector(3)]), taken=st.sets(st.integers(0, 60)), data=st.data())
@settings(max_examples=60)
def test_every_run_is_convex_and_taken(on: DataflowGraph, taken: set[int], data: st.DataObject) -> None:
    names = tuple(node.name for node in on.nodes if node.index not in taken)
    items = find(Segments(_Named(names), limit=60), on)
    for item in data.draw(st.permutations(items))[:20]:
        assert not SubGraph(on, item.inside).re_entered
        assert all(on.nodes[index].name in names for index in item.inside)


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
    label = list(range(len(on)))
    for nodes in [*large, *(left for _, left in found.regions)]:
        assert not SubGraph(on, IndexSet(nodes)).re_entered
        for node in nodes:
            label[node] = nodes[0]
    assert all(set(left) <= own for _, left in found.regions)
    assert not has_cycle(on, label)


def test_candidates_name_who_leaves_them_and_are_not_deferred() -> None:
    on = detector()
    specs = gather_specs({"all": Segments(EVERY), "twin": Segments(EVERY), "some": Segments(CONVOLUTIONS), "single": EVERY})
    taken = taken_nodes(on, specs)
    assert list(taken) == ["all", "twin", "some"]
    made = find_candidates(on, specs[0], RejectionLog(), taken)
    beside = [candidate for candidate in made["twin"] if candidate.rule == "twin.segments.beside(some)"]
    assert [(candidate.sub_graph.label, candidate.deferred) for candidate in beside] == [("Concat+TopK+NonMaxSuppression", False)]
    assert not any("beside" in candidate.rule for candidate in find_candidates(on, specs[0], RejectionLog())["all"])
