"""Where a cost database lies: a file (`sqlite_file`) or a team's server (`postgres`), and what both have in common.

What enters is a path or a URL; what leaves is a place that can be opened, and which says in plain words what is wrong.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Protocol

from sqlalchemy.engine import Engine
from sqlalchemy.exc import DBAPIError

from ..errors import CollageError
from ..home import home

FILE_NAME = "costs.sqlite3"
VARIABLE = "COLLAGE_COSTS"
BUSY_S = 5.0
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


class DatabaseTrouble(CollageError):
    """A database cannot be used just now: away, locked, read-only, full. Nothing is wrong with what it holds.

    Attributes:
        words: What is the matter, without saying of what.
    """

    def __init__(self, name: str, what: str, words: str, hint: str, code: str = "database"):
        super().__init__(f"the cost database {name!r} cannot be {what}: {words}", hint, code)
        self.words = words


class Place(Protocol):
    """Where a database lies.

    Attributes:
        name: The path or the URL, without a password.
        notes: What the user should know of its opening.
    """

    name: str
    notes: list[str]

    def open(self) -> Engine:
        """Connect, make what is missing, bring older tables forward. Transactions that write have the option ``writes``.

        Raises:
            DatabaseTrouble: not now.
            CollageError: it never will be one of ours, or was written by a newer version.
        """
        ...

    def to_read(self) -> Place:
        """The same place, never to be written."""
        ...

    def trouble(self, what: str, error: DBAPIError) -> DatabaseTrouble:
        """`error` in plain words; `what` could not be done (``read``, ``written``, ``opened``)."""
        ...


def is_url(where: str | Path) -> bool:
    """Whether it is a URL, and no path."""
    return isinstance(where, str) and _URL.match(where) is not None


def find_place(where: str | Path | None, busy_s: float = BUSY_S, *, read_only: bool = False) -> Place:
    """The place that is meant.

    Args:
        where: A path or a URL; None for what `COLLAGE_COSTS` names, or else the file in the user's data folder.
        busy_s: How long to wait for another process that writes.
        read_only: Never write, not even a journal.

    Raises:
        CollageError: a URL of something else, or one that says nothing.
    """
    from .postgres import PostgresDatabase
    from .sqlite_file import SqliteFile

    text = str(where if where is not None else os.environ.get(VARIABLE, ""))
    url = _URL.match(text)
    if url is None:
        return SqliteFile(Path(text).expanduser() if text else home() / FILE_NAME, busy_s, read_only=read_only)
    if url[1].lower() not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise CollageError(
            f"costs cannot be kept in a database of the kind {url[1]!r}",
            "give the path of a file, or postgresql://NAME:PASSWORD@HOST/DATABASE",
            "bad_option",
        )
    return PostgresDatabase(text[url.end() :], busy_s, read_only=read_only)
