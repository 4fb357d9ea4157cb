"""The reference pages of the site: types, keys, commands and limits in the words of the code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import docs_commands
import docs_formats
import docs_markdown
import pytest
from docs_markdown import Key, attributes, code, introduction, keys, plain, words
from pydantic import BaseModel, Field

from collage_core.cost.database.record_validation import FIELD_TYPES


@dataclass
class Inner:
    size: int


@dataclass
class Outer:
    """An example; `first` comes first.

    And a second paragraph.

    Attributes:
        first, second: Two of
            a kind.
        inner: The rest.
    """

    first: str
    second: float | None = None
    inner: tuple[Inner, ...] = ()
    more: dict[str, int] = field(default_factory=dict)


class Model(BaseModel):
    """A model.

    Attributes:
        from_: Where it begins.
    """

    from_: int = Field(alias="from", default=3)


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        (str, "text"),
        (Path, "text"),
        (int | None, "whole number or null"),
        (tuple[float, ...], "list of number"),
        (tuple[int, str], "list of whole number, text"),
        (Mapping[str, list[bool]], "object of list of true or false"),
        (Literal["a", 1], '`"a"` or `1`'),
        (dict[str, Any], "object of any"),
        (Inner, "`Inner`"),
    ],
)
def test_a_type_is_said_in_words_of_json(annotation: Any, said: str) -> None:
    assert words(annotation) == said


def test_a_class_is_said_key_by_key() -> None:
    assert keys(Outer, [Inner]) == [
        Key("first", "text", "", "Two of a kind."),
        Key("second", "number or null", "null", "Two of a kind."),
        Key("inner", "list of [Inner](#format-inner)", "none", "The rest."),
        Key("more", "object of whole number", "`{}`", ""),
    ]
    assert keys(Model) == [Key("from", "whole number", "`3`", "Where it begins.")]
    assert introduction(Outer) == "An example; `first` comes first.\n\nAnd a second paragraph."
    assert introduction(Inner) == ""
    assert attributes(Inner) == {}


def test_text_is_shown_as_it_is() -> None:
    assert plain("a *b* [c]\n  of `x|y` and ``z``") == r"a \*b\* \[c\] of `x\|y` and `z`"
    assert code("a|b") == r"`a\|b`"
    assert docs_markdown.table(("a", "b"), [("1", "")]) == "| a | b |\n| --- | --- |\n| 1 |   |"


def test_the_command_line_has_every_option_with_its_help() -> None:
    page = docs_commands.command_page()
    assert "| `--slower-than 5%` | Fail if the plan takes so much longer than in its run on this machine. |" in page
    assert "(collage-costs-export)=\n### collage costs export\n" in page
    assert "collage check [OPTIONS] MODEL" in page
    assert "--help" not in page


def test_the_limits_of_exported_costs_are_those_of_the_validation() -> None:
    assert docs_formats.must_be(FIELD_TYPES["stopped_early"]) == "true or false"
    assert docs_formats.must_be(FIELD_TYPES["error"]) == "a finite number, not negative or null"
    page = docs_formats.format_page()
    assert "| `threads` | a whole number from 1 to 1048576 | Threads that the kernel was given. |" in page
    assert "| `max_depth` |" in page
    assert "`grows`" not in page, "no file can hold a function"
    assert docs_formats.plan_schema().startswith("{")
    assert "(format-runrequest)=" in docs_formats.message_page()
