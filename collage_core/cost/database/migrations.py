"""Make the tables in an empty database, and migrate those of an older schema, all in the caller's one transaction.

The connection must be in a transaction that writes; if anything fails or the process is killed, nothing has changed.
Each schema adds columns or a table to the one before, or renames columns (`schema.RENAMED`). One that does more needs a step of its
own here.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Table, Text, cast, column, func, insert, inspect, select, table, text
from sqlalchemy.engine import Connection

from ...errors import CollageError
from .schema import RENAMED, RENAMED_IN_OPTIONS, SCHEMA, measurements, meta, metadata, transitions, tunings

_UNFINISHED = 0
"""Versions before schema 2 could be killed between making the tables and writing down the schema."""


def found_schema(connection: Connection, name: str) -> int | None:
    """Return the schema of the database; None for an empty one.

    Raises:
        CollageError: it holds something else, or was written by a newer version.
    """
    names = set(inspect(connection).get_table_names())
    is_file = connection.dialect.name == "sqlite"
    if not is_file:  # a server's database may hold much else
        names &= set(metadata.tables)
    if not names:
        return None
    schema = _schema_in_meta(connection) if meta.name in names else None
    if schema is None:
        if not (is_file and names <= set(metadata.tables) and _are_empty(connection, names)):
            raise not_ours(name)
        return _UNFINISHED
    if not schema.isdecimal() or measurements.name not in names:
        raise not_ours(name)
    if int(schema) > SCHEMA:
        raise CollageError(
            f"the cost database {name!r} was written by a newer version (schema {schema}, this one knows {SCHEMA})",
            "update collage-explorer, or name another with COLLAGE_COSTS",
            "newer_database",
        )
    return int(schema)


def migrate(connection: Connection, found: int | None) -> None:
    """Make the current tables, with the rows of the older ones; `found` is what `found_schema` gave."""
    if found == SCHEMA:
        return
    tables = (measurements, transitions, tunings)
    older = {} if found is None else {new: name for new in tables if (name := _rename_older(connection, new))}
    metadata.create_all(connection)
    for new, name in older.items():
        _copy(connection, name, new)
        connection.execute(text(f'DROP TABLE "{name}"'))
    connection.execute(meta.delete().where(meta.c.key == "schema"))
    connection.execute(meta.insert().values(key="schema", value=str(SCHEMA)))


def not_ours(name: str) -> CollageError:
    """Return the error for a database that holds something else."""
    return CollageError(f"{name!r} holds tables, but is no cost database of ours", "name another file or database", "no_database")


def _schema_in_meta(connection: Connection) -> str | None:
    if {item["name"] for item in inspect(connection).get_columns(meta.name)} != {"key", "value"}:
        return None
    found = connection.execute(select(meta.c.value).where(meta.c.key == "schema")).scalar()
    return None if found is None else str(found)


def _are_empty(connection: Connection, names: set[str]) -> bool:
    return not any(connection.execute(select(func.count()).select_from(table(name))).scalar_one() for name in names)


def _rename_older(connection: Connection, new: Table) -> str:
    """Rename the older table of the same name; return its new name, empty where there is no such table."""
    if not inspect(connection).has_table(new.name):
        return ""
    name = f"{new.name}_before_{SCHEMA}"
    connection.execute(text(f'ALTER TABLE "{new.name}" RENAME TO "{name}"'))
    return name


def _copy(connection: Connection, name: str, to: Table) -> None:
    """Copy the columns that both tables have, under either name; new columns keep their defaults."""
    there = {item["name"] for item in inspect(connection).get_columns(name)}
    older = {item.name: item.name if item.name in there else RENAMED.get(item.name, "") for item in to.columns}
    both = {new: old for new, old in older.items() if old in there}
    source = table(name, *(column(old) for old in both.values()))
    values = [_value(new, source.c[old]) for new, old in both.items()]
    connection.execute(insert(to).from_select(list(both), select(*values)))


def _value(name: str, older: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return the current value of the column `name` as an expression of the older one."""
    if name == "samples":  # They were of the type JSON, which a server does not take for text by itself.
        return cast(older, Text)
    return func.replace(older, *RENAMED_IN_OPTIONS) if name == "options" else older
