"""Bounds of the sockets: no client takes memory or threads at will, or a connection on which it says nothing."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pytest
import requests
import websocket
from flask import Flask

from collage_server.streaming import bounds
from tests.helpers.live import DEADLINE_S, Live, serve, until

HANDSHAKE = {"EIO": "4", "transport": "polling"}


def connected(live: Live) -> websocket.WebSocket:
    """A web socket on which Engine.IO has answered, and Socket.IO knows nobody yet."""
    address = live.address.replace("http", "ws") + "socket.io/?EIO=4&transport=websocket"
    client = websocket.create_connection(address, timeout=DEADLINE_S, header=live.headers)
    assert client.recv().startswith("0{")
    return client


def next_frame(client: websocket.WebSocket) -> int | None:
    """The kind of the next frame; None where the connection has ended."""
    try:
        return int(client.recv_frame().opcode)
    except (OSError, websocket.WebSocketConnectionClosedException):
        return None


def session(live: Live) -> str:
    """A client that polls, and has not said yet what it wants."""
    answer = live.http.get(live.address + "socket.io/", params=HANDSHAKE, timeout=DEADLINE_S)
    return answer.text.split('"sid":"')[1].split('"')[0]


def post(live: Live, sid: str, body: str) -> requests.Response:
    return live.http.post(live.address + "socket.io/", params={**HANDSHAKE, "sid": sid}, data=body, timeout=DEADLINE_S)


def test_a_message_without_an_end_ends_the_connection(live: Live) -> None:
    client = connected(live)
    part = "x" * (bounds.MESSAGE_BYTES // 2 + 1)
    with suppress(OSError):
        for opcode in (websocket.ABNF.OPCODE_TEXT, websocket.ABNF.OPCODE_CONT):
            client.send_frame(websocket.ABNF.create_frame(part, opcode, fin=0))
        client.ping()
    assert next_frame(client) in (websocket.ABNF.OPCODE_CLOSE, None)  # and never the answer to the ping


def test_no_more_is_read_while_messages_wait(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first message is not handled until the test allows it, and few of the others have been read by then."""
    handling, may_go_on = threading.Event(), threading.Event()
    sockets = list[Any]()
    receive = bounds._BoundedWebSocket.receive
    addresses = set[Any]()

    def held(self: Any, timeout: float | None = None) -> Any:
        message = receive(self, timeout)
        if self.sock.getpeername() in addresses:  # clients of earlier tests may still be there
            sockets.append(self)
            handling.set()
            may_go_on.wait(DEADLINE_S)
        return message

    monkeypatch.setattr(bounds._BoundedWebSocket, "receive", held)
    client = connected(live)
    addresses.add(client.sock.getsockname())
    sender = threading.Thread(target=lambda: [client.send("3") for _ in range(20_000)], daemon=True)
    sender.start()
    assert handling.wait(DEADLINE_S)
    until(lambda: len(sockets[0].input_buffer) >= bounds.MOST_WAITING, "messages that wait")
    assert len(sockets[0].input_buffer) < 4096 // 6 + bounds.MOST_WAITING  # no more than came with the last of them
    may_go_on.set()
    sender.join()
    client.close()


def test_messages_are_handled_one_after_the_other(live: Live, app: Flask) -> None:
    assert not app.extensions["socketio"].server.async_handlers  # else each of them starts a thread


