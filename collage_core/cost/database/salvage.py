"""Reads what can still be read from a damaged cost database.

The path of a file of SQLite's enters, or of what once was one; valid costs, transitions and tuned kernels leave. The file is not
changed. A damaged page ends the reading of a table from its beginning, so the table is read from its end as well.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Table

from .record_validation import InvalidRecord, cost_row, transition_row, tuning_row
from .records import CostRow, TransitionRow, TuningRow
from .schema import measurements, transitions, tunings

T = TypeVar("T")
_LISTS = ("samples", "repetitions")
_FLAGS = ("stopped_early", "crashed")


def salvage(path: Path) -> tuple[list[CostRow], list[TransitionRow], list[TuningRow]]:
    """Return all rows in the damaged file `path` that can be read and can be true; never raise for its content."""
    return _rows(path, measurements, cost_row), _rows(path, transitions, transition_row), _rows(path, tunings, tuning_row)


def _rows(path: Path, table: Table, make_row: Callable[[Mapping[str, Any]], tuple[Any, T]]) -> list[tuple[Any, T]]:
    found: dict[Any, T] = {}
    for order in ("ASC", "DESC"):
        for values in _read(path, table, order):
            with suppress(InvalidRecord, ValueError, TypeError, RecursionError):
                key, row = make_row(_decoded(values))
                found.setdefault(key, row)
    return list(found.items())


def _read(path: Path, table: Table, order: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of `table` as far as they can be read."""
    keys = ", ".join(f'"{column.name}" {order}' for column in table.primary_key)
    # Python cannot always decode what SQLite says of a damaged schema: that is a ValueError.
    with (
        suppress(sqlite3.Error, ValueError, OverflowError),
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection,
    ):
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        rows = connection.execute(f'SELECT * FROM "{table.name}" ORDER BY {keys}')
        names = [name for name, *_ in rows.description]
        for row in rows:
            yield dict(zip(names, row, strict=True))


def _decoded(values: dict[str, Any]) -> dict[str, Any]:
    lists = {name: tuple(json.loads(values[name])) for name in _LISTS if name in values}
    flags = {name: bool(values[name]) for name in _FLAGS if values.get(name) in (0, 1)}
    return {**values, **lists, **flags}
