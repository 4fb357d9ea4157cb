"""`find_location`: make a `DatabaseLocation` of the path or the URL that a user gives. Nothing is opened."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ...base.home import expanded, home, home_path
from ...errors import CollageError
from .location import BUSY_S, URL, DatabaseLocation
from .postgres import PostgresDatabase
from .sqlite_file import SqliteFile

FILE_NAME = "costs.sqlite3"
VARIABLE = "COLLAGE_COSTS"


def find_location(where: str | Path | None, busy_s: float = BUSY_S, *, read_only: bool = False) -> DatabaseLocation:
    """Return the location that `where` means.

    Args:
        where: A path or a URL; None for what `COLLAGE_COSTS` names, or else the file in the user's data folder.
        busy_s: Seconds to wait for another process that writes.
        read_only: Never write, not even a journal.

    Raises:
        CollageError: a URL of another kind of database, or one that cannot be read.
    """
    text = str(where if where is not None else os.environ.get(VARIABLE, ""))
    url = URL.match(text)
    if url is None:
        if not text and not read_only:
            with suppress(CollageError):  # the database itself says that it cannot be written
                home()
        return SqliteFile(expanded(text) if text else home_path() / FILE_NAME, busy_s, read_only=read_only)
    if url[1].lower() not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise CollageError(
            f"costs cannot be kept in a database of the kind {url[1]!r}",
            "give the path of a file, or postgresql://NAME:PASSWORD@HOST/DATABASE",
            "bad_option",
        )
    return PostgresDatabase(text[url.end() :], busy_s, read_only=read_only)
