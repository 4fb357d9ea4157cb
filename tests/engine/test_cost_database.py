"""The cost database: what is put is there for every process; damaged, foreign, newer, locked and full files."""

from __future__ import annotations

import itertools
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import worker_functions as functions

from collage_core.cost.database import FILE_NAME, CostDatabase
from collage_core.cost.records import CostKey, MeasuredTransition, Record, TransitionKey, machine_id
from collage_core.errors import CollageError
from collage_core.home import home
from collage_core.isolation import Worker

KEY = CostKey("c0ffee", "tvm", "0.27", 1, "a CPU, 2 cores", "float32")
RECORD = Record(samples=(1e-3, 1.1e-3), error=3e-7, reference_s=1e-5, created="2026-01-01T00:00:00+00:00")
FAILED = Record(stage="build", reason="crashed with SIGSEGV while building", crashed=True, limit_s=2.5, created=RECORD.created)
PAIR = TransitionKey("tvm", "onnxruntime", "0.27", "1.31", 1, "a CPU, 2 cores")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / FILE_NAME


def test_what_was_put_is_there_after_opening_again(path: Path) -> None:
    other = replace(KEY, toolchain="openvino")
    with CostDatabase(path) as database:
        database.put(KEY, RECORD)
        database.put(other, FAILED)
    with CostDatabase(path) as database:
        assert database.get([KEY, other, replace(KEY, threads=2)]) == {KEY: RECORD, other: FAILED}
        assert database.count() == 2
        assert database.notes == []


def test_it_lies_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "kept"))
    with CostDatabase() as database:
        database.put(KEY, RECORD)
    assert (home() / FILE_NAME).is_file()


@pytest.mark.parametrize("field", CostKey.__slots__)
def test_every_part_of_the_key_tells_records_apart(path: Path, field: str) -> None:
    other = replace(KEY, **{field: 7 if field == "threads" else "other"})
    with CostDatabase(path) as database:
        database.put(KEY, RECORD)
        assert database.get([other]) == {}
        database.put(other, FAILED)
        assert database.get([KEY, other]) == {KEY: RECORD, other: FAILED}


def test_second_record_takes_the_place_of_the_first(path: Path) -> None:
    with CostDatabase(path) as database:
        database.put(KEY, FAILED)
        database.put(KEY, RECORD)
        assert database.get([KEY]) == {KEY: RECORD}
        assert database.count() == 1


def test_time_is_filled_in(path: Path) -> None:
    with CostDatabase(path) as database:
        database.put(KEY, replace(RECORD, created=""))
        assert database.get([KEY])[KEY].created.startswith("20")


def test_many_keys_at_once(path: Path) -> None:
    keys = [replace(KEY, computation=f"{index:032x}", toolchain=target) for index in range(1200) for target in ("tvm", "openvino")]
    with CostDatabase(path) as database:
        for key in keys[::400]:
            database.put(key, RECORD)
        assert database.get(keys) == dict.fromkeys(keys[::400], RECORD)


def test_records_of_a_computation_whatever_the_rest(path: Path) -> None:
    elsewhere = replace(KEY, machine="another CPU", threads=8)
    with CostDatabase(path) as database:
        database.put(KEY, RECORD)
        database.put(elsewhere, FAILED)
        database.put(replace(KEY, computation="other"), RECORD)
        assert sorted(database.of_computations(["c0ffee"]), key=str) == sorted([(KEY, RECORD), (elsewhere, FAILED)], key=str)


def test_transitions_by_versions_and_the_newest(path: Path) -> None:
    newer = replace(PAIR, maker_version="0.28")
    with CostDatabase(path) as database:
        database.put_transition(PAIR, MeasuredTransition(1e-6, 2e-12))
        database.put_transition(newer, MeasuredTransition(note="it hangs"))
        assert database.get_transition(PAIR) == MeasuredTransition(1e-6, 2e-12)
        assert database.get_transition(newer) == MeasuredTransition(0.0, 0.0, "it hangs")
        assert database.get_transition(replace(PAIR, reader="tvm")) is None
        database.put_transition(PAIR, MeasuredTransition(3e-6, 0.0))
        assert database.get_transition(PAIR) == MeasuredTransition(3e-6, 0.0)
        assert database.newest_transition("tvm", "onnxruntime", PAIR.machine, 1) is not None
        assert database.newest_transition("tvm", "onnxruntime", PAIR.machine, 2) is None


def put_many(path: Path, owner: str, count: int) -> list[str]:
    with CostDatabase(path) as database:
        for index in range(count):
            database.put(replace(KEY, computation=f"{owner}{index}"), RECORD)
        return database.notes


