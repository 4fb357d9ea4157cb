"""Holds tests/features.md to the code: every item has its row, and what is said to work names a test that exists."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from collage_core.search.solve import SEARCHERS
from tests.helpers.paths import ROOT

STATES = {"works", "partly", "not yet"}
NOTHING = "–"
MISSING = "; missing: "
"""The text after it in a row says what does not work yet."""
CHECKS = {"acceptance", "bench", "bench-calls", "bench-costs", "bench-e2e", "bench-page"}
"""Targets of make that fail where one thing is not as promised; `make test` runs everything and so shows nothing of its own."""
ONLY_ARGUED = {3, 8, 9, 10, 11, 20, 93, 144, 167, 168, 170, 177, 179, 181, 183, 184, 196, *range(225, 232), 234, 248, 249, 262, 277}
"""Items that claim or describe and leave nothing to build."""

ITEMS = set(range(1, 297)) - ONLY_ARGUED
CASE = "tests/collage_core/search/test_cases.py::test_a_case_is_answered_as_it_says"
EXACT = ("astar", "dijkstra", "milp")


@dataclass(frozen=True)
class Row:
    number: int
    state: str
    shown_by: str


def rows() -> list[Row]:
    lines = (ROOT / "tests" / "features.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if re.match(r"\| *\d+ *\|", line)]
    assert all(len(line) == 4 for line in cells), "a row of tests/features.md has not four cells"
    return [Row(int(number), state, shown_by) for number, _, state, shown_by in cells]


def evidence(shown_by: str) -> list[str]:
    return re.findall(r"`([^`]+)`", shown_by)


def is_test(name: str) -> bool:
    return name.startswith("tests/")


def exists(name: str, root: Path = ROOT) -> bool:
    """Return whether a test, a check among make's targets or a ``collage`` command of this name is there."""
    kind, _, rest = name.partition(" ")
    if kind == "make":
        return rest in CHECKS and bool(re.search(rf"^{re.escape(rest)}:", (root / "Makefile").read_text(), re.M))
    if kind == "collage":
        return rest.partition(" ")[0] in commands(root)
    path, *parts = name.partition("[")[0].split("::")
    if not path.startswith("tests/") or not (root / path).is_file() or not parts:
        return False
    return defines(parsed((root / path).read_text()), parts) and ("[" not in name or is_case(root / path, name.partition("[")[2]))


@cache
def parsed(text: str) -> ast.Module:
    """Many rows name tests of the same file."""
    return ast.parse(text)


def is_case(path: Path, parameters: str) -> bool:
    """Return whether ``case]`` or ``case-searcher]`` is a JSON file of the folder `cases` beside a test, and is about the searcher.

    No other parameters can be looked up, so a row names the test without them.
    """
    case, _, searcher = parameters.removesuffix("]").partition("-")
    file = path.parent / "cases" / f"{case}.json"
    if not file.is_file():
        return False
    data = json.loads(file.read_text())
    names = [name for part in (*data["expected"], *data.get("unvisited", ())) for name in groups(part["searchers"])]
    return not searcher or searcher in names


def groups(searchers: str | list[str]) -> Sequence[str]:
    """Return the names of the searchers that a case is about."""
    return searchers if isinstance(searchers, list) else EXACT if searchers == "exact" else tuple(SEARCHERS)


def defines(tree: ast.Module | ast.ClassDef, parts: list[str]) -> bool:
    """Return whether a test function stands at a path such as ``[TestClass, test_x]``, or in a class that this one extends."""
    first, *rest = parts
    for part in tree.body:
        if isinstance(part, ast.ClassDef) and part.name == first and rest:
            return defines(part, rest) or any(defines(parsed(file.read_text()), [base, *rest]) for base, file in extended(tree, part))
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and part.name == first and not rest:
            return first.startswith("test")
    return False


def extended(tree: ast.Module | ast.ClassDef, of: ast.ClassDef) -> Iterator[tuple[str, Path]]:
    """Yield the names of the classes that `of` extends and imports from our packages, each with its file."""
    bases = {base.id for base in of.bases if isinstance(base, ast.Name)}
    for part in tree.body:
        if isinstance(part, ast.ImportFrom) and part.module and part.module.startswith("collage_core."):
            file = ROOT / f"{part.module.replace('.', '/')}.py"
            yield from ((alias.name, file) for alias in part.names if alias.name in bases)


def faults(row: Row) -> list[str]:
    """Return what is wrong with the proof of a row."""
    names = evidence(row.shown_by)
    wrong = [f"{row.number} names {name!r}, which does not exist or shows no single thing" for name in names if not exists(name)]
    if row.state == "partly" and not names:
        wrong.append(f"{row.number} is said to be 'partly' and names nothing")
    if row.state == "works" and not any(map(is_test, names)):
        wrong.append(f"{row.number} is said to be 'works' and names no test")
    if (MISSING in row.shown_by) != (row.state == "partly"):
        wrong.append(f"{row.number} is {row.state!r}: what is missing is said where a thing works partly, and nowhere else")
    return wrong


