"""Finds the toolchains: entry points of the group ``collage.toolchains``, and what ``COLLAGE_TOOLCHAINS`` adds.

What enters is what is installed; what leaves are `Toolchain` objects by name. A plug-in that cannot be imported is kept as
an unusable toolchain with its reason, and never stands in the way of the others. No toolchain's library is imported.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import metadata

from ..errors import CollageError
from ..graph.dataflow_graph import Tensor
from ..model.base import SubModel
from ..rules.base import PartitionRule, RuleOptions
from ..rules.base_rules import Explicit
from .base import Availability, Kernel, Toolchain, ToolchainError
from .described import DescribedToolchain
from .reasons import one_line

GROUP = "collage.toolchains"
EXTRA = "COLLAGE_TOOLCHAINS"
"""Environment variable that names more, as ``module:Class,module:Class``; worker processes inherit it."""


class BrokenToolchain(Toolchain):
    """Stands for a plug-in that could not be made; it is shown with its reason and can do nothing."""

    letter = "!"

    def __init__(self, name: str, place: str, reason: str):
        self.name = name
        self.reason = f"its plug-in {place!r} cannot be loaded: {reason}"

    def availability(self) -> Availability:
        return Availability(False, reason=self.reason, hint=f"mend or uninstall the package that holds {self.name!r}")

    def rule(self, options: RuleOptions) -> PartitionRule:
        return Explicit(sets=())

    def build(self, model: SubModel, threads: int) -> bytes:
        raise ToolchainError("device", self.reason)

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        raise ToolchainError("device", self.reason)


def all_toolchains() -> tuple[Toolchain, ...]:
    """Every toolchain that is installed or named in ``COLLAGE_TOOLCHAINS``, sorted by name; usable or not."""
    return _found(os.environ.get(EXTRA, ""))


def names() -> tuple[str, ...]:
    """The names that ``--targets`` accepts."""
    return tuple(toolchain.name for toolchain in all_toolchains())


def get(name: str) -> Toolchain:
    """The toolchain of that name.

    Raises:
        CollageError: there is none (code ``unknown_target``).
    """
    for toolchain in all_toolchains():
        if toolchain.name == name:
            return toolchain
    raise CollageError(f"no toolchain is called {name!r}", f"these are known: {', '.join(names()) or 'none'}", "unknown_target")


def check_name_is_free(described: DescribedToolchain) -> None:
    """Raise CollageError where a toolchain that is installed has the name of `described`."""
    if described.name in names():
        raise CollageError(f"{described.name!r} is the name of a toolchain that is installed", "give it another name", "bad_rule")


@cache
def _found(extra: str) -> tuple[Toolchain, ...]:
    made: dict[str, Toolchain] = {}
    for name, place in _places(extra):
        toolchain = _made(name, place)
        if isinstance(made.setdefault(toolchain.name, toolchain), BrokenToolchain):
            made[toolchain.name] = toolchain
    return tuple(made[name] for name in sorted(made))


def _places(extra: str) -> Iterator[tuple[str, str]]:
    """(name, ``module:Class``) of each plug-in; the extra ones first, so that they may replace an installed one."""
    for place in filter(None, (part.strip() for part in extra.split(","))):
        yield place.rpartition(":")[2], place
    for point in metadata.entry_points(group=GROUP):
        yield point.name, point.value


def _made(name: str, place: str) -> Toolchain:
    module, _, attribute = place.partition(":")
    try:
        toolchain = getattr(importlib.import_module(module), attribute)()
    except Exception as error:  # noqa: BLE001 - a plug-in may fail in any way; the reason is kept and shown
        return BrokenToolchain(name, place, one_line(f"{type(error).__name__}: {error}"))
    if not isinstance(toolchain, Toolchain):
        return BrokenToolchain(name, place, f"it is a {type(toolchain).__name__}, not a Toolchain")
    if not getattr(toolchain, "name", ""):
        return BrokenToolchain(name, place, "it has no name")
    return toolchain
