"""Broken rule files and problem files at the command line: exit status 2, and one clear line that says where and what."""

from __future__ import annotations

import copy
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collage_core.cli.run_options import seconds
from collage_core.errors import CollageError
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.data import rule_from_json
from collage_core.rules.rule import RuleContext, find_with_note
from collage_core.toolchains.described import read_description
from tests.helpers.command import in_this_process
from tests.helpers.graphs import MINI_MNIST
from tests.helpers.models import model_of, write

HOOK = """\
name = "hook"
style = "graph"
fusion = "arbitrary"

[[pattern]]
label = "conv_relu"
match = "Relu(Add(Conv(*, *), *))"
dtypes = ["float32"]

[[pattern]]
label = "pool"
match = "MaxPool"
where = {"MaxPool.strides" = ["*", "*"]}

[cost]
launch_s = 2e-6
"""
TREE = """\
name = "hook"

[rule]
rule = "only_valid"
max_depth = 3
max_exits = 1

[rule.of]
rule = "combine"
combiners = [
  "kind:A-B",
  "kind:B-R",
]

[[rule.of.of]]
rule = "op_call_by_kind"

[[rule.of.of]]
rule = "op_predicate"
ops = [
  "Conv",
  "Relu",
]
"""


def candidates(capsys: pytest.CaptureFixture[str], path: Path) -> tuple[int, str, str]:
    return in_this_process(capsys, "candidates", "mini_mnist", "--no-fold", "--targets", "hook", "--toolchain", path)


@pytest.mark.parametrize(
    ("text", "change", "line", "message"),
    [
        (TREE, ('"combine"', '"combin"'), 9, "rule.of.rule is 'combin', it must be a known rule"),
        (TREE, ("max_exits", "max_exit"), 6, "rule.max_exit is 1, it must be left out: only_valid has the options of, max_depth,"),
        (TREE, ("max_depth = 3", "max_depth = 0"), 5, "rule.max_depth is 0, it must be a whole number of at least 1"),
        (TREE, ("max_depth = 3", "max_depth = -1"), 5, "rule.max_depth is -1, it must be a whole number of at least 1"),
        (TREE, ("max_depth = 3", "max_depth = true"), 5, "rule.max_depth is True, it must be a whole number of at least 1"),
        (TREE, ("max_depth = 3", 'max_depth = "3"'), 5, "rule.max_depth is '3', it must be a whole number of at least 1"),
        (TREE, ('"Relu"', '"Rellu"'), 22, "rule.of.of[1].ops is 'Rellu', it must be an operator of some ONNX opset"),
        (TREE, ('"kind:B-R"', '"kind:R-Q"'), 10, "rule.of.combiners: unknown combiner 'kind:R-Q'"),
        (TREE, ("[[rule.of.of]]", "[[rule.of.off]]"), 15, "rule.of.off is [{'rule': 'op_call_by_kind'}], it must be left out: combine has"),
        (
            TREE,
            ('name = "hook"', 'name = "hook"\n[[pattern]]\nmatch = "Relu"'),
            2,
            "pattern is [{'match': 'Relu'}], it must be left out where",
        ),
        (
            HOOK,
            ('"Relu(Add(', '"Relu(Add(('),
            7,
            "pattern[0].match: the pattern 'Relu(Add((Conv(*, *), *))' has ',' at character 21, ')' was",
        ),
        (HOOK, ('"MaxPool"', '"MaxPool)"'), 12, "pattern[1].match: the pattern 'MaxPool)' has ')' at character 8, the end was expected"),
        (HOOK, ('"MaxPool"', '"Max Pool"'), 12, "pattern[1].match: the pattern 'Max Pool' has 'Pool' at character 5, the end was expected"),
        (HOOK, ('"MaxPool"', '"Max$Pool"'), 12, "pattern[1].match: the pattern 'Max$Pool' has '$' at character 4"),
        (HOOK, ('"MaxPool"', '"*"'), 12, "pattern[1].match: the pattern '*' matches anything and holds nothing"),
        (HOOK, ('"MaxPool"', '""'), 12, "pattern[1].match is '', it must be a string that is not empty"),
        (HOOK, ('"MaxPool"', '"MaxPoool"'), 12, "pattern[1].match is 'MaxPoool', it must be an operator of some ONNX opset"),
        (HOOK, ('["float32"]', '["float23"]'), 8, "pattern[0].dtypes is 'float23', it must be a dtype such as float32"),
        (HOOK, ("MaxPool.strides", "MaxPool"), 13, "pattern[1].where: where names 'MaxPool', which is no OPERATOR.ATTRIBUTE"),
        (HOOK, ("MaxPool.strides", "Conv.strides"), 10, "pattern[1]: where names 'Conv.strides', and there is no Conv in the pattern"),
        (HOOK, ("label", "lable"), 6, "pattern[0].lable is 'conv_relu', it must be left out: df_pattern has the options match, label,"),
        (HOOK, ('"graph"', '"graf"'), 2, "style is 'graf', it must be one of graph, library"),
        (HOOK, ('"arbitrary"', '"all"'), 3, "fusion is 'all', it must be one of none, tvm, arbitrary"),
        (HOOK, ("2e-6", "nan"), 16, "cost.launch_s is nan, it must be a positive, finite number"),
        (HOOK, ("launch_s", "lunch_s"), 16, "cost.lunch_s is 2e-06, it must be left out: only launch_s, flops_per_s, bytes_per_s"),
        (HOOK, ('"hook"', '"host"'), 1, "name is 'host', it must be a word, to be named in --targets: letters, digits"),
        (HOOK, ('"hook"', '"a->b"'), 1, "name is 'a->b', it must be a word, to be named in --targets: letters, digits"),
        (HOOK, ('"hook"', '" hook"'), 1, "name is ' hook', it must be a word, to be named in --targets: letters, digits"),
    ],
)
def test_a_mistake_in_a_rule_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, change: tuple[str, str], line: int, message: str
) -> None:
    path = tmp_path / "hook.toml"
    assert change[0] in text
    path.write_text(text.replace(*change, 1))
    status, out, err = candidates(capsys, path)
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {path}, line {line}: {message}")
    assert re.fullmatch(r"error: [^\n]+\nhint: [^\n]+\n", err)


