"""`DescribedToolchain`: a toolchain that exists only as a description in a TOML file. It finds candidates and builds nothing.

It stands for an accelerator not yet bought, a library not yet bound, or rules of a user's own. The text of a file enters; a toolchain
leaves, or an error that names the line. docs/files.md shows a description.
"""

from __future__ import annotations

import math
import re
import reprlib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..base.user_file import read_text
from ..errors import CollageError
from ..graph.dataflow_graph import Tensor
from ..model.model import SubModel
from ..rules.base_rules import DFPattern
from ..rules.combinators import FUSION_STYLES, Composite, Union, fusion_tree
from ..rules.data import RuleError, rule_from_json
from ..rules.rule import PartitionRule, RuleOptions
from ..rules.spec import HOST_TARGET
from ..rules.toml import line_of
from .abilities import StatesCosts
from .toolchain import Availability, Kernel, Toolchain, ToolchainError

DEPTH = 4
"""Bound on the depth of candidates that patterns combine to, unless the user gives one."""
STYLES = ("graph", "library")
_HINT = "docs/files.md shows a described toolchain, and docs/rules.md every rule"
MOST_TEXT = 256 << 10
MOST_PARTS = 32
"""Most parts of a dotted key; those of a description have up to four."""
_NO_KEY = re.compile(r"[^\w\-.\s\"']+")
"""Characters that no dotted key has, not even one whose parts are quoted."""
_NO_COST_HINT = "use mock costs, or give its file a [cost] for an estimate"
KEYS = ("name", "style", "fusion", "pattern", "rule", "cost", "location")
SPEEDS = ("launch_s", "flops_per_s", "bytes_per_s")
"""Keys of ``[cost]`` for what it computes; one of them must be there."""
COST_BOUNDS = {
    "launch_s": (0, 1e6),
    "flops_per_s": (1, 1e30),
    "bytes_per_s": (1, 1e30),
    "transfer_latency_s": (0, 1e6),
    "transfer_bytes_per_s": (1, 1e30),
}
"""Key of ``[cost]`` → its least and its greatest value."""
TRANSFERS = ("transfer_latency_s", "transfer_bytes_per_s")
LINKS = ("from_host", "to_host")
"""Keys of ``[location]`` for copies between the host and the location."""
MOST_BYTES = 1e15
LINK_BOUNDS = {"fixed_s": (0, 1e6), "per_byte_s": (0, 1e6)}
_NAME = re.compile(r"[^\W_][\w.-]*")
_AT_LINE = re.compile(r"\(at line (\d+),")


class DescriptionError(CollageError):
    """Raised for a description that cannot be read.

    Attributes:
        line: Line of the error, from 1.
        reason: The message without file and line.
    """

    def __init__(self, message: str, hint: str, line: int, reason: str):
        super().__init__(message, hint, "bad_rule")
        self.line = line
        self.reason = reason


class DescribedToolchain(Toolchain):
    """The toolchain that a description stands for.

    Args:
        data: The content of the file, checked by `parse_description` except for the rules.
        source: Name of the file, and the line at which its rules begin, for later messages.
        text: The file's text.

    Attributes:
        cost: Its ``[cost]``: some of `COST_BOUNDS`; empty where the file has none.
        location: Its ``[location]``: the ``name`` of the memory where it computes, the ``bytes`` that it holds where that is said, and
            ``from_host`` and ``to_host``, the costs of copies.
            Transfers in its ``[cost]`` make a location of its own name. Empty where it computes at the host, so that transfers are free.

    Raises:
        RuleError: a rule is not valid.
    """

    def __init__(self, data: Mapping[str, Any], source: str, text: str):
        self.name = data["name"]
        self.source = source
        self.text = text
        self.style = data.get("style", "graph")
        self.takes_open_shapes = self.takes_opaque = True  # its rules say what it takes, and nothing is run on it
        self.letter = self.name[0].upper()
        self.cost = dict(data.get("cost", {}))
        self.location = dict(data.get("location", {})) or _own_location(self.name, self.cost)
        self._fusion = data.get("fusion", "arbitrary" if self.style == "graph" else "none")
        self._tree = rule_from_json(data["rule"], "rule") if "rule" in data else None
        self.takes_merged = self._tree is None and self._fusion == "arbitrary"
        self._patterns = tuple(_pattern(item, f"pattern[{index}]") for index, item in enumerate(data.get("pattern", [])))

    def line_of(self, key: str) -> int:
        """Return the line of its text at which `key` is."""
        return line_of(self.text, key)

    def availability(self) -> Availability:
        return Availability(False, reason="it is only described, in a file", hint=_NO_COST_HINT, device="described")

    def rule(self, options: RuleOptions) -> PartitionRule:
        """Return the file's own tree unchanged, or its patterns, combined by its fusion style."""
        if self._tree is not None:
            return self._tree
        return fusion_tree(Union(self._patterns), options, style=self._fusion, depth=DEPTH)

    def build(self, model: SubModel, threads: int) -> bytes:
        raise ToolchainError("device", f"{self.name} is only described: nothing can be built for it")

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        raise ToolchainError("device", f"{self.name} is only described: nothing can be run on it")


def has_trials(toolchain: Toolchain) -> bool:
    """Return whether its candidates are built and timed, as is usual. A described toolchain has estimates, and some state their costs."""
    return not isinstance(toolchain, DescribedToolchain | StatesCosts)


