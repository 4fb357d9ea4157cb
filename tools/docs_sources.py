"""The sources of the documentation site: the hand-written pages with their links made to fit, and the reference pages made from the code.

An empty folder enters; filled, it leaves, and Sphinx builds the site from it. The hand-written pages stay as they are for a code host. On
the site a link to a file of the repository that is no page leads to a page that shows the file.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from docs_commands import command_page
from docs_formats import PLAN_SCHEMA, format_page, message_page, plan_schema
from docs_python import python_page

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SECTIONS = {
    "use": ("Use", ("tutorial", "models", "files", "shapes", "survey", "deploy", "security", "examples")),
    "reference": ("Reference", ("command-line", "python", "file-formats", "api", "messages")),
    "how-it-works": ("How it works", ("rules", "searching", "measuring", "values", "costs", "devices", "fleet", "tvm", "benchmarks")),
    "develop": ("Develop", ("toolchains", "architecture", "dependencies", "contributing", "changelog")),
}
"""Name of a section's page → its title, and its pages. Sphinx complains of a page that is in none."""
NAMES = {
    "README.md": "index",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "examples/README.md": "examples",
    "docs/search.md": "searching",
}
"""Hand-written pages → their names on the site; one of ``docs`` keeps its own unless given. ``search`` is Sphinx's, for what it finds."""
FOLDERS = {"docs": "use", "examples": "examples", "collage_server/messages": "messages"}
"""Folders that pages link to → the page that stands for them."""
FILES = "files-of-the-repository"
"""Folder of the pages that show a file."""
_LANGUAGES = {".py": "python", ".toml": "toml", ".yml": "yaml", ".json": "json"}
_LINK = re.compile(r"(`+[^`]*`+)|\]\(([^)\s]+)\)")


class Sources:
    """Writes the sources into `folder`."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._names = {f"docs/{path.name}": path.stem for path in sorted(DOCS.glob("*.md"))} | NAMES
        self._shown: dict[str, None] = {}

    def write(self) -> None:
        """Write every page, the pictures, and what is only copied."""
        for path, name in self._names.items():
            text = relinked((ROOT / path).read_text(encoding="utf-8"), path, name, self._page_of)
            self._write(name, f"{text}\n{front_toctree()}" if name == "index" else text)
        for name, text in (("command-line", command_page()), ("python", python_page()), ("file-formats", format_page())):
            self._write(name, text)
        self._write("messages", message_page())
        for name, (title, below) in SECTIONS.items():
            self._write(name, f"# {title}\n\n{toctree(below, 'maxdepth: 2')}")
        for path in self._shown:
            self._write(f"{FILES}/{path}", file_page(path))
        shutil.copytree(DOCS / "images", self.folder / "images")
        (self.folder / PLAN_SCHEMA).write_text(plan_schema(), encoding="utf-8")

    def _write(self, name: str, text: str) -> None:
        path = self.folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _page_of(self, path: str) -> str | None:
        """Return the file among the sources that a link to `path` of the repository leads to; None where there is no such path."""
        if path.startswith("docs/images/"):
            return path.removeprefix("docs/")
        name = self._names.get(path) or FOLDERS.get(path)
        if name is not None:
            return f"{name}.md"
        if not (ROOT / path).exists():
            return None
        self._shown[path] = None
        return f"{FILES}/{path}.md"


def relinked(text: str, path: str, name: str, page_of: Callable[[str], str | None]) -> str:
    """Return a page of the repository with the links that it has as a page of the site.

    Args:
        path: Of the page in the repository.
        name: Of the page on the site.
        page_of: Path in the repository → file among the sources, or None.
    """
    beside = PurePosixPath(path).parent

    def changed(found: re.Match[str]) -> str:
        target = found[2]
        if target is None or re.match(r"#|[a-z]+:", target):
            return found[0]
        bare, hash_sign, heading = target.partition("#")
        page = page_of(os.path.normpath(beside / bare))
        return found[0] if page is None else f"]({os.path.relpath(page, PurePosixPath(name).parent)}{hash_sign}{heading})"

    return "".join(line if is_code else _LINK.sub(changed, line) for line, is_code in lines_of(text))


def lines_of(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line with its end, and whether it is within a fence of code."""
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = re.match(r" *(`{3,}|~{3,})", line)
        if fence:
            yield line, True
            fence = "" if mark and line.strip() == fence else fence
        else:
            fence = mark[1] if mark else ""
            yield line, bool(fence)


def toctree(names: tuple[str, ...], *options: str) -> str:
    """Return the directive that lists these pages."""
    return "\n".join(["```{toctree}", *(f":{option}" for option in options), "", *names, "```", ""])


def front_toctree() -> str:
    """Return what the front page has beyond the README: the sections, which the theme shows at the top."""
    return toctree(tuple(SECTIONS), "hidden:")


def file_page(path: str) -> str:
    """Return the page that shows a file of the repository, or all files of a folder."""
    found = ROOT / path
    files = sorted(one for one in found.rglob("*") if one.is_file() and "__pycache__" not in one.parts) if found.is_dir() else [found]
    parts = ["---\norphan: true\n---", f"# `{path}`"]
    for file in files:
        parts += [f"## `{file.relative_to(ROOT).as_posix()}`"] if found.is_dir() else []
        parts.append(f"`````{_LANGUAGES.get(file.suffix, 'text')}\n{file.read_text(encoding='utf-8').rstrip()}\n`````")
    return "\n\n".join(parts) + "\n"