@cache
def commands(root: Path) -> frozenset[str]:
    """Names of the ``collage`` commands, from the decorators in ``cli/main.py`` (``@collage.command()``) and beside it."""
    found = set()
    for path in (root / "collage_core" / "cli").glob("*.py"):
        owner = "collage" if path.name == "main.py" else "click"
        for part in ast.walk(ast.parse(path.read_text())):
            if isinstance(part, ast.FunctionDef):
                found |= {name for decorator in part.decorator_list if (name := command_name(decorator, part.name, owner))}
    return frozenset(found)


def command_name(decorator: ast.expr, function: str, owner: str) -> str | None:
    if not isinstance(decorator, ast.Call) or ast.unparse(decorator.func) not in (f"{owner}.command", f"{owner}.group"):
        return None
    given = [argument.value for argument in decorator.args if isinstance(argument, ast.Constant)]
    given += [word.value.value for word in decorator.keywords if word.arg == "name" and isinstance(word.value, ast.Constant)]
    return str(given[0]) if given else function.removesuffix("_command").replace("_", "-")


def test_every_item_has_one_row():
    numbers = [row.number for row in rows()]
    assert sorted(numbers) == sorted(ITEMS)


def test_states_are_known():
    assert {row.state for row in rows()} <= STATES


def test_what_works_names_a_test_that_exists():
    assert not [fault for row in rows() for fault in faults(row)]


@pytest.mark.parametrize(
    ("state", "shown_by", "fault"),
    [
        ("works", "`tests/docs/test_features.py::test_states_are_known`", ""),
        ("works", "`tests/docs/test_features.py::test_states_are_known`, `make bench`", ""),
        ("works", "`make bench`", "names no test"),
        ("works", "`make test`", "shows no single thing"),
        ("works", "", "names no test"),
        ("works", "`tests/docs/test_features.py::test_gone`", "does not exist"),
        ("works", "`tests/docs/test_features.py::test_states_are_known`; missing: all", "is 'works'"),
        ("partly", "`make bench`; missing: half of it", ""),
        ("partly", "`make bench`", "what is missing is said"),
        ("partly", "; missing: all of it", "names nothing"),
        ("not yet", "–", ""),
    ],
)
def test_a_row_without_proof_is_found(state: str, shown_by: str, fault: str):
    found = faults(Row(1, state, shown_by))
    assert bool(found) == bool(fault)
    assert fault in "\n".join(found)


def test_what_does_not_work_yet_names_nothing():
    assert not [row.number for row in rows() if row.state == "not yet" and row.shown_by != NOTHING]


def test_the_items_are_those_of_the_requirements():
    source = ROOT.parent / "shared" / "requirements.md"
    if not source.is_file():
        pytest.skip("the requirements are not kept in this repository, and do not lie beside it")
    found = re.findall(r"^(\d+)\. \*\*.*?\*\* — \[.*?\] — `([^`]*)`", source.read_text(), re.M)
    assert {int(number) for number, status in found if status != "doc"} == ITEMS


def test_the_commands_found_in_the_sources_are_those_of_the_program():
    from collage_core.cli.main import collage

    assert commands(ROOT) == set(collage.commands)


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("make bench", True),
        ("make test", False),
        ("make lint", False),
        ("make nonsense", False),
        ("make", False),
        ("tests/docs/test_features.py::test_states_are_known", True),
        ("tests/docs/test_features.py::exists", False),
        ("tests/docs/test_features.py::test_nonsense", False),
        ("tests/docs/test_features.py", False),
        ("tests/test_nonsense.py::test_x", False),
        ("tests/collage_core/toolchains/test_conformance.py::TestEveryToolchain::test_builds_loads_and_runs", True),
        ("tests/collage_core/toolchains/test_conformance.py::TestEveryToolchain::test_nonsense", False),
        ("collage nonsense", False),
        ("rm -rf", False),
        (f"{CASE}[unvisited_by_dual_prices]", True),
        (f"{CASE}[unvisited_by_dual_prices-astar]", True),
        (f"{CASE}[unvisited_by_dual_prices-milp]", True),
        (f"{CASE}[unvisited_by_dual_prices-greedy]", False),
        (f"{CASE}[no_such_case]", False),
        (f"{CASE}[no_such_case-astar]", False),
        ("tests/docs/test_features.py::test_what_counts_as_existing[make bench-True]", False),
    ],
)
def test_what_counts_as_existing(name: str, there: bool):
    assert exists(name) is there


def test_a_test_in_a_class_and_a_command_are_found(tmp_path: Path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("class TestA:\n    def test_b(self): ...\n")
    (tmp_path / "collage_core" / "cli").mkdir(parents=True)
    (tmp_path / "collage_core" / "cli" / "main.py").write_text(
        "@collage.command()\ndef partition(): ...\n"
        "@collage.command('models')\ndef models_command(): ...\n"
        "@collage.command(name='run')\ndef x(): ...\n"
    )
    assert exists("tests/test_a.py::TestA::test_b", tmp_path)
    assert not exists("tests/test_a.py::TestA::test_b[1-x]", tmp_path)
    assert not exists("tests/test_a.py::TestA::test_c", tmp_path)
    assert commands(tmp_path) == {"partition", "models", "run"}
