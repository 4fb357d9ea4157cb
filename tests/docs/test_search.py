"""docs/search.md, "By hand": its commands run as they stand there on its files, and print what the page shows."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.helpers.command import brief_collage
from tests.helpers.paths import DOCS

BY_HAND = (DOCS / "search.md").read_text(encoding="utf-8").partition("## By hand\n")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"^```\w*\n(.*?)^```$", BY_HAND, re.M | re.S)
COSTS, HOOK, SESSION, QUESTIONS = BLOCKS[:4]


def shown() -> list[tuple[list[str], str]]:
    """Return the words of each command of the page, and the output that stands below it."""
    joined = SESSION.replace("\\\n", "")
    parts = [part.partition("\n") for part in re.split(r"^\$ collage ", joined, flags=re.M)[1:]]
    return [(shlex.split(command), output) for command, _, output in parts]


def test_its_commands_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("costs.json").write_text(COSTS)
    Path("hook.toml").write_text(HOOK)
    Path("constraints.json").write_text(json.dumps({"constraints": [{"kind": "veto", "op": "MatMul", "target": "hook"}]}))
    assert [words[0] for words, _ in shown()] == ["partition", "search"]
    for words, output in shown():
        done = brief_collage(tmp_path / "home", *words)
        assert done.returncode == 0, done.stderr
        assert [line.rstrip() for line in done.stdout.splitlines()] == output.splitlines()
    questions = QUESTIONS.splitlines()
    assert len(questions) == 4
    for line in questions:
        done = brief_collage(tmp_path / "home", *shlex.split(line.removeprefix("collage ")))
        assert (done.returncode, bool(done.stdout)) == (0, True), done.stderr
