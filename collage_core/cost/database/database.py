"""`CostDatabase`: every cost that was ever measured here or by the team, shared by several processes.

It holds `Record`s and profiles by `CostKey`, transitions by `TransitionKey`, tuned kernels by `TuningKey`; every `put` is committed at
once.
The database is a file or a PostgreSQL server (`location`). While it cannot be read or written (offline, locked, read-only, full),
measuring continues: records stay in memory, writing is tried again, and `notes` says so. Records that could not be written by the
end are left as a file to import.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

from ...base.counted import counted
from ...base.durations import now
from ...base.home import home_path
from ...errors import CollageError
from .find_location import find_location
from .json_lines import write_lines
from .location import BUSY_S, DatabaseLocation, DatabaseTrouble
from .record_validation import InvalidRecord, cleaned, cost_row, profile_kernels, transition_row, tuning_row
from .records import (
    CostKey,
    CostRow,
    MeasuredTransition,
    ProfileKernels,
    Record,
    Row,
    TransitionKey,
    TransitionRow,
    TuningKey,
    TuningRecord,
    fields_of,
)
from .schema import has_profiles, measurements, profiles, put_rows, read_rows, transitions, tunings

T = TypeVar("T")
_RETRY_S = 30.0
_CHUNK = 500
_LOWEST_CORE_LATENCY_S = 1e-8
"""No two cores answer each other faster: a lower value is an error of the measurement."""


def open_database(where: str | Path | None = None) -> CostDatabase:
    """Open the database to keep measurements in; measuring can begin even while it is unavailable.

    Args:
        where: A path or ``postgresql://…``; None for what `COLLAGE_COSTS` names, or else the file in the user's data folder.

    Raises:
        CollageError: it is no cost database, or one of another schema; or the URL cannot be read.
    """
    return CostDatabase(where, may_be_unavailable=True)


class CostDatabase:
    """An open cost database. Several threads may use it.

    Args:
        where: As `open_database` takes it.
        busy_s: Seconds to wait for another process that writes.
        read_only: Never write, not even a journal.
        may_be_unavailable: Do not raise where it is unavailable: read what can be read, and keep records in memory.

    Attributes:
        name: The path or the URL, without a password.
        notes: News for the user: a file that was set aside, records that are not saved.

    Raises:
        CollageError: it cannot be opened, is no cost database, or is one of another schema.
    """

    def __init__(
        self, where: str | Path | None = None, *, busy_s: float = BUSY_S, read_only: bool = False, may_be_unavailable: bool = False
    ):
        self._location: DatabaseLocation = find_location(where, busy_s, read_only=read_only)
        self.name = self._location.name
        self.notes: list[str] = []
        self._lock = threading.RLock()
        self._unsaved: dict[CostKey, Record] = {}
        self._unsaved_transitions: dict[TransitionKey, MeasuredTransition] = {}
        self._unsaved_tunings: dict[TuningKey, TuningRecord] = {}
        self._retry_at = {"read": 0.0, "written": 0.0}
        self._noted_invalid = False
        self._left: Path | None = None
        self._engine: Engine | None = None
        try:
            self._engine = self._open()
        except DatabaseTrouble as trouble:
            if not may_be_unavailable:
                raise
            self._continue_without(trouble)

    def get(self, keys: Iterable[CostKey]) -> dict[CostKey, Record]:
        """Return the records of those keys that have one."""
        wanted = set(keys)
        computations, machines = sorted({key.computation for key in wanted}), {key.machine for key in wanted}

        def read(connection: Connection) -> dict[CostKey, Record]:
            on_machines = measurements.c.machine.in_(machines)
            return {key: record for key, record in self._records(connection, computations, on_machines) if key in wanted}

        found = self._try("read", read) or {}
        with self._lock:
            return found | {key: self._unsaved[key] for key in wanted & self._unsaved.keys()}

    def of_computations(self, computations: Iterable[str]) -> list[CostRow]:
        """Return every record of these computations, whatever the toolchain, version, threads and machine."""
        wanted = list(computations)
        return self._try("read", lambda connection: list(self._records(connection, wanted))) or []

    def put(self, key: CostKey, record: Record) -> None:
        """Keep a record, in place of the one with the same key; it is on disk when this returns, or `notes` says why not."""
        key, record = cleaned(key), cleaned(replace(record, created=record.created or now()))
        if not self._is_valid(f"a cost of {key.toolchain}", cost_row, fields_of(key, record)):
            return
        with self._lock:
            self._unsaved[key] = record
            self._save()

    def count(self) -> int:
        """Return the number of records on disk."""
        with self.session() as connection:
            return connection.execute(select(func.count()).select_from(measurements)).scalar_one()

    def lowest_core_latency_s(self, machine: str, ago: timedelta) -> float | None:
        """Return the lowest core-to-core latency measured on `machine` in the time `ago`; None where none was."""
        since = (datetime.now(UTC) - ago).isoformat(timespec="seconds")
        same = measurements.c.machine == machine, measurements.c.created > since, measurements.c.core_latency_s > _LOWEST_CORE_LATENCY_S
        return self._try(
            "read", lambda connection: connection.execute(select(func.min(measurements.c.core_latency_s)).where(*same)).scalar()
        )

    def get_transition(self, key: TransitionKey) -> MeasuredTransition | None:
        """Return the transition of exactly this key, measured or found to be impossible to measure; None where there is none."""
        with self._lock:
            if key in self._unsaved_transitions:
                return self._unsaved_transitions[key]
        found = self._transitions([transitions.c[name] == value for name, value in asdict(key).items()])
        return found[0][1] if found else None

    def newest_transition(self, maker: str, reader: str, machine: str, threads: int, dtype: str = "") -> MeasuredTransition | None:
        """Return the transition measured last, whatever the versions; None where there is none.

        Args:
            dtype: Of this dtype, or else one that was measured for any; if it is empty, one for any comes first.
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
        if not self._is_valid(f"a transition from {key.maker} to {key.reader}", transition_row, fields_of(key, measured)):
            return
        with self._lock:
            self._unsaved_transitions[key] = measured
            self._save()

    def get_profile(self, key: CostKey) -> ProfileKernels | None:
        """Return the kernels of the profile that was taken of the computation of `key`; None where there is none that can be read."""
        same = [profiles.c[name] == value for name, value in asdict(key).items()]

        def read(connection: Connection) -> str | None:
            return connection.execute(select(profiles.c.kernels).where(*same)).scalar() if has_profiles(connection) else None

        text = self._try("read", read)
        with suppress(InvalidRecord):
            return None if text is None else profile_kernels(text)
        return None

    def put_profile(self, key: CostKey, kernels: ProfileKernels) -> None:
        """Keep a profile, in place of the one with the same key; one that cannot be written just now is taken again by the next run."""
        values = {**asdict(cleaned(key)), "kernels": json.dumps(kernels), "created": now()}

        def write(connection: Connection) -> None:
            profiles.create(connection, checkfirst=True)
            connection.execute(delete(profiles).where(*(profiles.c[name] == values[name] for name in CostKey.__slots__)))
            connection.execute(profiles.insert().values(**values))

        self._try("written", write)

    def get_tunings(self, keys: Iterable[TuningKey]) -> dict[TuningKey, TuningRecord]:
        """Return the tuned kernels of those keys that have one."""
        wanted = set(keys)
        query = select(tunings).where(tunings.c.workload.in_(sorted({key.workload for key in wanted})))
        rows = self._try("read", lambda connection: list(read_rows(connection, query))) if wanted else []
        found = {key: record for key, record in self.valid(tuning_row, rows or []) if key in wanted}
        with self._lock:
            return found | {key: self._unsaved_tunings[key] for key in wanted & self._unsaved_tunings.keys()}

    def put_tuning(self, key: TuningKey, record: TuningRecord) -> None:
        """Keep a tuned kernel, as `put` does."""
        key, record = cleaned(key), cleaned(replace(record, created=record.created or now()))
        if not self._is_valid(f"a tuned kernel of {key.toolchain}", tuning_row, fields_of(key, record)):
            return
        with self._lock:
            self._unsaved_tunings[key] = record
            self._save()

    @contextmanager
    def session(self, *, writes: bool = False) -> Iterator[Connection]:
        """Open a transaction: all that is done in it takes effect, or nothing.

        Raises:
            CollageError: the database cannot be read, or written, just now.
        """
        if self._engine is None:
            with self._lock:
                self._engine = self._engine or self._open()
        try:
            with self._engine.connect().execution_options(writes=writes) as connection, connection.begin():
                yield connection
        except DBAPIError as error:
            raise self._location.trouble("written" if writes else "read", error) from error
        except UnicodeDecodeError as error:
            raise DatabaseTrouble(self.name, "read", "it is damaged", "name another file with COLLAGE_COSTS", "database") from error

    def close(self) -> None:
        """Try once more to save what could not be saved, leave the rest as a file, and close the database.

        It may be used again, and is closed again then: its file holds everything that could not be saved until the last time.
        """
        with self._lock:
            self._retry_at["written"] = 0.0
            self._save()
            if self._is_unsaved():
                self._leave_file()
        if self._engine is not None:
            self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def valid(self, make_row: Callable[[Mapping[str, Any]], Row], rows: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
        """Yield what `make_row` (of `record_validation`) makes of each row; rows that are invalid are left out, with a note."""
        for values in rows:
            try:
                yield make_row(values)
            except InvalidRecord as error:
                if not self._noted_invalid:
                    self._noted_invalid = True
                    self._note(f"the cost database {self.name!r} holds what cannot be true and is not used, such as: {error}")

    def _open(self) -> Engine:
        engine = self._location.open()
        self.notes += self._location.notes
        return engine

    def _continue_without(self, trouble: DatabaseTrouble) -> None:
        """Continue without the database, or read it where it just cannot be written."""
        self._note(f"{trouble.message} ({trouble.hint}): measuring goes on, but new costs may not be kept")
        if trouble.code == "unwritable":
            self._location = self._location.as_read_only()
            self._try("read", lambda connection: None)
        else:
            self._retry_at = dict.fromkeys(self._retry_at, time.monotonic() + _RETRY_S)

    def _try(self, what: str, work: Callable[[Connection], T]) -> T | None:
        """Return the result of `work`. If the database cannot be ``read`` or ``written``: None, a note, and no new try for a while."""
        if time.monotonic() < self._retry_at[what]:
            return None
        try:
            with self.session(writes=what == "written") as connection:
                return work(connection)
        except CollageError as error:
            self._retry_at[what] = time.monotonic() + _RETRY_S
            words = error.words if isinstance(error, DatabaseTrouble) else error.message
            self._note(f"the cost database {self.name!r} cannot be {what} ({words}): measuring goes on, but new costs may not be kept")
            return None

    def _records(self, connection: Connection, computations: list[str], *conditions: ColumnElement[bool]) -> Iterator[CostRow]:
        """Yield the records of `computations` to which all `conditions` apply."""
        for start in range(0, len(computations), _CHUNK):
            among = measurements.c.computation.in_(computations[start : start + _CHUNK])
            yield from self.valid(cost_row, read_rows(connection, select(measurements).where(among, *conditions)))

    def _transitions(self, conditions: list[ColumnElement[bool]]) -> list[TransitionRow]:
        """Return the transitions to which all `conditions` apply, the newest first."""
        query = select(transitions).where(*conditions).order_by(transitions.c.created.desc())
        return list(self.valid(transition_row, self._try("read", lambda connection: list(read_rows(connection, query))) or []))

    def _is_valid(self, what: str, make_row: Callable[[Mapping[str, Any]], object], values: Mapping[str, Any]) -> bool:
        try:
            make_row(values)
        except InvalidRecord as error:
            self._note(f"{what} is not kept, since it cannot be true: {error}")
            return False
        return True

    def _is_unsaved(self) -> bool:
        return bool(self._unsaved or self._unsaved_transitions or self._unsaved_tunings)

    def _save(self) -> None:
        if not self._is_unsaved():
            return

        def write(connection: Connection) -> bool:
            put_rows(connection, measurements, self._unsaved.items())
            put_rows(connection, transitions, self._unsaved_transitions.items())
            put_rows(connection, tunings, self._unsaved_tunings.items())
            return True

        if self._try("written", write):
            self._unsaved.clear()
            self._unsaved_transitions.clear()
            self._unsaved_tunings.clear()

    def _leave_file(self) -> None:
        path = self._left = self._left or home_path() / f"costs-not-saved-{datetime.now(UTC):%Y-%m-%d-%H%M%S-%f}-{os.getpid()}.jsonl"
        try:
            path.write_text("".join(write_lines(self._unsaved.items(), self._unsaved_transitions.items(), self._unsaved_tunings.items())))
        except OSError as error:
            self._note(f"{counted(len(self._unsaved), 'cost')} could not be kept, nor written to {str(path)!r}: {error.strerror}")
            return
        self._note(
            f"{counted(len(self._unsaved), 'cost')} could not be kept; they are in {str(path)!r}, which `collage costs import` reads"
        )

    def _note(self, note: str) -> None:
        with self._lock:
            if note not in self.notes:
                self.notes.append(note)
