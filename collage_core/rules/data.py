"""Reads rule trees from data (of a TOML or JSON file), and checks every option.

Data enters, a `PartitionRule` leaves; an error names the path of the wrong value, such as ``rule.of[1].max_depth``. The reverse is
`PartitionRule.to_json`, and `rule_to_toml` for TOML.
"""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from ..errors import CollageError
from ..graph.dataflow_graph import OpPatternKind
from .base_rules import DFPattern, Explicit, Host, OpCallByKind, OpPredicate, PatternTable
from .combinators import Combine, Composite, Folds, OnlyValid, Primitive, Union
from .combiners import parse_combiner
from .operators import DTYPES, OPERATORS, Condition, parse_where
from .pattern import operators_of, parse_pattern
from .rule import PartitionRule
from .segments import Segments

RULES: Mapping[str, type[PartitionRule]] = {
    rule.name: rule
    for rule in (
        DFPattern,
        OpPredicate,
        OpCallByKind,
        Composite,
        Primitive,
        Union,
        Combine,
        OnlyValid,
        Folds,
        Host,
        Segments,
        Explicit,
        PatternTable,
    )
}
_RULES_HINT = f"the rules are {', '.join(RULES)}"
_HINT = "docs/rules.md has every rule with its options"
_OPERATOR = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_MOST_NESTED = 100
_CLIP = reprlib.Repr()
_CLIP.maxstring = _CLIP.maxother = 100


class RuleError(CollageError):
    """Raised for data that is no rule tree.

    Attributes:
        path: Keys and indices from the root of the data, such as ``rule.of[1].max_depth``.
        found: The value there; None where it is missing.
    """

    def __init__(self, message: str, hint: str, path: str, found: Any):
        super().__init__(message, hint, "bad_rule")
        self.path = path
        self.found = found


def rule_from_json(data: Any, path: str) -> PartitionRule:
    """Return the rule tree that `data` describes.

    Args:
        path: Path of `data` in its file, with which errors begin: the key that holds the tree.

    Raises:
        RuleError: a rule or option is unknown, or an option does not take its value; one line that says where.
    """
    if path.count(".of") > _MOST_NESTED:
        raise RuleError(f"{path.split('.')[0]} is nested deeper than {_MOST_NESTED} rules", _HINT, path, None)
    if not isinstance(data, Mapping) or not isinstance(data.get("rule"), str):
        raise _mistake(path, data, 'a rule, such as rule = "op_predicate"', _RULES_HINT)
    kind = RULES.get(data["rule"])
    if kind is None:
        raise _mistake(f"{path}.rule", data["rule"], "a known rule", _RULES_HINT)
    return _rule(kind, {key: value for key, value in data.items() if key != "rule"}, path)


def _rule(kind: type[PartitionRule], options: dict[str, Any], path: str) -> PartitionRule:
    """Return the rule of class `kind` with `options`, each of which is checked."""
    known = {kind.words.get(spec.name, spec.name): spec for spec in fields(kind) if spec.name in _READ}  # type: ignore[arg-type]
    for key in options:
        if key not in known:
            raise _mistake(f"{path}.{key}", options[key], f"left out: {kind.name} has the options {', '.join(known) or 'none'}")
    values: dict[str, Any] = {}
    for word, spec in known.items():
        if word in options:
            values[spec.name] = _read(spec.name, options[word], f"{path}.{word}")
        elif spec.default is MISSING:
            raise _mistake(f"{path}.{word}", None, f"given: {kind.name} needs it")
    if "of" in values and kind is not Union:
        rules = values["of"]
        values["of"] = rules[0] if len(rules) == 1 else Union(rules)
    try:
        return kind(**values)
    except CollageError as error:
        raise RuleError(f"{path}: {error.message}", error.hint, path, None) from error


def _read(field: str, value: Any, path: str) -> Any:
    """Return the value of an option for `field`; an error in a pattern, condition or combiner gets its path."""
    try:
        return _READ[field](value, path)
    except RuleError:
        raise
    except CollageError as error:
        raise RuleError(f"{path}: {error.message}", error.hint, path, value) from error


def _mistake(path: str, found: Any, wanted: str, hint: str = _HINT) -> RuleError:
    return RuleError(f"{path} is {_CLIP.repr(found)}, it must be {wanted}", hint, path, found)


def _sub_rules(value: Any, path: str) -> tuple[PartitionRule, ...]:
    """Return the rule or the rules under `of`."""
    listed = value if isinstance(value, list) else [value]
    if not listed:
        raise _mistake(path, value, "a rule or a list of rules")
    return tuple(rule_from_json(item, f"{path}[{index}]" if isinstance(value, list) else path) for index, item in enumerate(listed))


def _texts(value: Any, path: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _mistake(path, value, "a list of strings")
    return tuple(value)


def _operators(value: Any, path: str) -> tuple[str, ...]:
    ops = _texts(value, path)
    for op in ops:
        _check_operator(op, path)
    return ops


def _check_operator(op: str, path: str) -> None:
    """Raise RuleError for an operator that is in no ONNX opset; of other domains any name is accepted, since a model may define it."""
    if not _OPERATOR.fullmatch(op):
        raise _mistake(path, op, "the name of an operator, such as Conv or com.microsoft.FusedConv")
    if "." not in op and op not in OPERATORS:
        near = difflib.get_close_matches(op, OPERATORS, 1)
        hint = f"did you mean {near[0]}?" if near else "operators of other domains are written with them: com.microsoft.FusedConv"
        raise _mistake(path, op, "an operator of some ONNX opset", hint)


def _dtypes(value: Any, path: str) -> tuple[str, ...]:
    dtypes = _texts(value, path)
    for dtype in dtypes:
        if dtype not in DTYPES:
            raise _mistake(path, dtype, "a dtype such as float32", f"the dtypes are {', '.join(sorted(DTYPES))}")
    return dtypes


def _match(value: Any, path: str) -> str:
    text = _text(value, path)
    for op in operators_of(parse_pattern(text)):
        _check_operator(op, path)
    return text


def _conditions(value: Any, path: str) -> tuple[Condition, ...]:
    conditions = parse_where(value)
    for condition in conditions:
        if condition.op != "*":
            _check_operator(condition.op, path)
    return conditions


def _combiners(value: Any, path: str) -> tuple[str, ...]:
    combiners = _texts(value, path)
    for combiner in combiners:
        parse_combiner(combiner)
    return combiners


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str) or not value:
        raise _mistake(path, value, "a string that is not empty")
    return value


def _kind_letter(value: Any, path: str) -> str:
    if value not in [member.letter for member in OpPatternKind]:
        raise _mistake(path, value, "one of the kinds E, B, I, R, A, O")
    return str(value)


def _count(value: Any, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _mistake(path, value, "a whole number of at least 1")
    return value


def _flag(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise _mistake(path, value, "true or false")
    return value


def _name_sets(value: Any, path: str) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list) or not all(isinstance(item, list) and item and all(isinstance(n, str) for n in item) for item in value):
        raise _mistake(path, value, "a list of lists of node names")
    return tuple(tuple(item) for item in value)


_READ: Mapping[str, Callable[[Any, str], Any]] = {
    "of": _sub_rules,
    "ops": _operators,
    "dtypes": _dtypes,
    "where": _conditions,
    "combiners": _combiners,
    "match": _match,
    "label": _text,
    "max_kind": _kind_letter,
    "max_depth": _count,
    "max_exits": _count,
    "limit": _count,
    "allow_taps": _flag,
    "sets": _name_sets,
    "prefix": _text,
}
"""Field of a rule → the function that reads its value; its second argument is the path of the value."""
