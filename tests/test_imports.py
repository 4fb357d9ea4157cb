"""Which room may import which, read from the sources; that no files import each other; and that the light rooms stay light.

The table is the one of docs/architecture.md; the rooms are the folders. Imports are read from the syntax trees, so one inside
a function or for types alone counts like one at the top of a file.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

from tests.helpers.imports import Import, circles, defined_in, import_graph, imports_of, imports_of_file, module_of, sources, target
from tests.helpers.paths import DOCS, ROOT

DOORS = {"collage_core", "collage_core.rules", "collage_core.toolchains", "collage_core.transform"}
"""Packages whose ``__init__`` gives names to people outside."""

FRONT_DOOR = {"__init__", "api", "errors", "events", "options", "version"}
"""The only files that lie in ``collage_core`` itself."""


@dataclass(frozen=True)
class Room:
    rooms: tuple[str, ...] = ()
    libraries: frozenset[str] = frozenset()


def table(text: str) -> dict[str, Room]:
    """The rows of the page, in their order."""
    rows = re.findall(r"^\| `([\w/]+)` \|[^|]*\|([^|]*)\|([^|]*)\|$", text, re.M)
    return {name: Room(tuple(words(rooms)), frozenset(words(libraries))) for name, rooms, libraries in rows}


def words(cell: str) -> list[str]:
    return cell.replace(",", " ").split()


@pytest.fixture(scope="module")
def files() -> dict[str, Path]:
    """The sources. Tests that share a fixture of their module run in one process, which reads each file once."""
    return sources(ROOT)


PAGE = (DOCS / "architecture.md").read_text()
TABLE = table(PAGE)


def room_of(module: str, rows: dict[str, Room]) -> str:
    """The innermost row that holds a module, ``cost/database`` for ``collage_core.cost.database.records``; empty where none does.

    A row may be a file: ``errors``, ``collage_server/services``.
    """
    parts = module.split(".")
    parts = parts[1:] if parts[0] == "collage_core" else parts
    names = ("/".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((name for name in names if name in rows), "")


def covers(allowed: str, own: str, other: str) -> bool:
    """Return whether the name `allowed` in the row of `own` stands for the room `other`."""
    return other == allowed or (other.startswith(f"{allowed}/") and not own.startswith(f"{allowed}/"))


def own_library(path: Path) -> set[str]:
    """Files of a toolchain are named after their library: ``toolchains/tvm/tvm_build.py`` may import tvm."""
    library = path.stem.partition("_")[0]
    return {library, f"{library}_ffi"} if ("collage_core", "toolchains") in pairwise(path.parts) else set()


def violations(files: dict[str, Path], rows: dict[str, Room]) -> set[tuple[str, str]]:
    """(module, import) of all that the rows do not allow."""
    rooms = {module: room_of(module, rows) for module in files}
    found = set()
    for module, path in files.items():
        own = rooms[module]
        if not own:  # collage_core/__init__.py gives the package its public names
            continue
        for part in imports_of_file(module, path):
            other = rooms.get(target(part, files))
            if other is None:
                top = part.module.partition(".")[0]
                allowed = rows[own].libraries | own_library(path) | set(sys.stdlib_module_names)
                if not part.only_types and top not in allowed:
                    found.add((module, part.dotted))
            elif module in DOORS and other.startswith(f"{own}/"):  # a door gives names of what lies in its folders
                continue
            elif other != own and not any(covers(name, own, other) for name in rows[own].rooms):
                found.add((module, part.dotted))
    return found


def test_every_folder_is_in_a_room_of_the_table():
    folders = {path.name for path in (ROOT / "collage_core").iterdir() if path.is_dir() and path.name != "__pycache__"} | {"collage_server"}
    tops = {name.partition("/")[0] for name in TABLE} - FRONT_DOOR
    assert folders == tops, "each folder has a row in docs/architecture.md, and each row a folder"
    bases = (ROOT / "collage_core", ROOT)
    assert not [name for name in TABLE if not any((base / name).is_dir() or (base / f"{name}.py").is_file() for base in bases)]


def test_every_folder_inside_a_room_has_a_row():
    """Arrows never point back between rows, so no two of these folders import each other."""
    packages = {path.parent.relative_to(ROOT).as_posix() for path in sources(ROOT).values()} - {"collage_core"}
    assert {name.removeprefix("collage_core/") for name in packages} <= TABLE.keys()


def test_only_the_front_door_lies_beside_the_rooms():
    assert {path.stem for path in (ROOT / "collage_core").glob("*.py")} == FRONT_DOOR


def test_no_room_imports_what_it_may_not(files: dict[str, Path]):
    forbidden = violations(files, TABLE)
    assert not forbidden, "\n".join(f"{module} imports {imported}" for module, imported in sorted(forbidden))


def test_arrows_never_point_back():
    order = list(TABLE)
    backward = [(name, other) for name, row in TABLE.items() for other in row.rooms if order.index(other) > order.index(name)]
    assert not backward


def gives_names(text: str) -> bool:
    """Return whether an ``__init__`` holds more than the words that say what its package is for."""
    return any(not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)) for part in ast.parse(text).body)


def test_only_doors_give_names_to_people_outside():
    packages = {module: path for module, path in sources(ROOT).items() if path.name == "__init__.py"}
    assert {module for module, path in packages.items() if gives_names(path.read_text())} == DOORS
    said = PAGE.partition("except four doors")[2].partition(". A file imports")[0]
    assert set(re.findall(r"`(collage_core[\w.]*)`", said)) == DOORS


def vague(text: str) -> bool:
    """Return whether an ``__init__`` says too little: less than two sentences, or not what its room never does."""
    said = ast.get_docstring(ast.parse(text)) or ""
    sentences = re.findall(r"[.!?:;](?=\s|$)", said)
    return len(sentences) < 2 or not re.search(r"\b(never|nothing|nobody|none|no|nor|neither|not|cannot)\b", said, re.IGNORECASE)


@pytest.mark.parametrize("door", sorted(DOORS))
def test_every_name_of_a_door_can_be_had(door: str):
    """Doors import a name when it is first asked for, so a file that moved is met by nobody else."""
    module = import_module(door)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_every_room_says_what_it_is_for():
    packages = {module: path for module, path in sources(ROOT).items() if path.name == "__init__.py"}
    assert [module for module, path in packages.items() if vague(path.read_text())] == []


@pytest.mark.parametrize(
    ("text", "is_vague"),
    [
        ("", True),
        ("x = 1", True),
        ('"""Costs."""', True),
        ('"""Nothing is measured here."""', True),
        ('"""Costs of candidates. A candidate enters; a cost leaves."""', True),
        ('"""Costs of candidates. A candidate enters; a cost leaves. Nothing is chosen here."""', False),
        ('"""Costs of candidates. It never chooses a plan."""', False),
        ('"""Costs of another kind. They are notable."""', True),
    ],
)
def test_a_room_that_says_too_little_is_found(text: str, is_vague: bool):
    assert vague(text) is is_vague


def drawn(page: str) -> set[str]:
    """Return the rooms in the picture of the page: the first block between fences."""
    return set(re.findall(r"\w+", page.split("```")[1])) & {name.partition("/")[0] for name in TABLE}


def test_the_picture_has_a_dozen_rooms_and_the_text_below_it_names_the_others():
    tops, below = {name.partition("/")[0] for name in TABLE}, PAGE.split("```")[2].partition("## ")[0]
    assert len(drawn(PAGE)) <= 12
    assert tops - drawn(PAGE) == set(re.findall(r"`(\w+)`", below)) & tops - drawn(PAGE)


def test_no_files_import_each_other(files: dict[str, Path]):
    assert not circles(import_graph(files))


def test_every_run_begins_in_one_function(files: dict[str, Path]):
    """`pipeline.partition.partition` alone decides between one run and a run for each region or shape."""
    begun = {"collage_core.pipeline.run.run_once", "collage_core.pipeline.shapes.for_shapes.run_at_shapes"}
    callers = {module for module, path in files.items() if begun & {part.dotted for part in imports_of_file(module, path)}}
    assert callers == {"collage_core.pipeline.partition"}
    defining = {module for module, path in files.items() if re.search(r"^def partition\(", path.read_text(), re.M)}
    assert defining == {"collage_core.api", "collage_core.cli.partition", "collage_core.pipeline.partition"}


def test_every_name_is_imported_from_the_file_that_defines_it(files: dict[str, Path]):
    defined = {module: defined_in(path.read_text()) for module, path in files.items()}
    wrong = [
        f"{module} imports {part.name} from {part.module}, which does not define it"
        for module, path in files.items()
        if module not in DOORS
        for part in imports_of_file(module, path)
        if part.module in files and part.dotted not in files and part.name and part.name not in defined[part.module]
    ]
    assert not wrong, "\n".join(wrong)


def made(tmp_path: Path, **texts: str) -> dict[str, Path]:
    """A made-up ``collage_core`` of files, named with ``__`` for a slash."""
    for name, text in texts.items():
        path = tmp_path / "collage_core" / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {module_of(path.relative_to(tmp_path)): path for path in tmp_path.rglob("*.py")}


def test_a_forbidden_import_is_found(tmp_path: Path):
    files = made(
        tmp_path,
        graph__a="def later():\n    from ..cost.database import b",
        cost__database__b="import scipy",
        cost__c="from .database import b",
    )
    rows = {"graph": Room(), "cost": Room(), "cost/database": Room(("graph",))}
    assert violations(files, rows) == {
        ("collage_core.graph.a", "collage_core.cost.database.b"),
        ("collage_core.cost.database.b", "scipy"),
        ("collage_core.cost.c", "collage_core.cost.database.b"),
    }


def test_a_room_covers_what_is_in_it_for_those_outside_alone():
    assert covers("cost", "pipeline", "cost/database")
    assert covers("cost", "cost/database", "cost")
    assert not covers("cost", "cost/database", "cost/measuring")


def test_a_circle_is_found_for_types_alone_too(tmp_path: Path):
    files = made(
        tmp_path,
        graph__a="from . import b",
        graph__b="if TYPE_CHECKING:\n    from .c import C",
        graph__c="from .a import A",
        graph__d="from .a import A",
    )
    assert circles(import_graph(files)) == [["collage_core.graph.a", "collage_core.graph.b", "collage_core.graph.c"]]


def test_a_name_that_is_only_imported_is_not_defined():
    assert defined_in("from x import a\nb = 1\ndef c(): ...\nclass D: ...\nif b:\n    e: int = 2\n") == {"b", "c", "D", "e"}


def test_every_way_to_import_is_found():
    text = """
