"""The cost database in a file: what is put is there for every process; damaged, foreign, newer, locked and full files."""

from __future__ import annotations

import itertools
import json
import os
import resource
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import worker_functions as functions

from collage_core.base import processor
from collage_core.base.home import home
from collage_core.base.isolation.worker import Worker
from collage_core.cost.database.database import CostDatabase, open_database
from collage_core.cost.database.find_location import FILE_NAME
from collage_core.cost.database.location import DatabaseTrouble
from collage_core.cost.database.maintenance import Selection, selected_profiles
from collage_core.cost.database.records import CostKey, MeasuredTransition, Record, machine_id
from collage_core.errors import CollageError
from tests.helpers.cost_records import (
    FAILED,
    KERNEL,
    KEY,
    PAIR,
    PROCESSES,
    PROFILE,
    RECORD,
    TUNED,
    all_at_once,
    assert_nothing_lost,
    kill_writers,
    put_many,
)


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


def test_a_tuned_kernel_is_there_after_opening_again(path: Path) -> None:
    slower = replace(TUNED, trace="", seconds=TUNED.default_s)
    with CostDatabase(path) as database:
        database.put_tuning(KERNEL, slower)
        database.put_tuning(KERNEL, TUNED)
        database.put_tuning(replace(KERNEL, threads=2), slower)
    with CostDatabase(path) as database:
        assert database.get_tunings([KERNEL, replace(KERNEL, target="{}")]) == {KERNEL: TUNED}
        assert database.get_tunings([]) == {}
        assert database.notes == []


def test_a_profile_is_there_after_opening_again(path: Path) -> None:
    with CostDatabase(path) as database:
        database.put_profile(KEY, PROFILE[:1])
        database.put_profile(KEY, PROFILE)
    with CostDatabase(path) as database:
        assert database.get_profile(KEY) == PROFILE
        assert database.get_profile(replace(KEY, threads=2)) is None
        assert database.notes == []


@pytest.mark.parametrize("text", ["[[[-1], 1.0]]", "[[[0], -1.0]]", "[[[0], 1.0", "[[[0], Infinity]]", "{}"])
def test_a_profile_that_cannot_be_true_is_none(path: Path, text: str) -> None:
    with CostDatabase(path) as database:
        database.put_profile(KEY, PROFILE)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE profiles SET kernels = ?", (text,))
    with CostDatabase(path) as database:
        assert database.get_profile(KEY) is None


def test_a_database_that_is_older_than_profiles_is_used_as_it_is(path: Path) -> None:
    with CostDatabase(path) as database:
        database.put(KEY, RECORD)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE profiles")
    with CostDatabase(path, read_only=True) as database:
        assert selected_profiles(database, Selection()) == []
    with CostDatabase(path) as database:
        assert database.get_profile(KEY) is None
        assert database.get([KEY]) == {KEY: RECORD}
        database.put_profile(KEY, PROFILE)
        assert database.get_profile(KEY) == PROFILE
        assert database.notes == []


def test_a_tuned_kernel_that_cannot_be_true_is_not_kept(path: Path) -> None:
    with CostDatabase(path) as database:
        database.put_tuning(KERNEL, replace(TUNED, seconds=3 * TUNED.default_s))
        assert database.get_tunings([KERNEL]) == {}
        (note,) = database.notes
    assert note.startswith("a tuned kernel of tvm is not kept, since it cannot be true: seconds is 0.0006 with a trace")


def test_it_lies_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "kept"))
    with CostDatabase() as database:
        database.put(KEY, RECORD)
    assert (home() / FILE_NAME).is_file()


def test_environment_names_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_COSTS", str(tmp_path / "ours"))
    with open_database() as database:
        database.put(KEY, RECORD)
    with CostDatabase(tmp_path / "ours", read_only=True) as database:
        assert database.get([KEY]) == {KEY: RECORD}


def test_the_lowest_core_to_core_latency_since(path: Path) -> None:
    def keep(number: int, core_latency_s: float | None, minutes_ago: int, machine: str = KEY.machine) -> None:
        created = (datetime.now(UTC) - timedelta(minutes=minutes_ago)).isoformat(timespec="seconds")
        database.put(
            replace(KEY, computation=f"c{number}", machine=machine), replace(RECORD, core_latency_s=core_latency_s, created=created)
        )

    with CostDatabase(path) as database:
        keep(0, None, 5)
        assert database.lowest_core_latency_s(KEY.machine, timedelta(hours=1)) is None
        keep(1, 600e-9, 5)
        keep(2, 300e-9, 50)
        keep(3, 200e-9, 70)
        keep(4, 100e-9, 5, "another CPU, 2 cores")
        keep(5, 1e-12, 5)
        assert database.lowest_core_latency_s(KEY.machine, timedelta(hours=1)) == 300e-9
        assert database.lowest_core_latency_s(KEY.machine, timedelta(minutes=10)) == 600e-9


