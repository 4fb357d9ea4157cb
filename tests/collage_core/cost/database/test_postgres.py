"""A team's cost database on a real PostgreSQL: kept and shared; killed writers, and servers that are offline."""

from __future__ import annotations

import re
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from collage_core.cost.database import postgres
from collage_core.cost.database.database import CostDatabase, open_database
from collage_core.cost.database.location import DatabaseTrouble
from collage_core.cost.database.maintenance import Merged, Selection, groups, merge, records, remove, selected_transitions
from collage_core.cost.database.records import CostKey, MeasuredTransition, Record
from collage_core.cost.estimators.replay import ReplayEstimator
from collage_core.errors import CollageError
from tests.collage_core.cost.database.conftest import PostgresServer
from tests.helpers.cost_records import (
    FAILED,
    KEY,
    PAIR,
    PROFILE,
    RECORD,
    all_at_once,
    assert_nothing_lost,
    kill_writers,
    kills_while_tables_are_made,
    put_many,
)

GOES_ON = "measuring goes on, but new costs may not be kept"


def rows_of(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode()).fetchall()


def test_every_field_comes_back(postgres_url: str) -> None:
    whole = Record((1 / 3, 2e-9), "numerics", "it errs: “ß”", 1e300, True, True, 2.5, 1e-5 / 3, RECORD.created, 0.1, "shed-3", 7.25)
    key, pair = replace(KEY, weights="d1ce"), replace(PAIR, dtype="float16")
    with CostDatabase(postgres_url) as database:
        database.put(key, whole)
        database.put(KEY, FAILED)
        database.put(KEY, RECORD)
        database.put_transition(pair, MeasuredTransition(1e-6 / 3, 2e-12))
        assert database.get_transition(pair) == MeasuredTransition(1e-6 / 3, 2e-12)
    with CostDatabase(postgres_url) as database:
        assert database.get([key, KEY, replace(KEY, threads=2)]) == {key: whole, KEY: RECORD}
        assert sorted(database.of_computations(["c0ffee"]), key=str) == sorted([(key, whole), (KEY, RECORD)], key=str)
        assert (database.count(), database.notes) == (2, [])