@pytest.mark.parametrize("text", [HOOK, TREE])
def test_the_files_that_are_spoilt_here_are_right_as_they_stand(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str) -> None:
    path = tmp_path / "hook.toml"
    path.write_text(text)
    status, out, _ = candidates(capsys, path)
    assert status == 0
    assert " hook " in out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"name = ", "is not TOML: Invalid value (at end of document)"),
        (b'name = "hook"\npattern = [1', "is not TOML: Unclosed array (at end of document)"),
        (b'name = "hook"\nname = "hook"\n', "is not TOML: Cannot overwrite a value (at line 2, column 14)"),
        (b"\xff\xfe", "is not TOML: 'utf-8' codec can't decode byte 0xff in position 0"),
        (b"a = " + b"[" * 50_000, "is not TOML: "),
    ],
)
def test_a_rule_file_that_does_not_read(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "hook.toml"
    path.write_bytes(content)
    status, out, err = candidates(capsys, path)
    assert (status, out) == (2, "")
    assert f"{str(path)!r} {words}" in err
    assert re.fullmatch(r"error: [^\n]+\nhint: [^\n]+\n", err)


@pytest.mark.parametrize(("name", "words"), [("nowhere.toml", "No such file or directory"), (".", "Is a directory")])
def test_a_rule_file_that_is_none(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, words: str) -> None:
    status, out, err = candidates(capsys, tmp_path / name)
    assert (status, out) == (2, "")
    assert err == f"error: cannot read the toolchain {str(tmp_path / name)!r}: {words}\nhint: give a TOML file\n"


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ('[rule]\nrule = "explicit"\nsets = []\n', 2),
        ('\n[rule]\nrule = "op_predicate"\nops = ["LSTM"]\n', 3),
        ('[[pattern]]\nmatch = "Conv(Relu)"\n', 2),
        ('[cost]\nlaunch_s = 1\n[rule]\nrule = "primitive"\n[rule.of]\nrule = "host"\n', 4),
    ],
)
def test_a_tree_that_yields_nothing_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path, rule: str, line: int) -> None:
    path = tmp_path / "hook.toml"
    path.write_text(f'name = "hook"\n{rule}')
    status, _, err = candidates(capsys, path)
    assert status == 0, "another model may have what it looks for"
    assert [text for text in err.splitlines() if "the rules of hook find nothing in this model" in text]
    assert read_description(path).source == f"{path}, line {line}"


