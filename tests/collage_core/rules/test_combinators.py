"""`combine`: every way of finding what it makes against the closure written out naively, and its combiners by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.errors import CollageError
from collage_core.graph.dataflow_graph import DataflowGraph, OpPatternKind
from collage_core.graph.index_set import IndexSet
from collage_core.graph.sub_graph import SubGraph, SubGraphConfig
from collage_core.rules.base_rules import Explicit, OpCallByKind, OpPredicate
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.combinators import (
    ANYTHING,
    CLASSIC,
    Combine,
    Composite,
    Folds,
    OnlyValid,
    Union,
    arbitrary_fusion,
    classic_fusion,
    kernel_fusion,
)
from collage_core.rules.combiners import VARIADIC, parse_combiner
from collage_core.rules.data import rule_from_json
from collage_core.rules.rule import PartitionRule, RuleContext, RuleOptions
from tests.helpers.examples import examples
from tests.helpers.graphs import MINI_MNIST, graph
from tests.helpers.paths import ROOT

OPERATORS = ("Conv", "Add", "Relu", "Reshape", "Concat", "Split", "MaxPool", "TopK", "ReduceSum", "Constant")
Sets = set[tuple[int, ...]]


@st.composite
def graphs(draw: st.DrawFn, most_nodes: int = 9) -> DataflowGraph:
    """A random DAG with calls of every kind, several outputs, constants, and taps that the host reads."""
    lines, tensors = [], ["x"]
    for index in range(draw(st.integers(1, most_nodes))):
        op = draw(st.sampled_from(["Conv", "Relu", *OPERATORS]))
        made = [f"n{index}", f"m{index}"] if op == "Split" else [f"n{index}"]
        few = st.lists(st.sampled_from(tensors[-6:]), min_size=1, max_size=3 if op == "Concat" else 2, unique=True)
        sources = [] if op == "Constant" else draw(few)
        lines.append(f"{' '.join(made)}: {op} <- {', '.join(sources)}")
        tensors += made
    outputs = draw(st.lists(st.sampled_from(tensors), max_size=2))
    return graph(lines, outputs=outputs)


def found(rule: PartitionRule, on: DataflowGraph, log: RejectionLog | None = None) -> Sets:
    sets = [tuple(item.inside) for item in rule.find(RuleContext(on, "t", log or RejectionLog()))]
    assert len(sets) == len(set(sets)), "each set once"
    return set(sets)


class Naive:
    """The closure as it is defined: over all pairs and all groups of what is known, until nothing is new."""

    def __init__(self, on: DataflowGraph, combiners: Sequence[str], max_depth: int | None):
        self.on = on
        self.combiners = combiners
        self.max_depth = 99 if max_depth is None else max_depth
        self.shapes: dict[IndexSet, tuple[int, OpPatternKind, IndexSet]] = {}

    def closure(self, base: Sets) -> Sets:
        self.base = {IndexSet(nodes) for nodes in base}
        known, new = set(self.base), set(self.base)
        while new:
            ways = [(u, d) for u in new for d in known] + [(u, d) for u in known - new for d in new]
            joined = {u | d for u, d in ways if self.is_pair(u, d)}
            if "tuple_arg" in self.combiners:
                joined |= {whole for d in known for whole in self.with_arguments(d, known)}
            new = {one for one in joined if not SubGraph(self.on, one).re_entered} - known
            known |= new
        return {tuple(one) for one in known}

    def shape(self, one: IndexSet) -> tuple[int, OpPatternKind, IndexSet]:
        if one not in self.shapes:
            sub_graph = SubGraph(self.on, one)
            self.shapes[one] = sub_graph.depth, sub_graph.kind, sub_graph.outputs
        return self.shapes[one]

    def is_pair(self, u: IndexSet, d: IndexSet) -> bool:
        if not u.isdisjoint(d):
            return False
        (depth_u, kind_u, read_u), (depth_d, kind_d, _) = self.shape(u), self.shape(d)
        if "horizontal" in self.combiners and max(depth_u, depth_d) <= self.max_depth and self.is_row(u, d):
            return True
        if read_u.isdisjoint(d) or depth_u + depth_d > self.max_depth:
            return False
        return any(self.joins(text, u, d, kind_u, kind_d) for text in self.combiners)

    def joins(self, text: str, u: IndexSet, d: IndexSet, kind_u: OpPatternKind, kind_d: OpPatternKind) -> bool:
        nodes = self.on.nodes
        if text.startswith("kind:"):
            return kind_u <= OpPatternKind.from_letter(text[5]) and kind_d <= OpPatternKind.from_letter(text[7])
        if text == "constant":
            return {nodes[index].op for index in u} == {"Constant"}
        if text == "tuple_proj":
            makers = [index for index in u if nodes[index].op == "Split" and set(self.on.consumers[index]) & set(d)]
            return bool(makers) and max(kind_u, kind_d) <= OpPatternKind.INJECTIVE
        return text == "vertical" and len(u) + len(d) <= self.max_depth and self.is_anchored_chain(sorted({*u, *d}))

    def is_anchored_chain(self, chain: list[int]) -> bool:
        degrees = [len(set(self.on.sources[index]) & set(chain)) for index in chain]
        fan_out = [len(set(self.on.consumers[index]) & set(chain)) for index in chain]
        if degrees != [0] + [1] * (len(chain) - 1) or max(fan_out) > 1:
            return False
        letters = "".join(self.on.nodes[index].kind.letter for index in chain)
        return re.fullmatch("[EBI]*[RA][EB]*", letters) is not None

    def is_row(self, u: IndexSet, d: IndexSet) -> bool:
        read = set(SubGraph(self.on, u).input_tensors()) & set(SubGraph(self.on, d).input_tensors())
        apart = not any(set(d) & set(IndexSet.from_bits(self.on.downstream[index])) for index in u)
        apart = apart and not any(set(u) & set(IndexSet.from_bits(self.on.downstream[index])) for index in d)
        opaque = any(self.shape(one)[1] is OpPatternKind.OPAQUE for one in (u, d))
        return bool(read) and apart and not opaque and self.row(u) == self.row(d)

    def row(self, one: IndexSet) -> list[str]:
        parts: list[set[int]] = []
        for index in one:
            near = [part for part in parts if part & {*self.on.sources[index], *self.on.consumers[index]}]
            parts = [part for part in parts if part not in near] + [{index}.union(*near)]
        rows = [[self.on.nodes[index].op for index in sorted(part)] for part in parts]
        return rows[0] if all(row == rows[0] for row in rows) else [self.on.nodes[index].op for index in one]

    def with_arguments(self, d: IndexSet, known: set[IndexSet]) -> Iterator[IndexSet]:
        few = [one for one in known if self.shape(one)[1] <= OpPatternKind.INJECTIVE and one.isdisjoint(d)]
        if self.shape(d)[1] > OpPatternKind.INJECTIVE:
            return
        for call in d:
            held = {index for one in self.base if self.shape(one)[1] <= OpPatternKind.INJECTIVE for index in one}
            few_kinds = {node.index for node in self.on.nodes if node.kind <= OpPatternKind.INJECTIVE}
            makers = [source for source in self.on.sources[call] if source not in d and source in held & few_kinds]
            if self.on.nodes[call].op not in VARIADIC or not makers:
                continue
            for choice in product(*([one for one in few if maker in one] for maker in makers)):
                pieces = set(choice)
                above = IndexSet(index for one in pieces for index in one)
                if len(above) == sum(map(len, pieces)) and SubGraph(self.on, above).depth + self.shape(d)[0] <= self.max_depth:
                    yield above | d


COMBINERS = [*CLASSIC, *ANYTHING, "kind:E-E", "kind:O-O", "tuple_arg", "tuple_proj", "constant", "vertical", "horizontal"]
DEPTHS = st.integers(1, 6) | st.none()


@st.composite
def bases(draw: st.DrawFn, on: DataflowGraph) -> PartitionRule:
    """Every node, some operators alone, or sets of any shape."""
    singles = draw(st.sampled_from([OpCallByKind("O"), OpPredicate(), OpPredicate(ops=("Conv", "Relu", "Add", "Concat"))]))
    if draw(st.booleans()):
        return singles
    nodes = st.sampled_from([node.name for node in on.nodes])
    sets = draw(st.lists(st.lists(nodes, min_size=1, max_size=3, unique=True), min_size=1, max_size=4))
    return Union((singles, Explicit(tuple(map(tuple, sets)))))


@given(data=st.data(), on=graphs(7), combiners=st.lists(st.sampled_from(COMBINERS), min_size=1, max_size=3), depth=DEPTHS)
@examples(250, deadline=None)
def test_combine_is_the_whole_closure(data: st.DataObject, on: DataflowGraph, combiners: list[str], depth: int | None) -> None:
    base = data.draw(bases(on))
    assert found(Combine(base, tuple(combiners), depth), on) == Naive(on, combiners, depth).closure(found(base, on))


def valid(on: DataflowGraph, sets: Sets, config: SubGraphConfig) -> Sets:
    return {nodes for nodes in sets if SubGraph(on, IndexSet(nodes)).violation(config) is None}


@given(
    on=graphs(), depth=DEPTHS, valid_depth=DEPTHS, taps=st.booleans(), more=st.sampled_from([(), ("constant",), ("vertical", "kind:A-B")])
)
@examples(300, deadline=None)
def test_sets_with_one_exit_are_those_of_the_closure(
    on: DataflowGraph, depth: int | None, valid_depth: int | None, taps: bool, more: tuple[str, ...]
) -> None:
    combiners = (*ANYTHING, *more)
    rule = OnlyValid(Combine(OpCallByKind("O"), combiners, depth), valid_depth, 1, taps)
    whole = Naive(on, combiners, depth).closure({(index,) for index in range(len(on))})
    assert found(rule, on) == valid(on, whole, SubGraphConfig(valid_depth, 1, taps))


@given(
    data=st.data(),
    on=graphs(7),
    combiners=st.lists(st.sampled_from(COMBINERS), min_size=1, max_size=3),
    depth=DEPTHS,
    config=st.builds(SubGraphConfig, DEPTHS, st.integers(1, 3), st.booleans()),
)
@examples(250, deadline=None)
def test_what_is_not_made_would_not_be_valid(
    data: st.DataObject, on: DataflowGraph, combiners: list[str], depth: int | None, config: SubGraphConfig
) -> None:
    base, log = data.draw(bases(on)), RejectionLog()
    rule = OnlyValid(Combine(base, tuple(combiners), depth), config.max_depth, config.max_exits or 1, config.allow_taps)
    whole = Naive(on, combiners, depth).closure(found(base, on))
    assert found(rule, on, log) == valid(on, whole, config)
    for rejection in log.sample:
        if rejection.stage == "validity":
            assert SubGraph(on, IndexSet(rejection.nodes)).violation(config) is not None


def inception(number: int, x: str) -> list[str]:
    """A module of four branches (1×1, 1×1-3×3, 1×1-5×5, pool-1×1), each convolution with its activation, and their join."""
    lines, ends = [f"pool{number}: MaxPool <- {x}"], []
    for branch, before in (("a", [x]), ("b", [x, ""]), ("c", [x, ""]), ("d", [f"pool{number}"])):
        last = ""
        for index, source in enumerate(before):
            name = f"{branch}{number}{index}"
            lines += [f"{name}: Conv <- {source or last}", f"{name}r: Relu <- {name}"]
            last = f"{name}r"
        ends.append(last)
    return [*lines, f"join{number}: Concat <- {', '.join(ends)}"]


@pytest.mark.long
def test_two_inception_modules_make_as_many_sets_as_are_known() -> None:
    on = graph(["stem: Conv <- x", *inception(1, "stem"), *inception(2, "join1")])
    assert len(found(Combine(OpCallByKind(), ANYTHING, 6), on)) == 26_415
    assert len(found(OnlyValid(Combine(OpCallByKind(), ANYTHING, 6)), on)) == 661


def sets(combiners: str, on: DataflowGraph, depth: int | None = 4) -> list[str]:
    """Return the sets that joining makes of single calls, by the nodes' names, without the single ones."""
    made = found(Combine(OpCallByKind("O"), tuple(combiners.split()), depth), on)
    return sorted("+".join(on.nodes[index].name for index in nodes) for nodes in made if len(nodes) > 1)


