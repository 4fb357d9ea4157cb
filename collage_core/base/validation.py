"""Turn pydantic's errors into one line: which field of data from outside is wrong, what was found, and what it must be.

Take a `ValidationError` and give its first `FieldMistake`. `MustBe` gives a type the words of its mistakes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, ValidationError, ValidatorFunctionWrapHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

_LONGEST = 60
_OWN_WORDS = "must_be"
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
_CONTAINERS = ("tuple", "list", "set", "frozenset", "dict", "typed-dict", "dataclass", "model")


@dataclass(frozen=True, slots=True)
class MustBe:
    """Metadata of an annotated type: the words that follow "it must be" where a value does not fit.

    They replace pydantic's words. A mistake inside an element of a list, or inside a field of an object, keeps its own.
    If one value may be wrong in two ways, a validator raises ValueError with the words.

        Threads = Annotated[int, Strict(), Field(ge=1, le=1024), MustBe("a whole number from 1 to 1024")]
    """

    wanted: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        if handler.resolve_ref_schema(schema)["type"] in _CONTAINERS:
            return core_schema.no_info_wrap_validator_function(self._check, schema)
        return core_schema.custom_error_schema(schema, _OWN_WORDS, custom_error_message=self.wanted)

    def _check(self, value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
        try:
            return validate(value)
        except ValidationError as error:
            if _first(error)["loc"]:
                raise
            raise PydanticCustomError(_OWN_WORDS, "{wanted}", {"wanted": self.wanted}) from None


@dataclass(frozen=True, slots=True)
class FieldMistake:
    """One wrong value. As text: "samples[1] is -3, it must be a number, not negative".

    Attributes:
        field: Path to it, such as ``samples[1]`` or ``transitions['a->b'].fixed_s``; empty for the data as a whole.
        found: The value; None where it is missing.
        wanted: The text after "it must be": the words of `MustBe`, else pydantic's; ``given`` or ``left out`` for a field that is
            missing or unknown.
    """

    field: str
    found: Any
    wanted: str

    @property
    def is_missing(self) -> bool:
        return self.wanted == "given"

    @property
    def is_unknown(self) -> bool:
        return self.wanted == "left out"

    def __str__(self) -> str:
        return f"{self.field} is missing" if self.is_missing else f"{self.field or 'it'} is {shown(self.found)}, it must be {self.wanted}"


def first_mistake(error: ValidationError) -> FieldMistake:
    """The first thing that `error` complains about."""
    first = _first(error)
    field = _path(first["loc"])
    if first["type"] == "missing":
        return FieldMistake(field, None, "given")
    return FieldMistake(field, first["input"], "left out" if first["type"] in _UNKNOWN else _wanted(first["msg"]))


def shown(value: Any) -> str:
    """`value` as a message quotes it, at most 60 characters."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _first(error: ValidationError) -> Any:
    return error.errors(include_url=False, include_context=False)[0]


def _wanted(message: str) -> str:
    """Turn pydantic's words, such as "Input should be a valid string", into what follows "it must be"."""
    for prefix in ("Input should be ", "Value error, "):
        if message.startswith(prefix):
            return message.removeprefix(prefix)
    kind, should_have, rest = message.partition(" should have ")
    return f"a {kind.lower()} with {rest}" if should_have else message


def _path(keys: tuple[int | str, ...]) -> str:
    path = ""
    for key in keys:
        if isinstance(key, str) and key.isidentifier():
            path += f".{key}" if path else key
        elif key != "[key]":  # which pydantic adds where a key of an object is wrong, not its value
            path += f"[{key!r}]"
    return path
