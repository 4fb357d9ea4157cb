"""A damaged cost database: what can be read of it is kept, what lies is left out, and nothing of it is a traceback."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from collage_core.cost.database.database import CostDatabase, open_database
from collage_core.cost.database.find_location import FILE_NAME
from collage_core.cost.database.records import MeasuredTransition
from collage_core.cost.database.salvage import salvage
from collage_core.cost.database.schema import measurements, put_rows
from collage_core.errors import CollageError
from tests.helpers.cost_records import KEY, PAIR, RECORD

PAGE = 4096


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database of many pages, all in its file."""
    path = tmp_path_factory.mktemp("whole") / FILE_NAME
    with CostDatabase(path) as database:
        with database.session(writes=True) as connection:
            put_rows(connection, measurements, [(replace(KEY, computation=f"c{number}"), RECORD) for number in range(200)])
        database.put_transition(PAIR, MeasuredTransition(1e-6, 1e-10, created=RECORD.created))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, whole: bytes) -> Path:
    path = tmp_path / FILE_NAME
    path.write_bytes(whole)
    return path


def spoil_page(path: Path, number: int) -> None:
    data = bytearray(path.read_bytes())
    data[number * PAGE : (number + 1) * PAGE] = b"\xff" * PAGE
    path.write_bytes(data)


def test_what_can_be_read_is_kept(path: Path) -> None:
    spoil_page(path, path.stat().st_size // PAGE * 2 // 3)
    with CostDatabase(path) as database:
        (note,) = database.notes
        kept = database.count()
        assert 0 < kept < 200
        assert note.endswith(f"and a new one was created, with the {kept} costs that could be read")
        assert database.get_transition(PAIR) is not None
        database.put(KEY, RECORD)
    with CostDatabase(path) as database:
        assert (database.notes, database.count()) == ([], kept + 1)


def test_one_that_is_only_read_is_left_and_the_way_out_is_said(path: Path) -> None:
    spoil_page(path, path.stat().st_size // PAGE * 2 // 3)
    before = path.read_bytes()
    with pytest.raises(CollageError, match="it is damaged") as caught:
        CostDatabase(path, read_only=True)
    assert caught.value.hint == "name another file; the next run that measures sets this one aside, and keeps what can be read of it"
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE measurements SET samples = 'many' WHERE computation = 'c0'",
        "UPDATE measurements SET samples = '[-1e999]' WHERE computation = 'c0'",
        "UPDATE measurements SET error = 'none' WHERE computation = 'c0'",
        "UPDATE measurements SET threads = 9223372036854775807 WHERE computation = 'c0'",
        "UPDATE measurements SET created = x'00' WHERE computation = 'c0'",
        "UPDATE measurements SET limit_s = x'00' WHERE computation = 'c0'",
        "UPDATE measurements SET slowed_by = 9e999 WHERE computation = 'c0'",
    ],
)
def test_a_row_that_lies_about_its_types_is_left_out(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()
    keys = [replace(KEY, computation=f"c{number}") for number in range(3)]
    with CostDatabase(path) as database:
        found = database.get(keys)
        others = database.of_computations(["c0", "c1", "c2"])
    assert keys[0] not in found
    assert {keys[1], keys[2]} <= found.keys()
    assert len(others) == 2
    assert "holds what cannot be true and is not used" in database.notes[0]


@pytest.mark.parametrize("value", ["x'05'", "5.5", "'five'"])
def test_a_schema_that_is_no_number(path: Path, value: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE meta SET value = {value} WHERE key = 'schema'")
        connection.commit()
    with pytest.raises(CollageError, match="is not a cost database of Collage"):
        CostDatabase(path)


def test_a_text_that_is_none_keeps_nobody_from_the_other_rows(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE measurements SET reason = CAST(x'fffe' AS TEXT), machine = CAST(x'ff' AS TEXT) WHERE computation = 'c0'")
        connection.commit()
    with CostDatabase(path) as database:
        assert {key.computation for key, _ in database.of_computations(["c0", "c1"])} >= {"c1"}


def test_any_damage_is_read_as_far_as_it_goes(whole: bytes, tmp_path: Path) -> None:
    """Seeded damage of any kind: opening either works, or says in one line why not."""
    spoilt = tmp_path / "spoilt.sqlite3"
    for seed in range(8):
        draw = random.Random(seed)
        data = bytearray(whole[: draw.choice([len(whole), draw.randrange(len(whole))])])
        for _ in range(draw.choice([1, 10, 1000])):
            data[draw.randrange(len(data))] = draw.randrange(256)
        for left in tmp_path.glob("spoilt*"):
            left.unlink()
        spoilt.write_bytes(data)
        salvage(spoilt)
        try:
            with open_database(spoilt) as database:
                database.of_computations(["c0", "c100"])
                database.put(KEY, RECORD)
        except CollageError as error:
            assert "\n" not in error.message  # noqa: PT017 - most damage is no error, but set aside