def test_kinds_join_what_is_no_more_than_they_say() -> None:
    on = graph(["pad: Reshape <- x", "conv: Conv <- pad", "add: Add <- conv", "sum: ReduceSum <- add", "top: TopK <- sum"])
    assert sets("kind:A-B", on) == ["conv+add"]
    assert sets("kind:B-R", on) == ["add+sum"]
    assert sets("kind:I-I", on) == []
    assert sets("kind:A-A", on, 2) == ["add+sum", "conv+add", "pad+conv"], "what is opaque joins nothing"
    assert "sum+top" in sets("kind:O-O", on)


def test_a_set_of_just_the_bound_is_joined_only_where_two_make_it() -> None:
    """a and b are not connected above c, so at depth 2 no two sets join to all three; at depth 3 the two of two do."""
    on = graph(["a: Conv <- x", "b: Conv <- x", "c: Add <- a, b"])
    assert sets("kind:A-A", on, 2) == ["a+c", "b+c"]
    assert found(OnlyValid(Combine(OpCallByKind(), ANYTHING, 2)), on) == {(0,), (1,), (2,), (0, 2), (1, 2)}
    assert (0, 1, 2) in found(OnlyValid(Combine(OpCallByKind(), ANYTHING, 3)), on)


def test_at_the_bound_two_arms_must_meet_above_the_exit() -> None:
    """Of depth 3: whichever of the upper set's levels one takes, two arms that meet in the exit alone are not connected."""
    apart = graph(["a: Conv <- x", "b: Conv <- x", "c: Relu <- a", "d: Relu <- b", "e: Add <- c, d"])
    assert (0, 1, 2, 3, 4) not in found(OnlyValid(Combine(OpCallByKind(), ANYTHING, 3)), apart)
    assert (0, 1, 2, 3, 4) in found(OnlyValid(Combine(OpCallByKind(), ANYTHING, 4)), apart)
    meeting = graph(["a: Conv <- x", "b: Conv <- x", "c: Add <- a, b", "d: Relu <- c"])
    assert (0, 1, 2, 3) in found(OnlyValid(Combine(OpCallByKind(), ANYTHING, 3)), meeting), "a, b and c join first, then d"


