"""Mistakes in data from outside, each in one line: the field, what was found, and what it must be."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, ValidationError

from collage_core.base.validation import FieldMistake, MustBe, first_mistake, shown

Seconds = Annotated[float, Strict(), Field(ge=0, le=10), MustBe("seconds, not negative and at most 10")]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")

    samples: Annotated[tuple[Seconds, ...], Field(max_length=2), MustBe("a list of at most 2 numbers")] = ()
    limit_s: Seconds | None = None


def check_word(name: str) -> str:
    if " " in name:
        raise ValueError("a single word")
    return name


class Whole(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(max_length=9), AfterValidator(check_word)]
    threads: int = Field(default=1, ge=1)
    parts: dict[str, Part] = {}


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "words of its own": ({"parts": {"a": {"limit_s": -1}}}, "parts.a.limit_s is -1, it must be seconds, not negative and at most 10"),
    "element": ({"parts": {"a": {"samples": [1, 11]}}}, "parts.a.samples[1] is 11, it must be seconds, not negative and at most 10"),
    "no list": ({"parts": {"a": {"samples": 3}}}, "parts.a.samples is 3, it must be a list of at most 2 numbers"),
    "long list": ({"parts": {"a": {"samples": [1, 2, 3]}}}, "parts.a.samples is [1, 2, 3], it must be a list of at most 2 numbers"),
    "key that is no name": ({"parts": {"a->b": {"limit_s": "1"}}}, "parts['a->b'].limit_s is '1', it must be seconds, not negative"),
    "key": ({"parts": {1: {}}}, "parts[1] is 1, it must be a valid string"),
    "words of pydantic": ({"threads": 0}, "threads is 0, it must be greater than or equal to 1"),
    "kind": ({"threads": True}, "threads is True, it must be a valid integer"),
    "words of a validator": ({"name": "two words"}, "name is 'two words', it must be a single word"),
    "long": ({"name": "a" * 10}, "name is 'aaaaaaaaaa', it must be a string with at most 9 characters"),
    "unknown": ({"colour": "red"}, "colour is 'red', it must be left out"),
    "missing": ({"name": ...}, "name is missing"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_first_mistake_is_one_line(mistake: str) -> None:
    change, said = MISTAKES[mistake]
    data: dict[str, Any] = {"name": "n", **change}
    with pytest.raises(ValidationError) as caught:
        Whole.model_validate({key: value for key, value in data.items() if value is not ...})
    assert str(first_mistake(caught.value)).startswith(said)


def test_a_mistake_has_its_parts() -> None:
    with pytest.raises(ValidationError) as caught:
        Whole.model_validate({"name": 3, "threads": "many"})
    found = first_mistake(caught.value)
    assert found == FieldMistake("name", 3, "a valid string")
    assert (found.is_missing, found.is_unknown) == (False, False)


def test_the_whole_has_no_field() -> None:
    with pytest.raises(ValidationError) as caught:
        Whole.model_validate([1])
    assert str(first_mistake(caught.value)) == "it is [1], it must be a valid dictionary or instance of Whole"


def test_long_values_are_cut() -> None:
    assert shown("x" * 100) == f"'{'x' * 56}..."
    assert shown("x" * 58) == f"'{'x' * 58}'"
