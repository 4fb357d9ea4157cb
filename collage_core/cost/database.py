"""`CostDatabase`: every measurement that was ever made here, in one SQLite file that several processes share.

What enters and leaves are `Record`s by `CostKey`, and the transitions between toolchains. What was put is committed at
once. A damaged file is set aside under another name, never overwritten. When nothing can be saved (locked, read-only,
full), measuring goes on: records stay in memory, and `notes` says so.
"""

from __future__ import annotations

import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    ColumnElement,
    Float,
    Integer,
    MetaData,
    QueuePool,
    String,
    Table,
    create_engine,
    event,
    func,
    inspect,
    select,
    text,
)
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.engine import Connection, Engine, RowMapping
from sqlalchemy.exc import DatabaseError

from ..errors import CollageError
from ..home import home
from .records import CostKey, MeasuredTransition, Record, TransitionKey, now

SCHEMA = 1
FILE_NAME = "costs.sqlite3"
BUSY_S = 5.0
_TRY_AGAIN_S = 30.0
_CHUNK = 500
_WORDS = {
    sqlite3.SQLITE_BUSY: "it is locked by another program",
    sqlite3.SQLITE_LOCKED: "it is locked by another program",
    sqlite3.SQLITE_READONLY: "it is read-only",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
}

_metadata = MetaData()
_meta = Table("meta", _metadata, Column("key", String, primary_key=True), Column("value", String, nullable=False))
_measurements = Table(
    "measurements",
    _metadata,
    Column("computation", String, primary_key=True),
    Column("toolchain", String, primary_key=True),
    Column("version", String, primary_key=True),
    Column("threads", Integer, primary_key=True),
    Column("machine", String, primary_key=True),
    Column("options", String, primary_key=True),
    Column("samples", JSON, nullable=False),
    Column("stage", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("error", Float),
    Column("stopped_early", Boolean, nullable=False),
    Column("crashed", Boolean, nullable=False),
    Column("limit_s", Float),
    Column("reference_s", Float),
    Column("created", String, nullable=False),
    sqlite_with_rowid=False,
)
_transitions = Table(
    "transitions",
    _metadata,
    Column("maker", String, primary_key=True),
    Column("reader", String, primary_key=True),
    Column("maker_version", String, primary_key=True),
    Column("reader_version", String, primary_key=True),
    Column("threads", Integer, primary_key=True),
    Column("machine", String, primary_key=True),
    Column("fixed_s", Float, nullable=False),
    Column("per_byte_s", Float, nullable=False),
    Column("note", String, nullable=False),
    Column("created", String, nullable=False),
    sqlite_with_rowid=False,
)


class CostDatabase:
    """An open cost database.

    Args:
        path: Of the file, made when it is not there; None for the one in `home`.
        busy_s: How long to wait for another process that writes.
        read_only: Never write, not even a journal.

    Attributes:
        notes: What the user should know: a file that was set aside, records that are not saved.

    Raises:
        CollageError: it cannot be opened, is no cost database, or was written by a newer version.
    """

    def __init__(self, path: Path | None = None, *, busy_s: float = BUSY_S, read_only: bool = False):
        self.path = path or home() / FILE_NAME
        self.notes: list[str] = []
        self._read_only = read_only
        self._busy_s = busy_s
        self._unsaved: dict[CostKey, Record] = {}
        self._try_again = 0.0
        try:
            with _one_opener(self.path, read_only):
                self._engine = self._opened()
        except DatabaseError as error:
            raise self._cannot_open(error) from error

    def get(self, keys: Iterable[CostKey]) -> dict[CostKey, Record]:
        """The records that there are."""
        wanted = list(keys)
        found = {key: self._unsaved[key] for key in wanted if key in self._unsaved}
        groups: dict[CostKey, list[str]] = defaultdict(list)
        for key in wanted:
            groups[replace(key, computation="")].append(key.computation)
        try:
            with self._engine.connect() as connection:
                for group, computations in groups.items():
                    for key, record in _select(connection, computations, group):
                        found.setdefault(key, record)
        except DatabaseError as error:
            self._note_trouble("read", error)
        return found

    def of_computations(self, computations: Iterable[str]) -> list[tuple[CostKey, Record]]:
        """Every record of these computations, whatever the toolchain, version, threads and machine."""
        try:
            with self._engine.connect() as connection:
                return list(_select(connection, list(computations), None))
        except DatabaseError as error:
            self._note_trouble("read", error)
            return []

    def put(self, key: CostKey, record: Record) -> None:
        """Keep a record, in place of what was there; it is on disk when this returns, or `notes` says why not."""
        self._unsaved[key] = replace(record, created=record.created or now())
        if time.monotonic() >= self._try_again:
            self._save()

    def count(self) -> int:
        """How many records are on disk."""
        with self._engine.connect() as connection:
            return connection.execute(select(func.count()).select_from(_measurements)).scalar_one()

    def get_transition(self, key: TransitionKey) -> MeasuredTransition | None:
        """A transition that was measured, or found to be impossible to measure."""
        try:
            return self._transition([_transitions.c[name] == value for name, value in asdict(key).items()])
        except DatabaseError as error:
            self._note_trouble("read", error)
            return None

    def newest_transition(self, maker: str, reader: str, machine: str, threads: int) -> MeasuredTransition | None:
        """The same, of whatever versions were measured last."""
        table = _transitions.c
        return self._transition([table.maker == maker, table.reader == reader, table.machine == machine, table.threads == threads])

    def put_transition(self, key: TransitionKey, measured: MeasuredTransition) -> None:
        """Keep a measured transition."""
        values = {**asdict(key), **asdict(measured), "created": now()}
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(_transitions).values(values).on_conflict_do_update(set_=values))
        except DatabaseError as error:
            self._note_trouble("written", error)

    def close(self) -> None:
        """Try once more to save what could not be saved, and close the file."""
        self._save()
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _transition(self, same: list[ColumnElement[bool]]) -> MeasuredTransition | None:
        columns = [_transitions.c[name] for name in MeasuredTransition.__slots__]
        with self._engine.connect() as connection:
            row = connection.execute(select(*columns).where(*same).order_by(_transitions.c.created.desc())).first()
        return MeasuredTransition(*row) if row else None

    def _save(self) -> None:
        if not self._unsaved:
            return
        rows = [{**asdict(key), **asdict(record), "samples": list(record.samples)} for key, record in self._unsaved.items()]
        statement = insert(_measurements)
        columns = {column.name: statement.excluded[column.name] for column in _measurements.columns if not column.primary_key}
        try:
            with self._engine.begin() as connection:
                connection.execute(statement.on_conflict_do_update(set_=columns), rows)
        except DatabaseError as error:
            self._try_again = time.monotonic() + _TRY_AGAIN_S
            self._note_trouble("written", error)
            return
        self._unsaved.clear()

    def _note_trouble(self, what: str, error: DatabaseError) -> None:
        note = f"the cost database {str(self.path)!r} cannot be {what} ({_words(error)}): measuring goes on, but new costs may not be kept"
        if note not in self.notes:
            self.notes.append(note)

    def _opened(self) -> Engine:
        if self._read_only and not self.path.is_file():
            raise CollageError(f"there is no cost database {str(self.path)!r}", "check the path", "no_database")
        engine = self._engine_on_file()
        try:
            self._check(engine)
        except _Damaged:
            engine.dispose()
            self.notes.append(f"the cost database was damaged; it was set aside as {_set_aside(self.path)!r} and a new one was begun")
            engine = self._engine_on_file()
            self._check(engine)
        except BaseException:
            engine.dispose()
            raise
        return engine

    def _engine_on_file(self) -> Engine:
        uri = self.path.absolute().as_uri() + (_reading(self.path) if self._read_only else "")
        engine = create_engine(
            "sqlite://",
            poolclass=QueuePool,
            creator=lambda: sqlite3.connect(uri, uri=True, timeout=self._busy_s, check_same_thread=False),
        )
        if not self._read_only:
            event.listen(engine, "connect", _set_up_connection)
        return engine

    def _check(self, engine: Engine) -> None:
        """That the file is sound and ours; makes the tables in an empty one."""
        try:
            with engine.begin() as connection:
                if connection.execute(text("PRAGMA quick_check(1)")).scalar_one() != "ok":
                    raise _Damaged
                tables = set(inspect(connection).get_table_names())
                if not tables and not self._read_only:
                    _metadata.create_all(connection)
                    connection.execute(insert(_meta).on_conflict_do_nothing(), {"key": "schema", "value": str(SCHEMA)})
                elif not {"meta", "measurements"} <= tables:
                    raise self._foreign()
                schema = connection.execute(select(_meta.c.value).where(_meta.c.key == "schema")).scalar()
        except DatabaseError as error:
            if _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) and not self._read_only:
                raise _Damaged from error
            raise
        if schema is None or not schema.isdigit():
            raise self._foreign()
        if int(schema) > SCHEMA:
            raise CollageError(
                f"the cost database {str(self.path)!r} was written by a newer version (schema {schema}, this one knows {SCHEMA})",
                "update collage-explorer, or set COLLAGE_HOME to another folder",
                "newer_database",
            )

    def _foreign(self) -> CollageError:
        return CollageError(f"{str(self.path)!r} is an SQLite file, but no cost database of ours", "name another file", "no_database")

    def _cannot_open(self, error: DatabaseError) -> CollageError:
        hint = "end the program that holds it, or set COLLAGE_HOME to another folder"
        return CollageError(f"the cost database {str(self.path)!r} cannot be opened: {_words(error)}", hint, "database")


