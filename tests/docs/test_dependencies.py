"""Holds docs/dependencies.md to pyproject.toml, package.json and to the licences that the packages declare."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata

import pytest
from packaging.requirements import Requirement

from tests.helpers.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGE = json.loads((ROOT / "package.json").read_text())

Table = dict[str, tuple[str, str]]
"""Package → (range, licence)."""


def tables() -> dict[str, Table]:
    """Heading → its table, where that has the columns package, range, licence, why."""
    found: dict[str, Table] = {}
    for part in re.split(r"^#+ ", (ROOT / "docs" / "dependencies.md").read_text(), flags=re.M)[1:]:
        heading, _, body = part.partition("\n")
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines() if line.startswith("|")]
        if rows and rows[0][:3] == ["package", "range", "licence"]:
            assert all(len(row) == 4 and row[3] for row in rows), f"a row under {heading!r} is not complete"
            found[heading] = {name: (version, licence) for name, version, licence, _ in rows[2:]}
    return found


def ranges(requirements: list[str]) -> dict[str, set[str]]:
    return {asked.name: set(filter(None, str(asked.specifier).split(","))) for asked in map(Requirement, requirements)}


EXTRAS = [line for extra in PROJECT["project"]["optional-dependencies"].values() for line in extra]
GROUPS = PROJECT["dependency-groups"]


@pytest.mark.parametrize(
    ("heading", "requirements"),
    [
        ("Python, always installed", PROJECT["project"]["dependencies"]),
        ("Python, extras", EXTRAS),
        ("Python, for development", GROUPS["dev"]),
        ("The documentation site", GROUPS["docs"]),
        ("Trained models to test with", GROUPS["models"]),
        ("Node.js where the machine has none", GROUPS["node"]),
    ],
)
def test_python_dependencies_are_described(heading: str, requirements: list[str]):
    described = {name: set(filter(None, version.split(","))) for name, (version, _) in tables()[heading].items()}
    assert described == ranges(requirements)


@pytest.mark.parametrize(
    ("heading", "key"), [("The page, shipped in its bundle", "dependencies"), ("The page, for development", "devDependencies")]
)
def test_page_dependencies_are_described(heading: str, key: str):
    assert {name: version for name, (version, _) in tables()[heading].items()} == PACKAGE[key]


def test_every_run_time_dependency_is_imported():
    sources = [path.read_text() for package in ("collage_core", "collage_server") for path in (ROOT / package).rglob("*.py")]
    asked = {Requirement(line).name for line in PROJECT["project"]["dependencies"]}
    used = {name for name in asked if any(re.search(rf"^\s*(from|import) {name.replace('-', '_')}\b", text, re.M) for text in sources)}
    assert asked == used


def test_every_group_of_dependencies_has_a_table():
    assert set(GROUPS) == {"dev", "docs", "models", "node"}
    assert len(tables()) == 8


def test_licences_are_what_the_python_packages_declare():
    wrong = []
    for heading in (heading for heading in tables() if heading.startswith(("Python", "The documentation"))):
        for name, (_, licence) in tables()[heading].items():
            try:
                declared = metadata(name).get("License-Expression")
            except PackageNotFoundError:  # an extra that is not installed
                continue
            if declared and not declared.startswith(licence):
                wrong.append(f"{name} declares {declared}, the table says {licence}")
    assert not wrong, "\n".join(wrong)


def test_licences_are_what_the_page_packages_declare():
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    described = {
        name: licence for heading in tables() if heading.startswith("The page") for name, (_, licence) in tables()[heading].items()
    }
    assert described == {name: packages[f"node_modules/{name}"]["license"] for name in described}