def test_residuals_and_taps_stay_whole() -> None:
    on = graph(["a: Conv <- x", "b: Relu <- a", "c: Conv <- b", "d: Add <- c, a", "e: Relu <- d"], outputs=["d"])
    valid_sets = found(OnlyValid(Combine(OpCallByKind(), ANYTHING, 6)), on)
    assert valid_sets == {(0,), (1,), (2,), (3,), (4,), (1, 2), (2, 3), (1, 2, 3), (0, 1, 2, 3)}
    tapped = found(OnlyValid(Combine(OpCallByKind(), ANYTHING, 6), None, 2, True), on)
    assert (0, 1) in tapped, "a is read by b inside and by d outside"
    assert (0, 1, 3) not in tapped, "c leads back in"
    assert (0, 1, 2, 3, 4) in tapped, "d is an output of the model too"


def test_a_call_of_any_number_of_inputs_joins_all_its_arguments_at_once() -> None:
    on = graph(["a: Relu <- x", "b: Reshape <- x", "c: Conv <- x", "d: Concat <- a, b, c", "e: Relu <- d"])
    assert sets("tuple_arg", on) == ["a+b+d"], "c is more than injective and stays outside"
    assert sets("tuple_arg kind:I-I", on) == ["a+b+d", "a+b+d+e", "a+d", "a+d+e", "b+d", "b+d+e", "d+e"]
    assert sets("tuple_arg", on, 1) == []
    only_c = Combine(OpPredicate(ops=("Conv", "Concat")), ("tuple_arg",), 4)
    assert found(only_c, on) == {(2,), (3,)}, "what the sub-rule did not find is not joined"


