"""`SqliteFile`: a cost database in one file that several processes of one machine share.

Committed data is on disk. A damaged file is renamed, never overwritten. Reading leaves nothing beside the file.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import QueuePool, create_engine, event, text
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

from ...base.user_file import check_regular
from ...errors import CollageError
from .location import DatabaseTrouble
from .salvage import salvage
from .schema import has_tables, make_tables, measurements, not_ours, put_rows, transitions, tunings

_WORDS = {
    sqlite3.SQLITE_BUSY: "it is locked by another program",
    sqlite3.SQLITE_LOCKED: "it is locked by another program",
    sqlite3.SQLITE_READONLY: "it is read-only",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk does not let it be read or written",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_CORRUPT: "it is damaged",
    sqlite3.SQLITE_NOTADB: "it is not a SQLite file, or it is damaged",
}
_WAY_OUT = "name another file; the next run that measures sets this one aside, and keeps what can be read of it"
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class SqliteFile:
    """A `DatabaseLocation`."""

    def __init__(self, path: Path, busy_s: float, *, read_only: bool):
        self.name = str(path)
        self.notes: list[str] = []
        self._path = path
        self._busy_s = busy_s
        self._read_only = read_only

    def as_read_only(self) -> SqliteFile:
        return SqliteFile(self._path, self._busy_s, read_only=True)

    def open(self) -> Engine:
        if self._read_only and not os.path.isfile(self._path):
            raise CollageError(
                f"there is no cost database {self.name!r}", "check the path; the first run that measures makes one", "no_database"
            )
        self._check_kind()
        try:
            with self._setup_lock():
                return self._open_or_set_aside()
        except DBAPIError as error:
            raise self.trouble("opened", error) from error

    def _check_kind(self) -> None:
        """Refuse a pipe or a device, which SQLite would take for a faulty disk."""
        try:
            check_regular(self._path)
        except OSError as error:
            if error.errno == errno.EINVAL:
                hint = "name a regular file, or one that is not there yet, with COLLAGE_COSTS"
                raise DatabaseTrouble(self.name, "opened", error.strerror or str(error), hint) from error

    def trouble(self, what: str, error: DBAPIError) -> DatabaseTrouble:
        number = _code(error)
        hint = _WAY_OUT if number in _DAMAGED else "end the program that holds it, or name another with COLLAGE_COSTS"
        code = "unwritable" if number == sqlite3.SQLITE_READONLY else "database"
        return DatabaseTrouble(self.name, what, _WORDS.get(number, str(error.orig)), hint, code)

    def _open_or_set_aside(self) -> Engine:
        engine = self._engine()
        try:
            return self._checked(engine)
        except _Damaged:
            engine.dispose()
        except BaseException:
            engine.dispose()
            raise
        aside = _set_aside(self._path)
        fresh = self._checked(self._engine())
        kept = _take_over(fresh, Path(aside))
        what = f", with the {kept} costs that could be read" if kept else ""
        self.notes.append(f"the cost database was damaged; it was renamed to {aside!r} and a new one was created{what}")
        return fresh

    def _engine(self) -> Engine:
        uri = self._path.absolute().as_uri() + (_read_only_options(self._path) if self._read_only else "")
        engine = create_engine(
            "sqlite://",
            poolclass=QueuePool,
            creator=lambda: _connected(uri, self._busy_s),
        )
        if not self._read_only:
            event.listen(engine, "connect", _set_up_connection)
        event.listen(engine, "begin", _begin)
        return engine

    def _checked(self, engine: Engine) -> Engine:
        """Return `engine` once the file is intact and ours, with its tables. Raises `_Damaged`."""
        try:
            with engine.connect().execution_options(writes=not self._read_only) as connection, connection.begin():
                if connection.execute(text("PRAGMA quick_check(1)")).scalar_one() != "ok":
                    raise _Damaged
                is_ready = has_tables(connection, self.name)
                if not is_ready and not self._read_only:
                    make_tables(connection)
        except DBAPIError as error:
            if _code(error) in _DAMAGED and not self._read_only:
                raise _Damaged from error
            raise
        except (_Damaged, UnicodeDecodeError) as damage:
            if self._read_only:
                raise DatabaseTrouble(self.name, "opened", _WORDS[sqlite3.SQLITE_CORRUPT], _WAY_OUT) from damage
            raise _Damaged from damage
        if not is_ready and self._read_only:
            raise not_ours(self.name)
        return engine

    @contextmanager
    def _setup_lock(self) -> Iterator[None]:
        """Let one process at a time look for damage and make the tables, so that none sets aside a file that another just began."""
        if self._read_only:
            yield
            return
        import fcntl

        try:
            lock = self._path.with_name(self._path.name + ".lock").open("w")
        except OSError as error:
            hint = "name one in a folder that you can write with COLLAGE_COSTS"
            raise DatabaseTrouble(self.name, "opened", error.strerror or str(error), hint, "unwritable") from error
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


class _Damaged(Exception):
    """Raised where the file is damaged, or no SQLite file."""


def _connected(uri: str, busy_s: float) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=busy_s, check_same_thread=False, isolation_level=None)
    # A text that is none is a row that is not valid, and no reason to read none of the others.
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection


def _take_over(engine: Engine, damaged: Path) -> int:
    """Copy what can be read of the file `damaged` into the new database of `engine`; return the number of its costs."""
    costs, pairs, kernels = salvage(damaged)
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        put_rows(connection, measurements, costs)
        put_rows(connection, transitions, pairs)
        put_rows(connection, tunings, kernels)
    return len(costs)


def _set_up_connection(connection: sqlite3.Connection, _record: object) -> None:
    """Let several processes read while one writes; a file whose journal mode cannot be changed works without it."""
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


def _begin(connection: Connection) -> None:
    """Begin a transaction. One that writes waits at its start: upgrading from reading to writing can fail without waiting."""
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")


def _read_only_options(path: Path) -> str:
    """Return the URI's options that leave nothing beside the file; a journal that is there must be read."""
    journal = path.with_name(path.name + "-wal")
    return "?mode=ro" if journal.exists() and journal.stat().st_size else "?immutable=1"


def _set_aside(path: Path) -> str:
    """Rename a damaged file and its journal; return the new name."""
    stem = f"{path.name}.damaged-{datetime.now(UTC):%Y-%m-%d}"
    aside, number = path.with_name(stem), 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{stem}-{number}")
    path.rename(aside)
    for suffix in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
    return str(aside)


def _code(error: DBAPIError) -> int:
    """Return SQLite's primary result code."""
    return int(getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF
