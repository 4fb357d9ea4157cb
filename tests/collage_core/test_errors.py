"""Words that come from models and files, in messages: nothing in them reaches the terminal as a command, and none fills it."""

from __future__ import annotations

import pytest

from collage_core.errors import CollageError, printable, shortened


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ± µs … «é» 层", "plain ± µs … «é» 层"),
        ("a\x1b]0;title\x07b", "a\\x1b]0;title\\x07b"),
        ("\x9b31mred", "\\x9b31mred"),
        ("conv\u202egpj.exe", "conv\\u202egpj.exe"),
        ("\u2066a\u2069\u200f", "\\u2066a\\u2069\\u200f"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("back\rward\x08", "back\\rward\\x08"),
    ],
)
def test_what_does_not_print_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_long_words_and_long_texts_are_shortened() -> None:
    assert shortened("short words stay") == "short words stay"
    assert shortened(f"node {'n' * 10**6} is odd") == f"node {'n' * 240}…{'n' * 50} is odd"
    assert len(shortened("word " * 10**5)) < 4000


def test_every_message_is_fit_to_be_shown() -> None:
    error = CollageError(f"node '\x1b[2J{'n' * 5000}' is odd", f"rename {'n' * 5000}")
    assert error.message.startswith("node '\\x1b[2Jnnn")
    assert len(error.message) < 400
    assert len(error.hint) < 400
    assert str(error) == error.message
