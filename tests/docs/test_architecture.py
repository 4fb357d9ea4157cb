"""docs/architecture.md names files and folders: each of them is there, and holds what the walks through the code say of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.paths import DOCS, ROOT

PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
ENDINGS = (".py", ".ts", ".tsx", ".js", ".md")
BUILT = {"collage_server/static/dist"}
"""Folders that only a built page has."""


def named_paths(text: str) -> list[str]:
    """Return what `text` has between backticks that is a path: it has a slash or the ending of a file."""
    text = re.sub(r"(?s)```.*?```", "", text)
    found = dict.fromkeys(re.findall(r"`([\w./-]+)`", text))
    return [name for name in found if "/" in name or name.endswith(ENDINGS)]


def gone(text: str, root: Path) -> list[str]:
    """Return the paths that `text` names and that are neither in the repository nor, as rooms are named, in ``collage_core``.

    A room that is a file is named without its ending.
    """
    return [
        name
        for name in named_paths(text)
        if name not in BUILT
        and not any(path.exists() for base in (root, root / "collage_core") for path in (base / name, base / f"{name}.py"))
    ]


def test_every_file_that_the_page_names_is_there() -> None:
    assert len(named_paths(PAGE)) > 10
    assert gone(PAGE, ROOT) == []


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("in `collage_core/graph/groups.py` and `graph/groups.py`", []),
        ("the room `collage_server/services`, which is a file", []),
        ("in `collage_core/graph/gone.py`", ["collage_core/graph/gone.py"]),
        ("the folder `collage_server/gone`", ["collage_server/gone"]),
        ("in `gone.py` or `gone.ts`", ["gone.py", "gone.ts"]),
        ("`collage.partition`, `DataflowGraph` and `--json` are no paths", []),
        ("`~/.local/share` is a user's", []),
        ("the page is built into `collage_server/static/dist`", []),
        ("```\n`gone.py`\n```", []),
    ],
)
def test_a_file_that_is_gone_is_found(text: str, missing: list[str]) -> None:
    assert gone(text, ROOT) == missing


WALKS = PAGE.partition("## A run and a pin")[2].partition("\n## ")[0]
MOST_FILES_OF_A_PIN = 15
"""Half as many as a click on "pin" went through before there was this walk."""


def steps(text: str) -> list[tuple[str, str]]:
    """Return the rows of the tables in `text`: a file, and what it does."""
    return re.findall(r"^\| `([\w./]+)` \| (.+) \|$", text, re.MULTILINE)


def unknown_names(text: str, root: Path) -> list[str]:
    """Return the functions and classes that the rows in `text` name and that their files do not hold."""
    found = []
    for file, does in steps(text):
        code = (root / file).read_text(encoding="utf-8")
        names = [name.rpartition(".")[2] for name in re.findall(r"(?<!`)`([A-Za-z_][\w.]+)`(?!`)", does)]
        found += [f"{file}: {name}" for name in names if not re.search(rf"\b{name}\b", code)]
    return found


def test_every_function_on_a_walk_is_in_its_file() -> None:
    assert len(steps(WALKS)) > 30
    assert unknown_names(WALKS, ROOT) == []


def test_a_function_that_is_gone_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class Loop:\n    def turn(self): ...\n")
    assert unknown_names("| `a.py` | `Loop.turn`: ``one`` by one, for `Loop` |", tmp_path) == []
    assert unknown_names("| `a.py` | `Loop.run`, `turns`, as `b/c.py` has them |", tmp_path) == ["a.py: run", "a.py: turns"]


def test_a_pin_is_traced_through_few_files() -> None:
    pin = WALKS.partition("A pin, ")[2]
    files = {name for name in named_paths(pin) if name.endswith((".py", ".ts"))}
    assert 10 < len(files) <= MOST_FILES_OF_A_PIN
