"""`DatabaseLocation`: what a cost database in a file (`sqlite_file`) and one on a team's server (`postgres`) have in common.

`find_location` finds the one that a path or a URL means.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

from sqlalchemy.engine import Engine
from sqlalchemy.exc import DBAPIError

from ...errors import CollageError

BUSY_S = 5.0
"""How long to wait for another process that writes."""
URL = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


class DatabaseTrouble(CollageError):
    """Raised when the database is temporarily unavailable: locked, offline, read-only or full. What it holds is sound.

    Attributes:
        words: What is the matter, without saying of what.
    """

    def __init__(self, name: str, what: str, words: str, hint: str, code: str = "database"):
        super().__init__(f"the cost database {name!r} cannot be {what}: {words}", hint, code)
        self.words = words


class DatabaseLocation(Protocol):
    """Where a cost database lies, and how it is opened.

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

    def to_read(self) -> DatabaseLocation:
        """The same location, never to be written."""
        ...

    def trouble(self, what: str, error: DBAPIError) -> DatabaseTrouble:
        """`error` in plain words; `what` could not be done (``read``, ``written``, ``opened``)."""
        ...


def is_url(where: str | Path) -> bool:
    """Whether it is a URL, and no path."""
    return isinstance(where, str) and URL.match(where) is not None
