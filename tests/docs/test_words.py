"""One word for one thing: words that the glossary has replaced are gone, and nothing refers to a text that a reader cannot open."""

from __future__ import annotations

import re

import pytest

from tests.helpers.paths import ROOT
from tests.helpers.words import SKIPPED, Exceptions, Line, Replaced, all_lines, code_of, counts, glossary, left, lines_of, without_replaced

ALLOWED: Exceptions = {
    ("tools/find_python.sh", "echo"): "the shell's command",
    ("tests/plugins/worker_functions.py", "echo"): "a function that gives back what it is given",
    ("tests/collage_core/base/isolation/test_worker.py", "echo"): "that function",
}
"""(File or folder, replaced word) → the reason why it may stand there."""

UNREADABLE = {
    r"\bSeeds?:|\bas the seeds\b": "the documents that the project grew from are not in the repository: name the RFC and its section",
    r"\(design\b|\bDesign, |\bthe design\b": "there is no design document here: name a page of docs/",
    r"\brequirements? \d|\bissues? #?\d|\bitems? \d": "the list is not in the repository: say what is asked for",
}
"""References that a reader cannot follow → what to write instead."""
NUMBERED = {"tests/features.md", "tests/docs/test_features.py"}
"""The page that lists the items by their numbers, and its test."""


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    return list(all_lines())


def test_no_replaced_word_is_left(lines: list[Line]) -> None:
    found = left(glossary((ROOT / "CONTRIBUTING.md").read_text()), lines, ALLOWED)
    listed = "\n".join(f"{line.file}:{line.number}: {word.word!r}, say {word.better}: {line.text.strip()}" for word, line in found)
    assert not found, f"\n{counts(found)}\n\n{listed}"


def unreadable(lines: list[Line]) -> list[str]:
    """Return where a text refers to something that is not in the repository, and what to write instead."""
    return [
        f"{line.file}:{line.number}: {better}: {line.text.strip()}"
        for line in lines
        if line.file not in NUMBERED
        for pattern, better in UNREADABLE.items()
        if re.search(pattern, line.text)
    ]


def test_no_reference_leads_nowhere(lines: list[Line]) -> None:
    assert not unreadable(lines), "\n" + "\n".join(unreadable(lines))


QUESTION = re.compile(r'(?:"""|/\*\* )(?:What|Where|Whether) ')
"""The beginning of a docstring whose subject is a clause: "What a pass did" for "Record of a pass"."""


def test_docstrings_begin_with_a_noun_or_a_verb(lines: list[Line]) -> None:
    found = [f"{line.file}:{line.number}: {line.text.strip()}" for line in lines if QUESTION.search(line.text)]
    assert not found, "\n" + "\n".join(found)


def test_a_docstring_that_begins_with_a_clause_is_found() -> None:
    assert QUESTION.search('    """Whether it is so."""')
    assert QUESTION.search("/** What crosses. */")
    assert not QUESTION.search('    """Return whether it is so."""')


ON_THE_PAGE = (
    "dynamic dimension", "fusing adjacent partitions", "Re-timing", "round", "skipped (cannot win)", "transfer", "stopped early",
    "tie broken by priority", "is expanded", "is improved", "objective", '"default"', '"inherit"', "show unchanged", "re-planned",
)  # fmt: skip
"""Words of the field that users read on the page."""


def test_the_page_says_the_words_of_the_field(lines: list[Line]) -> None:
    shown = [line for line in lines if line.file.startswith("frontend/src/") and ".test." not in line.file]
    texts = "\n".join(line.text for line in shown if not line.text.lstrip().startswith(("//", "/*", "*")))
    assert [word for word in ON_THE_PAGE if word not in texts] == []


def test_what_is_skipped_is_there() -> None:
    assert [name for name in SKIPPED if not (ROOT / name).is_file()] == []


