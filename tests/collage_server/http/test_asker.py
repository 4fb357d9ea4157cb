"""A client may stop waiting: a question whose asker has left ends, and one that takes too long is no fault of the server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from collage_core.base.isolation.worker_errors import WorkerTimeout
from collage_core.errors import Cancelled
from collage_server.http import asker
from collage_server.routes import query_routes
from tests.helpers.live import Live, until


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ends = socket.socketpair()
    yield ends
    for end in ends:
        end.close()


def test_a_closed_connection_is_seen_and_nothing_is_read_from_an_open_one(app: Flask, pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    ours.settimeout(60)
    with app.test_request_context(environ_overrides={"werkzeug.socket": ours}):
        has_left = asker.asker_left()
    assert not has_left()
    theirs.send(b"GET")
    assert not has_left()
    assert ours.recv(3) == b"GET"
    theirs.close()
    until(has_left, "that the connection is closed: a process that starts just now may hold a copy for a moment")


def test_without_a_connection_nobody_leaves(app: Flask) -> None:
    with app.test_request_context():
        assert not asker.asker_left()()


def test_a_question_ends_when_its_asker_leaves(live: Live, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = live.ended(live.start(model, "fast")["id"])["id"]
    ended: list[str] = []

    def answer(*args: Any, should_stop: Any) -> None:
        until(should_stop, "that the asker leaves")
        ended.append("left")
        raise Cancelled

    monkeypatch.setattr(live.services.pool, "call", answer)
    host, _, port = live.address.removeprefix("http://").rstrip("/").partition(":")
    with socket.create_connection((host, int(port))) as asking:
        headers = "".join(f"{name}: {value}\r\n" for name, value in {"Host": f"{host}:{port}", **live.headers}.items())
        asking.sendall(f"GET /api/v1/runs/{run}/candidates?node=0 HTTP/1.1\r\n{headers}\r\n".encode())
    until(lambda: ended, "the end of the question")


def test_what_takes_too_long_is_no_fault(live: Live, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = live.ended(live.start(model, "fast")["id"])["id"]

    def answer(*args: Any) -> None:
        raise WorkerTimeout(30.0)

    monkeypatch.setattr(query_routes, "_call", answer)
    got = live.http.get(f"{live.address}api/v1/runs/{run}/candidates?node=0", timeout=60)
    assert (got.status_code, got.json()["error"]["code"]) == (503, "too_slow")
    assert got.json()["error"]["message"] == "the answer took longer than 30 s, and was given up"
