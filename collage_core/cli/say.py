"""`say`: prints text for people, in which what comes from models and files is escaped where it would not print; and times in words."""

from __future__ import annotations

import click

from ..errors import printable


def say(text: str, *, err: bool = False) -> None:
    """Print `text` and a line end on standard output, or on standard error where `err`."""
    click.echo(printable(text), err=err)


def duration(seconds: float | None) -> str:
    """Return `seconds` as text with four significant digits and a unit, or a dash."""
    if seconds is None:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1 or unit == "µs":
            return f"{seconds * scale:.4g} {unit}"
    return "-"


def signed(seconds: float | None) -> str:
    """Return a difference as text, with its sign."""
    return "not known" if seconds is None else f"{'-' if seconds < 0 else '+'}{duration(abs(seconds))}"
