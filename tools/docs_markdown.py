"""Markdown of the reference pages: text made safe, tables, and the keys of a dataclass or of a pydantic model with what they mean.

A class enters; the lines of its table leave. The meaning of a key is what the section ``Attributes:`` of the class says of it, so a
page says what the code says.
"""

from __future__ import annotations

import inspect
import json
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import PurePath
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

_SPECIAL = re.compile(r"([\\*_\[\]<>#|])")
_ATTRIBUTE = re.compile(r"(\w+(?:, \w+)*): (.*)")
_WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "any", type(None): "null", dict: "object"}


@dataclass(frozen=True)
class Key:
    """A key of a JSON object.

    Attributes:
        kind: Its type as Markdown.
        default: Its value where it is left out, as Markdown; empty where it is required.
        meaning: As Markdown.
    """

    name: str
    kind: str
    default: str
    meaning: str


def plain(text: str) -> str:
    """Return `text` as one line of Markdown that shows it as it is; what stands between backticks becomes code."""
    parts = re.split(r"(`+[^`]+`+)", " ".join(text.split()))
    return "".join(code(part.strip("`")) if part.startswith("`") else _SPECIAL.sub(r"\\\1", part) for part in parts)


def code(text: str) -> str:
    """Return `text` as code in Markdown, also within a table."""
    return f"`{text}`".replace("|", "\\|")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell or ' ' for cell in cells)} |" for cells in lines)


def anchor(cls: type[Any]) -> str:
    """Return the label of the section about `cls`."""
    return f"format-{cls.__name__.lower()}"


def introduction(cls: type[Any]) -> str:
    """Return what the docstring of `cls` says before its sections, as Markdown; nothing where it has no docstring of its own."""
    text = inspect.cleandoc(cls.__doc__ or "")
    is_made = text.startswith(f"{cls.__name__}(")  # by `dataclass`
    return "" if is_made else "\n\n".join(map(plain, re.split(r"(?:^|\n\n)\w+:\n", text)[0].split("\n\n")))


def attributes(cls: type[Any]) -> dict[str, str]:
    """Return the name → the text of each entry in the section ``Attributes:`` of `cls` and of its bases."""
    found: dict[str, str] = {}
    for one in reversed(cls.__mro__):
        section = re.search(r"^Attributes:\n((?: +.*\n?|\n)*)", inspect.cleandoc(one.__doc__ or ""), re.M)
        for entry in re.split(r"\n(?=    \S)", section[1].rstrip()) if section else ():
            said = _ATTRIBUTE.fullmatch(" ".join(entry.split()))
            if said:
                found |= dict.fromkeys(said[1].split(", "), said[2])
    return found


def keys(cls: type[Any], shown: Iterable[type[Any]] = ()) -> list[Key]:
    """Return the keys of `cls`, a dataclass or a model of pydantic, by the names that they have in a file.

    Args:
        shown: Classes with a section of their own, to which a type links.
    """
    said, hints, linked = attributes(cls), get_type_hints(cls, include_extras=True), set(shown)
    named = {name: Key(name, words(hints[name], linked), default, plain(said.get(name, ""))) for name, default in _defaults(cls).items()}
    aliases = {name: field.alias for name, field in cls.model_fields.items() if field.alias} if issubclass(cls, BaseModel) else {}
    return [Key(aliases.get(name, name), key.kind, key.default, key.meaning) for name, key in named.items()]


def keys_table(cls: type[Any], shown: Iterable[type[Any]] = ()) -> str:
    """Return the table of the keys of `cls`."""
    return table(("key", "is", "unless given", "means"), [(code(key.name), key.kind, key.default, key.meaning) for key in keys(cls, shown)])


def _defaults(cls: type[Any]) -> dict[str, str]:
    if issubclass(cls, BaseModel):
        return {name: _default(field.default, field.default_factory) for name, field in cls.model_fields.items()}
    return {field.name: _default(_default_of(field), field.default_factory) for field in fields(cls) if not field.name.startswith("_")}


def _default_of(field: Field[Any]) -> Any:
    return PydanticUndefined if field.default is MISSING else field.default


def _default(value: Any, factory: Any) -> str:
    if factory not in (None, MISSING):
        value = factory()
    if value is PydanticUndefined:
        return ""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list | set | frozenset):
        return code(json.dumps(list(value))) if value else "none"
    return code("{}" if isinstance(value, Mapping) else f'"{value}"' if isinstance(value, str) else str(value))


FUNCTION = "function"
"""Kind of a value that only Python can give, and no file."""


def words(annotation: Any, linked: set[type[Any]] | frozenset[type[Any]] = frozenset()) -> str:
    """Return how JSON holds a value of the type `annotation`, as Markdown."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Annotated, ClassVar):
        return words(inner[0], linked)
    if origin is Literal:
        return " or ".join(code(f'"{value}"' if isinstance(value, str) else str(value)) for value in inner)
    if origin in (Union, types.UnionType):
        made = [words(one, linked) for one in sorted(inner, key=lambda one: one is type(None))]
        return " or ".join(dict.fromkeys(made))
    if origin is Callable:
        return FUNCTION
    if origin is not None and issubclass(origin, Mapping):
        return f"object of {words(inner[1], linked)}"
    if origin is tuple and Ellipsis not in inner:
        return f"list of {', '.join(words(one, linked) for one in inner)}"
    if origin is not None:
        return f"list of {words(inner[0], linked)}"
    if isinstance(annotation, type) and issubclass(annotation, PurePath):
        return "text"
    if annotation in linked:
        return f"[{annotation.__name__}](#{anchor(annotation)})"
    return _WORDS.get(annotation) or code(getattr(annotation, "__name__", str(annotation)))
