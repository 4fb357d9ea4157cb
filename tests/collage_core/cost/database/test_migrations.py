"""Cost databases of older schemas, as files: migrated, killed during the migration, read without a change."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.find_location import FILE_NAME
from collage_core.cost.database.records import CostKey, MeasuredTransition, Record, TransitionKey
from collage_core.cost.database.schema import RENAMED
from tests.helpers.cost_records import COSTS_OF_SCHEMA_1, KERNEL, KEY, RECORD, SCHEMA_1, TUNED, kills_during_migration


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / FILE_NAME


def of_schema_1(path: Path, sql: str = SCHEMA_1) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.executescript(sql)
    connection.close()


def check_costs_of_schema_1(database: CostDatabase) -> None:
    found = database.of_computations([*(f"{number:032x}" for number in range(12)), "e" * 32, "f" * 32])
    assert len(found) == COSTS_OF_SCHEMA_1
    machine, tvm = "Intel(R) Xeon(R) Processor, 2 cores", "0.27.0.post1+collage.3"
    key = CostKey("0" * 32, "tvm", tvm, 1, machine, "float32, 64 MiB flushed")
    assert dict(found)[key] == Record((1 / 3e3, 1.1e-3, 1e-3), error=3e-7, reference_s=1e-5 / 3, created="2026-01-01T12:00:00+00:00")
    failed = dict(found)[CostKey("f" * 32, "tvm", tvm, 1, machine, "float32")]
    assert (failed.stage, failed.crashed, failed.limit_s) == ("build", True, 2.5)
    pair = TransitionKey("tvm", "onnxruntime", tvm, "1.31.0", 1, machine)
    assert database.get_transition(pair) == MeasuredTransition(1e-6 / 3, 2e-12)
    assert database.notes == []


def test_first_schema_is_migrated(path: Path) -> None:
    of_schema_1(path)
    for _ in range(2):
        with CostDatabase(path) as database:
            check_costs_of_schema_1(database)
            database.put(replace(KEY, weights="d1ce"), replace(RECORD, worker="shed-3"))
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT value FROM meta").fetchall() == [("6",)]
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
    connection.close()
    assert tables == [("measurements",), ("meta",), ("transitions",), ("tunings",)]


def test_the_second_schema_is_migrated(path: Path) -> None:
    with CostDatabase(path) as database:
        database.put(KEY, RECORD)
    connection = sqlite3.connect(path)
    columns = "ALTER TABLE measurements DROP COLUMN repetitions; ALTER TABLE measurements DROP COLUMN core_latency_s;"
    connection.executescript(f"{columns} UPDATE meta SET value = '2' WHERE key = 'schema'")
    connection.close()
    with CostDatabase(path) as database:
        assert database.get([KEY])[KEY].repetitions == ()
        database.put(KEY, replace(RECORD, repetitions=(1,) * len(RECORD.samples)))
        assert database.get([KEY])[KEY].repetitions == (1,) * len(RECORD.samples)


def test_the_third_schema_is_migrated(path: Path) -> None:
    with CostDatabase(path) as database:
        database.put(KEY, RECORD)
    connection = sqlite3.connect(path)
    connection.executescript("ALTER TABLE measurements DROP COLUMN core_latency_s; UPDATE meta SET value = '3' WHERE key = 'schema'")
    connection.close()
    with CostDatabase(path) as database:
        assert database.get([KEY])[KEY].core_latency_s is None
        database.put(KEY, replace(RECORD, core_latency_s=270e-9))
        assert database.get([KEY])[KEY].core_latency_s == 270e-9


def test_the_fourth_schema_had_other_names_for_three_columns(path: Path) -> None:
    key = replace(KEY, options="float32, 64 MiB flushed")
    record = replace(RECORD, repetitions=(1,) * len(RECORD.samples), core_latency_s=270e-9, slowed_by=0.5)
    with CostDatabase(path) as database:
        database.put(key, record)
    connection = sqlite3.connect(path)
    for name, before in RENAMED.items():
        connection.execute(f"ALTER TABLE measurements RENAME COLUMN {name} TO {before}")
    connection.executescript("UPDATE measurements SET options = 'float32, 64 MiB swept'; UPDATE meta SET value = '4' WHERE key = 'schema'")
    connection.close()
    with CostDatabase(path) as database:
        assert database.get([key])[key] == record


def test_the_fifth_schema_had_no_tuned_kernels(path: Path) -> None:
    with CostDatabase(path) as database:
        database.put(KEY, RECORD)
    connection = sqlite3.connect(path)
    connection.executescript("DROP TABLE tunings; UPDATE meta SET value = '5' WHERE key = 'schema'")
    connection.close()
    with CostDatabase(path, read_only=True) as database:
        assert database.get_tunings([KERNEL]) == {}
    with CostDatabase(path) as database:
        database.put_tuning(KERNEL, TUNED)
        assert (database.get([KEY]), database.get_tunings([KERNEL])) == ({KEY: RECORD}, {KERNEL: TUNED})


def test_the_very_first_files_had_no_notes(path: Path) -> None:
    of_schema_1(path, SCHEMA_1 + "\nALTER TABLE transitions DROP COLUMN note;\n")
    with CostDatabase(path) as database:
        check_costs_of_schema_1(database)


def test_first_schema_is_read_without_a_change(path: Path) -> None:
    of_schema_1(path)
    before = path.read_bytes()
    with CostDatabase(path, read_only=True) as database:
        check_costs_of_schema_1(database)
        database.put(KEY, RECORD)
        assert "it is read-only" in database.notes[0]
    assert path.read_bytes() == before
    assert list(path.parent.glob(f"{FILE_NAME}*")) == [path]


def test_a_kill_during_migration_loses_nothing(path: Path) -> None:
    of_schema_1(path)
    assert kills_during_migration(path) > 10
    with CostDatabase(path) as database:
        check_costs_of_schema_1(database)


@pytest.mark.parametrize("made", [["measurements"], ["measurements", "meta", "transitions"]], ids=["one table", "all tables"])
def test_tables_that_an_older_version_left_unfinished_are_finished(path: Path, made: list[str]) -> None:
    """It made one after another, and noted the schema last; death in between must not make the file unusable."""
    creates = {text.split()[2]: text for text in SCHEMA_1.split(";") if text.strip().startswith("CREATE TABLE")}
    of_schema_1(path, ";".join(creates[name] for name in made))
    with CostDatabase(path) as database:
        database.put(KEY, RECORD)
        assert (database.count(), database.notes) == (1, [])
