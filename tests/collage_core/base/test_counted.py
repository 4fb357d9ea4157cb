"""`counted`: numbers agree with their nouns, in every text that the program prints about a plan."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from collage_core.base.counted import counted
from tests.helpers.paths import ROOT

ROOMS = ("cli", "drawings", "results")
"""The rooms that write texts for people."""

NO_NOUN = {"is", "has", "was", "as", "less", "its", "ms", "times", "bytes"}


@pytest.mark.parametrize(
    ("number", "noun", "many", "said"),
    [(0, "node", "", "0 nodes"), (1, "node", "", "1 node"), (2, "node", "", "2 nodes"), (2, "copy", "copies", "2 copies")],
)
def test_a_number_agrees_with_its_noun(number: int, noun: str, many: str, said: str) -> None:
    assert counted(number, noun, many) == said


def uncounted(code: str) -> list[str]:
    """Return the plurals that follow a number as they stand in the f-strings of `code`."""
    found = []
    for text in ast.walk(ast.parse(code)):
        if not isinstance(text, ast.JoinedStr):
            continue
        for value, after in zip(text.values, text.values[1:], strict=False):
            if not isinstance(value, ast.FormattedValue) or not isinstance(after, ast.Constant):
                continue
            noun = re.match(r" ([a-z]+s)\b", str(after.value))
            number = ast.unparse(value.value)
            if noun and noun[1] not in NO_NOUN and re.search(rf"\blen\(|\bsum\(|\bcounts?\b|\b{noun[1]}('\])?$", number):
                found.append(f"line {value.lineno}: {number} {noun[1]}")
    return found


FILES = sorted(file for room in ROOMS for file in (ROOT / "collage_core" / room).glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_texts_for_people_count(file: Path) -> None:
    assert uncounted(file.read_text(encoding="utf-8")) == [], f"use `counted` in {file.relative_to(ROOT)}, or say it otherwise"


def test_a_number_that_does_not_agree_is_found() -> None:
    assert uncounted('f"{len(nodes)} nodes, {count} is it, {row.nodes} nodes"') == ["line 1: len(nodes) nodes", "line 1: row.nodes nodes"]
    assert uncounted("f\"{counted(len(nodes), 'node')} on {name} parts\"") == []