def test_one_piece_may_make_two_arguments() -> None:
    on = graph(["a: Relu <- x", "b: Relu <- a", "c: Concat <- a, b"])
    assert sets("tuple_arg", on) == ["a+b+c"]
    assert sets("tuple_arg", on, 2) == [], "one after the other they are too deep"
    assert sets("tuple_arg kind:E-E", on) == ["a+b", "a+b+c"]


def test_a_split_joins_what_reads_one_of_its_outputs() -> None:
    on = graph(["p q: Split <- x", "a: Relu <- p", "b: Conv <- q", "c: Relu <- a"])
    assert sets("tuple_proj", on) == ["p+a"], "b is more than injective; a has one output, and does not join c"
    two = graph(["p q: Split <- x", "a: Relu <- p", "b: Relu <- q", "c: Concat <- a, b"])
    assert sets("tuple_proj", two) == ["p+a", "p+a+b", "p+b"]
    assert found(OnlyValid(Combine(OpCallByKind(), ("tuple_proj", "kind:I-I"), 4)), two) >= {(0, 1, 2, 3), (1, 3), (1, 2, 3)}


def test_a_constant_joins_whatever_reads_it() -> None:
    on = graph(["w: Constant <-", "a: Conv <- x, w", "b: Relu <- a", "k: Constant <-", "t: TopK <- b, k"])
    assert sets("constant", on) == ["k+t", "w+a"]
    rule = OnlyValid(Combine(OpCallByKind("O"), ("kind:A-A", "constant"), 3))
    assert found(rule, on) == {(0,), (1,), (2,), (3,), (4,), (0, 1), (1, 2), (0, 1, 2), (3, 4)}
    assert SubGraph(on, IndexSet((0, 1))).kind is OpPatternKind.OUT_EWISE_FUSABLE, "a constant computes nothing"


