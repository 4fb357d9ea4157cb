"""`PostgresDatabase`: a cost database that a team shares on a PostgreSQL server, through psycopg, which is an extra.

A server that is offline, slow or full raises `DatabaseTrouble`: connecting, waiting for another process and each statement have a limit,
also where the server has stopped and answers nothing, or a byte now and then.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from functools import cache
from typing import Any

from sqlalchemy import create_engine, event, make_url, text
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.exc import ArgumentError, DBAPIError

from ...base.durations import duration
from ...base.extras import install_command
from ...errors import CollageError
from .location import DatabaseTrouble
from .schema import has_tables, make_tables

_SETUP_LOCK = 0x636F7374
"""Key of the advisory lock under which one process at a time makes the tables."""
_SECRETS = ("password", "sslpassword")
_LONGEST_REASON = 300
STATEMENT_S = 60.0
"""Longest that a statement may take, its answer included; the largest database of a team answers each in a few seconds."""
_HINTS = {
    "password authentication failed": "put the right name and password in the URL: postgresql://NAME:PASSWORD@HOST/DATABASE",
    "no password supplied": "put the password in the URL, postgresql://NAME:PASSWORD@HOST/DATABASE, or in ~/.pgpass",
    "pg_hba.conf": "ask the server's administrator to let you in from this machine",
    '" does not exist': "name one that is there, or make it with `createdb` or `createuser`",
    "permission denied": "ask the database's owner for the right to do so",
    "Connection refused": "check that the server runs, and that host and port are right",
    "No such file": "check that the server runs, and that host and port are right",
    "resolve": "check the host's name",
    "timeout": "check that the server runs and can be reached from here, and that no other program locks its tables",
    "read-only": "write to the primary server, or ask for the right to write",
}


class PostgresDatabase:
    """A `DatabaseLocation`.

    Args:
        rest: The URL behind its ``postgresql://``.
        busy_s: Seconds to wait for a connection, or for another process that holds the tables.

    Raises:
        CollageError: the URL cannot be read.
    """

    def __init__(self, rest: str, busy_s: float, *, read_only: bool):
        self._rest = rest
        self._url = _read_url(rest)
        self._busy_s = busy_s
        self._read_only = read_only
        self.name = _without_secrets(self._url)
        self.notes: list[str] = []

    def as_read_only(self) -> PostgresDatabase:
        return PostgresDatabase(self._rest, self._busy_s, read_only=True)

    def open(self) -> Engine:
        engine = self._engine()
        try:
            self._check(engine)
        except DBAPIError as error:
            engine.dispose()
            raise self.trouble("opened", error) from error
        except BaseException:
            engine.dispose()
            raise
        return engine

    def trouble(self, what: str, error: DBAPIError) -> DatabaseTrouble:
        words = _reason(error)
        hint = next((hint for part, hint in _HINTS.items() if part in words), "see what the server's log says")
        return DatabaseTrouble(self.name, what, words, hint)

    def _engine(self) -> Engine:
        waits = {
            "connect_timeout": max(2, math.ceil(self._busy_s)),
            "tcp_user_timeout": 10_000,
            "keepalives_idle": 10,
            "application_name": "collage-explorer",
        }
        # A pooler in front of the server may give each transaction another session, which lacks the prepared statements of the last.
        arguments = {**{name: value for name, value in waits.items() if name not in self._url.query}, "prepare_threshold": None}
        try:
            engine = create_engine(self._url, pool_pre_ping=True, connect_args=arguments)
        except ModuleNotFoundError as error:
            raise CollageError(
                f"the cost database {self.name!r} needs psycopg, which is not installed here",
                install_command("postgres"),
                "no_driver",
            ) from error
        event.listen(engine, "do_connect", lambda *given: _bounded_connection().connect(*given[2], **given[3]))
        event.listen(engine, "begin", self._begin)
        return engine.execution_options(postgresql_readonly=True) if self._read_only else engine

    def _begin(self, connection: Connection) -> None:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {math.ceil(self._busy_s * 1000)}")
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {math.ceil(STATEMENT_S * 1000)}")

    def _check(self, engine: Engine) -> None:
        with engine.begin() as connection:
            if not self._read_only:
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _SETUP_LOCK})
            if has_tables(connection, self.name):
                return
            if self._read_only:
                hint = "check the URL; the first run that measures makes one"
                raise CollageError(f"there is no cost database in {self.name!r}", hint, "no_database")
            make_tables(connection)


@cache
def _bounded_connection() -> Any:
    """Return the class of psycopg's connections whose every wait has a limit; psycopg is an extra, so it is imported here.

    The server's own limits do not help where the server has stopped. psycopg asks it to cancel the statement, and waits for that, where a
    wait is interrupted; here the connection is closed, so Ctrl-C ends it.
    """
    import psycopg
    from psycopg import waiting

    class BoundedConnection(psycopg.Connection[Any]):
        def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
            seconds = STATEMENT_S if timeout is None else min(timeout, STATEMENT_S)
            try:
                return waiting.wait(_bounded(gen, seconds), self.pgconn.socket, interval=interval)
            except TimeoutError as error:
                self.pgconn.finish()
                raise psycopg.OperationalError(f"timeout: the server did not answer within {duration(seconds)}") from error
            except (KeyboardInterrupt, SystemExit):
                self.pgconn.finish()
                raise

    return BoundedConnection


def _bounded(steps: Generator[Any, Any, Any], seconds: float) -> Generator[Any, Any, Any]:
    """Yield what `steps` yields, and return what it returns.

    Raises:
        TimeoutError: it takes longer than `seconds`, whatever arrives meanwhile.
    """
    end, ready = time.monotonic() + seconds, None
    while True:
        try:
            state = steps.send(ready)
        except StopIteration as stopped:
            return stopped.value
        ready = yield state
        if time.monotonic() > end:
            raise TimeoutError


def _read_url(rest: str) -> URL:
    try:
        url = make_url(f"postgresql+psycopg://{rest}")
    except (ArgumentError, ValueError) as error:
        raise CollageError(  # the URL is not quoted: a password may be in it
            "the URL of the cost database cannot be read", "the form is postgresql://NAME:PASSWORD@HOST:PORT/DATABASE", "bad_option"
        ) from error
    if not url.database:
        raise CollageError(
            f"the URL of the cost database {_without_secrets(url)!r} names no database",
            "the form is postgresql://NAME:PASSWORD@HOST:PORT/DATABASE",
            "bad_option",
        )
    return url


def _without_secrets(url: URL) -> str:
    hidden = url.update_query_dict({name: "***" for name in _SECRETS if name in url.query})
    return hidden.set(drivername="postgresql").render_as_string(hide_password=True)


def _reason(error: DBAPIError) -> str:
    """Return the words of the server or the driver in one line, without those that the hint says better."""
    said = str(getattr(getattr(error.orig, "diag", None), "message_primary", None) or error.orig)
    lines = [line.strip() for line in said.rpartition("FATAL:")[2].splitlines()]
    reason = " ".join(line for line in lines if line and not line.startswith("Is the server running"))
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]}…"
