"""A PostgreSQL server of the tests' own: in a temporary folder, under a user that is not root, stopped at the end.

One is started for a whole session; each test gets a fresh database in it. It listens on a socket in its folder, where
everybody is let in, and on a free port of the loopback interface, where a password is asked for.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import postgres
import pytest

OWNER, PASSWORD = "collage", "s3cret/word"
SETTINGS = {"listen_addresses": "127.0.0.1", "fsync": "off", "shared_buffers": "16MB", "max_connections": "40", "lc_messages": "C"}


@dataclass
class PostgresServer:
    binaries: Path
    folder: Path
    user: dict[str, Any]
    port: int = 0
    _numbers: Iterator[int] = field(default_factory=count)

    def make(self) -> None:
        (self.folder / "password").write_text(PASSWORD)
        os.chmod(self.folder / "password", 0o644)
        options = ["--username", OWNER, "--pwfile", self.folder / "password", "--encoding", "UTF8", "--no-locale", "--no-sync"]
        self._run("initdb", *options, "--auth-local", "trust", "--auth-host", "scram-sha-256")

    def start(self) -> None:
        if not self.port:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
        settings = {**SETTINGS, "port": self.port, "unix_socket_directories": self.folder}
        given = " ".join(f"-c {name}={value}" for name, value in settings.items())
        self._run("pg_ctl", "--wait", "--silent", "--log", self.folder / "log", "--options", given, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "--wait", "--silent", "--mode", "fast", "stop")

    def runs(self) -> bool:
        return (self.folder / "data" / "postmaster.pid").exists()

    def new_database(self) -> str:
        """Its URL, by the socket."""
        name = f"costs{next(self._numbers)}"
        self.execute("postgres", f"CREATE DATABASE {name}")
        return self.socket_url(name)

    def socket_url(self, name: str, owner: str = OWNER) -> str:
        return f"postgresql://{owner}@/{name}?host={self.folder}&port={self.port}"

    def tcp_url(self, name: str, password: str = "s3cret%2Fword") -> str:
        return f"postgresql://{OWNER}:{password}@127.0.0.1:{self.port}/{name}"

    def execute(self, name: str, *statements: str) -> None:
        import psycopg

        with psycopg.connect(self.socket_url(name), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self.binaries / program), "-D", str(self.folder / "data"), *map(str, arguments)]
        ran = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **self.user)
        assert ran.returncode == 0, f"{program}: {ran.stdout}{ran.stderr}"


def server_user() -> dict[str, Any]:
    """Root may not run it: then Debian's own user does."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam("postgres")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    binaries = postgres.find()
    if binaries is None:
        pytest.skip(f"NO PostgreSQL HERE: nothing is known of the team's cost database; install it: {postgres.COMMAND}")
    folder = Path(tempfile.mkdtemp(prefix="collage-postgres-"))
    user = server_user()
    if user:
        os.chown(folder, user["user"], user["group"])
    server = PostgresServer(binaries, folder, user)
    try:
        server.make()
        server.start()
        yield server
        server.stop()
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> str:
    """Of an empty database."""
    return postgres_server.new_database()
