"""Rule trees as data: they round-trip through JSON and TOML, and what is wrong in a file is told with file, line and value."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import onnx.defs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from collage_core.errors import CollageError
from collage_core.model.types.dtypes import _elem_types
from collage_core.rules.base_rules import DFPattern, Explicit, Host, OpCallByKind, OpPredicate, PatternTable
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.combinators import Combine, Composite, Folds, OnlyValid, Primitive, Union
from collage_core.rules.data import RULES, rule_from_json
from collage_core.rules.operators import DEFAULTS, DTYPES, OPERATORS, Condition
from collage_core.rules.rule import PartitionRule, RuleContext, find_with_note
from collage_core.rules.segments import Segments
from collage_core.rules.toml import line_of, rule_to_toml
from collage_core.toolchains.described import read_description
from tests.helpers.graphs import MINI_MNIST

OPS = st.lists(st.sampled_from(["Conv", "Relu", "com.microsoft.FusedConv"]), max_size=3, unique=True).map(tuple)
SOME_DTYPES = st.lists(st.sampled_from(sorted(DTYPES)), max_size=2).map(tuple)
COUNT = st.integers(1, 9)
BOUND = st.none() | COUNT
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
VALUE = (
    st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False, width=32) | st.sampled_from(["NOTSET", ">=7", "<2|8", "!=1", "*"])
)
WHERE = st.lists(
    st.builds(Condition, st.sampled_from(["Relu.alpha", "*.a"]), VALUE | st.lists(VALUE, max_size=3).map(tuple))
    | st.builds(Condition, st.sampled_from(["*.rank", "Relu.in0.rank"]), st.integers(0, 5) | st.just(">=2"))
    | st.builds(Condition, st.just("*.out0.shape"), st.lists(st.integers(0, 9) | st.just("*"), max_size=4).map(tuple)),
    max_size=3,
    unique_by=lambda condition: condition.subject,
).map(tuple)
PATTERN = st.sampled_from(["Relu", "Relu(Conv(*, *) | Add(Conv, *))", "Add(*, Relu(*))"])
BASE = (
    st.builds(OpPredicate, OPS.map(lambda ops: (*ops, "Relu") if ops else ops), SOME_DTYPES, WHERE)
    | st.builds(OpCallByKind, st.sampled_from("EBIRAO"), OPS)
    | st.builds(DFPattern, PATTERN, st.just("") | TEXT, SOME_DTYPES, WHERE)
    | st.builds(Explicit, st.lists(st.lists(TEXT, min_size=1, max_size=3).map(tuple), max_size=3).map(tuple))
    | st.just(Host())
    | st.builds(PatternTable, TEXT)
)


def _wrapped(inner: st.SearchStrategy[PartitionRule]) -> st.SearchStrategy[PartitionRule]:
    combiners = st.lists(
        st.sampled_from(["kind:A-B", "kind:E-E", "kind:A-A", "tuple_arg", "tuple_proj", "constant", "vertical", "horizontal"]), max_size=3
    ).map(tuple)
    return (
        st.builds(Composite, TEXT, inner)
        | st.builds(Primitive, inner)
        | st.builds(Folds, inner)
        | st.builds(Union, st.lists(inner, min_size=1, max_size=3).map(tuple))
        | st.builds(Combine, inner, combiners, BOUND, COUNT)
        | st.builds(OnlyValid, inner, BOUND, COUNT, st.booleans())
        | st.builds(Segments, inner, BOUND, COUNT)
    )


TREES = st.recursive(BASE, _wrapped, max_leaves=6)


@given(rule=TREES)
def test_every_tree_survives_json_and_toml(rule: PartitionRule) -> None:
    assert rule_from_json(json.loads(json.dumps(rule.to_json(), allow_nan=False)), "rule") == rule
    text = rule_to_toml(rule)
    assert rule_from_json(tomllib.loads(text)["rule"], "rule") == rule
    assert text.startswith(f'[rule]\nrule = "{rule.name}"')


def test_every_rule_is_in_the_trees_that_are_tried() -> None:
    joined = {Composite, Primitive, Union, Combine, OnlyValid, Folds, Segments}
    tried = {DFPattern, OpPredicate, OpCallByKind, Host, Explicit, PatternTable, *joined}
    assert set(RULES.values()) == tried


def test_a_tree_as_toml_reads_like_the_tree() -> None:
    rule = Primitive(Union((OpCallByKind(), Composite("dense", DFPattern("Add(MatMul, *)", where=(Condition("Add.rank", 2),))))))
    assert rule_to_toml(rule).splitlines() == [
        "[rule]",
        'rule = "primitive"',
        "",
        "[rule.of]",
        'rule = "union"',
        "",
        "[[rule.of.of]]",
        'rule = "op_call_by_kind"',
        'max_kind = "A"',
        "",
        "[[rule.of.of]]",
        'rule = "composite"',
        'name = "dense"',
        "",
        "[rule.of.of.of]",
        'rule = "df_pattern"',
        'match = "Add(MatMul, *)"',
        'where = {"Add.rank" = 2}',
    ]


FILE = """\
name = "mine"            # line 1
[cost]
launch_s = 1e-6
[rule]
rule = "only_valid"      # line 5
max_depth = 3
[[rule.of]]
rule = "op_predicate"
ops = ["Relu"]
[[rule.of]]              # line 10
rule = "combine"
combiners = ["kind:A-B"]
of = [
    {rule = "op_call_by_kind", max_kind = "A"},
    {rule = "df_pattern", match = "Relu(Conv)"},   # line 15
]
"""


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (("max_depth = 3", "max_depth = 0"), 6, "rule.max_depth is 0, it must be a whole number of at least 1"),
        (('"only_valid"', '"only_vaild"'), 5, "rule.rule is 'only_vaild', it must be a known rule"),
        (("max_depth = 3", "depth = 3"), 6, "rule.depth is 3, it must be left out: only_valid has the options"),
        (('["Relu"]', '["Rellu"]'), 9, "rule.of[0].ops is 'Rellu', it must be an operator of some ONNX opset"),
        (('["Relu"]', '["Re lu"]'), 9, "rule.of[0].ops is 'Re lu', it must be the name of an operator"),
        (('["Relu"]', '"Relu"'), 9, "rule.of[0].ops is 'Relu', it must be a list of strings"),
        (('"kind:A-B"', '"kind:A-Z"'), 12, "rule.of[1].combiners: unknown combiner 'kind:A-Z'"),
        (('max_kind = "A"', 'max_kind = "X"'), 14, "rule.of[1].of[0].max_kind is 'X', it must be one of the kinds E, B, I, R, A, O"),
        (("Relu(Conv)", "Relu(Conv"), 15, "rule.of[1].of[1].match: the pattern 'Relu(Conv' has nothing at its end, ')' was expected"),
        (("Relu(Conv)", "Relu(Cov)"), 15, "rule.of[1].of[1].match is 'Cov', it must be an operator of some ONNX opset"),
        (("launch_s = 1e-6", "launch_s = -1"), 3, "cost.launch_s is -1, it must be a positive, finite number"),
        (("[cost]", "[costs]"), 2, "costs is {'launch_s': 1e-06}, it must be left out"),
        (('ops = ["Relu"]', 'ops = ["Relu"]\nwhere = {"Relu.rank" = true}'), 10, "rule.of[0].where: where has True for 'Relu.rank'"),
        (('ops = ["Relu"]', 'ops = ["Relu"]\nwhere = {"Conv.rank" = 4}'), 7, "rule.of[0]: where names 'Conv.rank', and there is no Conv"),
    ],
)
def test_a_mistake_is_told_with_file_line_and_value(tmp_path: Path, change: tuple[str, str], line: int, message: str) -> None:
    path = tmp_path / "mine.toml"
    assert change[0] in FILE
    path.write_text(FILE.replace(*change, 1))
    with pytest.raises(CollageError) as caught:
        read_description(path)
    assert caught.value.message.startswith(f"{path}, line {line}: {message}")
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_a_near_miss_is_suggested(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(FILE.replace('"Relu"', '"Rellu"', 1))
    with pytest.raises(CollageError) as caught:
        read_description(path)
    assert caught.value.hint == "did you mean Relu?"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "is not TOML: Invalid value (at end of document)"),
        ('name = "a"\nname = "b"\n', "is not TOML: Cannot overwrite a value (at line 2, column 11)"),
        ("a = " + "[" * 5_000, "is not TOML:"),
        ('name = "a"\npattern = []', "line 2: pattern is [], it must be a list of at least one: write [[pattern]]"),
        ('name = "a"\npattern = [3]', "line 2: pattern[0] is 3, it must be a table"),
        ('name = "a"', "line 1: pattern is None, it must be given, or else a [rule] in its place"),
        ('name = "a"\n[rule]\nrule = "combine"', "line 2: rule.of is None, it must be given: combine needs it"),
        ('name = "a"\n[rule]\nrule = 3', "line 2: rule is {'rule': 3}, it must be a rule, such as"),
    ],
)
def test_a_file_that_is_no_description_is_told_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(CollageError) as caught:
        read_description(path)
    assert message in caught.value.message
    assert "\n" not in caught.value.message


def test_what_is_not_text_is_told(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CollageError, match="is not TOML"):
        read_description(path)


def test_rules_nested_too_deep_are_refused_and_not_a_crash() -> None:
    tree: dict[str, object] = {"rule": "host"}
    for _ in range(500):
        tree = {"rule": "primitive", "of": tree}
    with pytest.raises(CollageError, match="rule is nested deeper than 100 rules"):
        rule_from_json(tree, "rule")


def test_lines_are_found_by_key_and_among_equal_keys_by_value() -> None:
    text = 'a = 1\nof = [{rule = "x", n = 1},\n {rule = "y", n = 2}]\n[t."u v"]\nk = 3\n'
    assert line_of(text, "of[1].n", 2) == 3
    assert line_of(text, "of[0].n", 1) == 2
    assert line_of(text, "t.u v.k", 3) == 5
    assert line_of(text, "missing", None) == 1


def test_a_tree_that_finds_nothing_says_so() -> None:
    log = RejectionLog()
    tree = Primitive(OpPredicate(ops=("LSTM", "GRU")))
    assert list(find_with_note(tree, RuleContext(MINI_MNIST, "mine", log))) == []
    notes = [(item.nodes, item.stage, item.reason) for item in log.sample if not item.nodes]
    assert notes == [
        ((), "predicate", "the model has no node of the operators that mine takes: LSTM, GRU"),
        ((), "pattern", "the rules of mine find nothing in this model"),
    ]


def test_the_tables_know_every_operator_and_default_that_onnx_knows() -> None:
    """Defaults that differ between opsets, and the few whose absence means something else in an older one, are left out."""
    differing = {("Hardmax", "axis"), ("LogSoftmax", "axis"), ("Softmax", "axis"), ("GridSample", "mode")}
    older = {("Resize", "coordinate_transformation_mode"), ("Resize", "nearest_mode"), ("RoiAlign", "coordinate_transformation_mode")}
    schemas = [schema for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == ""]
    assert {schema.name for schema in schemas} <= OPERATORS
    latest = {schema.name: onnx.defs.get_schema(schema.name, "") for schema in schemas if onnx.defs.has(schema.name)}
    wanted = {}
    for op, schema in latest.items():
        for name, attribute in schema.attributes.items():
            if attribute.default_value.type and (op, name) not in differing | older:
                value = helper.get_attribute_value(attribute.default_value)
                wanted[op, name] = _plain(value)
    assert {key: DEFAULTS.get(key) for key in wanted} == {
        key: pytest.approx(value) if isinstance(value, float) else value for key, value in wanted.items()
    }
    for schema in schemas:
        for name, attribute in schema.attributes.items():
            if schema.since_version >= 7 and attribute.default_value.type and (schema.name, name) in DEFAULTS:
                assert DEFAULTS[schema.name, name] == pytest.approx(_plain(helper.get_attribute_value(attribute.default_value)))


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.decode() if isinstance(value, bytes) else value


def test_the_dtypes_are_those_that_a_model_may_have() -> None:
    assert set(_elem_types()) - {"undefined"} <= DTYPES
