"""`say`: prints text for people, in which what comes from models and files is escaped where it would not print."""

from __future__ import annotations

import click

from ..errors import printable


def say(text: str, *, err: bool = False) -> None:
    """Print `text` and a line end on standard output, or on standard error where `err`."""
    click.echo(printable(text), err=err)