def test_a_long_value_is_quoted_in_part(tmp_path: Path) -> None:
    path = tmp_path / "hook.toml"
    for text in (HOOK.replace('"MaxPool"', f'"{"Relu(" * 5_000}"'), TREE.replace('"Relu"', f'"{"Relu" * 5_000}"')):
        path.write_text(text)
        with pytest.raises(CollageError) as caught:
            read_description(path)
        assert len(caught.value.message) < 500 + len(str(path))


VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 1.5, 10**30, float("nan"), "", "*", "Relu", "Relu(Conv", "host", "E", "kind:A-B", [], {}, [[]], ["x"]]
)


def _spots(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(spot for key, value in inner for spot in _spots(value, (*path, key)))]


@st.composite
def spoilt_trees(draw: st.DrawFn) -> Any:
    """A rule tree with a few values replaced, left out or added."""
    tree: Any = {
        "rule": "only_valid",
        "max_depth": 2,
        "of": {
            "rule": "combine",
            "combiners": ["kind:A-B", "vertical"],
            "limit": 50,
            "of": [
                {"rule": "df_pattern", "match": "Relu(Conv)", "where": {"Conv.group": 1}},
                {"rule": "op_predicate", "ops": ["Conv"], "dtypes": ["float32"]},
                {"rule": "segments", "of": {"rule": "op_call_by_kind", "max_kind": "A"}},
            ],
        },
    }
    tree = copy.deepcopy(tree)
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from([path for path in _spots(tree) if path] or [("rule",)]))
        holder = tree
        for step in way:
            holder = holder[step]
        what = draw(st.sampled_from(["replace", "leave out", "add"]))
        if what == "leave out":
            del holder[last]
        elif what == "add" and isinstance(holder, dict):
            holder[draw(st.sampled_from(["of", "sets", "limit", "label", "where", "name", "max_exits"]))] = copy.deepcopy(draw(VALUES))
        else:
            holder[last] = copy.deepcopy(draw(VALUES))
    return tree


@given(tree=spoilt_trees())
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_spoilt_tree_finds_candidates_or_gets_one_line(tree: Any) -> None:
    log, found, mistake = RejectionLog(), 0, None
    try:
        rule = rule_from_json(tree, "rule")
        assert rule_from_json(rule.to_json(), "rule") == rule
        found = len(list(find_with_note(rule, RuleContext(MINI_MNIST, "hook", log))))
    except CollageError as error:
        mistake = error
    if mistake is None:
        said = [item.reason for item in log.sample if not item.nodes]
        assert found or "the rules of hook find nothing in this model" in said
        return
    assert mistake.message.startswith(("rule", "the rule"))
    assert "\n" not in mistake.message
    assert mistake.hint


