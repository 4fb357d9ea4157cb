"""The imports of the sources, read from their syntax trees: for the tests of the rooms, of circles and of re-exports."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGES = ("collage_core", "collage_server")


@dataclass(frozen=True, slots=True)
class Import:
    """One name that a file imports.

    Attributes:
        module: The module named, absolute.
        name: The name taken from it; empty for ``import module``.
        only_types: It stands below ``if TYPE_CHECKING``.
    """

    module: str
    name: str = ""
    only_types: bool = False

    @property
    def dotted(self) -> str:
        return f"{self.module}.{self.name}" if self.name else self.module


def sources(root: Path) -> dict[str, Path]:
    """Every module of the packages, by its name."""
    return {module_of(path.relative_to(root)): path for folder in PACKAGES for path in sorted((root / folder).rglob("*.py"))}


def module_of(path: Path) -> str:
    """The name under which a file, relative to the root, is imported."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(package: str, text: str) -> Iterator[Import]:
    """All that a file of `package` imports, inside functions and through ``import_module`` with a fixed name too."""
    tree = ast.parse(text)
    for_types = {id(inner) for part in ast.walk(tree) if _is_for_types(part) for inner in ast.walk(part)}
    for part in ast.walk(tree):
        only_types = id(part) in for_types
        if isinstance(part, ast.Import):
            yield from (Import(alias.name, "", only_types) for alias in part.names)
        elif isinstance(part, ast.ImportFrom):
            yield from (Import(_absolute(package, part), alias.name, only_types) for alias in part.names)
        elif isinstance(part, ast.Call) and _called(part.func) == "import_module" and isinstance(part.args[0], ast.Constant):
            yield Import(str(part.args[0].value), "", only_types)


@cache
def imports_of_file(module: str, path: Path) -> tuple[Import, ...]:
    """Return all that a file of the sources imports; each is read once, whichever tests ask."""
    found = imports_of(module if path.name == "__init__.py" else module.rpartition(".")[0], path.read_text())
    return tuple(found)


def import_graph(files: Mapping[str, Path]) -> dict[str, set[str]]:
    """Module → the other modules among `files` that it imports, for types alone too."""
    graph = {}
    for module, path in files.items():
        named = {target(found, files) for found in imports_of_file(module, path)}
        graph[module] = {name for name in named if name in files and name != module}
    return graph


def target(found: Import, files: Mapping[str, Path]) -> str:
    """The module that `found` leads to: ``from package import module`` leads to the module."""
    return found.dotted if found.dotted in files else found.module


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Each set of modules that import each other, directly or not: strongly connected components of more than one module."""
    reached = {start: _reachable(graph, start) for start in graph}
    found = {frozenset(other for other in reached[start] if start in reached[other]) for start in graph if start in reached[start]}
    return sorted(sorted(circle) for circle in found)


def defined_in(text: str) -> set[str]:
    """Names that a module defines itself at its top level, without those that it only imports."""
    names: set[str] = set()
    for part in ast.walk(ast.parse(text)):
        if isinstance(part, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(part.name)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.add(part.id)
    return names


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """Return the modules that can be reached from `start` in one step or more."""
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += graph[module]
    return seen


def _absolute(package: str, part: ast.ImportFrom) -> str:
    names = package.split(".")
    above = names[: len(names) - part.level + 1] if part.level else []
    return ".".join([*above, *([part.module] if part.module else [])])


def _is_for_types(part: ast.AST) -> bool:
    return isinstance(part, ast.If) and _called(part.test) == "TYPE_CHECKING"


def _called(part: ast.expr) -> str:
    """The last name of a dotted one; empty for any other expression."""
    return part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "")
