"""Which room of the house may import which, read from the sources; and that the light rooms stay light.

The table is the one of docs/architecture.md (a test compares them). It is checked on the syntax trees, so an import inside
a function counts like one at the top of a file.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HELPERS = {"collector", "errors", "events", "home", "isolation", "json_file"}
"""Rooms that every other room may import."""


@dataclass(frozen=True)
class Room:
    rooms: frozenset[str] = frozenset()
    libraries: frozenset[str] = frozenset()


def room(rooms: str = "", libraries: str = "") -> Room:
    return Room(frozenset(rooms.split()), frozenset(libraries.split()))


ENGINE = "graph rules model toolchains cost fleet search plan rewrite runtime export samples"

PARTS = {
    "pipeline": {
        "api",
        "building",
        "certainty",
        "costing",
        "dry_run",
        "finding",
        "lazy",
        "estimating",
        "measuring_again",
        "options",
        "pace",
        "planning",
        "record",
        "run_specs",
        "trace",
        "trace_file",
        "trace_reporter",
        "what_if",
        "trying",
    },
    "cli": {
        "command_line",
        "command_options",
        "cost_commands",
        "explaining",
        "partition_commands",
        "plan_commands",
        "standalone",
        "terminal",
        "worker_command",
    },
}
"""Files beside ``pipeline.py`` and ``cli.py`` that are one room with them."""

TABLE = {
    "collector": room(),
    "errors": room(),
    "events": room(),
    "home": room(),
    "isolation": room("", "psutil"),
    "json_file": room(),
    "graph": room("", "numpy"),
    "rules": room("graph"),
    "model": room("graph", "google ml_dtypes numpy onnx onnxruntime"),
    "samples": room("model", "numpy onnx"),
    "toolchains": room("graph rules model", "ml_dtypes numpy onnx"),
    "cost": room("graph rules model toolchains", "numpy onnx psutil psycopg scipy sqlalchemy"),
    "fleet": room("toolchains cost", "numpy tvm tvm_ffi"),
    "search": room("graph", "numpy scipy"),
    "plan": room("", "pydantic"),
    "runtime": room("graph toolchains", "numpy tvm tvm_ffi"),
    "rewrite": room("graph model toolchains plan runtime", "numpy onnx tvm"),
    "export": room("graph model toolchains plan rewrite runtime", "numpy onnx tvm"),
    "pipeline": room(ENGINE, "numpy"),
    "cli": room(f"{ENGINE} pipeline server", "click rich numpy"),
    "server": room("graph rules cost samples pipeline", "flask flask_socketio netron psutil werkzeug"),
}

IN_A_WORKER = {
    "server/dot_job.py": room("graph export"),
    "server/model_loading.py": room("model", "onnx"),
    "server/onnx_files.py": room("export graph model plan", "onnx"),
    "server/toolchain_rows.py": room("toolchains"),
}
"""Files that a room only calls in a worker process, and what they may import beside what their room may."""

DEBT: set[tuple[str, str]] = set()
"""(file, import) that break the table and have yet to go. Nothing may be added."""


def sources() -> list[Path]:
    return sorted(path for package in ("collage_core", "server") for path in (ROOT / package).rglob("*.py"))


def module_of(path: Path) -> str:
    """The name under which it is imported: the folder ``server`` is ``collage_server``."""
    first, *rest = path.relative_to(ROOT).with_suffix("").parts
    parts = ["collage_server" if first == "server" else first, *rest]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """``collage_core.rules.base`` → ``rules``; the package itself has no room."""
    first, *rest = module.split(".")
    if first == "collage_server":
        return "server"
    own = rest[0] if rest else ""
    return next((name for name, parts in PARTS.items() if own in parts), own)


def imports_of(package: str, text: str) -> Iterator[tuple[str, bool]]:
    """Absolute names of all that a file of `package` imports, and whether for types alone.

    A name goes down to what is imported from a module, since that may be a module itself.
    """
    tree = ast.parse(text)
    for_types = {id(inner) for part in ast.walk(tree) if is_for_types(part) for inner in ast.walk(part)}
    for part in ast.walk(tree):
        only_types = id(part) in for_types
        if isinstance(part, ast.Import):
            yield from ((alias.name, only_types) for alias in part.names)
        elif isinstance(part, ast.ImportFrom):
            names = package.split(".")
            above = names[: len(names) - part.level + 1] if part.level else []
            base = ".".join([*above, *([part.module] if part.module else [])])
            yield from ((f"{base}.{alias.name}", only_types) for alias in part.names)
        elif isinstance(part, ast.Call) and ast.unparse(part.func).endswith("import_module") and isinstance(part.args[0], ast.Constant):
            yield str(part.args[0].value), only_types


def is_for_types(part: ast.AST) -> bool:
    return isinstance(part, ast.If) and ast.unparse(part.test).endswith("TYPE_CHECKING")


def own_library(name: str) -> set[str]:
    """Files of a toolchain are named after their library: ``toolchains/tvm_build.py`` may import tvm."""
    folder, _, file = name.rpartition("/")
    library = file.removesuffix(".py").partition("_")[0]
    return {library, f"{library}_ffi"} if folder == "collage_core/toolchains" else set()


def violations() -> set[tuple[str, str]]:
    found = set()
    for path in sources():
        name, module = str(path.relative_to(ROOT)), module_of(path)
        own, package = room_of(module), module if path.name == "__init__.py" else module.rpartition(".")[0]
        if not own:  # collage_core/__init__.py gives the package its public names
            continue
        more = IN_A_WORKER.get(name, Room())
        rooms = TABLE[own].rooms | more.rooms | HELPERS | {own}
        libraries = TABLE[own].libraries | more.libraries | own_library(name)
        for imported, only_types in imports_of(package, path.read_text()):
            top = imported.partition(".")[0]
            if top in ("collage_core", "collage_server"):
                if room_of(imported) in set(TABLE) - rooms:
                    found.add((name, imported))
            elif not only_types and top not in sys.stdlib_module_names and top not in libraries:
                found.add((name, imported))
    return found


def test_every_file_is_in_a_room_of_the_table():
    unknown = {room_of(module_of(path)) for path in sources()} - set(TABLE) - {""}
    assert not unknown, f"these have no row in TABLE (and in docs/architecture.md): {sorted(unknown)}"


def test_no_room_imports_what_it_may_not():
    forbidden = violations() - DEBT
    assert not forbidden, "\n".join(f"{name} imports {imported}" for name, imported in sorted(forbidden))


def test_the_table_is_the_one_of_the_documents():
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|([^|]*)\|$", text, re.M)
    described = {name: room(rooms.replace(",", " "), libraries.replace(",", " ")) for name, rooms, libraries in rows}
    assert described == TABLE


def test_the_debt_is_owed():
    assert not DEBT - violations(), "these are paid: take them out of DEBT"


def test_arrows_never_point_back():
    order = list(TABLE)
    backward = {(name, other) for name, row in TABLE.items() for other in row.rooms if order.index(other) > order.index(name)}
    assert backward <= {("cli", "server")}, backward


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
    assert sorted(imports_of("collage_core.search", text)) == [
        ("collage_core.search.problem", False),
        ("collage_core.toolchains.tvm", False),
        ("onnx.helper", False),
        ("openvino", False),
        ("tvm", True),
    ]


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
    blocked = ("tvm", "tvm_ffi", "onnx", "onnxruntime", "openvino", "flask", "flask_socketio", "sqlalchemy")
    ran = python(BLOCKED.format(blocked=blocked, package=package))
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("module", ["collage_core", "collage_core.cli", "collage_core.pipeline", "collage_server.app"])
def test_nothing_imports_a_heavy_toolchain_before_it_has_to(module: str):
    ran = python(f"import sys, {module}; print(sorted(set(sys.modules) & {{'tvm', 'tvm_ffi', 'openvino'}}))")
    assert (ran.stdout.strip(), ran.stderr) == ("[]", "")
