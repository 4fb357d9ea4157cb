"""Matches TVM's pattern tables (`relax.backend.pattern_registry`) on a model: every registered pattern with its own check.

A sub-model and a prefix enter; the names of the patterns and of the nodes that each matches leave. It runs TVM, and belongs in a worker
process. What a user registered is there where a module that `COLLAGE_PATTERN_TABLES` or the entry-point group ``collage.pattern_tables``
names does so as it is imported.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from typing import Any

import tvm
from tvm import relax
from tvm.relax.backend.pattern_registry import get_patterns_with_prefix
from tvm.relax.dpl import CallPattern, TupleGetItemPattern, TuplePattern
from tvm.relax.transform import PatternCheckContext

from ...errors import CollageError
from ...model.model import SubModel
from ...model.relax.relax_model import RelaxSource
from ...rules.rule import TableMatch
from ..border import one_line
from .tvm_byoc import MODULES
from .tvm_named_import import NamedModule, bindings_of, import_source, nodes_of

OTHERS = "COLLAGE_PATTERN_TABLES"
"""Environment variable with the names of further modules, separated by commas."""


def read_tables(model: SubModel | RelaxSource, prefixes: Sequence[str]) -> dict[str, list[TableMatch]]:
    """Return what the patterns of each prefix match in `model`, those of the highest priority first.

    Raises:
        CollageError: no pattern has a name with such a prefix, or a module that registers patterns cannot be imported.
        ToolchainError: TVM does not take the model.
    """
    tables = {prefix: patterns_of(prefix) for prefix in prefixes}
    named = import_source(model)
    return {
        prefix: [replace(found, nodes=nodes_of(model, found.nodes)) for found in matches_of(named, patterns)]
        for prefix, patterns in tables.items()
    }


def patterns_of(prefix: str) -> list[Any]:
    """Return the registered patterns whose names begin with `prefix`, those of the highest priority first."""
    for name in _modules(prefix):
        try:
            importlib.import_module(name)
        except Exception as error:  # a module of a user's may raise anything
            raise CollageError(
                f"the module {name!r} of pattern tables cannot be imported: {one_line(error)}", "mend it", "bad_rule"
            ) from error
    patterns = list(get_patterns_with_prefix(prefix))
    if not patterns:
        hint = f"TVM's are {', '.join(MODULES)}; {OTHERS} names modules that register more"
        raise CollageError(f"TVM has no pattern table {prefix!r}", hint, "bad_rule")
    return patterns


def _modules(prefix: str) -> Iterator[str]:
    first = prefix.split(".")[0]
    if first in MODULES:
        yield f"tvm.relax.backend.{MODULES[first]}"
    yield from filter(None, os.environ.get(OTHERS, "").split(","))
    yield from (entry.value for entry in metadata.entry_points(group="collage.pattern_tables"))


def matches_of(named: NamedModule, patterns: Iterable[Any]) -> list[TableMatch]:
    """Return what each of `patterns` matches in a module: at every binding, whatever else matches there."""
    matcher = _Matcher(named)
    return [match for pattern in patterns for match in matcher.of(pattern)]


class _Matcher:
    """Matches patterns in one module."""

    def __init__(self, named: NamedModule):
        main = named.module["main"]
        self._named = named
        self._bindings = bindings_of(main)
        self._value_of = relax.analysis.get_var2val(main)
        self._usages = relax.analysis.udchain(main.body.blocks[0])
        self._number_of = {binding.value: number for number, binding in enumerate(self._bindings[: len(named.nodes)])}
        self._bound = tvm.runtime.convert({binding.value: binding.var for binding in self._bindings})
        self._of_node: dict[str, set[int]] = {}
        from_constants = _from_constants(self._bindings)
        for number, node in enumerate(named.nodes):
            if number not in from_constants:
                self._of_node.setdefault(node, set()).add(number)

    def of(self, pattern: Any) -> Iterator[TableMatch]:
        for binding in self._bindings[: len(self._named.nodes)]:
            matched = pattern.pattern.extract_matched_expr(binding.value, self._value_of)
            if matched:
                found = self._match(pattern, binding.value, dict(matched.items()))
                if found is not None:
                    yield found

    def _match(self, pattern: Any, value: Any, matched: Mapping[Any, Any]) -> TableMatch | None:
        own = (CallPattern, TupleGetItemPattern, TuplePattern)
        numbers = {self._number_of[expr] for part, expr in matched.items() if isinstance(part, own) and expr in self._number_of}
        nodes = tuple(dict.fromkeys(self._named.nodes[number] for number in sorted(numbers) if self._named.nodes[number]))
        if not nodes:
            return None
        return TableMatch(str(pattern.name), nodes, self._refusal(pattern, value, matched, numbers, nodes))

    def _refusal(self, pattern: Any, value: Any, matched: Mapping[Any, Any], numbers: set[int], nodes: Iterable[str]) -> str:
        if pattern.check is not None:
            annotated = {name: matched[part] for name, part in pattern.annotation_patterns.items() if part in matched}
            inside = {self._bindings[number].var: self._bindings[number].value for number in sorted(numbers)}
            try:
                if not pattern.check(PatternCheckContext(value, annotated, inside, self._usages, self._bound)):
                    return "the pattern's own check refuses it"
            except Exception as error:  # noqa: BLE001 - a check may fail on what it was not written for
                return f"the pattern's own check fails: {one_line(error)}"
        part = next((node for node in nodes if not self._of_node.get(node, set()) <= numbers), None)
        return f"it takes only a part of the node {part!r}" if part is not None else ""


def _from_constants(bindings: Sequence[Any]) -> set[int]:
    """Return the numbers of the bindings that depend on constants only."""
    constant: set[Any] = set()
    names = set()
    for number, binding in enumerate(bindings):
        if all(var in constant for var in relax.analysis.free_vars(binding.value)):
            constant.add(binding.var)
            names.add(number)
    return names
