"""`from_json`: makes a dataclass of what `asdict` and JSON made of it, with the dataclasses inside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from collage_core.base.validation import first_mistake
from collage_core.documents.json_form import adapter_of

T = TypeVar("T")


def from_json(kind: type[T], data: Mapping[str, Any]) -> T:
    """Make a `kind` of `data`; fields that are missing have their defaults, and those that it does not know are left out.

    Raises:
        ValueError: a field without a default is missing, or has a value of another type; the text names it.
    """
    try:
        made: T = adapter_of(kind).validate_python(data)  # type: ignore[arg-type]  # mypy: a type variable is hashable, too
    except ValidationError as error:
        raise ValueError(f"in {kind.__name__}, {first_mistake(error)}") from None
    return made