def test_every_field_comes_back(path: Path) -> None:
    whole = Record(
        (1 / 3, 2e-9), "numerics", "it errs", 0.5, True, True, 2.5, 1e-5 / 3, RECORD.created, 0.1, "shed-3", 7.25, (1, 1), 270e-9
    )
    key, pair = replace(KEY, weights="d1ce"), replace(PAIR, dtype="float16")
    with CostDatabase(path) as database:
        database.put(key, whole)
        database.put_transition(pair, MeasuredTransition(1e-6 / 3, 2e-12, "", RECORD.created))
    with CostDatabase(path) as database:
        assert database.get([key, KEY]) == {key: whole}
        measured = database.get_transition(pair)
        assert measured == MeasuredTransition(1e-6 / 3, 2e-12)
        assert (measured.created if measured else "") == RECORD.created


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


def test_transition_of_a_dtype_and_of_any(path: Path) -> None:
    with CostDatabase(path) as database:
        database.put_transition(PAIR, MeasuredTransition(1.0, created="2026-01-01T00:00:00+00:00"))
        database.put_transition(replace(PAIR, dtype="float16"), MeasuredTransition(2.0, created="2026-01-02T00:00:00+00:00"))
        asked = [database.newest_transition("tvm", "onnxruntime", PAIR.machine, 1, dtype) for dtype in ("float16", "float32", "")]
        assert [found.fixed_s if found else None for found in asked] == [2.0, 1.0, 1.0]
        assert database.get_transition(replace(PAIR, dtype="float32")) is None


def test_records_that_cannot_be_true_are_not_kept(path: Path) -> None:
    with CostDatabase(path) as database:
        database.put(KEY, replace(RECORD, samples=(1.0, float("nan"))))
        database.put(replace(KEY, machine="x" * 300), RECORD)
        database.put_transition(PAIR, MeasuredTransition(-1.0))
        assert database.count() == 0
        assert database.notes == [
            "a cost of tvm is not kept, since it cannot be true: "
            "samples[1] is nan, it must be seconds: a number, not negative and at most 1e6",
            f"a cost of tvm is not kept, since it cannot be true: machine is '{'x' * 56}..., it must be text of at most 256 bytes",
            "a transition from tvm to onnxruntime is not kept, since it cannot be true: "
            "fixed_s is -1.0, it must be seconds: a number, not negative and at most 1e6",
        ]
        database.put(KEY, RECORD)
        assert database.get([KEY]) == {KEY: RECORD}, "they do not stand in the way of others"


def test_text_that_no_database_takes_is_put_right(path: Path) -> None:
    with CostDatabase(path) as database:
        database.put(KEY, replace(FAILED, reason="last\0words\udcff" + "!" * 30_000))
        kept = database.get([KEY])[KEY].reason
    assert kept.startswith("last\ufffdwords?!!!")
    assert len(kept) == 20_000


BROKEN = {
    "no list": "samples = 'rubbish'",
    "NaN": "samples = '[NaN]'",
    "negative": "samples = '[0.1, -1]'",
    "absurd": "samples = '[1e7]'",
    "text": "error = 'much'",
    "time": "created = 'yesterday'",
    "nothing": "samples = '[]'",
}


@pytest.mark.parametrize("change", BROKEN)
def test_rows_that_cannot_be_true_are_not_used(path: Path, change: str) -> None:
    good = replace(KEY, computation="good")
    with CostDatabase(path) as database:
        database.put(KEY, RECORD)
        database.put(good, RECORD)
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE measurements SET {BROKEN[change]} WHERE computation = 'c0ffee'")
    connection.close()
    with CostDatabase(path) as database:
        assert database.get([KEY, good]) == {good: RECORD}
        (note,) = database.notes
        field = BROKEN[change].partition(" ")[0]
        assert note.startswith(f"the cost database {str(path)!r} holds what cannot be true and is not used, such as: {field}")


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


def test_several_make_its_tables_at_once(path: Path) -> None:
    all_at_once(8, lambda number: CostDatabase(path).close())
    assert list(path.parent.glob("*.damaged*")) == []


def test_threads_share_it(path: Path) -> None:
    with CostDatabase(path) as database:

        def put(owner: int) -> None:
            for number in range(20):
                database.put(replace(KEY, computation=f"{owner}/{number}"), RECORD)

        all_at_once(3, put)
        assert (database.count(), database.notes) == (60, [])


def test_killed_writers_lose_nothing_that_they_reported(path: Path) -> None:
    reported = kill_writers(path, 15)
    assert_nothing_lost(path, reported)
    with CostDatabase(path) as database:
        assert database.notes == []