def test_a_chain_through_an_anchor() -> None:
    on = graph(["pad: Reshape <- x", "conv: Conv <- pad", "add: Add <- conv", "re: Reshape <- add", "sum: ReduceSum <- re"])
    assert sets("vertical", on) == ["add+re+sum", "conv+add", "pad+conv", "pad+conv+add", "re+sum"]
    assert "conv+add+re" in sets("vertical kind:A-A", on)


def test_a_chain_does_not_branch() -> None:
    on = graph(["conv: Conv <- x", "a: Relu <- conv", "b: Relu <- conv", "c: Add <- a, b"])
    assert sets("vertical", on) == ["conv+a", "conv+b"]


def test_calls_side_by_side_that_do_the_same_join() -> None:
    on = graph(["q: Conv <- x", "k: Conv <- x", "v: Conv <- x", "r: Relu <- x", "z: Conv <- q"])
    assert sets("horizontal", on) == ["k+v", "q+k", "q+k+v", "q+v"], "r does something else, z reads something else"
    assert sets("horizontal", on, 1) == sets("horizontal", on), "side by side they are no deeper"
    kept = found(OnlyValid(Combine(OpCallByKind(), ("horizontal",), 2), None, 3), on)
    assert (0, 1, 2) in kept
    assert (0, 1, 2) not in found(OnlyValid(Combine(OpCallByKind(), ("horizontal",), 2), None, 2), on)


def test_rows_that_reach_each_other_do_not_join() -> None:
    on = graph(["a: Relu <- x", "b: Add <- x, a", "c: Add <- x, b"])
    assert sets("horizontal", on) == []
    chains = graph(["a: Conv <- x", "b: Relu <- a", "c: Conv <- x", "d: Relu <- c"])
    assert "a+b+c+d" in sets("horizontal kind:A-B", chains, 2), "two chains side by side"


def test_the_limit_is_said_and_no_part_of_the_model_goes_without() -> None:
    lines = [f"n{index}: Relu <- {f'n{index - 1}' if index else 'x'}" for index in range(20)]
    on, log = graph(lines), RejectionLog()
    made = found(OnlyValid(Combine(OpCallByKind(), ANYTHING, None, limit=120)), on, log)
    assert len(made) <= 120
    assert {(index,) for index in range(20)} <= made
    assert {nodes[-1] for nodes in made if len(nodes) > 1} == set(range(1, 20)), "each exit has its share"
    assert [rejection.stage for rejection in log.notes] == ["validity"]
    assert log.notes[0].reason.startswith("stopped at 120 sets: some larger sub-graphs, such as those that end in ")
    log = RejectionLog()
    assert len(found(Combine(OpCallByKind(), ANYTHING, None, limit=50), on, log)) == 50
    assert log.notes[0].reason == "stopped at 50 sets: larger sub-graphs of t were not looked at"
    log = RejectionLog()
    assert len(found(OnlyValid(Combine(OpCallByKind(), ANYTHING, None, limit=210)), on, log)) == 210, "all of them, just"
    assert not log.notes


def test_a_join_of_many_inputs_meets_the_limit_and_no_other() -> None:
    on = graph([*[f"n{index}: Conv <- x" for index in range(40)], f"join: Concat <- {', '.join(f'n{index}' for index in range(40))}"])
    log = RejectionLog()
    assert len(found(OnlyValid(Combine(OpCallByKind(), ANYTHING, 3, limit=2_000)), on, log)) == 2_000
    assert log.notes
    log = RejectionLog()
    assert len(found(OnlyValid(Combine(OpCallByKind(), ANYTHING, 2, limit=2_000)), on, log)) == 81, "each alone, and each with the join"
    assert not log.notes


