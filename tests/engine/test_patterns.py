"""The pattern language, rule trees as data, and described toolchains with their mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from collage_core.errors import CollageError
from collage_core.graph import IndexSet
from collage_core.rules import RejectionLog, RuleContext, RuleOptions, matches, parse_pattern, rule_from_json
from collage_core.toolchains.described import read_description

from .graphs import graph

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
    parsed = parse_pattern(pattern)
    return {tuple(IndexSet.from_bits(bits)) for node in on.nodes for bits in matches(parsed, on, node.index)}


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
        ({"rule": "op_predicate", "opps": []}, "f.opps is [], it must be left out: op_predicate has the options ops, dtypes"),
        ({"rule": "combine"}, "f.of is None, it must be given: combine needs it"),
        ({"rule": "combine", "of": {"rule": "op_predicate"}, "max_depth": 0}, "f.max_depth is 0, it must be a whole number of at least 1"),
        ({"rule": "combine", "of": {"rule": "nope"}}, "f.of.rule is 'nope', it must be a known rule"),
        (
            {"rule": "combine", "of": {"rule": "op_predicate"}, "combiners": ["kind:A-Z"]},
            "f.combiners is 'kind:A-Z', it must be a combiner such as kind:A-B, with kinds from EBIRAO",
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
            "cost.launch is 1, it must be left out: only launch_s, flops_per_s, bytes_per_s mean something",
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