class _Damaged(Exception):
    """The file is no sound SQLite file."""


def _select(connection: Connection, computations: list[str], group: CostKey | None) -> Iterator[tuple[CostKey, Record]]:
    """The records of `computations`; with `group`, only those that agree with it in everything else."""
    same: list[Any] = []
    if group is not None:
        same = [_measurements.c[name] == value for name, value in asdict(group).items() if name != "computation"]
    for start in range(0, len(computations), _CHUNK):
        among = _measurements.c.computation.in_(computations[start : start + _CHUNK])
        for row in connection.execute(select(_measurements).where(among, *same)).mappings():
            yield _key(row), _record(row)


def _key(row: RowMapping) -> CostKey:
    return CostKey(**{name: row[name] for name in CostKey.__slots__})


def _record(row: RowMapping) -> Record:
    return replace(Record(**{name: row[name] for name in Record.__slots__}), samples=tuple(row["samples"]))


def _set_up_connection(connection: sqlite3.Connection, _record: object) -> None:
    """Readers and one writer at a time, in several processes; a file that cannot change its mode works without it."""
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")


def _reading(path: Path) -> str:
    """How to open a file of someone else's without leaving anything beside it; a journal that is there must be read."""
    journal = path.with_name(path.name + "-wal")
    return "?mode=ro" if journal.exists() and journal.stat().st_size else "?immutable=1"


@contextmanager
def _one_opener(path: Path, read_only: bool) -> Iterator[None]:
    """One process at a time looks for damage and makes the tables, so that none sets aside what another just began."""
    if read_only:
        yield
        return
    import fcntl

    try:
        lock = path.with_name(path.name + ".lock").open("w")
    except OSError as error:
        raise CollageError(
            f"the cost database {str(path)!r} cannot be opened: {error.strerror}",
            "set COLLAGE_HOME to a folder that you can write",
            "unwritable",
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _set_aside(path: Path) -> str:
    """Give a damaged file, and what belongs to it, another name; the new name is returned."""
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


def _code(error: DatabaseError) -> int:
    """SQLite's primary result code."""
    return int(getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def _words(error: DatabaseError) -> str:
    return _WORDS.get(_code(error), str(error.orig))