def test_what_was_not_spelt_out_is_said_once() -> None:
    on, log = graph(["a: Conv <- x", "b: Relu <- a", "c: Relu <- a", "d: Add <- b, c"]), RejectionLog()
    found(OnlyValid(Combine(OpCallByKind(), ANYTHING, 4)), on, log)
    assert [(rejection.nodes, rejection.rule, rejection.reason) for rejection in log.sample] == [
        (
            (0, 1),
            "only_valid.combine.op_call_by_kind",
            "exits: sub-graphs with more than one exit, such as this one, were not enumerated",
        )
    ]
    assert dict(log.counts) == {("t", "only_valid.combine.op_call_by_kind", "validity", "exits"): 1}
    log = RejectionLog()
    found(OnlyValid(Combine(OpCallByKind(), ANYTHING, 4), 2), graph(["a: Conv <- x", "b: Relu <- a", "c: Relu <- b"]), log)
    assert [(rejection.nodes, rejection.reason) for rejection in log.sample] == [
        ((0, 1, 2), "depth: sub-graphs of a depth over 2, such as this one, were not enumerated")
    ]


def test_paths_and_composites_are_those_of_what_was_joined() -> None:
    on = graph(["a: Conv <- x", "b: Relu <- a", "c: Relu <- b"])
    labelled = Union((Composite("conv", OpPredicate(ops=("Conv",))), OpPredicate(ops=("Relu",))))
    for rule in (OnlyValid(Combine(labelled, ANYTHING, 4)), Combine(labelled, ANYTHING, 4)):
        made = {tuple(item.inside): item for item in rule.find(RuleContext(on, "t", RejectionLog()))}
        prefix = "only_valid." if isinstance(rule, OnlyValid) else ""
        assert made[1, 2].path == f"{prefix}combine.union.op_predicate"
        assert made[0, 1].path == f"{prefix}combine.union"
        assert made[0, 1, 2].composites == ("conv",)
        assert made[1, 2].composites == ()


@pytest.mark.parametrize("text", ["", "kind:", "kind:A", "kind:A-", "kind:Z-B", "kind:AB-B", "kinds:A-B", "diagonal"])
def test_an_unknown_combiner_is_one_clear_line(text: str) -> None:
    with pytest.raises(CollageError, match=f"^unknown combiner {text!r}$") as caught:
        parse_combiner(text)
    assert caught.value.code == "bad_rule"
    assert caught.value.hint.startswith("the combiners are tuple_arg, tuple_proj, constant, vertical, horizontal, and kind:X-Y")


def test_a_function_of_the_users_says_what_may_grow() -> None:
    """That of docs/rules.md: a convolution takes in what reads it, up to three calls."""
    on = graph(["a: Conv <- x", "b: Relu <- a", "c: Relu <- b", "d: Conv <- c", "e: Relu <- d"])
    defined: dict[str, Callable[[DataflowGraph, Sequence[IndexSet]], bool]] = {}
    code = re.search(r"```python\n(def may_grow.*?)```", (ROOT / "docs" / "rules.md").read_text(), re.S)
    assert code
    exec(code[1], {"__name__": "docs"}, defined)
    rule = Combine(OpCallByKind(), ANYTHING, 4, grows=defined["may_grow"])
    grown = {(0, 1), (0, 1, 2), (3, 4)}
    for one in (rule, OnlyValid(rule)):
        assert {nodes for nodes in found(one, on) if len(nodes) > 1} == grown
    assert "grows='docs.may_grow'" in str(rule), "it is printed by its name"


@given(on=graphs(6), depth=DEPTHS)
@examples(50, deadline=None)
def test_a_function_that_permits_everything_changes_nothing(on: DataflowGraph, depth: int | None) -> None:
    for rule in (Combine(OpCallByKind(), ANYTHING, depth), Combine(OpCallByKind(), CLASSIC, depth)):
        free = replace(rule, grows=lambda graph, parts: True)
        assert found(free, on) == found(rule, on)
        assert found(OnlyValid(free), on) == found(OnlyValid(rule), on)
        assert found(replace(rule, grows=lambda graph, parts: False), on) == found(OpCallByKind(), on)


