"""The rules on hand-made graphs, and `combine` against the closure written out naively."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.errors import CollageError
from collage_core.graph.dataflow_graph import DataflowGraph, Node, OpPatternKind
from collage_core.graph.index_set import IndexSet
from collage_core.graph.sub_graph import SubGraph, SubGraphConfig
from collage_core.rules.base_rules import Explicit, Host, OpCallByKind, OpCheck, OpPredicate, PatternTable, table_prefixes
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.combinators import ANYTHING, CLASSIC, Combine, OnlyValid, Primitive, Union, arbitrary_fusion, classic_fusion
from collage_core.rules.data import RuleError, rule_from_json
from collage_core.rules.rule import PartitionRule, RuleContext, RuleOptions, TableMatch
from collage_core.rules.segments import Segments
from collage_core.rules.spec import PartitionSpec, find_candidates, gather_specs, taken_nodes
from tests.helpers.examples import examples
from tests.helpers.graphs import MINI_MNIST, graph, graphs


def found(rule: PartitionRule, on: DataflowGraph, log: RejectionLog | None = None) -> set[tuple[int, ...]]:
    sets = [tuple(item.inside) for item in rule.find(RuleContext(on, "t", log or RejectionLog()))]
    assert len(sets) == len(set(sets)), "each set once"
    return set(sets)


def naive_closure(on: DataflowGraph, sets: set[tuple[int, ...]], combiners: tuple[str, ...], max_depth: int) -> set[tuple[int, ...]]:
    """Join everything that may be joined until nothing is new: the definition, one pair after another."""
    known = {IndexSet(inside) for inside in sets}
    letters = [combiner.removeprefix("kind:").split("-") for combiner in combiners]
    while True:
        new = set()
        for u in known:
            for d in known:
                upper, lower = SubGraph(on, u), SubGraph(on, d)
                if u.bits & d.bits or not upper.outputs.bits & d.bits or upper.depth + lower.depth > max_depth:
                    continue
                if not any(upper.kind <= OpPatternKind.from_letter(a) and lower.kind <= OpPatternKind.from_letter(b) for a, b in letters):
                    continue
                joined = SubGraph(on, u | d)
                if not joined.re_entered and joined.inside not in known:
                    new.add(joined.inside)
        if not new:
            return {tuple(inside) for inside in known}
        known |= new


@given(on=graphs(), combiners=st.sampled_from([CLASSIC, ANYTHING, ("kind:I-I",), ("kind:A-B", "kind:A-A")]), depth=st.integers(1, 5))
@examples(200, deadline=None)
def test_combine_is_the_whole_closure(on: DataflowGraph, combiners: tuple[str, ...], depth: int) -> None:
    singles = OpCallByKind("O")
    assert found(Combine(singles, combiners, depth), on) == naive_closure(on, found(singles, on), combiners, depth)


@given(on=graphs(), config=st.builds(SubGraphConfig, st.none() | st.integers(1, 4), st.none() | st.integers(1, 3), st.booleans()))
@examples(100, deadline=None)
def test_the_valid_ones_are_kept_and_whatever_is_rejected_is_not_valid(on: DataflowGraph, config: SubGraphConfig) -> None:
    combined = Combine(OpCallByKind(), ANYTHING, 4)
    log = RejectionLog()
    kept = found(OnlyValid(combined, config.max_depth, config.max_exits or 99, config.allow_taps), on, log)
    named = {rejection.nodes for rejection in log.sample if rejection.stage == "validity"}
    everything = found(combined, on)
    whole = SubGraphConfig(config.max_depth, config.max_exits or 99, config.allow_taps)
    assert kept == {nodes for nodes in everything if SubGraph(on, IndexSet(nodes)).violation(whole) is None}
    assert not kept & named
    if config.max_depth is None or config.max_depth >= 4:  # a smaller bound on the depth is one for the closure too
        assert named or kept == everything, "what is left out is said"


def test_mini_mnist_fuses_as_the_classic_rules_say() -> None:
    tree = Primitive(OnlyValid(Combine(OpCallByKind(), CLASSIC, 4)))
    sets = found(tree, MINI_MNIST)
    assert (1, 2, 3) in sets, "Conv+Add+Relu"
    assert (6, 7) in sets, "MatMul+Add"
    assert (0, 1) not in sets, "what is injective is not joined to what reads it, unless that is injective too"
    assert (4, 5) not in sets


def test_a_diamond_is_joined_whole_or_not_at_all() -> None:
    on = graph(["a: Conv <- x", "b: Relu <- a", "c: Relu <- a", "d: Add <- b, c"])
    sets = found(OnlyValid(Combine(OpCallByKind(), ANYTHING, 4)), on)
    assert (0, 1, 2, 3) in sets
    assert (1, 3) in sets
    assert (0, 1) not in sets, "a is read by c too: a tap"
    assert (0, 1, 3) not in sets, "c is outside and leads back in"


def test_what_is_rejected_says_which_check_failed_and_where() -> None:
    on = graph(["a: Conv <- x", "b: Relu <- a", "c: Relu <- a", "d: Add <- b, c"])
    log = RejectionLog()
    found(OnlyValid(Explicit((("a", "b", "c"),))), on, log)
    found(OnlyValid(Explicit((("a", "b", "d"),)), max_exits=2, allow_taps=True), on, log)
    assert [(rejection.nodes, rejection.reason) for rejection in log.sample] == [
        ((0, 1, 2), "exits: 2 of its nodes are read outside, at most 1 may be"),
        ((0, 1, 3), "convexity: what leaves it comes back in through nodes outside"),
    ]
    assert sum(log.counts.values()) == 2


def test_a_given_depth_bounds_segments_too() -> None:
    tree = arbitrary_fusion(OpPredicate(), RuleOptions(max_depth=2), depth=3)
    assert max(len(nodes) for nodes in found(tree, MINI_MNIST)) == 2


def test_no_fusion_gives_single_calls_only() -> None:
    assert found(classic_fusion(OpPredicate(), RuleOptions(fusion="none"), depth=4), MINI_MNIST) == {(i,) for i in range(8)}


def test_identities_are_the_hosts() -> None:
    on = graph(["a: Conv <- x", "b: Identity <- a", "c: Relu <- b"])
    assert found(Host(), on) == {(1,)}
    assert (1,) not in found(OpPredicate(), on)


def test_the_closure_says_when_it_is_cut_off() -> None:
    log = RejectionLog()
    assert len(found(Combine(OpCallByKind(), ANYTHING, None, limit=10), MINI_MNIST, log)) == 10
    assert log.sample[-1].reason == "stopped at 10 sets: larger sub-graphs of t were not looked at"


def test_targets_with_one_tree_share_a_spec_and_ids_tell_them_apart() -> None:
    specs = gather_specs({"a": OpPredicate(), "b": OpPredicate(), "c": OpCallByKind()})
    assert [spec.targets for spec in specs] == [("a", "b"), ("c",), ("host",)]
    by_target = find_candidates(MINI_MNIST, specs[0], RejectionLog())
    assert [c.inside for c in by_target["a"]] == [c.inside for c in by_target["b"]]
    assert not {c.id for c in by_target["a"]} & {c.id for c in by_target["b"]}
    again = find_candidates(MINI_MNIST, PartitionSpec(("a",), OpPredicate()), RejectionLog())
    assert [c.id for c in again["a"]] == [c.id for c in by_target["a"]]


def test_a_tree_prints_as_it_reads() -> None:
    assert str(classic_fusion(OpCallByKind(), RuleOptions(max_depth=3), depth=4)).splitlines() == [
        "primitive",
        "  union",
        "    only_valid(max_depth=3, max_exits=1, allow_taps=False)",
        "      combine(combiners=['kind:A-B', 'kind:B-R', 'kind:I-I'], max_depth=3, limit=200000)",
        "        op_call_by_kind(max_kind='A')",
        "    segments(max_depth=3, limit=5000)",
        "      op_call_by_kind(max_kind='A')",
    ]


def test_a_union_keeps_the_first_path() -> None:
    items = list(Union((OpCallByKind(), OpPredicate())).find(RuleContext(MINI_MNIST, "t", RejectionLog())))
    assert {item.path for item in items} == {"union.op_call_by_kind"}


def test_a_function_of_a_toolchain_takes_calls_or_says_why_not():
    def check(graph: DataflowGraph, node: Node) -> str:
        return "" if node.op == "Relu" else f"no {node.op}"

    log = RejectionLog()
    rule = OpCheck(check, ("Relu", "Tanh"))
    found = list(rule.find(RuleContext(graph(["a: Relu <- x", "b: Add <- a", "c: Relu <- b"]), "mine", log)))
    assert [tuple(match.inside) for match in found] == [(0,), (2,)]
    assert [(item.nodes, item.rule, item.stage, item.reason) for item in log.sample] == [((1,), "op_check", "predicate", "no Add")]
    assert str(rule).startswith("op_check(check='")
    assert str(rule).endswith("check', ops=['Relu', 'Tanh'])")


GRAPH = graph(["conv: Conv <- x", "relu: Relu <- conv", "mul: Mul <- relu, conv", "dense: MatMul <- mul"])
MATCHES = (
    TableMatch("mine.conv_relu", ("conv", "relu")),
    TableMatch("mine.all", ("conv", "relu", "mul")),
    TableMatch("mine.dense", ("dense",), refusal="the pattern's own check refuses it"),
    TableMatch("mine.other_dense", ("dense", "a folded node")),
    TableMatch("mine.same_dense", ("dense",)),
    TableMatch("mine.gone", ("a folded node",)),
)


def context(log: RejectionLog | None = None) -> RuleContext:
    return RuleContext(GRAPH, "t", log or RejectionLog(), tables={"mine": MATCHES, "none": ()})


def test_every_valid_match_is_a_candidate_labelled_by_its_pattern() -> None:
    found = [(tuple(item.inside), item.path, item.composites) for item in PatternTable("mine").find(context())]
    assert found == [((0, 1, 2), "pattern_table", ("mine.all",)), ((3,), "pattern_table", ("mine.other_dense",))]


def test_what_tvm_would_take_though_it_is_no_partition_is_rejected_and_so_is_what_the_check_refuses() -> None:
    log = RejectionLog()
    list(PatternTable("mine").find(context(log)))
    assert [(item.nodes, item.stage, item.reason) for item in log.sample] == [
        ((0, 1), "validity", "pattern mine.conv_relu: exits: 2 of its nodes are read outside, at most 1 may be"),
        ((3,), "predicate", "pattern mine.dense: the pattern's own check refuses it"),
    ]


def test_a_table_that_takes_nothing_is_noted() -> None:
    log = RejectionLog()
    assert list(PatternTable("none").find(context(log))) == []
    assert [note.reason for note in log.notes] == ["the pattern table none takes nothing in the model"]


def test_a_table_that_nobody_matched_is_one_clear_line() -> None:
    with pytest.raises(CollageError, match="the pattern table 'cublas' of t is TVM's, and was not matched here") as raised:
        list(PatternTable("cublas").find(context()))
    assert "collage partition" in raised.value.hint


def test_the_rule_is_data_and_composes() -> None:
    data = {"rule": "primitive", "of": {"rule": "only_valid", "of": {"rule": "pattern_table", "prefix": "mine"}, "max_depth": 2}}
    tree = rule_from_json(data, "rule")
    assert tree == Primitive(OnlyValid(PatternTable("mine"), max_depth=2))
    assert rule_from_json(tree.to_json(), "rule") == tree
    assert table_prefixes(tree) == ["mine"]
    assert [tuple(item.inside) for item in tree.find(context())] == [(3,)]
    with pytest.raises(RuleError, match=r"rule.prefix is None, it must be given: pattern_table needs it"):
        rule_from_json({"rule": "pattern_table"}, "rule")


def test_segments_over_a_table_are_those_of_the_nodes_that_it_takes_alone() -> None:
    spec = PartitionSpec(("t",), Segments(PatternTable("mine")))
    tables = {"mine": (*MATCHES, TableMatch("mine.mul", ("mul",)))}
    taken = taken_nodes(GRAPH, [spec], tables)
    assert taken == {"t": [False, False, True, True]}
    assert [tuple(one.inside) for one in find_candidates(GRAPH, spec, RejectionLog(), taken, tables)["t"]] == [(2, 3)]
