"""Rule trees as data: TOML or JSON in, `PartitionRule`s out, each option checked where it stands.

Design, "Described toolchain". The reverse is `PartitionRule.to_json`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from ..errors import CollageError
from ..graph import OpPatternKind
from .base import PartitionRule
from .base_rules import DFPattern, Explicit, Host, OpCallByKind, OpPredicate
from .combinators import Composite, OnlyValid, Primitive, Union
from .combine import Combine
from .segments import Segments

RULES: Mapping[str, type[PartitionRule]] = {
    rule.name: rule
    for rule in (DFPattern, OpPredicate, OpCallByKind, Composite, Primitive, Union, Combine, OnlyValid, Host, Segments, Explicit)
}
_HINT = f"the rules are {', '.join(RULES)}"


def rule_from_json(data: Any, where: str) -> PartitionRule:
    """The rule tree that `data` states.

    Args:
        where: Stands before the place in an error: the file, or the key that holds the tree.

    Raises:
        CollageError: an unknown rule or option, or a value that it does not take; one line that says where.
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("rule"), str):
        raise _mistake(where, data, 'a rule, such as rule = "op_predicate"')
    kind = RULES.get(data["rule"])
    if kind is None:
        raise _mistake(f"{where}.rule", data["rule"], "a known rule")
    return _made(kind, _options(data), where)


def _options(data: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a rule; a composite's label may be called its name."""
    options = {key: value for key, value in data.items() if key != "rule"}
    if data["rule"] == Composite.name and "name" in options:
        options["label"] = options.pop("name")
    return options


def _made(kind: type[PartitionRule], options: dict[str, Any], where: str) -> PartitionRule:
    known = {spec.name: spec for spec in fields(kind)}  # type: ignore[arg-type]
    for key in options:
        if key not in known:
            raise _mistake(f"{where}.{key}", options[key], f"left out: {kind.name} has the options {', '.join(known) or 'none'}")
    values: dict[str, Any] = {}
    for name, spec in known.items():
        if name in options:
            values[name] = _READ[name](options[name], f"{where}.{name}", kind)
        elif spec.default is MISSING:
            raise _mistake(f"{where}.{name}", None, f"given: {kind.name} needs it")
    return kind(**values)


def _mistake(where: str, found: Any, wanted: str) -> CollageError:
    return CollageError(f"{where} is {found!r}, it must be {wanted}", _HINT, "bad_rule")


def _sub_rules(value: Any, where: str, kind: type[PartitionRule]) -> Any:
    """One rule; where a list stands, several become a union."""
    listed = value if isinstance(value, list) else [value]
    if not listed:
        raise _mistake(where, value, "a rule or a list of rules")
    rules = tuple(rule_from_json(item, f"{where}[{place}]" if isinstance(value, list) else where) for place, item in enumerate(listed))
    if kind is Union:
        return rules
    return rules[0] if len(rules) == 1 else Union(rules)


def _texts(value: Any, where: str, kind: type[PartitionRule]) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _mistake(where, value, "a list of strings")
    return tuple(value)


def _combiners(value: Any, where: str, kind: type[PartitionRule]) -> tuple[str, ...]:
    letters = "".join(member.letter for member in OpPatternKind)
    for item in _texts(value, where, kind):
        head, _, pair = item.partition(":")
        upper, _, lower = pair.partition("-")
        if head != "kind" or len(upper) != 1 or len(lower) != 1 or upper not in letters or lower not in letters:
            raise _mistake(where, item, f"a combiner such as kind:A-B, with kinds from {letters}")
    return tuple(value)


def _text(value: Any, where: str, kind: type[PartitionRule]) -> str:
    if not isinstance(value, str) or not value:
        raise _mistake(where, value, "a string")
    return value


def _kind_letter(value: Any, where: str, kind: type[PartitionRule]) -> str:
    if value not in [member.letter for member in OpPatternKind]:
        raise _mistake(where, value, "one of the kinds E, B, I, R, A, O")
    return value


def _count(value: Any, where: str, kind: type[PartitionRule]) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _mistake(where, value, "a whole number of at least 1")
    return value


def _flag(value: Any, where: str, kind: type[PartitionRule]) -> bool:
    if not isinstance(value, bool):
        raise _mistake(where, value, "true or false")
    return value


def _name_sets(value: Any, where: str, kind: type[PartitionRule]) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list) or not all(isinstance(item, list) and item and all(isinstance(n, str) for n in item) for item in value):
        raise _mistake(where, value, "a list of lists of node names")
    return tuple(tuple(item) for item in value)


_READ: Mapping[str, Callable[[Any, str, type[PartitionRule]], Any]] = {
    "of": _sub_rules,
    "ops": _texts,
    "dtypes": _texts,
    "combiners": _combiners,
    "match": _text,
    "label": _text,
    "max_kind": _kind_letter,
    "max_depth": _count,
    "max_exits": _count,
    "limit": _count,
    "allow_taps": _flag,
    "sets": _name_sets,
}
