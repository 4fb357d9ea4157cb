"""The tables of the cost database, schema 5: one row a measurement, one a transition; and how both become rows and back.

Schema 1 had no `weights`, `slowed_by`, `worker` and `seconds_spent`, no `dtype` of a transition, and at first no `note`; schema 2
had no `repetitions`, schema 3 no `core_latency_s`. Before schema 5 some columns had other names (`RENAMED`). A column that was
added later has its server default in older rows (`migrations`). What is read from a row is what was in it, valid or not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from sqlalchemy import Boolean, Column, Float, Insert, Integer, MetaData, String, Table, Text, TypeDecorator
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection, Dialect

from .records import CostKey, MeasuredTransition, Record, TransitionKey

SCHEMA = 5
RENAMED = {"repetitions": "sittings", "core_latency_s": "echo_s", "slowed_by": "unsteady"}
"""Columns of `measurements` that had another name before schema 5, and fields of exported lines before version 4."""
RENAMED_IN_OPTIONS = (" MiB swept", " MiB flushed")
"""Words of `CostKey.options` before schema 5, and since."""


Key = CostKey | TransitionKey
Value = Record | MeasuredTransition
CostRow = tuple[CostKey, Record]
TransitionRow = tuple[TransitionKey, MeasuredTransition]
Row = TypeVar("Row", CostRow, TransitionRow)


class _Numbers(TypeDecorator[Any]):
    """A tuple of numbers as JSON text, every digit kept; what is no JSON list is read as None."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return json.dumps(list(value))

    def process_result_value(self, value: Any, dialect: Dialect) -> tuple[float, ...] | None:
        with suppress(ValueError, TypeError, RecursionError):
            return tuple(json.loads(value))
        return None


metadata = MetaData()
meta = Table("meta", metadata, Column("key", String, primary_key=True), Column("value", String, nullable=False))
measurements = Table(
    "measurements",
    metadata,
    Column("computation", String, primary_key=True),
    Column("toolchain", String, primary_key=True),
    Column("version", String, primary_key=True),
    Column("threads", Integer, primary_key=True),
    Column("machine", String, primary_key=True),
    Column("options", String, primary_key=True),
    Column("weights", String, primary_key=True, server_default=""),
    Column("samples", _Numbers, nullable=False),
    Column("stage", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("error", Float),
    Column("stopped_early", Boolean, nullable=False),
    Column("crashed", Boolean, nullable=False),
    Column("limit_s", Float),
    Column("reference_s", Float),
    Column("created", String, nullable=False),
    Column("slowed_by", Float, nullable=False, server_default="0"),
    Column("worker", String, nullable=False, server_default=""),
    Column("seconds_spent", Float, nullable=False, server_default="0"),
    Column("repetitions", _Numbers, nullable=False, server_default="[]"),
    Column("core_latency_s", Float),
    sqlite_with_rowid=False,
)
transitions = Table(
    "transitions",
    metadata,
    Column("maker", String, primary_key=True),
    Column("reader", String, primary_key=True),
    Column("maker_version", String, primary_key=True),
    Column("reader_version", String, primary_key=True),
    Column("threads", Integer, primary_key=True),
    Column("machine", String, primary_key=True),
    Column("dtype", String, primary_key=True, server_default=""),
    Column("fixed_s", Float, nullable=False),
    Column("per_byte_s", Float, nullable=False),
    Column("note", String, nullable=False, server_default=""),
    Column("created", String, nullable=False),
    sqlite_with_rowid=False,
)


def plain(key: Key, value: Value) -> dict[str, Any]:
    """The fields of both by name. `dataclasses.asdict` copies each sample, which takes longer than to write it."""
    return {name: getattr(item, name) for item in (key, value) for name in item.__slots__}


def cost_row(row: Mapping[Any, Any]) -> CostRow:
    """A row of `measurements`."""
    return CostKey(**{name: row[name] for name in CostKey.__slots__}), Record(**{name: row[name] for name in Record.__slots__})


def transition_row(row: Mapping[Any, Any]) -> TransitionRow:
    """A row of `transitions`."""
    key = TransitionKey(**{name: row[name] for name in TransitionKey.__slots__})
    return key, MeasuredTransition(**{name: row[name] for name in MeasuredTransition.__slots__})


def put_rows(connection: Connection, table: Table, rows: Iterable[Row], *, only_newer: bool = False) -> None:
    """Write rows in place of those of equal keys; with `only_newer`, only over what was measured before them.

    They are written in the order of their keys, so that two processes never wait for each other's rows in turn.
    """
    values = [plain(key, value) for key, value in sorted(rows, key=lambda row: str(row[0]))]
    if values:
        connection.execute(_put(connection, table, only_newer), values)


def _put(connection: Connection, table: Table, only_newer: bool) -> Insert:
    """Both dialects say it in the same words, yet each has a class of its own."""
    insert = sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)
    others = {column.name: insert.excluded[column.name] for column in table.columns if not column.primary_key}
    newer = insert.excluded.created > table.c.created if only_newer else None
    return insert.on_conflict_do_update(index_elements=list(table.primary_key), set_=others, where=newer)