PROBLEM = {
    "schema": 1,
    "nodes": 2,
    "edges": [[0, 1, 4]],
    "candidates": [{"nodes": [0], "target": "a", "cost_s": 1.0}, {"nodes": [1], "target": "a", "cost_s": 1.0}],
}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (json.dumps({**PROBLEM, "edges": [[0, 1, 4], [1, 0, 4]]}), "the edges make a cycle through the nodes [0, 1]"),
        (json.dumps(PROBLEM).replace("1.0", "NaN", 1), "candidates[0].cost_s is nan, it must be a finite number of seconds"),
        (json.dumps(PROBLEM).replace("1.0", "-Infinity", 1), "candidates[0].cost_s is -inf, it must be a finite number of seconds"),
        (json.dumps(PROBLEM).replace("1.0", "1e999", 1), "candidates[0].cost_s is inf, it must be a finite number of seconds"),
        (json.dumps(PROBLEM).replace("1.0", "-1", 1), "candidates[0].cost_s is -1, it must be a finite number of seconds"),
        (json.dumps(PROBLEM).replace("[1]", "[2]"), "candidates[1].nodes is 2, it must be nodes from 0 to 1"),
        (json.dumps({**PROBLEM, "constraints": [{"kind": "pin", "node": 5}]}), "constraints[0].target is None, it must be the target to"),
        (json.dumps({**PROBLEM, "constraints": {}}), "constraints is {}, it must be a list"),
        ('{"schema": 1,\n "nodes": 2,\n "edges" []}', "is not JSON: Expecting ':' delimiter: line 3 column 10 (char 36)"),
        ("", "is not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("[" * 100_000, "is nested too deeply"),
        ('{"nodes": ' + "9" * 5_000 + "}", "is not JSON: Exceeds the limit (4300 digits)"),
    ],
)
def test_a_mistake_in_a_problem_file(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "problem.json"
    path.write_text(text)
    status, out, err = in_this_process(capsys, "search", path, "--json")
    assert (status, out) == (2, "")
    assert words in err
    assert re.fullmatch(r"error: [^\n]+\nhint: [^\n]+\n", err)


def test_a_problem_file_that_is_no_text_or_no_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "problem.json").write_bytes(b"\xff\xfe{}")
    for path, words in (
        (tmp_path / "problem.json", "is not JSON: 'utf-8' codec"),
        (tmp_path, "Is a directory"),
        (tmp_path / "no", "No such"),
    ):
        status, out, err = in_this_process(capsys, "search", path, "--json")
        assert (status, out) == (2, "")
        assert f"{str(path)!r}" in err
        assert words in err


