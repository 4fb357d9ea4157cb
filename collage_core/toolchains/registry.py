"""Finds the toolchains: the entry points of the group ``collage.toolchains``, and those that ``COLLAGE_TOOLCHAINS`` names.

`Toolchain` objects leave, by name; the group ``collage.rules`` and ``COLLAGE_RULES`` add rules to them. A plug-in that cannot be imported
becomes an unusable toolchain with the reason, and does not affect the others. No toolchain's library is imported.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from ..errors import CollageError
from ..graph.dataflow_graph import Tensor
from ..model.model import SubModel
from .abilities import DeviceNumbers, lowers_precision
from .border import availability_of, one_line
from .target_names import target_name
from .toolchain import PROCESSOR, Availability, Kernel, Toolchain, ToolchainError

if TYPE_CHECKING:
    from ..rules.rule import PartitionRule, RuleOptions
    from .described import DescribedToolchain

GROUP = "collage.toolchains"
EXTRA = "COLLAGE_TOOLCHAINS"
"""Environment variable that names further toolchains, as ``module:Class,module:Class``; worker processes inherit it."""

RULES_GROUP = "collage.rules"
EXTRA_RULES = "COLLAGE_RULES"
"""Environment variable that names rules to add, as ``tvm=module:function,…``: a function of `RuleOptions` that returns a rule."""


class BrokenToolchain(Toolchain):
    """A plug-in that could not be loaded: it is listed with the reason and builds nothing."""

    letter = "!"

    def __init__(self, name: str, reference: str, reason: str):
        self.name = name
        self.reason = f"its plug-in {reference!r} cannot be loaded: {reason}"

    def availability(self) -> Availability:
        return Availability(False, reason=self.reason, hint=f"mend or uninstall the package that holds {self.name!r}")

    def rule(self, options: RuleOptions) -> PartitionRule:
        from ..rules.base_rules import Explicit

        return Explicit(sets=())

    def build(self, model: SubModel, threads: int) -> bytes:
        raise ToolchainError("device", self.reason)

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        raise ToolchainError("device", self.reason)


def all_toolchains() -> tuple[Toolchain, ...]:
    """Return every toolchain that is installed or named in ``COLLAGE_TOOLCHAINS``, usable or not, sorted by name."""
    return _found(os.environ.get(EXTRA, ""), os.environ.get(EXTRA_RULES, ""))


def names() -> tuple[str, ...]:
    """Return the names that ``--targets`` accepts."""
    return tuple(toolchain.name for toolchain in all_toolchains())


def default_targets() -> tuple[str, ...]:
    """Return every toolchain that is usable here and computes in the model's precision, in the order of their priority.

    Libraries of calls come last. A variant (``onnxruntime@nchw16c``) is the same toolchain once more, and is used where it is named: with
    all of them a run would have twice the targets to time.
    """
    own = [toolchain for toolchain in all_toolchains() if "@" not in toolchain.name]
    kept = [toolchain for toolchain in own if not lowers_precision(toolchain) and availability_of(toolchain).usable]
    return tuple(toolchain.name for toolchain in sorted(kept, key=lambda toolchain: (toolchain.style == "library", toolchain.name)))


def get(name: str) -> Toolchain:
    """Return the toolchain of that name; of one for a device, that of any number.

    Raises:
        CollageError: there is no such toolchain (code ``unknown_target``).
    """
    known = {toolchain.name: toolchain for toolchain in all_toolchains()}
    if name in known:
        return known[name]
    parts = target_name(name)
    first = known.get(str(replace(parts, number=0))) if parts is not None else None
    if parts is not None and isinstance(first, DeviceNumbers):
        return _at_device(first, parts.number)
    raise CollageError(f"no toolchain is called {name!r}", f"these are known: {', '.join(names()) or 'none'}", "unknown_target")


def runs_on_processor(target: str) -> bool:
    """Return whether the toolchain `target` computes on the processor, usable or not; a described one does not."""
    try:
        return availability_of(get(target)).device == PROCESSOR
    except CollageError:
        return False


@cache
def _at_device(toolchain: DeviceNumbers, number: int) -> Toolchain:
    return toolchain.at_device(number)


def check_name_is_free(described: DescribedToolchain) -> None:
    """Raise CollageError where a toolchain that is installed has the name of `described`."""
    if described.name in names():
        raise CollageError(f"{described.name!r} is the name of a toolchain that is installed", "give it another name", "bad_rule")


@cache
def _found(extra: str, extra_rules: str) -> tuple[Toolchain, ...]:
    toolchains: dict[str, Toolchain] = {}
    for name, reference in _references(extra):
        toolchain = _load(name, reference)
        if isinstance(toolchains.setdefault(toolchain.name, toolchain), BrokenToolchain):
            toolchains[toolchain.name] = toolchain
    for name, reference in _rule_references(extra_rules):
        if name in toolchains:
            _add_rule(toolchains[name], reference)
        else:
            toolchains[name] = BrokenToolchain(name, reference, "it adds rules to a toolchain that is not there")
    return tuple(toolchains[name] for name in sorted(toolchains))


def _references(extra: str) -> Iterator[tuple[str, str]]:
    """Yield (name, ``module:Class``) of each plug-in; the extra ones first, so that they can replace an installed one."""
    for reference in filter(None, (part.strip() for part in extra.split(","))):
        yield reference.rpartition(":")[2], reference
    for point in metadata.entry_points(group=GROUP):
        yield point.name, point.value


def _rule_references(extra: str) -> Iterator[tuple[str, str]]:
    """Yield (toolchain, ``module:function``) of each rule that is added."""
    for part in filter(None, (part.strip() for part in extra.split(","))):
        name, _, reference = part.rpartition("=")
        yield name or reference, reference
    for point in metadata.entry_points(group=RULES_GROUP):
        yield point.name, point.value


def _add_rule(toolchain: Toolchain, reference: str) -> None:
    """Have `toolchain` find what the rule of the function `reference` finds, too. Where that fails, the toolchain has no rule."""
    own = toolchain.rule

    def rule(options: RuleOptions) -> PartitionRule:
        from ..rules.combinators import Union

        return Union((own(options), _named(reference)(options)))

    toolchain.rule = rule  # type: ignore[method-assign]


def _named(reference: str) -> Callable[..., Any]:
    """Return the class or function that ``module:name`` names."""
    module, _, attribute = reference.partition(":")
    named: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    return named


def _load(name: str, reference: str) -> Toolchain:
    try:
        toolchain = _named(reference)()
    except Exception as error:  # noqa: BLE001 - a plug-in may fail in any way; the reason is kept and shown
        return BrokenToolchain(name, reference, one_line(f"{type(error).__name__}: {error}"))
    if not isinstance(toolchain, Toolchain):
        return BrokenToolchain(name, reference, f"it is a {type(toolchain).__name__}, not a Toolchain")
    if not getattr(toolchain, "name", ""):
        return BrokenToolchain(name, reference, "it has no name")
    return toolchain