def test_environment_names_it(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_COSTS", postgres_url)
    with open_database() as database:
        database.put(KEY, RECORD)
    assert rows_of(postgres_url, "SELECT computation FROM measurements") == [("c0ffee",)]


def test_other_names_of_the_same_driver(postgres_url: str) -> None:
    put_many(postgres_url, "a", 1)
    for scheme in ("postgres", "postgresql+psycopg"):
        with CostDatabase(postgres_url.replace("postgresql", scheme), read_only=True) as database:
            assert database.count() == 1


def test_text_that_no_server_takes_is_put_right(postgres_url: str) -> None:
    with CostDatabase(postgres_url) as database:
        database.put(KEY, replace(FAILED, reason="last\0words\udcff"))
        assert database.get([KEY])[KEY].reason == "last\ufffdwords?"
        assert database.notes == []


def test_longest_key_fits(postgres_url: str) -> None:
    long = CostKey(*("ß" * 128, "ß" * 128, "ß" * 128), 1, *("ß" * 128, "ß" * 128, "ß" * 128))
    with CostDatabase(postgres_url) as database:
        database.put(long, RECORD)
        assert (database.get([long]), database.notes) == ({long: RECORD}, [])


def test_reading_only_writes_nothing(postgres_url: str) -> None:
    put_many(postgres_url, "a", 1)
    with CostDatabase(postgres_url, read_only=True) as database:
        assert database.count() == 1
        database.put(KEY, RECORD)
        assert "cannot be written (cannot execute INSERT in a read-only transaction)" in database.notes[0]
    assert rows_of(postgres_url, "SELECT computation FROM measurements") == [("a0",)]


def test_what_others_keep_beside_it_stays(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE songs (name TEXT)")
    put_many(postgres_url, "a", 1)
    assert rows_of(postgres_url, "SELECT count(*) FROM songs") == [(0,)]


@pytest.mark.parametrize("table", ["meta (key TEXT, value TEXT)", "meta (tag TEXT)", "measurements (length FLOAT)"])
def test_tables_of_someone_else_are_left_alone(postgres_url: str, table: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute(f"CREATE TABLE {table}".encode())
    for read_only in (False, True):
        with pytest.raises(CollageError, match="holds tables, but is not a cost database of Collage"):
            CostDatabase(postgres_url, read_only=read_only)
    assert len(rows_of(postgres_url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")) == 1


def test_empty_database_has_nothing_to_read(postgres_url: str) -> None:
    with pytest.raises(CollageError, match="there is no cost database in 'postgresql://"):
        CostDatabase(postgres_url, read_only=True)


def test_another_schema_is_refused_and_left_as_it_is(postgres_url: str) -> None:
    put_many(postgres_url, "a", 1)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("ALTER TABLE tunings ADD COLUMN colour TEXT")
    with pytest.raises(CollageError, match="does not have the tables of schema 1: they differ in column 'colour' of table 'tunings'"):
        open_database(postgres_url)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("UPDATE meta SET value = '7'")
    with pytest.raises(CollageError, match="has schema 7, and this collage-explorer reads schema 1 alone"):
        open_database(postgres_url)
    assert rows_of(postgres_url, "SELECT * FROM meta") == [("schema", "7")]


def test_the_tables_are_made_whole_whenever_the_process_is_killed(postgres_url: str) -> None:
    assert kills_while_tables_are_made(postgres_url) > 5
    tables = rows_of(postgres_url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    assert tables == [("measurements",), ("meta",), ("profiles",), ("transitions",), ("tunings",)]
    assert rows_of(postgres_url, "SELECT * FROM meta") == [("schema", "1")]


@pytest.mark.long
def test_killed_writers_lose_nothing_that_they_reported(postgres_url: str) -> None:
    assert_nothing_lost(postgres_url, kill_writers(postgres_url, 15))


def test_several_make_its_tables_at_once(postgres_url: str) -> None:
    all_at_once(8, lambda number: CostDatabase(postgres_url).close())
    assert rows_of(postgres_url, "SELECT value FROM meta") == [("1",)]


def test_those_who_write_the_same_never_wait_for_each_other_in_turn(postgres_url: str) -> None:
    """Rows are locked as they are written: in opposite orders, the server would have to give up one of the two."""
    rows = [(replace(KEY, computation=f"{number}"), RECORD) for number in range(300)]
    newer = [[(key, replace(RECORD, created=f"2026-01-0{day}T00:00:00+00:00")) for key, _ in rows] for day in range(2, 8)]
    with CostDatabase(postgres_url) as database:
        merge(database, rows, [])
        all_at_once(6, lambda number: merge(database, newer[number][:: (-1) ** number], []) and None)
        assert {record.created for _, record in records(database, Selection())} == {"2026-01-07T00:00:00+00:00"}


def test_merge_select_and_remove(postgres_url: str) -> None:
    """The same as `test_cost_commands` does with files, in the words of a server."""
    elsewhere, newer = replace(KEY, machine="a shed"), replace(RECORD, samples=(5.0,), created="2026-03-01T00:00:00+00:00")
    with CostDatabase(postgres_url) as database:
        pair = (PAIR, MeasuredTransition(1.0, created=RECORD.created))
        assert merge(database, [(KEY, RECORD), (elsewhere, FAILED)], [pair]) == Merged(3, 0, 0)
        assert merge(database, [(KEY, newer), (KEY, RECORD), (elsewhere, FAILED)], [pair]) == Merged(0, 1, 3)
        assert database.get([KEY, elsewhere]) == {KEY: newer, elsewhere: FAILED}
        assert [(group.machine, group.costs, group.failed) for group in groups(database, Selection())] == [
            ("a CPU, 2 cores", 1, {}),
            ("a shed", 1, {"build": 1}),
        ]
        assert records(database, Selection(computation="c0f", machine="*shed*")) == [(elsewhere, FAILED)]
        assert selected_transitions(database, Selection(toolchain="onnxruntime", version="1.31")) == [pair]
        assert remove(database, Selection(before="2026-02-01")) == (1, 1, 0, 0)
        assert records(database, Selection()) == [(KEY, newer)]
        for kernels in (PROFILE[:1], PROFILE):
            database.put_profile(KEY, kernels)
        assert database.get_profile(KEY) == PROFILE
        assert remove(database, Selection(toolchain=KEY.toolchain)) == (1, 0, 0, 1)


def test_it_can_be_replayed(postgres_url: str, postgres_server: PostgresServer) -> None:
    put_many(postgres_url, "a", 1)
    url = postgres_server.tcp_url(re.findall(r"/(costs\d+)", postgres_url)[0])
    estimator = ReplayEstimator(url)
    assert estimator.name.startswith("replay:postgresql://collage:***@127.0.0.1:"), "the password is nobody's business"
    estimator.close()


@pytest.fixture
def away(postgres_server: PostgresServer) -> Iterator[PostgresServer]:
    """The server, to be stopped; it runs again afterwards."""
    yield postgres_server
    if not postgres_server.runs():
        postgres_server.start()


def test_server_that_goes_away_and_comes_back(away: PostgresServer, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other, last = replace(KEY, computation="other"), replace(KEY, computation="last")
    with open_database(postgres_url) as database:
        database.put(KEY, RECORD)
        away.stop()
        database.put(other, RECORD)
        assert database.get([KEY, other]) == {other: RECORD}
        notes = [re.sub(r".*(cannot be \w+) \((.*)\): ", r"\1: ", note) for note in database.notes]
        assert notes == [f"cannot be written: {GOES_ON}", f"cannot be read: {GOES_ON}"]
        away.start()
        monkeypatch.setattr(time, "monotonic", lambda: float("inf"))
        assert database.get([KEY, other]) == {KEY: RECORD, other: RECORD}
        database.put(last, RECORD)
    assert sorted(rows_of(postgres_url, "SELECT computation FROM measurements")) == [("c0ffee",), ("last",), ("other",)]


def test_server_that_is_away_at_the_start(away: PostgresServer, postgres_url: str) -> None:
    away.stop()
    with pytest.raises(DatabaseTrouble) as caught:
        CostDatabase(postgres_url)
    assert "\n" not in caught.value.message
    assert caught.value.hint == "check that the server runs, and that host and port are right"
    with open_database(postgres_url) as database:
        assert database.notes == [f"{caught.value.message} ({caught.value.hint}): {GOES_ON}"]
        database.put(KEY, RECORD)
        assert database.get([KEY]) == {KEY: RECORD}
        away.start()
    assert rows_of(postgres_url, "SELECT computation FROM measurements") == [("c0ffee",)], "closing tries again"


def trouble(url: str) -> tuple[str, str]:
    with pytest.raises(DatabaseTrouble) as caught:
        CostDatabase(url, busy_s=2)
    assert "s3cret" not in caught.value.message
    return caught.value.words, caught.value.hint


def test_wrong_password_user_and_database(postgres_server: PostgresServer) -> None:
    form = "postgresql://NAME:PASSWORD@HOST/DATABASE"
    assert trouble(postgres_server.tcp_url("postgres", "s3cret")) == (
        'password authentication failed for user "collage"',
        f"put the right name and password in the URL: {form}",
    )
    missing = "name one that is there, or make it with `createdb` or `createuser`"
    assert trouble(postgres_server.tcp_url("nothing")) == ('database "nothing" does not exist', missing)
    assert trouble(postgres_server.socket_url("postgres", "nobody")) == ('role "nobody" does not exist', missing)


def test_user_who_may_only_read(postgres_server: PostgresServer, postgres_url: str) -> None:
    put_many(postgres_url, "a", 1)
    name = re.findall(r"/(costs\d+)", postgres_url)[0]
    postgres_server.execute(name, "CREATE ROLE reader LOGIN", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    with open_database(postgres_server.socket_url(name, "reader")) as database:
        assert len(database.of_computations(["a0"])) == 1
        database.put(KEY, RECORD)
        assert "cannot be written (permission denied for table measurements)" in database.notes[0]
    empty = re.findall(r"/(costs\d+)", postgres_server.new_database())[0]
    words, hint = trouble(postgres_server.socket_url(empty, "reader"))
    assert (words, hint) == ("permission denied for schema public", "ask the database's owner for the right to do so")


def test_tables_that_another_program_holds(postgres_url: str) -> None:
    put_many(postgres_url, "a", 1)
    with CostDatabase(postgres_url, busy_s=0.2) as database, psycopg.connect(postgres_url) as holder:
        holder.execute("LOCK TABLE measurements")
        database.put(KEY, RECORD)
        assert database.get([KEY]) == {KEY: RECORD}
        assert "cannot be written (canceling statement due to lock timeout)" in database.notes[0]
    assert sorted(rows_of(postgres_url, "SELECT computation FROM measurements")) == [("a0",), ("c0ffee",)]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://a:s3cret@host:port/x", "the URL of the cost database cannot be read"),
        ("postgresql://a:s3cret@host", "the URL of the cost database 'postgresql://a:***@host' names no database"),
        ("mysql://a:s3cret@host/x", "costs cannot be kept in a database of the kind 'mysql'"),
    ],
)
def test_urls_that_say_nothing(url: str, message: str) -> None:
    with pytest.raises(CollageError, match=f"^{re.escape(message)}$"):
        open_database(url)


def test_nobody_answers() -> None:
    words, hint = trouble("postgresql://collage:s3cret@127.0.0.1:1/costs?sslpassword=s3cret")
    assert words == 'connection failed: connection to server at "127.0.0.1", port 1 failed: Connection refused'
    assert hint == "check that the server runs, and that host and port are right"
    words, hint = trouble("postgresql://no.such.host.invalid/costs")
    assert words.startswith("failed to resolve host 'no.such.host.invalid'")
    assert hint == "check the host's name"


@pytest.fixture(params=["stalls", "trickles"])
def stalled(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a server that lets everybody in, and then answers nothing, or a byte now and then."""
    is_over = threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            while self.request.recv(4096)[:8] in (b"\0\0\0\x08\x04\xd2\x16\x2f", b"\0\0\0\x08\x04\xd2\x16\x30"):
                self.request.sendall(b"N")  # no TLS, no GSS
            self.request.sendall(b"R\0\0\0\x08\0\0\0\0" + b"Z\0\0\0\x05I")
            with suppress(OSError):
                self.request.sendall(b"N\0\xff\xff\xff")  # a notice whose end never comes
                while not is_over.wait(0.02):
                    if request.param == "trickles":
                        self.request.sendall(b"a")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"postgresql://collage@127.0.0.1:{server.server_address[1]}/costs"
        is_over.set()
        server.shutdown()


def test_a_server_that_stalls_after_connecting_is_given_up(stalled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "STATEMENT_S", 0.3)
    words, hint = trouble(stalled)
    assert words == "timeout: the server did not answer within 300 ms"
    assert hint == "check that the server runs and can be reached from here, and that no other program locks its tables"


def test_ctrl_c_does_not_wait_for_a_server_that_stalls(stalled: str) -> None:
    program = f"from collage_core.cost.database.database import open_database\nprint(flush=True)\nopen_database({stalled!r})"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while not has_connection(process.pid):
            pass
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert "KeyboardInterrupt" in err


def has_connection(number: int) -> bool:
    return any(one.status == psutil.CONN_ESTABLISHED for one in psutil.Process(number).net_connections("tcp"))


def test_without_the_driver_the_command_to_install_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(CollageError, match=r"needs psycopg, which is not installed here") as caught:
        open_database("postgresql://host/costs")
    assert caught.value.hint == "pip install 'psycopg[binary]>=3.2'"


def test_files_need_no_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with CostDatabase(tmp_path / "costs") as database:
        database.put(KEY, RECORD)
