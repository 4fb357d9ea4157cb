"""`CostDatabase`: every measurement that was ever made here or by the team, shared by several processes.

What enters and leaves are `Record`s by `CostKey`, and the transitions between toolchains. What was put is committed at
once. It lies in a file or on a PostgreSQL server (`places`). When it cannot be read or written (away, locked, read-only,
full), measuring goes on: records stay in memory and are tried again, and `notes` says so. What no database took by the end
is left as a file to import.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self, TypeVar

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

from ...base.home import home
from ...errors import CollageError
from .find_location import FILE_NAME, find_location
from .json_lines import write_lines
from .location import BUSY_S, DatabaseLocation, DatabaseTrouble
from .record_validation import cleaned, flaw
from .records import CostKey, MeasuredTransition, Record, TransitionKey, now
from .schema import CostRow, Row, TransitionRow, cost_row, measurements, put_rows, transition_row, transitions

__all__ = ["FILE_NAME", "CostDatabase", "open_database"]

T = TypeVar("T")
_TRY_AGAIN_S = 30.0
_CHUNK = 500
_LOWEST_CORE_LATENCY_S = 1e-8
"""No two cores answer each other faster: what says so is no measurement."""


def open_database(where: str | Path | None = None) -> CostDatabase:
    """The database to keep measurements in; where it cannot be used just now, measuring can begin all the same.

    Args:
        where: A path or ``postgresql://…``; None for what `COLLAGE_COSTS` names, or else the file in the user's data folder.

    Raises:
        CollageError: it is no cost database, was written by a newer version, or the URL cannot be read.
    """
    return CostDatabase(where, go_on=True)


class CostDatabase:
    """An open cost database. Several threads may use it.

    Args:
        where: As `open_database` takes it.
        busy_s: How long to wait for another process that writes.
        read_only: Never write, not even a journal.
        go_on: Open even when it cannot be used just now: what is there is read if it can be, records stay in memory.

    Attributes:
        name: The path or the URL, without a password.
        notes: What the user should know: a file that was set aside, records that are not saved.

    Raises:
        CollageError: it cannot be opened, is no cost database, or was written by a newer version.
    """

    def __init__(self, where: str | Path | None = None, *, busy_s: float = BUSY_S, read_only: bool = False, go_on: bool = False):
        self._location: DatabaseLocation = find_location(where, busy_s, read_only=read_only)
        self.name = self._location.name
        self.notes: list[str] = []
        self._lock = threading.RLock()
        self._unsaved: dict[CostKey, Record] = {}
        self._unsaved_transitions: dict[TransitionKey, MeasuredTransition] = {}
        self._try_again = {"read": 0.0, "written": 0.0}
        self._told_flaw = False
        self._engine: Engine | None = None
        try:
            self._engine = self._opened()
        except DatabaseTrouble as trouble:
            if not go_on:
                raise
            self._go_on(trouble)

    def get(self, keys: Iterable[CostKey]) -> dict[CostKey, Record]:
        """The records that there are."""
        wanted = set(keys)
        computations, machines = sorted({key.computation for key in wanted}), {key.machine for key in wanted}

        def read(connection: Connection) -> dict[CostKey, Record]:
            among = measurements.c.machine.in_(machines)
            return {key: record for key, record in self._records(connection, computations, among) if key in wanted}

        found = self._tried("read", read) or {}
        with self._lock:
            return found | {key: self._unsaved[key] for key in wanted & self._unsaved.keys()}

    def of_computations(self, computations: Iterable[str]) -> list[CostRow]:
        """Every record of these computations, whatever the toolchain, version, threads and machine."""
        wanted = list(computations)
        return self._tried("read", lambda connection: list(self._records(connection, wanted))) or []

    def put(self, key: CostKey, record: Record) -> None:
        """Keep a record, in place of what was there; it is on disk when this returns, or `notes` says why not."""
        key, record = cleaned(key), cleaned(replace(record, created=record.created or now()))
        if not self._is_sound(f"a cost of {key.toolchain}", key, record):
            return
        with self._lock:
            self._unsaved[key] = record
            self._save()

    def count(self) -> int:
        """How many records are on disk."""
        with self.session() as connection:
            return connection.execute(select(func.count()).select_from(measurements)).scalar_one()

    def lowest_core_latency_s(self, machine: str, ago: timedelta) -> float | None:
        """Of what was measured on `machine` since so long ago; None where nothing tells."""
        since = (datetime.now(UTC) - ago).isoformat(timespec="seconds")
        mine = measurements.c.machine == machine, measurements.c.created > since, measurements.c.core_latency_s > _LOWEST_CORE_LATENCY_S
        return self._tried(
            "read", lambda connection: connection.execute(select(func.min(measurements.c.core_latency_s)).where(*mine)).scalar()
        )

    def get_transition(self, key: TransitionKey) -> MeasuredTransition | None:
        """A transition that was measured, or found to be impossible to measure; of exactly this dtype."""
        with self._lock:
            if key in self._unsaved_transitions:
                return self._unsaved_transitions[key]
        found = self._transitions([transitions.c[name] == value for name, value in asdict(key).items()])
        return found[0][1] if found else None

    def newest_transition(self, maker: str, reader: str, machine: str, threads: int, dtype: str = "") -> MeasuredTransition | None:
        """The same, of whatever versions were measured last.

        Of `dtype`, or else of one that was measured for any; without `dtype`, what is for any comes first, then the newest.
        """
        table = transitions.c
        same = [table.maker == maker, table.reader == reader, table.machine == machine, table.threads == threads]
        if dtype:
            same.append(table.dtype.in_((dtype, "")))
        found = self._transitions(same)
        fitting = [measured for key, measured in found if key.dtype == dtype] or [measured for _, measured in found]
        return fitting[0] if fitting else None

    def put_transition(self, key: TransitionKey, measured: MeasuredTransition) -> None:
        """Keep a measured transition, as `put` does."""
        key, measured = cleaned(key), cleaned(replace(measured, created=measured.created or now()))
        if not self._is_sound(f"a hand-over from {key.maker} to {key.reader}", key, measured):
            return
        with self._lock:
            self._unsaved_transitions[key] = measured
            self._save()

    @contextmanager
    def session(self, *, writes: bool = False) -> Iterator[Connection]:
        """A transaction: all that is done in it, or nothing.

        Raises:
            CollageError: the database cannot be read, or written, just now.
        """
        if self._engine is None:
            with self._lock:
                self._engine = self._engine or self._opened()
        try:
            with self._engine.connect().execution_options(writes=writes) as connection, connection.begin():
                yield connection
        except DBAPIError as error:
            raise self._location.trouble("written" if writes else "read", error) from error

    def close(self) -> None:
        """Try once more to save what could not be saved, leave the rest as a file, and close the database."""
        with self._lock:
            self._try_again["written"] = 0.0
            self._save()
            if self._unsaved or self._unsaved_transitions:
                self._leave_file()
        if self._engine is not None:
            self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _opened(self) -> Engine:
        engine = self._location.open()
        self.notes += self._location.notes
        return engine

    def _go_on(self, trouble: DatabaseTrouble) -> None:
        """Without the database, or with reading it alone where that is all that one may."""
        self._note(f"{trouble.message} ({trouble.hint}): measuring goes on, but new costs may not be kept")
        if trouble.code == "unwritable":
            self._location = self._location.to_read()
            self._tried("read", lambda connection: None)
        else:
            self._try_again = dict.fromkeys(self._try_again, time.monotonic() + _TRY_AGAIN_S)

    def _tried(self, what: str, work: Callable[[Connection], T]) -> T | None:
        """What `work` gives; where the database cannot be ``read`` or ``written``, None and a note, and for a while no new try."""
        if time.monotonic() < self._try_again[what]:
            return None
        try:
            with self.session(writes=what == "written") as connection:
                return work(connection)
        except CollageError as error:
            self._try_again[what] = time.monotonic() + _TRY_AGAIN_S
            words = error.words if isinstance(error, DatabaseTrouble) else error.message
            self._note(f"the cost database {self.name!r} cannot be {what} ({words}): measuring goes on, but new costs may not be kept")
            return None

    def _records(self, connection: Connection, computations: list[str], *same: ColumnElement[bool]) -> Iterator[CostRow]:
        """The records of `computations` to which `same` applies."""
        for start in range(0, len(computations), _CHUNK):
            among = measurements.c.computation.in_(computations[start : start + _CHUNK])
            yield from self.sound(map(cost_row, connection.execute(select(measurements).where(among, *same)).mappings()))

    def _transitions(self, same: list[ColumnElement[bool]]) -> list[TransitionRow]:
        """The newest first."""
        query = select(transitions).where(*same).order_by(transitions.c.created.desc())
        rows = self._tried("read", lambda connection: list(map(transition_row, connection.execute(query).mappings())))
        return list(self.sound(rows or []))

    def sound(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Those that can be true; that there are others is noted."""
        for row in rows:
            wrong = flaw(*row)
            if not wrong:
                yield row
            elif not self._told_flaw:
                self._told_flaw = True
                self._note(f"the cost database {self.name!r} holds what cannot be true and is not used, such as: {wrong}")

    def _is_sound(self, what: str, key: CostKey | TransitionKey, value: Record | MeasuredTransition) -> bool:
        wrong = flaw(key, value)
        if wrong:
            self._note(f"{what} is not kept, since it cannot be true: {wrong}")
        return not wrong

    def _save(self) -> None:
        if not self._unsaved and not self._unsaved_transitions:
            return

        def write(connection: Connection) -> bool:
            put_rows(connection, measurements, self._unsaved.items())
            put_rows(connection, transitions, self._unsaved_transitions.items())
            return True

        if self._tried("written", write):
            self._unsaved.clear()
            self._unsaved_transitions.clear()

    def _leave_file(self) -> None:
        path = home() / f"costs-not-saved-{datetime.now(UTC):%Y-%m-%d-%H%M%S}-{os.getpid()}.jsonl"
        try:
            path.write_text("".join(write_lines(self._unsaved.items(), self._unsaved_transitions.items())))
        except OSError as error:
            self._note(f"{len(self._unsaved)} costs could not be kept, nor written to {str(path)!r}: {error.strerror}")
            return
        self._note(f"{len(self._unsaved)} costs could not be kept; they are in {str(path)!r}, which `collage costs import` reads")

    def _note(self, note: str) -> None:
        with self._lock:
            if note not in self.notes:
                self.notes.append(note)