from . import problem
if TYPE_CHECKING:
    import tvm
def later():
    from ..toolchains import tvm
    import onnx.helper
    importlib.import_module("openvino")
"""
    assert set(imports_of("collage_core.search", text)) == {
        Import("collage_core.search", "problem"),
        Import("collage_core.toolchains", "tvm"),
        Import("onnx.helper"),
        Import("openvino"),
        Import("tvm", only_types=True),
    }


BLOCKED = """
import importlib, pkgutil, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ImportError(f"{{name}} is blocked")

sys.meta_path.insert(0, Blocker())
package = importlib.import_module({package!r})
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(module.name)
"""


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)


@pytest.mark.parametrize("package", ["collage_core.search", "collage_core.graph", "collage_core.rules"])
def test_plain_data_rooms_import_without_any_toolchain(package: str):
    blocked = ("tvm", "tvm_ffi", "onnx", "onnxruntime", "openvino", "ncnn", "flask", "flask_socketio", "sqlalchemy")
    ran = python(BLOCKED.format(blocked=blocked, package=package))
    assert ran.returncode == 0, ran.stderr


ALL_COMMANDS = "collage_core.cli.main; list(collage_core.cli.main.collage.commands.values())"


@pytest.mark.parametrize("module", ["collage_core", ALL_COMMANDS, "collage_core.pipeline.run", "collage_server.app"])
def test_nothing_imports_a_heavy_toolchain_before_it_has_to(module: str):
    ran = python(f"import sys, {module}; print(sorted(set(sys.modules) & {{'tvm', 'tvm_ffi', 'openvino', 'ncnn'}}))")
    assert (ran.stdout.strip(), ran.stderr) == ("[]", "")


def test_the_command_line_imports_what_a_command_needs_when_it_is_asked_for() -> None:
    heavy = {"numpy", "onnx", "pydantic", "sqlalchemy", "collage_core.pipeline"}
    ran = python(f"import sys, collage_core.cli.main; print(sorted(set(sys.modules) & {heavy}))")
    assert (ran.stdout.strip(), ran.stderr) == ("[]", "")


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        (
            "collage_server.app",
            {"collage_core.pipeline", "collage_core.search", "numpy", "onnx", "scipy", "sqlalchemy"},
        ),
        ("fake_engine", {"collage_core.pipeline.run", "collage_core.what_if.what_if", "onnxruntime", "scipy", "sqlalchemy"}),
    ],
)
def test_the_server_does_not_import_what_its_worker_processes_do(module: str, heavy: set[str]):
    ran = python(f"import sys; sys.path.append('tests/plugins'); import {module}; print(sorted(set(sys.modules) & {heavy}))")
    assert (ran.stdout.strip(), ran.stderr) == ("[]", "")