def test_processes_share_it(path: Path) -> None:
    notes: list[str] = []
    with Worker() as one, Worker() as other:
        calls = [
            threading.Thread(target=lambda w=w, n=n: notes.extend(w.call(functions.put_costs, path, n, 60, timeout_s=60)))  # type: ignore[misc]
            for w, n in ((one, "a"), (other, "b"))
        ]
        for call in calls:
            call.start()
        notes += put_many(path, "c", 60)
        for call in calls:
            call.join()
    assert notes == []
    with CostDatabase(path) as database:
        assert database.count() == 180


@pytest.mark.parametrize("content", [b"this is no database, however long it may be" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_damaged_file_is_set_aside_and_named(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with CostDatabase(path) as database:
        (note,) = database.notes
        database.put(KEY, RECORD)
        assert database.get([KEY]) == {KEY: RECORD}
    (aside,) = path.parent.glob(f"{FILE_NAME}.damaged-*")
    assert note == f"the cost database was damaged; it was set aside as {str(aside)!r} and a new one was begun"
    assert aside.read_bytes() == content


def test_file_cut_off_in_the_middle_is_damaged(path: Path) -> None:
    put_many(path, "a", 200)
    path.write_bytes(path.read_bytes()[: 4096 * 3 + 100])
    with CostDatabase(path) as database:
        assert "was damaged" in database.notes[0]
        assert database.count() == 0


def test_damaged_files_of_one_day_do_not_overwrite_each_other(path: Path) -> None:
    for content in (b"first " * 1000, b"second " * 1000):
        path.write_bytes(content)
        CostDatabase(path).close()
    assert sorted(aside.read_bytes()[:6] for aside in path.parent.glob(f"{FILE_NAME}.damaged-*")) == [b"first ", b"second"]


def test_newer_schema_is_refused_and_left_as_it_is(path: Path) -> None:
    CostDatabase(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = '7' WHERE key = 'schema'")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(CollageError, match=r"was written by a newer version \(schema 7, this one knows 1\)") as caught:
        CostDatabase(path)
    assert caught.value.hint == "update collage-explorer, or set COLLAGE_HOME to another folder"
    assert path.read_bytes() == before


def test_database_of_someone_else_is_refused_and_left_as_it_is(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE songs (name TEXT)")
    connection.close()
    with pytest.raises(CollageError, match="is an SQLite file, but no cost database of ours"):
        CostDatabase(path)
    assert not list(path.parent.glob("*.damaged-*"))


def test_folder_in_its_place_is_a_mistake(path: Path) -> None:
    path.mkdir()
    with pytest.raises(CollageError, match=r"cannot be opened: it cannot be opened|cannot be opened"):
        CostDatabase(path)


def test_locked_file_keeps_records_in_memory_and_saves_them_later(path: Path) -> None:
    with CostDatabase(path, busy_s=0.05) as database:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        database.put(KEY, RECORD)
        assert database.get([KEY]) == {KEY: RECORD}
        assert database.notes == [
            f"the cost database {str(path)!r} cannot be written (it is locked by another program): "
            "measuring goes on, but new costs may not be kept"
        ]
        database.put(replace(KEY, threads=2), RECORD)
        assert len(database.notes) == 1
        holder.rollback()
        holder.close()
    with CostDatabase(path) as database:
        assert database.count() == 2


def test_full_disk_keeps_records_in_memory(path: Path) -> None:
    with CostDatabase(path) as database:
        with database._engine.connect() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        long = replace(RECORD, samples=tuple(itertools.repeat(1 / 3, 1000)))
        for threads in range(20):
            database.put(replace(KEY, threads=threads), long)
        assert "(the disk is full)" in database.notes[0]
        assert len(database.get([replace(KEY, threads=threads) for threads in range(20)])) == 20


def test_reading_only_leaves_nothing_beside_the_file(path: Path) -> None:
    put_many(path, "a", 3)
    before = {entry: entry.read_bytes() for entry in path.parent.iterdir()}
    with CostDatabase(path, read_only=True) as database:
        assert database.count() == 3
        database.put(KEY, RECORD)
        assert "it is read-only" in database.notes[0]
    assert {entry: entry.read_bytes() for entry in path.parent.iterdir()} == before


def test_reading_only_sees_what_another_process_is_writing(path: Path) -> None:
    with CostDatabase(path) as writer:
        writer.put(KEY, RECORD)
        with CostDatabase(path, read_only=True) as reader:
            assert reader.get([KEY]) == {KEY: RECORD}


def test_reading_only_what_is_not_there_is_a_mistake(path: Path) -> None:
    with pytest.raises(CollageError, match=r"there is no cost database '.*costs.sqlite3'"):
        CostDatabase(path, read_only=True)
    assert not path.exists()


def test_machine_is_its_cpu_and_its_cores() -> None:
    assert machine_id().endswith(" cores")
    assert len(machine_id()) > len("1 cores")