def read_description(path: Path) -> DescribedToolchain:
    """Return the toolchain that the TOML file `path` describes.

    Raises:
        CollageError: the file cannot be read, or a key is wrong; one line that names the file, the line and the key.
    """
    try:
        text = read_text(path)
    except OSError as error:
        raise CollageError(f"cannot read the toolchain {str(path)!r}: {error.strerror}", "give a TOML file", "no_file") from error
    except ValueError as error:
        raise CollageError(f"{str(path)!r} is not TOML: {error}", _HINT, "bad_rule") from error
    return parse_description(text, str(path))


def parse_description(text: str, source: str) -> DescribedToolchain:
    """Return the toolchain that `text` describes; errors call the text `source`.

    Raises:
        DescriptionError: the text is not TOML, or a key is wrong. Its line is found by `rules.toml.line_of`.
    """
    _check_size(text, source)
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        at = _AT_LINE.search(str(error))
        line = int(at[1]) if at else max(1, len(text.splitlines()))
        raise DescriptionError(f"{source!r} is not TOML: {error}", _HINT, line, f"it is not TOML: {error}") from error
    try:
        _check(data)
        return DescribedToolchain(data, f"{source}, line {line_of(text, 'rule' if 'rule' in data else 'pattern[0]')}", text)
    except RuleError as error:
        line = line_of(text, error.path, error.found)
        raise DescriptionError(f"{source}, line {line}: {error.message}", error.hint, line, error.message) from error


def _check_size(text: str, source: str) -> None:
    """Refuse what would take `tomllib` long: its time grows with the square of the parts of a key."""
    if len(text) > MOST_TEXT:
        reason = f"it has {len(text)} characters, at most {MOST_TEXT} are read"
        raise DescriptionError(f"{source!r} is too large: {reason}", _HINT, 1, reason)
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("#") and any(part.count(".") >= MOST_PARTS for part in _NO_KEY.split(line)):
            reason = f"a key has more than {MOST_PARTS} parts"
            raise DescriptionError(f"{source}, line {number}: {reason}", _HINT, number, reason)


def _check(data: Mapping[str, Any]) -> None:
    """Raise RuleError for anything that is wrong in `data`, except inside rules and patterns."""
    for key, value in data.items():
        if key not in KEYS:
            raise _mistake(key, value, f"left out: only {', '.join(KEYS)} mean something")
    name = data.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name == HOST_TARGET:
        raise _mistake("name", name, "a word, to be named in --targets: letters, digits, '_', '.' and '-', and not host")
    for key, choices in (("style", STYLES), ("fusion", FUSION_STYLES)):
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
    if "location" in data:
        _check_location(data["location"])
        stated = next((key for key in TRANSFERS if key in data.get("cost", {})), None)
        if stated is not None:
            raise _mistake(f"cost.{stated}", data["cost"][stated], "left out where there is a [location], which says what copies cost")


def _check_location(location: Any) -> None:
    known = ("name", "bytes", *LINKS)
    if not isinstance(location, Mapping):
        raise _mistake("location", location, "a table")
    for key, value in location.items():
        if key not in known:
            raise _mistake(f"location.{key}", value, f"left out: only {', '.join(known)} mean something")
    name = location.get("name")
    if not isinstance(name, str) or not name or name == HOST_TARGET or "->" in name or name != name.strip():
        raise _mistake("location.name", name, "the name of a memory such as cuda:0, and not host")
    limit = location.get("bytes", 0)
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit <= MOST_BYTES:
        raise _mistake("location.bytes", limit, f"a number from 0 to {MOST_BYTES:g}: how much the memory holds")
    for link in LINKS:
        costs = location.get(link)
        if not isinstance(costs, Mapping) or not costs:
            raise _mistake(f"location.{link}", costs, f"a table with some of {', '.join(LINK_BOUNDS)}: what a copy costs")
        for key, value in costs.items():
            if key not in LINK_BOUNDS:
                raise _mistake(f"location.{link}.{key}", value, f"left out: only {', '.join(LINK_BOUNDS)} mean something")
            least, most = LINK_BOUNDS[key]
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
                raise _mistake(f"location.{link}.{key}", value, f"a number from {least} to {most:g}")


def _own_location(name: str, cost: Mapping[str, Any]) -> dict[str, Any]:
    """Return the location that the transfers in a ``[cost]`` stand for, as ``[location]`` would state it; empty where it has none."""
    if not any(key in cost for key in TRANSFERS):
        return {}
    link = {"fixed_s": cost.get("transfer_latency_s", 0), "per_byte_s": 1 / cost.get("transfer_bytes_per_s", math.inf)}
    return {"name": name, **dict.fromkeys(LINKS, link)}


def _check_cost(cost: Any) -> None:
    known = ", ".join(COST_BOUNDS)
    if not isinstance(cost, Mapping):
        raise _mistake("cost", cost, "a table")
    for key, value in cost.items():
        if key not in COST_BOUNDS:
            raise _mistake(f"cost.{key}", value, f"left out: only {known} mean something")
        least, most = COST_BOUNDS[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise _mistake(f"cost.{key}", value, f"a positive, finite number (from {least} to {most:g})")
    if not any(key in cost for key in SPEEDS):
        raise _mistake("cost", cost, f"given with some of {', '.join(SPEEDS)}, or left out: with none of them all of it would be free")


def _pattern(item: Any, path: str) -> PartitionRule:
    if not isinstance(item, Mapping):
        raise _mistake(path, item, "a table")
    rule = rule_from_json({"rule": "df_pattern", **item}, path)
    return Composite(rule.label, rule) if isinstance(rule, DFPattern) and rule.label else rule


def _mistake(path: str, found: Any, wanted: str) -> RuleError:
    return RuleError(f"{path} is {reprlib.repr(found)}, it must be {wanted}", _HINT, path, found)
