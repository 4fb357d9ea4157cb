"""docs/architecture.md names files and folders: each of them is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.paths import DOCS, ROOT

PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
ENDINGS = (".py", ".ts", ".tsx", ".js", ".md")
BUILT = {"static/dist"}
"""Folders that only a built page has."""


def named_paths(text: str) -> list[str]:
    """Return what `text` has between backticks that is a path: it has a slash or the ending of a file."""
    text = re.sub(r"(?s)```.*?```", "", text)
    found = dict.fromkeys(re.findall(r"`([\w./-]+)`", text))
    return [name for name in found if "/" in name or name.endswith(ENDINGS)]


def gone(text: str, root: Path) -> list[str]:
    """Return the paths that `text` names and that are neither in the repository nor, as rooms are named, in ``collage_core``."""
    return [
        name
        for name in named_paths(text)
        if name not in BUILT and not any((base / name).exists() for base in (root, root / "collage_core"))
    ]


def test_every_file_that_the_page_names_is_there() -> None:
    assert len(named_paths(PAGE)) > 10
    assert gone(PAGE, ROOT) == []


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("in `collage_core/graph/groups.py` and `graph/groups.py`", []),
        ("in `collage_core/graph/gone.py`", ["collage_core/graph/gone.py"]),
        ("the folder `server/gone`", ["server/gone"]),
        ("in `gone.py` or `gone.ts`", ["gone.py", "gone.ts"]),
        ("`collage.partition`, `DataflowGraph` and `--json` are no paths", []),
        ("`~/.local/share` is a user's", []),
        ("the page is built into `static/dist`", []),
        ("```\n`gone.py`\n```", []),
    ],
)
def test_a_file_that_is_gone_is_found(text: str, missing: list[str]) -> None:
    assert gone(text, ROOT) == missing
