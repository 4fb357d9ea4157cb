"""No sentence for people is the state of the program: nothing is decided by comparing a reason, a message or a hint."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

import pytest

from tests.helpers.paths import ROOT

TOLD = frozenset({"hint", "message", "reason", "why_not"})
"""Fields that hold sentences."""
SEARCHED = frozenset({"endswith", "find", "index", "match", "partition", "removeprefix", "removesuffix", "search", "split", "startswith"})
"""Methods that look into a text."""
PAGE = re.compile(
    r"\.(?:hint|message|reason)(?:\s*[!=]==?(?!=|\s*(?:\"\"|undefined|null))|\.(?:startsWith|endsWith|includes|match|search|split)\()"
)
OURS = ("collage_core", "collage_server", "tools")
_SHORTENED = "the message of one error is repeated in that of another, without its beginning"
ALLOWED = {
    "collage_server/sessions/from_folder.py: error.message.removeprefix(form.NOT_OPENED)": _SHORTENED,
    "collage_server/worker/run_folders.py: error.message.partition(': ')": _SHORTENED,
    "collage_server/worker/session_files.py: error.message.partition(': ')": _SHORTENED,
    "frontend/src/data/plan/why.ts: const same = group.rejections.find((one) => one.stage === rejection.stage && one.reason === "
    "rejection.reason);": "equal rejections are one line",
}
"""Expression → why nothing is decided by it."""


def _is_told(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in TOLD
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value in TOLD


def _is_empty(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in ("", None)


def _is_search(function: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(function, ast.Attribute) and function.attr in SEARCHED


def comparisons(source: str) -> Iterator[str]:
    """Yield the expressions that compare a sentence, or look into one; an assertion of a test decides nothing."""
    tree = ast.parse(source)
    asserted = {id(inner) for part in ast.walk(tree) if isinstance(part, ast.Assert) for inner in ast.walk(part)}
    for node in (node for node in ast.walk(tree) if id(node) not in asserted):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(_is_told, sides)) and not any(map(_is_empty, sides)):
                yield ast.unparse(node)
        elif isinstance(node, ast.Call) and _is_search(node.func) and any(map(_is_told, [node.func.value, *node.args])):
            yield ast.unparse(node)


def test_no_program_decides_by_a_sentence() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {text}"
        for room in OURS
        for path in sorted((ROOT / room).rglob("*.py"))
        for text in comparisons(path.read_text())
    ]
    assert [text for text in found if text not in ALLOWED] == []


def test_the_page_decides_by_no_sentence() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in sorted((ROOT / "frontend/src").rglob("*.ts*"))
        if ".test." not in path.name
        for line in path.read_text().splitlines()
        if PAGE.search(line)
    ]
    assert [text for text in found if text not in ALLOWED] == []


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ("cost.reason == NOT_MEASURED", True),
        ("'inside' in cost.reason", True),
        ("row['reason'] != 'late'", True),
        ("before.reason.startswith(INSIDE)", True),
        ("re.match('a', error.message)", True),
        ("cost.reason == ''", False),
        ("cost.source == 'bound'", False),
        ("row['reason'] or other", False),
        ("assert 'Conv' in caught.value.message", False),
    ],
)
def test_a_comparison_is_recognised(source: str, is_found: bool) -> None:
    assert bool(list(comparisons(source))) is is_found
