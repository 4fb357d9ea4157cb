"""`from_json`: makes a dataclass of what `asdict` and JSON made of it, with the dataclasses inside it. For files and workers of our own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def from_json(kind: type[T], data: Mapping[str, Any]) -> T:
    """Make a `kind` of `data`; fields that are missing have their defaults. Other types than dataclasses are not checked.

    Raises:
        KeyError: a field is unknown.
        TypeError: a field without a default is missing, or something else stands where a dataclass should.
    """
    made: T = _built(kind, data)
    return made


def _built(hint: Any, data: Any) -> Any:
    if data is None or not _holds_dataclass(hint):
        return data
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is list:
        return [_built(arguments[0], item) for item in data]
    if origin is dict:
        return {key: _built(arguments[1], item) for key, item in data.items()}
    if not is_dataclass(hint):  # a union with None
        return _built(next(filter(_holds_dataclass, arguments)), data)
    if not isinstance(data, Mapping):
        raise TypeError(f"{data!r} is no {hint}")
    kind: Any = hint
    hints = _hints(kind)
    return kind(**{name: _built(hints[name], item) for name, item in data.items()})


@cache
def _holds_dataclass(hint: Any) -> bool:
    return is_dataclass(hint) or any(map(_holds_dataclass, get_args(hint)))


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
