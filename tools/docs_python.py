"""The reference page of the Python API: which names it has, in which order. Sphinx reads the rest from the code.

Nothing enters; Markdown with directives of Sphinx leaves. The names are those that the doors of the package list in ``__all__``, so a new
one has its entry without a change here; the interface of estimators and the errors are named one by one, as their modules have no list.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

DOORS = ("collage_core", "collage_core.toolchains", "collage_core.rules", "collage_core.transform")
"""Modules that people outside import from (docs/architecture.md, "Rooms")."""
MODULES = {
    "collage_core.cost.estimator": ("CostEstimator", "LazyEstimator", "TuningEstimator", "TunedCosts"),
    "collage_core.cost.cost": ("Cost",),
    "collage_core.errors": ("CollageError", "InfeasibleError", "AccuracyError", "Cancelled"),
}
"""Modules whose names are met through the doors: what costs are, and what is raised."""
_TITLES = {
    "collage_core": "The front door",
    "collage_core.toolchains": "Toolchains",
    "collage_core.rules": "Partition rules",
    "collage_core.transform": "Inside TVM",
    "collage_core.cost.estimator": "Estimators",
    "collage_core.cost.cost": "Costs",
    "collage_core.errors": "Errors",
}


def python_page() -> str:
    """Return the page."""
    return "\n\n".join(["# The Python API", *(part for module, names in entries().items() for part in _section(module, names))]) + "\n"


def entries() -> dict[str, list[str]]:
    """Return the module → its public names, of every section."""
    doors = {name: sorted(set(import_module(name).__all__) - {"__version__"}) for name in DOORS}
    return {**doors, **{name: list(names) for name, names in MODULES.items()}}


def _section(name: str, names: list[str]) -> Iterator[str]:
    module = import_module(name)
    yield f"## {_TITLES[name]}"
    yield f"`from {name} import …`"
    yield "\n".join(["```{eval-rst}", *(_directive(module, one) for one in names), "```"])


def _directive(module: ModuleType, name: str) -> str:
    found: Any = getattr(module, name)
    if not inspect.isclass(found):
        kind = "function" if callable(found) else "data"
        return f".. auto{kind}:: {module.__name__}.{name}\n"
    kind = "exception" if issubclass(found, BaseException) else "class"
    return f".. auto{kind}:: {module.__name__}.{name}\n   :members:\n   :inherited-members: Exception, ABC, Protocol\n"
