"""Reads what a client sent into a dataclass of `protocol`: every field has the right type, or one clear line says which has not."""

from __future__ import annotations

import dataclasses
import reprlib
import sys
import types
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import Problem

T = TypeVar("T")
_WORDS: dict[Any, str] = {str: "text", int: "a whole number", float: "a number", bool: "true or false", type(None): "null"}
_SHOWN = 60
_repr = reprlib.Repr()
_repr.maxlevel, _repr.maxstring = 4, _SHOWN + 10


def read(kind: type[T], data: Any) -> T:
    """Read `data` (decoded JSON) as a `kind`.

    Raises:
        Problem: it is no object, a field is missing, unknown or of another type (400, code ``invalid``).
    """
    if not isinstance(data, dict):
        raise _invalid(f"a JSON object was expected, and {_shown(data)} came")
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(set(data) - set(fields))
    if unknown:
        raise _invalid(f"{_shown(unknown[0])} is no field of {kind.__name__}", f"its fields are {', '.join(fields)}")
    hints = get_type_hints(kind)
    for name, field in fields.items():
        if name in data:
            if not _fits(data[name], hints[name]):
                raise _invalid(f"{name!r} must be {_words(hints[name])}, and is {_shown(data[name])}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise _invalid(f"{name!r} is missing: it must be {_words(hints[name])}")
    return kind(**data)


def _fits(value: Any, hint: Any) -> bool:
    if hint is Any:
        return True
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, argument) for argument in arguments)
    if origin is list:
        return isinstance(value, list) and all(_fits(item, arguments[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(_fits(item, arguments[1]) for item in value.values())
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return isinstance(value, hint) and not (hint is int and isinstance(value, bool))


def _words(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(_words(argument) for argument in arguments)
    if origin is list:
        return f"a list (each {_words(arguments[0])})"
    if origin is dict:
        return "an object" if arguments[1] is Any else f"an object (each value {_words(arguments[1])})"
    return _WORDS.get(hint, "anything")


def _shown(value: Any) -> str:
    text = _repr.repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _invalid(message: str, hint: str = "docs/api.md shows what is expected") -> Problem:
    return Problem(400, "invalid", message, hint)
