"""Borders of servers: bytes that a client may send to the explorer, to its sockets, and to a served artifact, over real connections.

Whatever comes, the answer is a refusal at most, no traceback is printed, and the next request is answered.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import websocket

from collage_core.serving.http_server import ModelServer
from collage_core.serving.served_model import ServedModel
from collage_server.app import create_app
from collage_server.config import ServerConfig
from tests.helpers.live import TOKEN, Live, serve
from tests.helpers.served import MOST_BYTES, REQUEST, write_served

SERVERS = ExitStack()
"""The servers that the borders have started; whoever has called one of these closes it."""
ANSWER_S = 15.0
"""Within which a server answers, or closes the connection."""
PATIENCE_S = 0.3
"""Silence after which a client that may have sent half a request says that no more comes."""
MOST_COPIES = 2000
"""Of one message to a socket."""
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
_NOT_SPOKEN = {501, 505}
"""The answers to a method and to a version of HTTP that the server does not know."""
_BUSY = 503
"""Sessions that have ended count among the most that there may be until Engine.IO forgets them."""


def access(data: bytes, folder: Path) -> None:
    """Ask the explorer without its token, directly and behind a proxy: nothing passes."""
    for live in (_explorer(0), _explorer(1)):
        for status in _statuses(_address(live), _request(data, {})):
            assert 400 <= status < 500 or status in _NOT_SPOKEN, f"status {status} without the token"


def api(data: bytes, folder: Path) -> None:
    """Ask the explorer with its token: a mistake is never a fault of the server."""
    live = _explorer(0)
    for status in _statuses(_address(live), _request(data, live.headers)):
        assert status < 500 or status in _NOT_SPOKEN, f"status {status}"


def sockets(data: bytes, folder: Path) -> None:
    """Send messages of Socket.IO, or frames that are none, over a web socket; or messages by polling."""
    live = _explorer(0)
    with _no_traceback():
        told = _parsed(data)
        if isinstance(told, dict):
            _poll(live, told)
        else:
            _send_frames(live, told if isinstance(told, list) else [{"raw": data.decode("latin-1")}])
        assert live.http.get(f"{live.address}api/v1/models", timeout=ANSWER_S).status_code == 200


def serving(data: bytes, folder: Path) -> None:
    """Ask a served artifact: a mistake is never a fault of the server, and the next request is answered."""
    address = _model_server().server_address
    for status in _statuses(address, _request(data, {})):
        assert status < 500 or status in (*_NOT_SPOKEN, _BUSY), f"status {status}"
    good = {"method": "POST", "path": "/v2/models/inverse/infer", "headers": {"Host": "localhost"}, "body": REQUEST}
    assert _statuses(address, _request(json.dumps(good).encode(), {})) == [200]


@cache
def _explorer(hops: int) -> Live:
    """Return an explorer behind so many proxies, which listens on a free port."""
    config = ServerConfig(token=TOKEN, hosts=("tools.example",) if hops else (), behind_proxy=hops)
    app, _ = create_app(config)
    SERVERS.callback(_explorer.cache_clear)
    SERVERS.callback(app.extensions["collage"].close)
    return SERVERS.enter_context(contextlib.contextmanager(serve)(app))


@cache
def _model_server() -> ModelServer:
    """Return the server of a small artifact, on a free port."""
    folder = Path(SERVERS.enter_context(tempfile.TemporaryDirectory()))
    SERVERS.callback(_model_server.cache_clear)
    model = ServedModel(write_served(folder / "out"))
    SERVERS.callback(model.close)
    server = SERVERS.enter_context(ModelServer("127.0.0.1", 0, model, MOST_BYTES))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    SERVERS.callback(thread.join)
    SERVERS.callback(server.shutdown)
    return server


def _address(live: Live) -> tuple[str, int]:
    host, _, port = live.address.removeprefix("http://").rstrip("/").rpartition(":")
    return host, int(port)


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _request(data: bytes, headers: Mapping[str, str]) -> bytes:
    """Return the bytes of the request that `data` tells of as JSON, with more `headers`; `data` itself where it tells of none."""
    told = _parsed(data)
    if not isinstance(told, dict):
        return data
    body = told.get("body", "")
    body = body if isinstance(body, str) else json.dumps(body)
    own = told.get("headers")
    lines = [f"{told.get('method')} {told.get('path')} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in {**headers, **(own if isinstance(own, dict) else {})}.items()]
    if not isinstance(own, dict) or "Content-Length" not in own:
        lines.append(f"Content-Length: {len(_encoded(body))}")
    return _encoded("\r\n".join([*lines, "Connection: close", "", body]))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _statuses(address: tuple[str, int], request: bytes) -> list[int]:
    """Return the status of each answer to what was sent; a server that is silent is a fault."""
    with _no_traceback(), socket.create_connection(address, timeout=PATIENCE_S) as connection:
        with contextlib.suppress(OSError):  # it may have closed the connection already
            connection.sendall(request)
        return [int(status) for status in _STATUS.findall(_all_of(connection))]


def _all_of(connection: socket.socket) -> bytes:
    parts = list[bytes]()
    with contextlib.suppress(ConnectionError):
        while True:
            try:
                part = connection.recv(1 << 16)
            except TimeoutError:
                if connection.gettimeout() == ANSWER_S:
                    raise
                connection.settimeout(ANSWER_S)
                connection.shutdown(socket.SHUT_WR)
                continue
            if not part:
                break
            parts.append(part)
    return b"".join(parts)


@contextlib.contextmanager
def _no_traceback() -> Iterator[None]:
    """Fail where a thread of a server prints a traceback meanwhile."""
    printed = io.StringIO()
    logged = logging.StreamHandler(printed)
    logging.getLogger().addHandler(logged)
    try:
        with contextlib.redirect_stderr(printed):
            yield
    finally:
        logging.getLogger().removeHandler(logged)
    assert "Traceback" not in printed.getvalue(), printed.getvalue()


def _poll(live: Live, told: dict[str, Any]) -> None:
    """Open a session by polling, and post to it what is told as its ``post``, under the parameters that are told besides."""
    parameters = {"EIO": "4", "transport": "polling"}
    opened = live.http.get(f"{live.address}socket.io/", params=parameters, timeout=ANSWER_S)
    sid = re.findall('"sid":"([^"]*)"', opened.text)
    more = {str(name): str(value) for name, value in told.items() if name != "post"}
    body = told.get("post", "")
    body = body if isinstance(body, str) else json.dumps(body)
    answer = live.http.post(
        f"{live.address}socket.io/", params={**parameters, "sid": sid, **more}, data=_encoded(body), timeout=ANSWER_S,
    )  # fmt: skip
    assert answer.status_code < 500 or answer.status_code == _BUSY, answer.status_code


def _send_frames(live: Live, frames: list[Any]) -> None:
    """Send each text as a message, ``{"binary": …}`` as a binary one, ``{"raw": …}`` as bytes of the connection; a number is so many
    copies of the message before it."""
    address = live.address.replace("http", "ws") + "socket.io/?EIO=4&transport=websocket"
    try:
        client = websocket.create_connection(address, timeout=ANSWER_S, header=live.headers)
    except websocket.WebSocketBadStatusException as error:
        if error.status_code != _BUSY:
            raise
        return
    text = ""
    with contextlib.suppress(OSError, websocket.WebSocketConnectionClosedException):
        for frame in frames:
            if isinstance(frame, str):
                text = frame
                client.send(_encoded(text), websocket.ABNF.OPCODE_TEXT)
            elif isinstance(frame, int | float):
                for _ in range(int(min(max(frame, 0), MOST_COPIES)) if frame == frame else 0):
                    client.send(_encoded(text), websocket.ABNF.OPCODE_TEXT)
            elif isinstance(frame, dict):
                client.send_binary(_encoded(str(frame.get("binary", ""))))
                client.sock.sendall(str(frame.get("raw", "")).encode("latin-1", "replace"))
    with contextlib.suppress(OSError):
        client.sock.shutdown(socket.SHUT_WR)
        while client.sock.recv(1 << 16):
            pass
    client.shutdown()