@contextmanager
def silence(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    """A server that has little patience with web sockets."""
    monkeypatch.setattr(bounds, "SILENCE_S", 0.2)
    with contextmanager(serve)(app) as live:
        yield live


def test_a_web_socket_that_is_silent_is_closed(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    with silence(app, monkeypatch) as live:
        client = connected(live)
        frames = iter(lambda: next_frame(client), None)
        assert set(frames) <= {websocket.ABNF.OPCODE_TEXT, websocket.ABNF.OPCODE_CLOSE}


def test_an_upgrade_that_is_never_completed_is_closed(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    with silence(app, monkeypatch) as live:
        address = live.address.replace("http", "ws") + f"socket.io/?EIO=4&transport=websocket&sid={session(live)}"
        client = websocket.create_connection(address, timeout=DEADLINE_S, header=live.headers)
        assert next_frame(client) in (websocket.ABNF.OPCODE_CLOSE, None)


def test_no_web_socket_is_asked_for(live: Live) -> None:
    port = int(live.address.rstrip("/").rpartition(":")[2])
    headers = f"Host: localhost\r\nAuthorization: {live.headers['Authorization']}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as connection:
        connection.sendall(f"GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\n{headers}\r\n".encode())
        answer = connection.recv(4096)
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_there_is_room_for_so_many_clients(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each costs a thread."""
    sid = session(live)
    monkeypatch.setattr(bounds, "MOST_SESSIONS", 1)
    refused = live.http.get(live.address + "socket.io/", params=HANDSHAKE, timeout=DEADLINE_S)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "busy")
    assert post(live, sid, "1").text == "OK"  # which is the farewell of the one that there is


def test_a_long_body_is_answered(live: Live) -> None:
    answer = post(live, session(live), "4" + "x" * bounds.MESSAGE_BYTES)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    assert answer.json()["error"]["message"] == f"a message of {bounds.MESSAGE_BYTES + 1} bytes is too large"


@pytest.mark.parametrize("length", ["-1", "x", "²"])
def test_a_length_that_is_none(app: Flask, length: str) -> None:
    environment = {"CONTENT_LENGTH": length}
    answer = app.test_client().post("/socket.io/", query_string={**HANDSHAKE, "sid": "x"}, environ_overrides=environment)
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "invalid")


def test_who_reads_no_answers_is_not_listened_to(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_UNREAD", 3)
    sid = session(live)
    assert post(live, sid, "40").ok
    asked = [post(live, sid, '421["subscribe",{}]').status_code for _ in range(6)]
    assert asked == [200, 200, 200, 429, 429, 429]
    unread: Any = SimpleNamespace(__self__=SimpleNamespace(closed=False, queue=SimpleNamespace(qsize=lambda: 4)))
    assert bounds._WebSocketTransport(unread, None).wait() is None


NO_PACKETS = [
    "",
    "x",
    "0{}",
    "6",
    "²",
    "bAAAA",
    "4",
    "4x",
    '4["subscribe",{}]',
    "42",
    "42{}",
    "42[]",
    "42[1]",
    '42["connect",{}]',
    '42["subscribe",{},{}]',
    "42" + "[" * 30_000,
    "43[]",
    "44{}",
    '451-["subscribe",{"_placeholder":true,"num":0}]',
    "461-1[]",
    "47",
]


@pytest.mark.parametrize("packet", NO_PACKETS, ids=lambda packet: packet[:20] or "empty")
def test_what_is_no_packet_ends_the_connection_and_leaves_nothing(
    live: Live, app: Flask, packet: str, caplog: pytest.LogCaptureFixture
) -> None:
    """No thread that waits to write, no attachments that wait for more, and no traceback in the log."""
    sessions = app.extensions["socketio"].server.eio.sockets
    before = set(sessions)
    client = connected(live)
    (mine,) = [sessions[sid] for sid in set(sessions) - before]
    client.send(packet)
    assert list(iter(lambda: next_frame(client), None)) in ([], [websocket.ABNF.OPCODE_CLOSE])
    until(lambda: mine.closed, "the end of what writes to the socket")
    sid = session(live)
    answer = post(live, sid, f"3\x1e{packet}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid")
    assert post(live, sid, "1").text == "OK"
    assert not [record for record in caplog.records if record.exc_info]


def test_a_binary_message_ends_the_connection(live: Live) -> None:
    client = connected(live)
    client.send_binary(b"4")
    assert list(iter(lambda: next_frame(client), None)) in ([], [websocket.ABNF.OPCODE_CLOSE])


def test_a_ping_in_a_request_is_answered(live: Live) -> None:
    """Engine.IO would end the session, and wait for the client to read that, for ever."""
    sid = session(live)
    answer = post(live, sid, "2probe")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid")
    assert post(live, sid, "1").text == "OK"


def test_after_its_farewell_nothing_of_a_client_is_read(live: Live, caplog: pytest.LogCaptureFixture) -> None:
    client = connected(live)
    for packet in ("40", "1", "40"):
        client.send(packet)
    assert set(iter(lambda: next_frame(client), None)) <= {websocket.ABNF.OPCODE_TEXT, websocket.ABNF.OPCODE_CLOSE}
    assert not [record for record in caplog.records if record.exc_info]
