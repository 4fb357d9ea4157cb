"""Every ``pip install`` that a text or a message names can work: no registry has this package, so it is installed from a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.paths import DOCS, ROOT

FOLDERS = ("collage_core", "docs", "examples", "frontend/src", "collage_server", "tests", "tools")
ENDINGS = (".css", ".html", ".ipynb", ".md", ".py", ".sh", ".toml", ".ts", ".tsx", ".yml")
OURS = re.compile(r"collage[-_](explorer|runtime)\b(?!\S*\.whl)")
"""The name of one of our packages, unless it is a file."""


def texts() -> Iterator[Path]:
    yield from (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile"))
    for folder in FOLDERS:
        yield from (path for path in (ROOT / folder).rglob("*") if path.suffix in ENDINGS)


def arguments(text: str) -> Iterator[list[str]]:
    """Yield the arguments of each ``pip install``, as far as its line shows them."""
    for rest in re.findall(r"pip install +([^`\n]*)", text):
        yield [word.strip("'\",;).") for word in rest.split(" #")[0].split()]


def commands(path: Path) -> list[list[str]]:
    return list(arguments(path.read_text()))


def test_no_command_installs_this_package_from_a_registry():
    own = ROOT / "tests" / "docs" / "test_install_commands.py"
    wrong = {str(path.relative_to(ROOT)): words for path in texts() for words in commands(path) if any(map(OURS.search, words))}
    assert wrong.pop(str(own.relative_to(ROOT)))
    assert wrong == {}


@pytest.mark.parametrize(
    "text", ["pip install collage-explorer", "`pip install 'collage-explorer[tvm]'`", "pip install -U collage_runtime[ncnn]"]
)
def test_such_a_command_would_be_seen(text: str):
    ((*_, last),) = arguments(text)
    assert OURS.search(last)


def test_the_readme_installs_the_file_that_make_wheel_builds():
    (words,) = [words for words in commands(ROOT / "README.md") if any(".whl" in word for word in words)]
    version = re.search(r'__version__ = "(.*)"', (ROOT / "collage_core" / "version.py").read_text())
    assert version
    assert words == [f"dist/collage_explorer-{version[1]}-py3-none-any.whl[ncnn,openvino,tvm]"]
    assert "--wheel-dir dist ." in (ROOT / "Makefile").read_text()


def test_packages_that_texts_name_are_explained():
    known = (DOCS / "dependencies.md").read_text()
    named = {
        re.split(r"[\[=<>]", word)[0] for path in (ROOT / "README.md", *DOCS.glob("*.md")) for words in commands(path) for word in words
    }
    names = {name for name in named if re.fullmatch(r"[a-z][a-z0-9_-]+", name)}
    assert names
    assert [name for name in sorted(names) if name not in known] == []
