"""Reads what a client sent into a dataclass of `messages`: every field has the right type, or one clear line says which has not.

Decoded JSON enters; a dataclass leaves, or a `Problem`. Values stay as they came: text that holds a number is no number,
and a whole number stays one.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Hashable
from functools import cache
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, FailFast, ValidationError, create_model

from collage_core.base.validation import first_mistake, shown

from .error_answers import Problem

T = TypeVar("T")


def read(kind: type[T], data: Any) -> T:
    """Read `data` (decoded JSON) as a `kind`.

    Raises:
        Problem: it is no object, a field is missing, unknown or of another type (400, code ``invalid``).
    """
    if not isinstance(data, dict):
        raise _invalid(f"a JSON object was expected, and {shown(data)} came")
    model = _model_of(cast("Hashable", kind))
    unknown = next((name for name in data if name not in model.model_fields), None)
    if unknown is not None:
        raise _invalid(f"{shown(unknown)} is no field of {kind.__name__}", f"its fields are {', '.join(model.model_fields)}")
    try:
        model.model_validate(data)
    except ValidationError as error:
        raise _invalid(str(first_mistake(error))) from None
    return cast("T", _made(kind, data))


_hints = cache(get_type_hints)


def _made(hint: Any, value: Any) -> Any:
    """Return a checked value as what `hint` says: a dataclass of an object; anything else as it came."""
    kind: Any = hint
    if dataclasses.is_dataclass(hint):
        return kind(**{name: _made(inner, value[name]) for name, inner in _hints(kind).items() if name in value})
    if get_origin(hint) is list and dataclasses.is_dataclass(get_args(hint)[0]):
        return [_made(get_args(hint)[0], item) for item in value]
    return value


@cache
def _model_of(kind: Any) -> type[BaseModel]:
    """Return a model of the fields of a dataclass; what a field is if it is not given, the dataclass knows itself."""
    hints = _hints(kind)
    required = {
        field.name
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    fields: dict[str, Any] = {name: (_failing_fast(hint), ... if name in required else None) for name, hint in hints.items()}
    return create_model(kind.__name__, __config__=ConfigDict(strict=True, allow_inf_nan=False), **fields)


def _failing_fast(hint: Any) -> Any:
    """Return `hint` with lists that end at their first mistake, since a body may hold millions, and dataclasses as models."""
    kind: Any = hint
    if dataclasses.is_dataclass(hint):
        return _model_of(kind)
    inner = tuple(map(_failing_fast, get_args(hint)))
    origin = get_origin(hint)
    if origin is list:
        return Annotated[list[inner[0]], FailFast()]  # type: ignore[valid-type]
    if origin is dict:
        return dict[inner[0], inner[1]]  # type: ignore[valid-type]
    return Union[inner] if origin in (Union, types.UnionType) else hint  # noqa: UP007 - the members are known only here


def _invalid(message: str, hint: str = "docs/api.md shows what is expected") -> Problem:
    return Problem(400, "invalid", message, hint)
