"""`DatabaseLocation`: the interface of a cost database in a file (`sqlite_file`) and of one on a team's server (`postgres`).

`find_location` makes one of a path or a URL.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

from sqlalchemy.engine import Engine
from sqlalchemy.exc import DBAPIError

from ...errors import CollageError

BUSY_S = 5.0
"""Seconds to wait for another process that writes."""
URL = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


class DatabaseTrouble(CollageError):
    """Raised when the database is temporarily unavailable: locked, offline, read-only or full.

    Attributes:
        words: The reason alone, without the name of the database.
    """

    def __init__(self, name: str, what: str, words: str, hint: str, code: str = "database"):
        super().__init__(f"the cost database {name!r} cannot be {what}: {words}", hint, code)
        self.words = words


class DatabaseLocation(Protocol):
    """Knows where a cost database is, and how to open it.

    Attributes:
        name: The path or the URL, without a password.
        notes: News for the user about its opening.
    """

    name: str
    notes: list[str]

    def open(self) -> Engine:
        """Connect, and make the tables in an empty database. Transactions that write have the option ``writes``.

        Raises:
            DatabaseTrouble: it is unavailable just now.
            CollageError: it is no cost database, or one of another schema.
        """
        ...

    def as_read_only(self) -> DatabaseLocation:
        """Return the same location, never to be written."""
        ...

    def trouble(self, what: str, error: DBAPIError) -> DatabaseTrouble:
        """Say `error` in plain words.

        Args:
            what: The operation that failed: ``read``, ``written`` or ``opened``.
        """
        ...


def is_url(where: str | Path) -> bool:
    """Return whether `where` is a URL, and no path."""
    return isinstance(where, str) and URL.match(where) is not None
