"""The tables of the cost database, schema 6: one row per cost, one per transition, one per tuned kernel; and how rows are written.

Schema 1 had no `weights`, `slowed_by`, `worker` and `seconds_spent`, no `dtype` of a transition, and at first no `note`; schema 2
had no `repetitions`, schema 3 no `core_latency_s`. Before schema 5 some columns had other names (`RENAMED`), and before schema 6
there were no `tunings`. A column that was added later has its server default in older rows (`migrations`). Rows that are
read may hold anything: `record_validation` decides.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from sqlalchemy import Boolean, Column, Float, Insert, Integer, MetaData, Select, String, Table, Text, TypeDecorator
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection, Dialect

from .records import Row, fields_of

SCHEMA = 6
RENAMED = {"repetitions": "sittings", "core_latency_s": "echo_s", "slowed_by": "unsteady"}
"""Columns of `measurements` that had another name before schema 5, and fields of exported lines before version 4."""
RENAMED_IN_OPTIONS = (" MiB swept", " MiB flushed")
"""Words of `CostKey.options` before schema 5, and since."""


class _Numbers(TypeDecorator[Any]):
    """Stores a tuple of numbers as JSON text, with every digit; reads what is no JSON list as None."""

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
tunings = Table(
    "tunings",
    metadata,
    Column("workload", String, primary_key=True),
    Column("target", String, primary_key=True),
    Column("toolchain", String, primary_key=True),
    Column("version", String, primary_key=True),
    Column("threads", Integer, primary_key=True),
    Column("machine", String, primary_key=True),
    Column("trace", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("default_s", Float, nullable=False),
    Column("trials", Integer, nullable=False),
    Column("spent_s", Float, nullable=False),
    Column("created", String, nullable=False),
    sqlite_with_rowid=False,
)


def read_rows(connection: Connection, query: Select[Any]) -> Iterator[dict[str, Any]]:
    """Yield the columns of each row by name, as they are, valid or not."""
    found = connection.execute(query)
    names = tuple(found.keys())
    return (dict(zip(names, row, strict=True)) for row in found)


def put_rows(connection: Connection, table: Table, rows: Iterable[Row], *, only_newer: bool = False) -> None:
    """Insert rows, or replace those of equal keys; with `only_newer`, replace only what was measured before them.

    Rows are written in the order of their keys, so that two processes never wait for each other's rows in turn.
    """
    values = [fields_of(key, value) for key, value in sorted(rows, key=lambda row: str(row[0]))]
    if values:
        connection.execute(_insert(connection, table, only_newer), values)


def _insert(connection: Connection, table: Table, only_newer: bool) -> Insert:
    """Return the statement. Both dialects share its syntax, yet SQLAlchemy has a class for each."""
    insert = sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)
    others = {column.name: insert.excluded[column.name] for column in table.columns if not column.primary_key}
    newer = insert.excluded.created > table.c.created if only_newer else None
    return insert.on_conflict_do_update(index_elements=list(table.primary_key), set_=others, where=newer)
