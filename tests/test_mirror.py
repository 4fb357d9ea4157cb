"""The tests mirror the sources: `collage_core/search/solve.py` is tested in `tests/collage_core/search/test_solve.py`.

If the test of a file is called otherwise, a line of the README of the folder in `tests` names it: ``- `file.py`: `tests/…/test_….py```.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

TESTS = ROOT / "tests"
MIRRORED = ("collage_core", "collage_server")


def folders(top: Path) -> list[Path]:
    """`top` and the folders in it that hold Python files, from the root of the repository."""
    return sorted({file.parent.relative_to(ROOT) for file in top.rglob("*.py")})


def elsewhere(folder: Path) -> dict[str, str]:
    """Return the table in the README of a folder's tests: file → test."""
    readme = TESTS / folder / "README.md"
    return dict(re.findall(r"^- `(\w+\.py)`: `(\S+)`$", readme.read_text(), re.MULTILINE)) if readme.exists() else {}


def own(folder: Path) -> set[str]:
    """The files of a folder that have a test of their name."""
    files = (file.name for file in (ROOT / folder).glob("*.py"))
    return {name for name in files if (TESTS / folder / f"test_{name}").exists()}


SOURCES = [folder for name in MIRRORED for folder in folders(ROOT / name)]


@pytest.mark.parametrize("folder", SOURCES, ids=str)
def test_every_file_has_a_test_of_its_name_or_a_line_that_names_it(folder: Path):
    files = {file.name for file in (ROOT / folder).glob("*.py")} - {"__init__.py"}
    missing = sorted(files - own(folder) - elsewhere(folder).keys())
    assert not missing, f"add tests/{folder}/test_<file> or a line in tests/{folder}/README.md for {missing}"


@pytest.mark.parametrize("folder", SOURCES, ids=str)
def test_every_line_names_a_file_without_such_a_test_and_a_test_that_exists(folder: Path):
    lines = elsewhere(folder)
    stale = sorted(name for name in lines if name in own(folder) or not (ROOT / folder / name).exists())
    assert not stale, f"take out of tests/{folder}/README.md: {stale}"
    lost = sorted(test for test in lines.values() if not (ROOT / test).is_file())
    assert not lost, f"tests/{folder}/README.md names tests that are not there: {lost}"


@pytest.mark.parametrize("name", MIRRORED)
def test_every_folder_of_tests_mirrors_one_of_sources(name: str):
    strangers = [str(folder) for folder in folders(TESTS / name) if not (ROOT / folder.relative_to("tests")).is_dir()]
    assert not strangers, f"no sources belong to {strangers}"
