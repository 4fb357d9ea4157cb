"""The tables of the cost database, schema 1: one row per cost, transition, profile and tuned kernel; and how rows are written.

A database is ours when it says this schema and its tables have exactly these columns. Rows that are read may hold anything:
`record_validation` decides.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from sqlalchemy import Boolean, Column, Float, Insert, Integer, MetaData, Select, String, Table, Text, TypeDecorator, inspect, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection, Dialect

from ...errors import CollageError
from .records import CostKey, Row, fields_of

SCHEMA = 1


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
    Column("weights", String, primary_key=True),
    Column("samples", _Numbers, nullable=False),
    Column("stage", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("error", Float),
    Column("stopped_early", Boolean, nullable=False),
    Column("crashed", Boolean, nullable=False),
    Column("limit_s", Float),
    Column("reference_s", Float),
    Column("created", String, nullable=False),
    Column("slowed_by", Float, nullable=False),
    Column("worker", String, nullable=False),
    Column("seconds_spent", Float, nullable=False),
    Column("repetitions", _Numbers, nullable=False),
    Column("core_latency_s", Float),
    Column("checked_on", String, nullable=False),
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
    Column("dtype", String, primary_key=True),
    Column("fixed_s", Float, nullable=False),
    Column("per_byte_s", Float, nullable=False),
    Column("note", String, nullable=False),
    Column("created", String, nullable=False),
    sqlite_with_rowid=False,
)
profiles = Table(
    "profiles",
    metadata,
    *(Column(name, Integer if name == "threads" else String, primary_key=True) for name in CostKey.__slots__),
    Column("kernels", Text, nullable=False),
    Column("created", String, nullable=False),
    sqlite_with_rowid=False,
)
"""A database that is older than profiles lacks it until the first is put."""
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


def has_tables(connection: Connection, name: str) -> bool:
    """Return whether the database has the tables; an empty one has none.

    Args:
        name: Its name in messages.

    Raises:
        CollageError: it holds something else, or is of another schema.
    """
    inspector = inspect(connection)
    names = set(inspector.get_table_names())
    if connection.dialect.name != "sqlite":  # a server's database may hold much else
        names &= set(metadata.tables)
    if not names:
        return False
    reflected = inspector.get_multi_columns(filter_names=list(metadata.tables))
    columns = {table_name: {item["name"] for item in items} for (_, table_name), items in reflected.items()}
    if columns.get(meta.name) != set(meta.columns.keys()) or measurements.name not in names:
        raise not_ours(name)
    schema = connection.execute(select(meta.c.value).where(meta.c.key == "schema")).scalar()
    if not str(schema).isdecimal():
        raise not_ours(name)
    if str(schema) != str(SCHEMA):
        raise _other_schema(f"the cost database {name!r} has schema {schema}, and this collage-explorer reads schema {SCHEMA} alone")
    for table in metadata.sorted_tables:
        if table is profiles and table.name not in columns:
            continue
        different = columns.get(table.name, set()) ^ set(table.columns.keys())
        if different:
            what = f"column {min(different)!r} of table {table.name!r}"
            raise _other_schema(f"the cost database {name!r} does not have the tables of schema {SCHEMA}: they differ in {what}")
    return True


def has_profiles(connection: Connection) -> bool:
    """Return whether the database has a table of profiles."""
    return inspect(connection).has_table(profiles.name)


def make_tables(connection: Connection) -> None:
    """Make the tables in an empty database. The caller's transaction makes all of them or none."""
    metadata.create_all(connection)
    connection.execute(meta.insert().values(key="schema", value=str(SCHEMA)))


def not_ours(name: str) -> CollageError:
    """Return the error for a database that holds something else."""
    return CollageError(f"{name!r} holds tables, but is not a cost database of Collage", "name another file or database", "no_database")


def _other_schema(message: str) -> CollageError:
    hint = "use the collage-explorer that wrote it; or name another with COLLAGE_COSTS, or delete it: the next run measures again"
    return CollageError(message, hint, "other_schema")


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
