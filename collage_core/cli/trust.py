"""`asks_trust`: before a command opens a file that is a program, asks its user whether to, or reads the answer from ``--trust``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from ..base.home import expanded
from ..base.model_file import PROGRAM_TEXT, may_hold_code
from ..errors import CollageError, printable

TRUST_HELP = "Open a .py or .pt2 MODEL without asking. Such a file is a program: opening it can run code under your account."

F = TypeVar("F", bound=Callable[..., Any])


def asks_trust(*names: str) -> Callable[[F], F]:
    """Add the option ``--trust`` to a command, and the question about the files in its parameters `names`."""

    def decorate(command: F) -> F:
        @click.option("--trust", is_flag=True, help=TRUST_HELP)
        @wraps(command)
        def asking(*arguments: Any, trust: bool, **given: Any) -> Any:
            for name in names:
                value = given[name]
                for source in value if isinstance(value, tuple) else (value,):
                    if source is not None and not trust:
                        check_trust(source)
            return command(*arguments, **given)

        return asking  # type: ignore[return-value]

    return decorate


def check_trust(source: str) -> None:
    """Ask on the terminal whether to open the file `source`, if it is a program.

    Raises:
        CollageError: the user does not want to, or there is no terminal to ask on.
    """
    path = expanded(source)
    if not may_hold_code(path) or not os.path.isfile(path):
        return
    words = f"{source!r} {PROGRAM_TEXT}"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CollageError(words, "give --trust if you trust its author", "asks_trust")
    click.echo(printable(f"{words}."), err=True)
    if not click.confirm("Open it?", err=True):
        raise CollageError(f"{source!r} was not opened", "", "asks_trust")