@pytest.mark.parametrize("content", [b"this is no database, however long it may be" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_damaged_file_is_set_aside_and_named(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with CostDatabase(path) as database:
        (note,) = database.notes
        database.put(KEY, RECORD)
        assert database.get([KEY]) == {KEY: RECORD}
    (aside,) = path.parent.glob(f"{FILE_NAME}.damaged-*")
    assert note == f"the cost database was damaged; it was renamed to {str(aside)!r} and a new one was created"
    assert aside.read_bytes() == content


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.symlink_to("/dev/null")])
def test_a_pipe_or_a_device_is_no_database_and_stays(path: Path, make: Callable[[Path], object]) -> None:
    make(path)
    with pytest.raises(CollageError, match=r"cannot be opened: it is a (pipe|device), not a regular file") as caught:
        CostDatabase(path)
    assert caught.value.hint == "name a regular file, or one that is not there yet, with COLLAGE_COSTS"
    assert [file.name for file in path.parent.iterdir()] == [path.name]


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


def test_database_of_someone_else_is_refused_and_left_as_it_is(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE songs (name TEXT)")
    connection.close()
    with pytest.raises(CollageError, match="holds tables, but is not a cost database of Collage"):
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


def test_what_is_put_after_closing_is_in_the_file_that_was_left(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path))
    database = CostDatabase(path, busy_s=0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        for threads in (1, 2):
            database.put(replace(KEY, threads=threads), RECORD)
            database.close()
    (left,) = tmp_path.glob("costs-not-saved-*.jsonl")
    assert [json.loads(line)["threads"] for line in left.read_text().splitlines()[1:-1]] == [1, 2]
    assert [note[:25] for note in database.notes[1:]] == ["1 cost could not be kept;", "2 costs could not be kept"]


def test_full_disk_keeps_records_in_memory(path: Path) -> None:
    with CostDatabase(path) as database:
        with database._engine.connect() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        long = replace(RECORD, samples=tuple(itertools.repeat(1 / 3, 1000)))
        for threads in range(1, 21):
            database.put(replace(KEY, threads=threads), long)
        assert "(the disk is full)" in database.notes[0]
        assert len(database.get([replace(KEY, threads=threads) for threads in range(1, 21)])) == 20


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


def test_machine_is_its_processor_and_its_cores() -> None:
    assert machine_id() == f"{processor.name()}, {os.cpu_count()} cores"


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """One that other users may see; pytest's own may not."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize("folder_mode", [0o555, 0o777], ids=["folder", "file"])
def test_where_nothing_can_be_written_what_is_known_is_used(shared_folder: Path, folder_mode: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shared_folder / FILE_NAME
    put_many(path, "a", 1)
    path.with_name(f"{FILE_NAME}.lock").unlink()
    path.chmod(0o444)
    shared_folder.chmod(folder_mode)
    with TemporaryDirectory() as own:
        Path(own).chmod(0o777)
        monkeypatch.setenv("COLLAGE_HOME", own)
        ran = subprocess.run([sys.executable, PROCESSES, "measure", path], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        before, after, *notes = ran.stdout.splitlines()
        assert (before, after) == ("['a0']", "['a0', 'b0']")
        (left,) = Path(own).glob("costs-not-saved-*.jsonl")
        opening = "cannot be opened: Permission denied (name one in a folder that you can write with COLLAGE_COSTS)"
        trouble = [opening] * (folder_mode == 0o555) + ["cannot be written (it is read-only)"]
        assert notes == [
            *(f"the cost database {str(path)!r} {each}: measuring goes on, but new costs may not be kept" for each in trouble),
            f"1 cost could not be kept; they are in {str(left)!r}, which `collage costs import` reads",
        ]
        assert [json.loads(line)["computation"] for line in left.read_text().splitlines()[1:-1]] == ["b0"]
    shared_folder.chmod(0o755)


def test_locked_at_the_start_it_is_opened_later(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_many(path, "a", 1)
    known = replace(KEY, computation="a0")
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseTrouble, match="cannot be opened: it is locked by another program"):
            CostDatabase(path, busy_s=0.05)
        database = CostDatabase(path, busy_s=0.05, may_be_unavailable=True)
        assert "cannot be opened: it is locked by another program (end the program" in database.notes[0]
        database.put(KEY, RECORD)
        assert database.get([KEY, known]) == {KEY: RECORD}
    monkeypatch.setattr(time, "monotonic", lambda: float("inf"))
    assert database.get([KEY, known]) == {KEY: RECORD, known: RECORD}
    database.close()
    with CostDatabase(path) as database:
        assert database.count() == 2


def test_disk_that_refuses_keeps_records_in_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit on the size of files stands for a disk that has no more room; the rest is left as a file, and merged again."""
    with CostDatabase(path) as database:
        room = path.with_name(f"{FILE_NAME}-wal").stat().st_size + 4096
    long = replace(RECORD, samples=(1 / 3,) * 1000)
    keys = [replace(KEY, threads=number) for number in range(1, 9)]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    database = CostDatabase(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        for key in keys:
            database.put(key, long)
        assert len(database.get(keys)) == len(keys)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "the disk" in database.notes[0]
    database.close()
    with CostDatabase(path) as database:
        assert database.count() == len(keys), "closing tries again"
