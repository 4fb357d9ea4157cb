"""The pattern language, its conditions, and described toolchains with their mistakes."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.errors import CollageError
from collage_core.graph.dataflow_graph import Constant, DataflowGraph, Node, OpPatternKind, Tensor, TensorType
from collage_core.rules.base_rules import DFPattern, OpPredicate
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.data import rule_from_json
from collage_core.rules.operators import attribute_of, parse_where
from collage_core.rules.pattern import COMMUTATIVE, Anything, Call, Either, Matcher, Pattern, parse_pattern
from collage_core.rules.rule import RuleContext, RuleOptions
from collage_core.toolchains.described import read_description
from tests.helpers.examples import examples
from tests.helpers.graphs import KINDS, graph, graphs

HOOK = """
name = "hook"
style = "graph"
fusion = "arbitrary"
[[pattern]]
label = "conv_relu"
match = "Relu(Conv(*, *) | Add(Conv(*, *), *))"
dtypes = ["float32"]
[cost]
launch_s = 2e-6
flops_per_s = 4e12
bytes_per_s = 2e11
"""


def found(pattern: str, lines: list[str]) -> set[tuple[int, ...]]:
    on = graph(lines)
    matcher = Matcher(parse_pattern(pattern), on)
    return {tuple(inside) for node in on.nodes for inside in matcher.at(node.index)}


CONV_ADD_RELU = ["c: Conv <- x, w", "a: Add <- c, b", "r: Relu <- a"]


@pytest.mark.parametrize(
    ("pattern", "lines", "wanted"),
    [
        ("Conv", CONV_ADD_RELU, {(0,)}),
        ("Relu(*)", CONV_ADD_RELU, {(2,)}),
        ("Relu(Add(Conv(*, *), *))", CONV_ADD_RELU, {(0, 1, 2)}),
        ("Relu(Conv(*, *) | Add(Conv(*, *), *))", CONV_ADD_RELU, {(0, 1, 2)}),
        ("Add(*, Conv(*, *))", CONV_ADD_RELU, {(0, 1)}),
        ("Relu(Add)", CONV_ADD_RELU, {(1, 2)}),
        ("Conv(*, *, *)", CONV_ADD_RELU, set()),
        ("Add(Conv, Conv)", ["c: Conv <- x", "d: Conv <- x", "a: Add <- c, d"], {(0, 1, 2)}),
        ("Add(Conv, *)", ["c: Conv <- x", "d: Conv <- x", "a: Add <- c, d"], {(0, 2), (1, 2)}),
        ("Add(Relu, Relu)", ["c: Conv <- x", "r: Relu <- c", "a: Add <- r, r"], {(1, 2)}),
        ("Concat(*, Conv)", ["c: Conv <- x", "a: Concat <- c, x"], set()),
        ("Relu | Conv", CONV_ADD_RELU, {(0,), (2,)}),
    ],
)
def test_matches(pattern: str, lines: list[str], wanted: set[tuple[int, ...]]) -> None:
    assert found(pattern, lines) == wanted


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("Relu(Conv(*, *)", "the pattern 'Relu(Conv(*, *)' has nothing at its end, ')' was expected"),
        ("Relu()", "the pattern 'Relu()' has ')' at character 6, an operator, * or ( was expected"),
        ("Relu Conv", "the pattern 'Relu Conv' has 'Conv' at character 6, the end was expected"),
        ("Relu & Conv", "the pattern 'Relu & Conv' has ' ' at character 5"),
        ("*", "the pattern '*' matches anything and holds nothing"),
        ("", "the pattern '' has nothing at its end, an operator, * or ( was expected"),
    ],
)
def test_a_pattern_that_does_not_parse_says_where(pattern: str, message: str) -> None:
    with pytest.raises(CollageError) as caught:
        parse_pattern(pattern)
    assert caught.value.message == message


def test_a_pattern_nested_too_deep_is_refused_and_not_a_crash() -> None:
    with pytest.raises(CollageError, match="is nested deeper than 100"):
        parse_pattern("Relu(" * 5_000 + "*" + ")" * 5_000)


def test_an_input_that_is_left_out_matches_nothing() -> None:
    on = graph(["c: Conv <- x, w", "l: Clip <- c"])
    clip = replace(on.nodes[1], inputs=("c", "", "m"))
    on = replace(on, nodes=(on.nodes[0], clip))
    assert [tuple(item) for item in Matcher(parse_pattern("Clip(Conv, *)"), on).at(1)] == []
    assert [tuple(item) for item in Matcher(parse_pattern("Clip(Conv)"), on).at(1)] == [(0, 1)]


def naive_matches(pattern: Pattern, on: DataflowGraph, name: str) -> set[frozenset[int]]:
    """The definition, with every order of the inputs written out."""
    if isinstance(pattern, Anything):
        return {frozenset()}
    if isinstance(pattern, Either):
        return {nodes for option in pattern.options for nodes in naive_matches(option, on, name)}
    index = on.producer.get(name, -1)
    if index < 0 or on.nodes[index].op != pattern.op:
        return set()
    inputs, made = on.nodes[index].inputs, set()
    orders = permutations(inputs, len(pattern.inputs)) if pattern.op in COMMUTATIVE else [inputs[: len(pattern.inputs)]]
    for order in orders:
        if len(order) == len(pattern.inputs):
            for parts in product(*(naive_matches(part, on, source) for part, source in zip(pattern.inputs, order, strict=True))):
                made.add(frozenset({index}).union(*parts))
    return made


PATTERNS = st.recursive(
    st.just(Anything()) | st.builds(Call, st.sampled_from(sorted(KINDS))),
    lambda inner: (
        st.builds(Call, st.sampled_from(["Add", "Sum", "Conv", "Relu", "Concat"]), st.lists(inner, min_size=1, max_size=3).map(tuple))
        | st.builds(Either, st.lists(inner, min_size=2, max_size=3).map(tuple))
    ),
    max_leaves=6,
)


@given(on=graphs(), pattern=PATTERNS)
@examples(500)
def test_every_match_is_found_and_no_other(on: DataflowGraph, pattern: Pattern) -> None:
    matcher = Matcher(pattern, on)
    for node in on.nodes:
        wanted = naive_matches(pattern, on, node.name) - {frozenset()}
        assert {frozenset(inside) for inside in matcher.at(node.index)} == wanted
    assert not matcher.cut_off


def test_wide_operators_are_bounded_and_that_is_said() -> None:
    """Ten of forty inputs: 847,660,528 sets."""
    lines = [f"r{index}: Relu <- x" for index in range(40)]
    on = graph([*lines, f"s: Sum <- {', '.join(f'r{index}' for index in range(40))}"])
    log = RejectionLog()
    rule = DFPattern(f"Sum({', '.join(['Relu'] * 10)})", "ten")
    items = list(rule.find(RuleContext(on, "t", log)))
    assert 0 < len(items) <= 1_000
    assert all(len(item.inside) == 11 for item in items)
    assert [(item.nodes, item.reason) for item in log.sample] == [
        ((), "pattern ten matches in more than 1000 ways at 's': the others were not looked at")
    ]


def test_a_pattern_that_matches_nothing_says_which_operator_is_missing() -> None:
    log = RejectionLog()
    list(DFPattern("Relu(Conv | Gemm)", "a").find(RuleContext(graph(["r: Relu <- x"]), "t", log)))
    list(DFPattern("Conv(Relu)", "b").find(RuleContext(graph(CONV_ADD_RELU), "t", log)))
    assert [(item.stage, item.reason) for item in log.sample] == [
        ("pattern", "pattern a matches nothing in the model, which has no Conv, Gemm"),
        ("pattern", "pattern b matches nothing in the model"),
    ]


def conv_graph() -> DataflowGraph:
    """A grouped 3x3 convolution that writes its group alone, then one that writes all, and a ReLU."""
    weight, made = TensorType((64, 4, 3, 3), "float32"), TensorType((1, 64, 8, 8), "float32")
    all_written = {"group": 1, "kernel_shape": [1, 1], "strides": [2, 2], "pads": [0, 0, 1, 1], "auto_pad": "NOTSET"}
    nodes = (
        Node(0, "c", "Conv", OpPatternKind.OUT_EWISE_FUSABLE, ("x", "w"), (Tensor("c", made),), {"group": 16}),
        Node(1, "d", "Conv", OpPatternKind.OUT_EWISE_FUSABLE, ("c", "v", ""), (Tensor("d", made),), all_written),
        Node(2, "r", "Relu", OpPatternKind.ELEMWISE, ("d",), (Tensor("r", made),)),
    )
    constants = {"w": Constant(weight), "v": Constant(TensorType((64, 64, 1, 1), "float16"))}
    return DataflowGraph(nodes, (Tensor("x", made),), ("r",), constants)


@pytest.mark.parametrize(
    ("where", "taken"),
    [
        ({}, [0, 1]),
        ({"Conv.group": 16}, [0]),
        ({"Conv.group": ">1"}, [0]),
        ({"Conv.group": "1|16"}, [0, 1]),
        ({"Conv.group": "!=16"}, [1]),
        ({"Conv.kernel_shape": [3, 3]}, [0]),
        ({"Conv.kernel_shape": ["<=2", "*"]}, [1]),
        ({"Conv.kernel_shape": [3]}, []),
        ({"Conv.kernel_shape": 3}, []),
        ({"Conv.kernel_shape": "*"}, [0, 1]),
        ({"Conv.strides": [1, 1]}, [0]),
        ({"Conv.pads": [0, 0, 0, 0]}, [0]),
        ({"Conv.dilations": [1, 1]}, [0, 1]),
        ({"Conv.auto_pad": "NOTSET"}, [0, 1]),
        ({"Conv.auto_pad": "SAME_UPPER|VALID"}, []),
        ({"Conv.no_such": "*"}, []),
        ({"Conv.rank": 4}, [0, 1]),
        ({"Conv.in1.dtype": "float16|bfloat16"}, [1]),
        ({"Conv.in1.dtype": "!=float16"}, [0]),
        ({"Conv.in1.shape": ["*", ">=64", "*", "*"]}, [1]),
        ({"Conv.out0.shape": [1, 64, 8]}, []),
        ({"Conv.in2.dtype": "*"}, []),
        ({"Conv.in9.rank": 1}, []),
        ({"*.dtype": "float32", "*.in1.rank": ">3"}, [0, 1]),
        ({"Conv.group": 16, "Conv.in1.dtype": "float16"}, []),
    ],
)
def test_conditions_keep_what_they_say(where: dict[str, object], taken: list[int]) -> None:
    conditions = parse_where(where)
    for rule in (DFPattern("Conv", where=conditions), OpPredicate(("Conv",), where=conditions)):
        found = rule.find(RuleContext(conv_graph(), "t", RejectionLog()))
        assert [tuple(item.inside) for item in found] == [(index,) for index in taken]


def test_a_data_dependent_dimension_equals_no_number() -> None:
    boxes = Tensor("n", TensorType((15, 3), "int64", (0,)))
    on = DataflowGraph((Node(0, "n", "NonMaxSuppression", OpPatternKind.OPAQUE, ("x",), (boxes,)),), (Tensor("x", boxes.type),), ("n",))
    for shape, taken in (([15, 3], 0), ([">0", 3], 0), (["*", 3], 1)):
        rule = OpPredicate(where=parse_where({"NonMaxSuppression.shape": shape}))
        assert len(list(rule.find(RuleContext(on, "t", RejectionLog())))) == taken


def test_a_condition_concerns_every_such_node_inside_and_no_other() -> None:
    on = conv_graph()
    chain = DFPattern("Relu(Conv(Conv))", "chain", where=parse_where({"Conv.in1.rank": 4}))
    assert [tuple(item.inside) for item in chain.find(RuleContext(on, "t", RejectionLog()))] == [(0, 1, 2)]
    log = RejectionLog()
    assert not list(replace(chain, where=parse_where({"Conv.group": 16})).find(RuleContext(on, "t", log)))
    assert log.sample[0].to_json() == {
        "target": "t",
        "nodes": [0, 1, 2],
        "rule": "df_pattern",
        "stage": "predicate",
        "reason": "pattern chain: Conv.group of 'd' is 1, it must be 16",
        "pattern": "chain",
    }


def test_a_condition_on_what_is_not_there_says_so() -> None:
    log = RejectionLog()
    assert not list(OpPredicate(("Conv",), where=parse_where({"Conv.in2.dtype": "float32"})).find(RuleContext(conv_graph(), "t", log)))
    assert [item.reason for item in log.sample if item.nodes in ((0,), (1,))] == [
        "Conv.in2.dtype of 'c' is not there, it must be 'float32'",
        "Conv.in2.dtype of 'd' is not there, it must be 'float32'",
    ]


def test_padding_that_the_operator_works_out_itself_is_not_compared() -> None:
    on = conv_graph()
    first = replace(on.nodes[0], attributes={"auto_pad": "SAME_UPPER"})
    assert attribute_of(on, first, "pads") is None
    assert attribute_of(on, replace(on.nodes[0], op="Softmax"), "axis") is None, "its default differs between opsets"
    up = replace(on.nodes[0], op="ConvTranspose", attributes={})
    assert (attribute_of(on, up, "output_padding"), attribute_of(on, up, "kernel_shape")) == ([0, 0], [3, 3])


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ([], "where is [], it must be a table of conditions"),
        ({"Conv": 1}, "where names 'Conv', which is no OPERATOR.ATTRIBUTE and no OPERATOR.in0.dtype, .rank or .shape"),
        ({"Conv.in0.size": 1}, "where names 'Conv.in0.size': of a tensor it may ask for dtype, rank and shape"),
        ({"Conv.group": True}, "where has True for 'Conv.group', it must be a number, a text or a list of these"),
        ({"Conv.group": float("nan")}, "where has nan for 'Conv.group', it must be a number, a text or a list of these"),
        ({"Conv.group": [[1]]}, "where has [1] for 'Conv.group', it must be a number, a text or a list of these"),
        ({"Conv.group": ">=x"}, "where has '>=x' for 'Conv.group', and '>=x' says nothing there"),
        ({"Conv.group": "1|"}, "where has '1|' for 'Conv.group', and '' says nothing there"),
        ({"Conv.rank": "four"}, "where has 'four' for 'Conv.rank', and 'four' says nothing there"),
        ({"Conv.rank": [4]}, "where has [4] for 'Conv.rank', it must be one value"),
        ({"Conv.shape": 4}, "where has 4 for 'Conv.shape', it must be a list"),
        ({"Conv.dtype": "floaty"}, "where has 'floaty' for 'Conv.dtype', and 'floaty' is no dtype"),
        ({"Conv.dtype": 32}, "where has 32 for 'Conv.dtype', it must name a dtype"),
    ],
)
def test_conditions_that_mean_nothing_are_refused(where: object, message: str) -> None:
    with pytest.raises(CollageError) as caught:
        parse_where(where)
    assert caught.value.message == message


def test_an_attribute_may_be_called_as_a_tensor_has_it_and_operators_may_have_domains() -> None:
    on = conv_graph()
    node = replace(on.nodes[0], op="com.microsoft.FusedConv", attributes={"dtype": 1, "rank": 7})
    on = replace(on, nodes=(node, *on.nodes[1:]))
    taken = parse_where({"com.microsoft.FusedConv.attr.rank": 7, "com.microsoft.FusedConv.rank": 4, "com.microsoft.FusedConv.in1.rank": 4})
    assert [tuple(item.inside) for item in OpPredicate((node.op,), where=taken).find(RuleContext(on, "t", RejectionLog()))] == [(0,)]


def test_a_rule_tree_survives_its_json() -> None:
    tree = {
        "rule": "primitive",
        "of": {
            "rule": "only_valid",
            "max_depth": 3,
            "of": {
                "rule": "combine",
                "combiners": ["kind:A-B"],
                "of": [{"rule": "op_call_by_kind"}, {"rule": "df_pattern", "match": "Relu(Conv)"}],
            },
        },
    }
    rule = rule_from_json(tree, "file")
    assert rule_from_json(rule.to_json(), "again") == rule
    assert str(rule).splitlines()[3] == "      union"


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"rule": "fuse"}, "f.rule is 'fuse', it must be a known rule"),
        ({"rule": "op_predicate", "opps": []}, "f.opps is [], it must be left out: op_predicate has the options ops, dtypes, where"),
        ({"rule": "combine"}, "f.of is None, it must be given: combine needs it"),
        ({"rule": "combine", "of": {"rule": "op_predicate"}, "max_depth": 0}, "f.max_depth is 0, it must be a whole number of at least 1"),
        ({"rule": "combine", "of": {"rule": "nope"}}, "f.of.rule is 'nope', it must be a known rule"),
        (
            {"rule": "combine", "of": {"rule": "op_predicate"}, "combiners": ["kind:A-Z"]},
            "f.combiners: unknown combiner 'kind:A-Z'",
        ),
        ({"rule": "union", "of": []}, "f.of is [], it must be a rule or a list of rules"),
    ],
)
def test_a_broken_rule_tree_says_where(tree: dict[str, object], message: str) -> None:
    with pytest.raises(CollageError) as caught:
        rule_from_json(tree, "f")
    assert caught.value.message == message


def test_a_described_toolchain_finds_what_its_patterns_say(tmp_path: Path) -> None:
    path = tmp_path / "hook.toml"
    path.write_text(HOOK)
    hook = read_description(path)
    items = list(hook.rule(RuleOptions()).find(RuleContext(graph(CONV_ADD_RELU), "hook", RejectionLog())))
    assert [(tuple(item.inside), item.composites) for item in items] == [((0, 1, 2), ("conv_relu",))]
    assert not hook.availability().usable


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('fusion = "arbitrary"', 'fusion = "most"'), "fusion is 'most', it must be one of none, tvm, arbitrary"),
        (('name = "hook"', ""), "name is None, it must be a word, to be named in --targets"),
        (
            ("launch_s = 2e-6", "launch = 1"),
            "cost.launch is 1, it must be left out: only launch_s, flops_per_s, bytes_per_s, transfer_latency_s",
        ),
        (("flops_per_s = 4e12", "flops_per_s = -1"), "cost.flops_per_s is -1, it must be a positive, finite number"),
        (("match", "mach"), "pattern[0].mach is"),
        (("Relu(Conv(", "Relu(Conv"), "has '*' at"),
    ],
)
def test_a_broken_description_names_file_and_place(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = tmp_path / "hook.toml"
    path.write_text(HOOK.replace(*change, 1))
    with pytest.raises(CollageError) as caught:
        read_description(path)
    assert message in caught.value.message
