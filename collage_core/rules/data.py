"""Rule trees as data: TOML or JSON in, `PartitionRule`s out, each option checked where it stands.

Design, "Described toolchain". The reverse is `PartitionRule.to_json`, and `rule_to_toml` for TOML.
"""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from ..errors import CollageError
from ..graph.op_pattern_kind import OpPatternKind
from .base import PartitionRule
from .base_rules import DFPattern, Explicit, Host, OpCallByKind, OpPredicate
from .combinators import Composite, OnlyValid, Primitive, Union
from .combine import Combine
from .combiners import parse_combiner
from .operators import OPERATORS
from .pattern import operators_of, parse_pattern
from .segments import Segments
from .where import DTYPES, Condition, parse_where

RULES: Mapping[str, type[PartitionRule]] = {
    rule.name: rule
    for rule in (DFPattern, OpPredicate, OpCallByKind, Composite, Primitive, Union, Combine, OnlyValid, Host, Segments, Explicit)
}
_RULES_HINT = f"the rules are {', '.join(RULES)}"
_HINT = "docs/rules.md has every rule with its options"
_OPERATOR = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_MOST_NESTED = 100
_CLIP = reprlib.Repr()
_CLIP.maxstring = _CLIP.maxother = 100


class RuleMistake(CollageError):
    """A rule tree that does not read.

    Attributes:
        place: Keys and indices from the root of the tree's data, such as ``rule.of[1].max_depth``.
        found: What stands there, None for nothing.
    """

    def __init__(self, message: str, hint: str, place: str, found: Any):
        super().__init__(message, hint, "bad_rule")
        self.place = place
        self.found = found


def rule_from_json(data: Any, where: str) -> PartitionRule:
    """The rule tree that `data` states.

    Args:
        where: Stands before the place in an error: the key that holds the tree.

    Raises:
        RuleMistake: an unknown rule or option, or a value that it does not take; one line that says where.
    """
    if where.count(".of") > _MOST_NESTED:
        raise RuleMistake(f"{where.split('.')[0]} is nested deeper than {_MOST_NESTED} rules", _HINT, where, None)
    if not isinstance(data, Mapping) or not isinstance(data.get("rule"), str):
        raise _mistake(where, data, 'a rule, such as rule = "op_predicate"', _RULES_HINT)
    kind = RULES.get(data["rule"])
    if kind is None:
        raise _mistake(f"{where}.rule", data["rule"], "a known rule", _RULES_HINT)
    return _made(kind, {key: value for key, value in data.items() if key != "rule"}, where)


def _made(kind: type[PartitionRule], options: dict[str, Any], where: str) -> PartitionRule:
    known = {kind.words.get(spec.name, spec.name): spec for spec in fields(kind)}  # type: ignore[arg-type]
    for key in options:
        if key not in known:
            raise _mistake(f"{where}.{key}", options[key], f"left out: {kind.name} has the options {', '.join(known) or 'none'}")
    values: dict[str, Any] = {}
    for word, spec in known.items():
        if word in options:
            values[spec.name] = _read(_READ[spec.name], options[word], f"{where}.{word}", kind)
        elif spec.default is MISSING:
            raise _mistake(f"{where}.{word}", None, f"given: {kind.name} needs it")
    try:
        return kind(**values)
    except CollageError as error:
        raise RuleMistake(f"{where}: {error.message}", error.hint, where, None) from error


def _read(reader: Callable[[Any, str, type[PartitionRule]], Any], value: Any, where: str, kind: type[PartitionRule]) -> Any:
    """What `reader` makes of an option; a mistake in one of the small languages gets its place."""
    try:
        return reader(value, where, kind)
    except RuleMistake:
        raise
    except CollageError as error:
        raise RuleMistake(f"{where}: {error.message}", error.hint, where, value) from error


def _mistake(where: str, found: Any, wanted: str, hint: str = _HINT) -> RuleMistake:
    return RuleMistake(f"{where} is {_CLIP.repr(found)}, it must be {wanted}", hint, where, found)


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


def _operators(value: Any, where: str, kind: type[PartitionRule]) -> tuple[str, ...]:
    ops = _texts(value, where, kind)
    for op in ops:
        _check_operator(op, where)
    return ops


def _check_operator(op: str, where: str) -> None:
    """Refuse what no opset knows. One of another domain cannot be looked up: a model may bring any."""
    if not _OPERATOR.fullmatch(op):
        raise _mistake(where, op, "the name of an operator, such as Conv or com.microsoft.FusedConv")
    if "." not in op and op not in OPERATORS:
        near = difflib.get_close_matches(op, OPERATORS, 1)
        hint = f"did you mean {near[0]}?" if near else "operators of other domains are written with them: com.microsoft.FusedConv"
        raise _mistake(where, op, "an operator of some ONNX opset", hint)


def _dtypes(value: Any, where: str, kind: type[PartitionRule]) -> tuple[str, ...]:
    dtypes = _texts(value, where, kind)
    for dtype in dtypes:
        if dtype not in DTYPES:
            raise _mistake(where, dtype, "a dtype such as float32", f"the dtypes are {', '.join(sorted(DTYPES))}")
    return dtypes


def _match(value: Any, where: str, kind: type[PartitionRule]) -> str:
    text = _text(value, where, kind)
    for op in operators_of(parse_pattern(text)):
        _check_operator(op, where)
    return text


def _where(value: Any, where: str, kind: type[PartitionRule]) -> tuple[Condition, ...]:
    conditions = parse_where(value)
    for condition in conditions:
        if condition.op != "*":
            _check_operator(condition.op, where)
    return conditions


def _combiners(value: Any, where: str, kind: type[PartitionRule]) -> tuple[str, ...]:
    combiners = _texts(value, where, kind)
    for combiner in combiners:
        parse_combiner(combiner)
    return combiners


def _text(value: Any, where: str, kind: type[PartitionRule]) -> str:
    if not isinstance(value, str) or not value:
        raise _mistake(where, value, "a string that is not empty")
    return value


def _kind_letter(value: Any, where: str, kind: type[PartitionRule]) -> str:
    if value not in [member.letter for member in OpPatternKind]:
        raise _mistake(where, value, "one of the kinds E, B, I, R, A, O")
    return str(value)


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
    "ops": _operators,
    "dtypes": _dtypes,
    "where": _where,
    "combiners": _combiners,
    "match": _match,
    "label": _text,
    "max_kind": _kind_letter,
    "max_depth": _count,
    "max_exits": _count,
    "limit": _count,
    "allow_taps": _flag,
    "sets": _name_sets,
}