def test_it_cannot_be_written_in_a_file() -> None:
    with pytest.raises(CollageError, match=r"^rule\.grows is 'may_grow', it must be left out"):
        rule_from_json({"rule": "combine", "grows": "may_grow", "of": {"rule": "op_call_by_kind"}}, "rule")


def combined(rule: PartitionRule) -> set[tuple[int, ...]]:
    """The sets of several nodes that `combine` makes on the mini-MNIST; segments, which every fusing style has, are left out."""
    found = rule.find(RuleContext(MINI_MNIST, "t", RejectionLog()))
    return {tuple(item.inside) for item in found if ".combine." in item.path and len(item.inside) > 1}


FUSED = {(1, 2), (2, 3), (1, 2, 3), (6, 7)}
"""The sets that `FuseOps` may fuse in Pad, Conv, Add, Relu, MaxPool, Reshape, MatMul, Add."""
PAIRS = {(first, first + 1) for first in range(7)}


@pytest.mark.parametrize(("style", "depth", "wanted"), [("none", 3, set()), ("tvm", 3, FUSED), ("arbitrary", 2, PAIRS), (None, 3, FUSED)])
def test_each_fusion_style_joins_what_it_says(style: str | None, depth: int, wanted: set[tuple[int, ...]]) -> None:
    assert combined(classic_fusion(OpPredicate(), RuleOptions(fusion=style), depth)) == wanted


def test_a_style_that_the_user_gives_goes_before_the_toolchains_own() -> None:
    assert combined(arbitrary_fusion(OpPredicate(), RuleOptions(), 2)) == PAIRS
    assert combined(arbitrary_fusion(OpPredicate(), RuleOptions(fusion="tvm"), 3)) == FUSED


def test_a_depth_that_the_user_gives_goes_before_the_toolchains_own() -> None:
    assert max(map(len, combined(arbitrary_fusion(OpPredicate(), RuleOptions(max_depth=3), 2)))) == 3
    assert combined(arbitrary_fusion(OpPredicate(), RuleOptions(max_depth=1), 2)) == set()


QUANTISED = graph(
    [
        "wq: Dequantize <- w",
        "bq: Dequantize <- b",
        "conv: Conv <- x, wq, bq",
        "relu: Relu <- conv",
        "again: Conv <- relu, bq",
        "y: Relu <- again",
    ]
)
"""Both convolutions read the dequantised ``bq``."""


def test_a_kernel_has_with_it_what_only_constants_feed_and_only_it_reads() -> None:
    rule = kernel_fusion(OpPredicate(), RuleOptions(), 4, 1)
    found = {tuple(item.inside) for item in rule.find(RuleContext(QUANTISED, "t", RejectionLog()))}
    assert {(0, 2), (0, 2, 3), (3,), (4, 5)} < found
    assert {(0,), (1,)} < found, "for what reads them together with others"
    assert not any(2 in nodes and 0 not in nodes for nodes in found), "its weights would be computed at every call"
    assert not any(1 in nodes for nodes in found if len(nodes) > 1 and not {2, 4} <= set(nodes))


def test_what_a_toolchain_does_not_take_alone_is_not_folded() -> None:
    rule = Folds(OpPredicate(ops=("Conv", "Relu")))
    assert {tuple(item.inside) for item in rule.find(RuleContext(QUANTISED, "t", RejectionLog()))} == {(2,), (3,), (4,), (5,)}


def test_parallel_calls_join_only_as_far_as_they_may_be_exits() -> None:
    """A time embedding is read by each block of a network: 17 products are parallel, and have 2¹⁷ subsets."""
    lines = [f"p{k}: MatMul <- x, w{k}" for k in range(17)]
    lines += [f"s{k}: Add <- {f's{k - 1}' if k else 'x'}, p{k}" for k in range(17)]
    log = RejectionLog()
    found = {tuple(item.inside) for item in kernel_fusion(OpPredicate(), RuleOptions(), 4, 3).find(RuleContext(graph(lines), "t", log))}
    products = [nodes for nodes in found if max(nodes) < 17]
    assert len(products) == 17 + 136 + 680
    assert not log.notes, "nothing was cut off"
