"""The tables of a cost database: made whole, and refused where they are those of another schema."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.find_location import FILE_NAME
from collage_core.errors import CollageError
from tests.helpers.cost_records import KEY, RECORD, kills_while_tables_are_made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / FILE_NAME


def test_the_tables_are_made_whole_whenever_the_process_is_killed(path: Path) -> None:
    assert kills_while_tables_are_made(path) > 5
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        assert tables == [("measurements",), ("meta",), ("profiles",), ("transitions",), ("tunings",)]
        assert connection.execute("SELECT * FROM meta").fetchall() == [("schema", "1")]


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("UPDATE meta SET value = '6'", "has schema 6, and this collage-explorer reads schema 1 alone"),
        ("UPDATE meta SET value = '0'", "has schema 0, and this collage-explorer reads schema 1 alone"),
        ("ALTER TABLE measurements DROP COLUMN worker", "they differ in column 'worker' of table 'measurements'"),
        ("ALTER TABLE transitions ADD COLUMN colour TEXT", "they differ in column 'colour' of table 'transitions'"),
        ("DROP TABLE tunings", "does not have the tables of schema 1: they differ in column 'created' of table 'tunings'"),
    ],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_another_schema_is_refused_and_left_as_it_is(path: Path, statement: str, complaint: str, read_only: bool) -> None:
    with CostDatabase(path) as database:
        database.put(KEY, RECORD)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    with pytest.raises(CollageError, match=complaint) as caught:
        CostDatabase(path, read_only=read_only)
    assert caught.value.message.startswith(f"the cost database {str(path)!r} ")
    assert caught.value.hint == (
        "use the collage-explorer that wrote it; or name another with COLLAGE_COSTS, or delete it: the next run measures again"
    )
    assert path.read_bytes() == before
