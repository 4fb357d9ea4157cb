"""`to_json` and `from_json`: a document as the JSON that programs read, and as a record again.

A document is a frozen dataclass whose attributes have the names of the keys. Its types say what JSON holds: records, tuples, mappings,
texts and numbers. Infinite numbers and NaN stay as they are: a plan can err without bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from ..base.validation import first_mistake
from ..errors import CollageError

T = TypeVar("T")


def _is_none(value: object) -> bool:
    return value is None


IfKnown = Annotated[T | None, Field(exclude_if=_is_none)]
"""A value whose key is left out of the JSON where there is none. Its default is None. Other fields that are None are null."""


Seconds = Annotated[float, Field(ge=0, lt=1e300, allow_inf_nan=False)]
"""A time that was measured or predicted. It is checked where a record is made of JSON."""


def to_json(document: Any) -> Any:
    """Return a document, or a tuple of documents, as plain data: objects, lists, texts and numbers."""
    kind: Any = type(document)
    return adapter_of(kind).dump_python(document, mode="json", by_alias=True)


def from_json(kind: type[T], data: Any) -> T:
    """Return the document of type `kind` that `data` is the JSON of; keys that it does not know are left out.

    Raises:
        CollageError: a key is missing, or has a value of another type; the message names it.
    """
    try:
        document: T = adapter_of(kind).validate_python(data)  # type: ignore[arg-type]  # mypy: a type variable is hashable, too
    except ValidationError as error:
        raise CollageError(
            f"the JSON is not that of {kind.__name__}: {first_mistake(error)}", "give JSON that this version wrote", "bad_document"
        ) from None
    return document


@cache
def adapter_of(kind: Any) -> TypeAdapter[Any]:
    """Return the validator of a type; making one takes milliseconds, so there is one of each, made when it is first needed."""
    return TypeAdapter(kind)


@dataclass(frozen=True)
class Key:
    """The key of an attribute in JSON; one that `is_optional` is left out where the attribute is None."""

    name: str
    is_optional: bool


@cache
def keys_of(kind: Any) -> Mapping[str, Key]:
    """Return the key of each attribute of a dataclass."""
    keys = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        refined = [part for part in getattr(hint, "__metadata__", ()) if isinstance(part, FieldInfo)]
        alias = next((part.alias for part in refined if part.alias is not None), name)
        keys[name] = Key(alias, any(part.exclude_if is _is_none for part in refined))
    return keys


def members(record: Any) -> dict[str, Any]:
    """Return the members of the JSON object that a record is, each as its attribute has it."""
    kind: type = type(record)
    keys = keys_of(kind)
    values = ((keys[field.name], getattr(record, field.name)) for field in fields(record))
    return {key.name: value for key, value in values if value is not None or not key.is_optional}