REPLACED = [Replaced("hand-over", False, "transition"), Replaced("sort_of", True, "computation key"), Replaced("place", True, "index")]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.py", "cost = 1  # A hand-over is free.\n", ["hand-over"]),
        ("a.py", '"""Hand-overs,\nand the second hand over."""\n', ["hand-over", "hand-over"]),
        ("a.py", "def test_a_hand_over_is_free(): ...\n", ["hand-over"]),
        ("a.py", "handOver = handed = over = shorthand\n", ["hand-over"]),
        ("a.py", "key = sort_of(candidate)\n", ["sort_of"]),
        ("a.py", '"""Gives `sort_of` and a sort of answer; sort_of in prose."""\n', ["sort_of"]),
        ("a.py", "key = resort_of(sort_offer)\n", []),
        ("a.py", "for place, node in enumerate(nodes): ...\n", ["place"]),
        ("a.py", "# the place where it was placed\ncover.place(state)\n", []),
        ("a.ts", "const place = 1; // in this place\nconst at = 'a hand-over';\n", ["place", "hand-over"]),
        ("a.ts", "const at = `hand-over ${place} in a place`;\n", ["place", "hand-over"]),
        ("Makefile", "all: ## in this place\n\t@true || echo place\n", ["place"]),
        ("a.md", "In this place `place` is a name.\n", ["place"]),
        ("a.md", "```\nplace = 1\n```\na hand-over\n", ["place", "hand-over"]),
    ],
)
def test_a_replaced_word_is_found(name: str, text: str, words: list[str]) -> None:
    assert [word.word for word, _ in left(REPLACED, lines_of(name, text), {})] == words


def test_what_is_found_says_where_and_how_often_and_exceptions_are_for_one_file() -> None:
    found = left(REPLACED, lines_of("base/a.py", "place = 1\nother = 2\nplace = 3  # a hand-over\n"), {})
    assert [(word.word, line.file, line.number) for word, line in found] == [
        ("place", "base/a.py", 1),
        ("place", "base/a.py", 3),
        ("hand-over", "base/a.py", 3),
    ]
    assert counts(found).splitlines()[0].split() == ["2", "place", "(say:", "index)"]
    for within in ("base/a.py", "base"):
        assert len(left(REPLACED, lines_of("base/a.py", "place = 1  # a hand-over\n"), {(within, "place"): "a reason"})) == 1
    assert len(left(REPLACED, lines_of("based/a.py", "place = 1\n"), {("base", "place"): "a reason"})) == 1


def test_a_glossary_gives_its_third_column_and_is_not_searched_itself() -> None:
    text = "text\n## Glossary\n\n| name | is | instead of |\n|---|---|---|\n| index | a `place` | `place`, sitting |\n| plan | one | |\n"
    assert glossary(text) == [Replaced("place", True, "index"), Replaced("sitting", False, "index")]
    assert "sitting" not in without_replaced("CONTRIBUTING.md", text)
    assert "a `place`" in without_replaced("CONTRIBUTING.md", text)
    assert without_replaced("other.md", text) == text


def test_code_is_told_from_prose() -> None:
    assert code_of(".py", "a = 'b'  # c `d`\n") == "a =          `d`\n"
    assert code_of(".ts", 'a = "b"; // c\n') == "a =    ;     \n"
    assert code_of(".ts", "a = `b ${c} d ${e}`;\n") == "a = `  ${c}   ${e}`;\n"
    assert code_of(".css", "/* a */ b {}\n") == "        b {}\n"


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("Seeds: RFC 62 (0.81)", True),
        ("as it says (design, `partition`)", True),
        ("Design, room `toolchains`", True),
        ("made up as the design says", True),
        ("as the seeds find it", True),
        ("see requirement 12", True),
        ("as issue #13 asks", True),
        ("RFC 62 (Collage), 'SubGraph'", False),
        ("a well designed toolchain", False),
    ],
)
def test_a_reference_that_leads_nowhere_is_found(text: str, is_found: bool) -> None:
    assert bool(unreadable([Line("collage_core/a.py", 1, text, "", text)])) is is_found
    assert not unreadable([Line("tests/features.md", 1, text, "", text)])
