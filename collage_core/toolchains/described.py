"""A described toolchain: one that exists on paper, in a TOML file. It finds candidates like any other, and builds nothing.

Design, "Described toolchain": an accelerator not yet bought, a library not yet bound, a rule that a user wrote.
"""

from __future__ import annotations

import re
import reprlib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import CollageError
from ..graph.dataflow_graph import Tensor
from ..model.base import SubModel
from ..rules.base import PartitionRule, RuleOptions
from ..rules.base_rules import DFPattern
from ..rules.combinators import Composite, Union
from ..rules.data import RuleError, rule_from_json
from ..rules.spec import HOST_TARGET
from ..rules.toml import line_of
from ..rules.trees import fusion_tree
from .base import Availability, Kernel, Toolchain, ToolchainError

STYLES = ("graph", "library")
FUSIONS = ("none", "tvm", "arbitrary")
DEPTH = 4
_HINT = "docs/files.md shows a described toolchain, and docs/rules.md every rule"
_NO_COST_HINT = "use mock costs, or give its file a [cost] for an estimate"
_KEYS = ("name", "style", "fusion", "pattern", "rule", "cost")
_LARGEST_LAUNCH_S = 1e6
_LARGEST_RATE = 1e30
_NAME = re.compile(r"[^\W_][\w.-]*")
_AT_LINE = re.compile(r"\(at line (\d+),")


class DescriptionMistake(CollageError):
    """A description that does not read.

    Attributes:
        line: Where, from 1.
        reason: What is wrong there, without the place.
    """

    def __init__(self, message: str, hint: str, line: int, reason: str):
        super().__init__(message, hint, "bad_rule")
        self.line = line
        self.reason = reason


class DescribedToolchain(Toolchain):
    """The toolchain that a file describes.

    Args:
        data: The file's content, checked by `parse_description`.
        source: The file, and the line at which its rules begin: what is said of them later can name it.
        text: The file as it was written.

    Attributes:
        cost: Its ``[cost]``: some of ``launch_s``, ``flops_per_s`` and ``bytes_per_s``; empty where the file has none.
        takes_merged: Whether its rules let partitions that touch be taken together, however many.

    Raises:
        RuleError: its rules do not read.
    """

    def __init__(self, data: Mapping[str, Any], source: str, text: str):
        self.name = data["name"]
        self.source = source
        self.text = text
        self.style = data.get("style", "graph")
        self.letter = self.name[0].upper()
        self.cost = dict(data.get("cost", {}))
        self._fusion = data.get("fusion", "arbitrary" if self.style == "graph" else "none")
        self._tree = rule_from_json(data["rule"], "rule") if "rule" in data else None
        self.takes_merged = self._tree is None and self._fusion == "arbitrary"
        self._patterns = tuple(_pattern(item, f"pattern[{place}]") for place, item in enumerate(data.get("pattern", [])))

    def line_of(self, key: str) -> int:
        """Return the line of its text at which `key` stands."""
        return line_of(self.text, key)

    def availability(self) -> Availability:
        return Availability(False, reason="it is only described, in a file", hint=_NO_COST_HINT, device="described")

    def rule(self, options: RuleOptions) -> PartitionRule:
        """Return the file's own tree as it stands, or its patterns, fused in its style."""
        if self._tree is not None:
            return self._tree
        return fusion_tree(Union(self._patterns), options, style=self._fusion, depth=DEPTH)

    def build(self, model: SubModel, threads: int) -> bytes:
        raise ToolchainError("device", f"{self.name} is only described: nothing can be built for it")

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        raise ToolchainError("device", f"{self.name} is only described: nothing can be run on it")


def read_description(path: Path) -> DescribedToolchain:
    """Return the toolchain that the TOML file `path` describes.

    Raises:
        CollageError: it cannot be read, or a key is wrong; one line that names the file, the line and the key.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CollageError(f"cannot read the toolchain {str(path)!r}: {error.strerror}", "give a TOML file", "no_file") from error
    except ValueError as error:
        raise CollageError(f"{str(path)!r} is not TOML: {error}", _HINT, "bad_rule") from error
    return parse_description(text, str(path))


def parse_description(text: str, source: str) -> DescribedToolchain:
    """Return the toolchain that `text` describes; `source` is what the text is called in a mistake.

    Raises:
        DescriptionMistake: it is no TOML, or a key is wrong. `tomllib` tells no positions of keys, so the line is found by
            `line_of`: right for tables and keys at the start of a line, and a search for the key inside values that span several.
    """
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        at = _AT_LINE.search(str(error))
        line = int(at[1]) if at else max(1, len(text.splitlines()))
        raise DescriptionMistake(f"{source!r} is not TOML: {error}", _HINT, line, f"it is not TOML: {error}") from error
    try:
        _check(data)
        return DescribedToolchain(data, f"{source}, line {line_of(text, 'rule' if 'rule' in data else 'pattern[0]')}", text)
    except RuleError as error:
        line = line_of(text, error.path, error.found)
        raise DescriptionMistake(f"{source}, line {line}: {error.message}", error.hint, line, error.message) from error


def _check(data: Mapping[str, Any]) -> None:
    """Everything but the rules themselves."""
    for key, value in data.items():
        if key not in _KEYS:
            raise _mistake(key, value, f"left out: only {', '.join(_KEYS)} mean something")
    name = data.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name == HOST_TARGET:
        raise _mistake("name", name, "a word, to be named in --targets: letters, digits, '_', '.' and '-', and not host")
    for key, choices in (("style", STYLES), ("fusion", FUSIONS)):
        if key in data and data[key] not in choices:
            raise _mistake(key, data[key], f"one of {', '.join(choices)}")
    if "rule" in data and "pattern" in data:
        raise _mistake("pattern", data["pattern"], "left out where there is a [rule]: the candidates are the tree's and no others")
    if "rule" not in data and "pattern" not in data:
        raise _mistake("pattern", None, "given, or else a [rule] in its place")
    if not isinstance(data.get("pattern", [0]), list) or not data.get("pattern", [0]):
        raise _mistake("pattern", data["pattern"], "a list of at least one: write [[pattern]]")
    if "cost" in data:
        _check_cost(data["cost"])


def _check_cost(cost: Any) -> None:
    known = ("launch_s", "flops_per_s", "bytes_per_s")
    if not isinstance(cost, Mapping):
        raise _mistake("cost", cost, "a table")
    if not cost:
        raise _mistake("cost", cost, f"given with some of {', '.join(known)}, or left out: with none of them all of it would be free")
    for key, value in cost.items():
        if key not in known:
            raise _mistake(f"cost.{key}", value, f"left out: only {', '.join(known)} mean something")
        least, most = (0, _LARGEST_LAUNCH_S) if key == "launch_s" else (1, _LARGEST_RATE)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise _mistake(f"cost.{key}", value, f"a positive, finite number (from {least} to {most:g})")


def _pattern(item: Any, place: str) -> PartitionRule:
    if not isinstance(item, Mapping):
        raise _mistake(place, item, "a table")
    rule = rule_from_json({"rule": "df_pattern", **item}, place)
    return Composite(rule.label, rule) if isinstance(rule, DFPattern) and rule.label else rule


def _mistake(place: str, found: Any, wanted: str) -> RuleError:
    return RuleError(f"{place} is {reprlib.repr(found)}, it must be {wanted}", _HINT, place, found)