def test_a_node_that_nobody_covers_and_constraints_that_collide_are_in_the_document(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "problem.json"
    path.write_text(json.dumps({**PROBLEM, "nodes": 3}))
    status, out, err = in_this_process(capsys, "search", path, "--json")
    document = json.loads(out)
    assert (status, document["plan"], document["conflict"], document["uncovered"]) == (3, None, [], [2])
    assert err.startswith("error: no plan exists: ")
    path.write_text(
        json.dumps({**PROBLEM, "constraints": [{"kind": "cut", "between": [0, 1]}, {"kind": "veto", "node": 0, "target": "a"}]})
    )
    status, out, _ = in_this_process(capsys, "search", path, "--json")
    document = json.loads(out)
    assert (status, document["plan"], document["conflict"], document["uncovered"]) == (3, None, [1], [0])


@pytest.mark.parametrize(("text", "wanted_s"), [("60", 60.0), ("60s", 60.0), ("2m", 120.0), ("0.5m", 30.0)])
def test_a_time_is_in_seconds_unless_it_says_so(text: str, wanted_s: float) -> None:
    assert seconds(text, "--budget") == wanted_s


@pytest.mark.parametrize("text", ["", "s", "1h", "2 m s", "soon"])
def test_what_is_no_time_is_a_mistake(text: str) -> None:
    with pytest.raises(CollageError, match=r"--budget is .*, it must be a time"):
        seconds(text, "--budget")


BORDERS = [
    ("candidates", "FILE", "--targets", "hook"),
    ("candidates", "mini_mnist", "--targets", "onnxruntime", "--constraints", "FILE"),
    ("candidates", "mini_mnist", "--targets", "hook", "--toolchain", "FILE"),
    ("partition", "mini_mnist", "--targets", "onnxruntime", "--costs", "mock:FILE"),
    ("partition", "mini_mnist", "--targets", "onnxruntime", "--costs", "replay:FILE"),
    ("partition", "mini_mnist", "--targets", "onnxruntime", "--inputs", "FILE", "--costs", "roofline"),
    ("search", "FILE"),
    ("explain", "FILE"),
    ("export", "FILE", "--as", "dot"),
    ("apply", "FILE", "mini_mnist", "--out", "OUT"),
    ("run", "FILE", "--inputs", "FILE"),
    ("costs", "import", "FILE"),
]


@pytest.mark.parametrize("arguments", BORDERS, ids=lambda arguments: " ".join(arguments[:1] + arguments[-2:]))
def test_a_pipe_or_a_name_without_end_is_a_clear_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """A pipe without a writer would be waited for without end."""
    os.mkfifo(tmp_path / "pipe")
    for name in (str(tmp_path / "pipe"), "x" * 5000, f"~nobody-here/{'y' * 5000}"):
        given = [argument.replace("FILE", name).replace("OUT", str(tmp_path / "out")) for argument in arguments]
        status, out, err = in_this_process(capsys, *given)
        assert (status, out) == (2, ""), err
        assert re.fullmatch(r"(note: batch was not given and is 1\n)?(onnxruntime: [^\n]+\n)?error: [^\n]{1,700}\n(hint: [^\n]+\n)?", err)


def test_a_user_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = in_this_process(capsys, "costs", "show", "--db", "~nobody-here/costs.sqlite3")
    assert (status, out) == (2, "")
    assert err.startswith("error: '~nobody-here/costs.sqlite3' begins with '~nobody-here', and no user of that name has a folder\n")


@pytest.mark.parametrize("command", [("candidates",), ("partition", "--dry-run"), ("partition", "--costs", "roofline")])
@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        ({"kind": "pin", "nodes": ["none"], "target": "onnxruntime"}, "constraints[0].nodes"),
        ({"kind": "veto", "target": "nothing"}, "constraints[0].target is 'nothing'"),
        ("veto", "constraints[0] is 'veto', it must be an object"),
    ],
)
def test_every_command_checks_constraints(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: tuple[str, ...], constraint: Any, words: str
) -> None:
    path = tmp_path / "constraints.json"
    path.write_text(json.dumps({"constraints": [constraint]}))
    first, *more = command
    status, out, err = in_this_process(capsys, first, "mini_mnist", "--targets", "onnxruntime", "--constraints", path, *more)
    assert (status, out) == (2, "")
    assert f"{path}, line 1: {words}" in err.splitlines()[-2]


@pytest.mark.long
def test_names_of_a_model_move_no_cursor(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    odd = "evil\x1b]0;owned\x07\u202egnp"
    model = model_of("g (float[1,4] x) => (float[1,4] y) { [one] a = Relu(x) [two] y = Sin(a) }")
    model.graph.node[0].name, model.graph.node[1].op_type = odd, "Sin"
    path = write(tmp_path, model)
    constraints = tmp_path / "constraints.json"
    constraints.write_text(json.dumps({"constraints": [{"kind": "pin", "nodes": [odd], "target": "none"}]}))
    out = tmp_path / "out"
    for arguments in (
        ("candidates", path, "--targets", "onnxruntime"),
        ("candidates", path, "--targets", "onnxruntime", "--constraints", constraints),
        ("partition", path, "--targets", "onnxruntime", "--costs", f"mock:{_mock(tmp_path)}", "--out", out),
        ("explain", out, "--node", odd),
    ):
        status, *texts = in_this_process(capsys, *arguments)
        assert not set("".join(texts)) & set("\x1b\x07\u202e"), arguments
    assert "evil\\x1b]0;owned\\x07\\u202egnp" in texts[0]
    assert status == 0


def _mock(folder: Path) -> Path:
    path = folder / "mock.json"
    path.write_text(json.dumps({"targets": {"onnxruntime": {"op_s": 1}}}))
    return path
