"""Starting the server: ports, addresses, and a clean end."""

from __future__ import annotations

import io
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote, urlsplit

import psutil
import pytest
import requests
from fake_engine import FakeEngine
from flask import Flask

from collage_core.base.module_regions import RegionSummary, several_regions
from collage_core.errors import CollageError
from collage_server import launch
from collage_server.config import ServerConfig
from collage_server.launch import address_of, listen
from collage_server.model_store import FixedInputs, ModelStore
from collage_server.streaming import bounds
from tests.helpers.live import DEADLINE_S, Live, bearer, serve, until

SERVE = "from collage_server.launch import serve; serve(port=None, model='mini_mnist', open_browser=False)"


def test_port_that_is_taken() -> None:
    with closing(listen("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CollageError) as caught:
            listen("127.0.0.1", port)
        assert caught.value.message == f"port {port} of 127.0.0.1 is in use by another program"
        match = re.fullmatch(r"try --port (\d+)", caught.value.hint)
        assert match
        listen("127.0.0.1", int(match[1])).close()


def test_the_next_free_port(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(listen("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(launch, "DEFAULT_PORT", taken.getsockname()[1])
        with closing(listen("127.0.0.1", None)) as other:
            assert other.getsockname()[1] != taken.getsockname()[1]
        monkeypatch.setattr(launch, "PORTS_TRIED", 1)
        with closing(listen("127.0.0.1", None)) as other:
            assert other.getsockname()[1] > 0


@pytest.mark.parametrize(
    ("host", "port", "code", "message"),
    [
        ("no.such.host.invalid", 0, "bad_host", "the host 'no.such.host.invalid' is not known"),
        ("127.0.0.1", 70000, "bad_port", "cannot listen at port 70000 of 127.0.0.1: ports are numbers from 0 to 65535"),
        ("192.0.2.1", 0, "bad_port", "cannot listen at port 0 of 192.0.2.1: Cannot assign requested address"),
    ],
)
def test_places_where_nobody_can_listen(host: str, port: int, code: str, message: str) -> None:
    with pytest.raises(CollageError) as caught:
        listen(host, port)
    assert (caught.value.code, caught.value.message) == (code, message)
    assert caught.value.hint


def test_address() -> None:
    with closing(socket.socket()) as made:
        made.bind(("127.0.0.1", 0))
        port = made.getsockname()[1]
        shown = {host: address_of(host, made) for host in ("127.0.0.1", "localhost", "0.0.0.0", "::", "::1", "")}
    assert shown == {
        "127.0.0.1": f"http://127.0.0.1:{port}/",
        "localhost": f"http://localhost:{port}/",
        "0.0.0.0": f"http://127.0.0.1:{port}/",
        "::": f"http://[::1]:{port}/",
        "::1": f"http://[::1]:{port}/",
        "": f"http://127.0.0.1:{port}/",
    }


def test_model_that_is_none_is_told_before_anything_is_served(home: Path, tmp_path: Path) -> None:
    with pytest.raises(CollageError, match="'nothing' is neither a file nor a sample model"):
        launch.serve(port=0, model="nothing", open_browser=False)
    bad = tmp_path / "bad.onnx"
    bad.write_text("no model")
    with pytest.raises(CollageError, match="is not an ONNX model"):
        launch.serve(port=0, model=str(bad), open_browser=False)


def test_of_several_regions_the_largest_is_opened_and_named(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, asked = tmp_path / "net.py", list[str | None]()
    path.write_text("")

    def opened(_store: ModelStore, _path: Path, fixed: FixedInputs) -> tuple[SimpleNamespace, bool]:
        asked.append(fixed.region)
        if fixed.region is None:
            raise several_regions("net.py", [RegionSummary("main.0", 0, 1, 1.0), RegionSummary("other.0", 0, 2, 1.0)])
        return SimpleNamespace(id=fixed.region), True

    monkeypatch.setattr(ModelStore, "open_path", opened)
    assert launch.open_model(ServerConfig(), str(path), FixedInputs()) == "other.0"
    assert "has 2 regions: other.0 is the largest, and open" in capsys.readouterr().err
    assert launch.open_model(ServerConfig(), str(path), FixedInputs(region="main.0")) == "main.0"
    assert asked == [None, "other.0", "main.0"]


@pytest.mark.parametrize("reached", [{"host": "0.0.0.0"}, {"hosts": ("tools.example",)}, {"behind_proxy": True}])
def test_who_is_trusted_is_asked_by_nobody_else(reached: dict[str, Any]) -> None:
    with pytest.raises(CollageError, match="--trust-local lets whoever asks from this machine run programs") as caught:
        launch.serve(port=0, trust_local=True, open_browser=False, **reached)
    assert caught.value.hint == "leave it out, or --host, --allow-host and --behind-proxy"


@dataclass
class Started:
    """The output of servers that end at once, and the file that a browser was sent to."""

    opened: threading.Event = field(default_factory=threading.Event)
    address: str = ""
    file: str = ""
    mode: int = 0


@pytest.fixture
def started(home: Path, monkeypatch: pytest.MonkeyPatch) -> Started:
    """`launch.serve` then serves nothing, and ends when a browser was opened."""
    seen = Started()

    def browse(address: str) -> None:
        seen.address = address
        path = Path(unquote(urlsplit(address).path))
        if path.is_file():
            seen.file, seen.mode = path.read_text(), path.stat().st_mode
        seen.opened.set()

    server = SimpleNamespace(serve_forever=lambda: seen.opened.wait(DEADLINE_S), server_close=lambda: None, shutdown=lambda: None)
    monkeypatch.setattr(launch, "ServerConfig", partial(ServerConfig, engine=FakeEngine()))
    monkeypatch.setattr(launch, "make_wsgi_server", lambda *_: server)
    monkeypatch.setattr(launch, "_has_screen", lambda: True)
    monkeypatch.setattr(launch.webbrowser, "open", browse)
    return seen


def test_the_browser_gets_the_token_in_a_file_of_the_users_own(started: Started, capsys: pytest.CaptureFixture[str]) -> None:
    """Other accounts can list the arguments of a browser, and the token must not be among them."""
    launch.serve(port=0, token="my-secret&more")
    output = capsys.readouterr()
    match = re.search(r"is at (http://127\.0\.0\.1:\d+/\?token=my-secret%26more)  ", output.out)
    assert match
    assert output.err == ""
    assert started.address.startswith("file://")
    assert "secret" not in started.address
    assert f'content="0; url={match[1]}"' in started.file
    assert stat.S_IMODE(started.mode) == 0o600
    assert not Path(unquote(urlsplit(started.address).path)).exists()  # it goes when the server ends


@pytest.mark.parametrize(("host", "who"), [("127.0.0.1", "every account of this machine"), ("0.0.0.0", "everybody who reaches 0.0.0.0")])
def test_without_a_token_a_warning_says_who_can_use_it(started: Started, capsys: pytest.CaptureFixture[str], host: str, who: str) -> None:
    launch.serve(host=host, port=0, asks_token=False)
    output = capsys.readouterr()
    assert output.err == f"warning: {who} can use it: it asks for no token\n"
    assert re.search(r"is at (http://127\.0\.0\.1:\d+/)  ", output.out)
    assert started.address.startswith("http://")


def test_beyond_loopback_a_token_is_asked_for(started: Started, capsys: pytest.CaptureFixture[str]) -> None:
    launch.serve(host="0.0.0.0", port=0)
    output = capsys.readouterr()
    assert "?token=" in output.out
    assert output.err == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_until_it_is_ended(home: Path, number: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    line = process.stdout.readline()
    match = re.fullmatch(r"Collage Explorer is at (http://127\.0\.0\.1:\d+/)\?token=(\S{43})  \(Ctrl-C ends it\)\n", line)
    assert match, line
    models = requests.get(f"{match[1]}api/v1/models", headers=bearer(match[2]), timeout=30).json()["models"]
    assert models[0]["sample"] == "mini_mnist"
    family = until(lambda: psutil.Process(process.pid).children(recursive=True))
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    assert (output, errors, process.returncode) == ("", "", 0)
    until(lambda: not [child for child in family if child.is_running()], "the end of its processes")


@pytest.fixture
def narrow(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    """A server which has room for two."""
    monkeypatch.setattr(launch, "MOST_CONNECTIONS", 2)
    with contextmanager(serve)(app) as live:
        yield live


def connect(live: Live, sent: str = "") -> socket.socket:
    """A connection on which so much of a request has been sent; ``{token}`` stands for the header with the token."""
    connection = socket.create_connection(("127.0.0.1", int(live.address.rstrip("/").rpartition(":")[2])), timeout=DEADLINE_S)
    connection.sendall(sent.format(token=f"Host: localhost\r\nAuthorization: {live.headers['Authorization']}\r\n").encode())
    return connection


def until_closed(connection: socket.socket) -> bytes:
    """All that comes until the other side ends the connection."""
    got = b""
    with connection, suppress(ConnectionResetError):
        while part := connection.recv(4096):
            got += part
    return got


HALF_A_BODY = "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "GET /api/v1/models HTTP/1.1\r\n{token}X-Ha",
        "POST /api/v1/runs HTTP/1.1\r\n{token}" + HALF_A_BODY,
        "POST /api/v1/runs HTTP/1.1\r\n{token}Upgrade: websocket\r\n" + HALF_A_BODY,
    ],
)
def test_half_requests_and_idle_connections_end(narrow: Live, monkeypatch: pytest.MonkeyPatch, sent: str) -> None:
    """Whatever their headers."""
    monkeypatch.setattr(launch._QuietHandler, "timeout", 0.2)
    assert b" 500 " not in until_closed(connect(narrow, sent))


def answers(live: Live) -> bool:
    """Return whether the server has room for one more who has the token."""
    with suppress(requests.ConnectionError):
        return live.http.get(f"{live.address}api/v1/samples", timeout=DEADLINE_S).ok
    return False


@pytest.mark.parametrize("sent", ["", "GET / HTTP/1.1\r\n", "POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\n" + HALF_A_BODY])
def test_who_lacks_the_token_keeps_nobody_out(narrow: Live, sent: str) -> None:
    """The oldest of such connections gives way, whatever has been sent on it."""
    strangers = [connect(narrow, sent) for _ in range(4)]
    assert answers(narrow)
    for stranger in strangers[:-2]:
        until_closed(stranger)
    for stranger in strangers:
        stranger.close()


def test_who_has_the_token_is_not_ended_for_others(narrow: Live) -> None:
    """While both connections are used, the next one is closed at once; when one of them ends there is room again."""
    listeners = [narrow.listen() for _ in range(2)]
    assert until_closed(connect(narrow)) == b""
    assert not answers(narrow)
    assert all(listener.client.connected for listener in listeners)
    listeners.pop().client.disconnect()
    until(lambda: answers(narrow), "room again")
    assert listeners[0].client.connected


def test_what_follows_a_web_socket_is_no_request(app: Flask, live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """It came together with the request for the web socket, so the server has read it already."""
    asked, make = list[str](), launch._QuietHandler.make_environ

    def noted(self: Any) -> Any:
        environ = make(self)
        asked.append(environ["PATH_INFO"])
        return environ

    monkeypatch.setattr(launch._QuietHandler, "make_environ", noted)
    monkeypatch.setattr(bounds, "SILENCE_S", 0.2)
    monkeypatch.setattr(app.extensions["socketio"].server.eio, "ping_interval", 0.2)
    upgrade = (
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    sent = "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\n{token}" + upgrade + "GET /api/v1/samples HTTP/1.1\r\n{token}\r\n"
    before = set(threading.enumerate())
    assert until_closed(connect(live, sent)).count(b"HTTP/1.1 ") == 1
    threads = [thread for thread in set(threading.enumerate()) - before if "process_request_thread" in thread.name]
    for thread in threads:
        thread.join(DEADLINE_S)
    assert asked == ["/socket.io/"]


def test_nobody_has_much_read_of_a_body_or_a_head(live: Live) -> None:
    """The rest of a body that an answer leaves is read a little at a time."""

    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            buffer[:] = b"x" * len(buffer)
            return len(buffer)

    assert len(launch._BoundedReader(Endless()).read(10_000_000)) == launch.READ_BYTES
    line = "X-Long: " + "x" * 60_000 + "\r\n"
    assert until_closed(connect(live, "GET /static/favicon.svg HTTP/1.1\r\n{token}" + line * 2 + "\r\n")).startswith(b"HTTP/1.1 200")
    assert until_closed(connect(live, "GET /static/favicon.svg HTTP/1.1\r\n{token}" + line * 3 + "\r\n")) == b""
