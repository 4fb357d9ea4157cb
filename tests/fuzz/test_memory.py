"""Memory of the explorer and of a served artifact after each kind of attack: what one takes is given back. Each prints a line."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import psutil
import pytest
import requests
import websocket

from tests.helpers.live import TOKEN, bearer, until
from tests.helpers.served import write_served

pytestmark = pytest.mark.slow

ALLOWED = 100 << 20
PART = b"x" * 60_000
TIMEOUT_S = 20.0
INFER = "v2/models/inverse/infer"

Attack = Callable[[str], None]


def endless_message(address: str) -> None:
    client = web_socket(address)
    with suppress(OSError, websocket.WebSocketException):
        client.send_frame(websocket.ABNF.create_frame(PART, websocket.ABNF.OPCODE_TEXT, fin=0))
        for _ in range(5_000):
            client.send_frame(websocket.ABNF.create_frame(PART, websocket.ABNF.OPCODE_CONT, fin=0))
    client.shutdown()


def fast_messages(address: str) -> None:
    client = web_socket(address)
    with suppress(OSError, websocket.WebSocketException):
        for _ in range(50_000):
            client.send('42["subscribe",{"run":"x","after":0}]')
    client.shutdown()


def attachments(address: str) -> None:
    client = web_socket(address)
    with suppress(OSError, websocket.WebSocketException):
        client.send("40")
        client.send('4599999999-["subscribe",{"_placeholder":true,"num":0}]')
        for _ in range(5_000):
            client.send_binary(PART)
    client.shutdown()


def idle_upgrades(address: str) -> None:
    request = f"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    with connections(address, 300) as opened:
        for connection in opened:
            with suppress(OSError):
                connection.sendall(request.encode())
        assert requests.get(f"{address}api/v1/models", headers=bearer(TOKEN), timeout=TIMEOUT_S).status_code == 200


def polling_handshakes(address: str) -> None:
    with requests.Session() as http:
        for _ in range(1_000):
            http.get(f"{address}socket.io/", params={"EIO": "4", "transport": "polling"}, headers=bearer(TOKEN), timeout=TIMEOUT_S)


def nested_bodies(address: str) -> None:
    for path in ("api/v1/models", "api/v1/runs", "socket.io/?EIO=4&transport=polling", INFER):
        for body in (b"[" * 500_000, b"[]," * 150_000, b'{"a":' * 100_000):
            with suppress(requests.ConnectionError):  # refused before it was sent
                requests.post(address + path, body, headers={**bearer(TOKEN), "Content-Type": "application/json"}, timeout=TIMEOUT_S)


def models_that_are_none(address: str) -> None:
    for _ in range(8):
        file = {"file": ("x.onnx", os.urandom(16 << 20))}
        assert requests.post(f"{address}api/v1/models", files=file, headers=bearer(TOKEN), timeout=TIMEOUT_S).status_code == 400


def half_sent_bodies(address: str) -> None:
    with connections(address, 64) as opened:
        for connection in opened:
            with suppress(OSError):
                connection.sendall(f"POST /{INFER} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {1 << 20}\r\n\r\n".encode() + PART)


def shapes_without_end(address: str) -> None:
    for size in (1 << 31, 1 << 39, 1 << 62):
        tensor = {"name": "x", "datatype": "FP32", "shape": [0, size, size], "data": []}
        for _ in range(50):
            assert requests.post(address + INFER, json={"inputs": [tensor]}, timeout=TIMEOUT_S).status_code == 400


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, psutil.Process]]:
    environment = {"COLLAGE_TOKEN": TOKEN, "COLLAGE_HOME": str(tmp_path_factory.mktemp("home"))}
    with program("explore", "--no-browser", "--port", "0", **environment) as (line, process):
        yield re.findall(r"http://[^/]+/", line)[0], process


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, psutil.Process]]:
    with program("serve", str(write_served(tmp_path_factory.mktemp("served") / "out")), "--port", "0") as (line, process):
        yield re.findall(r"http://[^/]+/", line)[0], process


@pytest.mark.parametrize(
    "attack",
    [endless_message, fast_messages, attachments, idle_upgrades, polling_handshakes, nested_bodies, models_that_are_none],
    ids=lambda attack: attack.__name__,
)
def test_the_explorer_gives_back(explorer: tuple[str, psutil.Process], attack: Attack, capsys: pytest.CaptureFixture[str]) -> None:
    check(*explorer, attack, capsys)


@pytest.mark.parametrize("attack", [nested_bodies, half_sent_bodies, shapes_without_end], ids=lambda attack: attack.__name__)
def test_a_served_artifact_gives_back(served: tuple[str, psutil.Process], attack: Attack, capsys: pytest.CaptureFixture[str]) -> None:
    check(*served, attack, capsys)


def check(address: str, process: psutil.Process, attack: Attack, capsys: pytest.CaptureFixture[str]) -> None:
    """Attack, print what the server takes before and after, and see that it is about the same."""
    requests.get(address, timeout=TIMEOUT_S)
    before = process.memory_info().rss
    attack(address)
    until(lambda: requests.get(address, timeout=TIMEOUT_S).status_code < 500, "an answer")
    after = process.memory_info().rss
    with capsys.disabled():
        print(f"\n{attack.__name__}: {before >> 20} MiB before, {after >> 20} MiB after", flush=True)
    assert after - before < ALLOWED


@contextmanager
def program(*arguments: str, **environment: str) -> Iterator[tuple[str, psutil.Process]]:
    """Run a command of ours meanwhile; yields the line in which it says where it is, and its process."""
    command = [sys.executable, "-c", "from collage_core.cli.main import main; main()", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}) as running:
        assert running.stdout is not None
        try:
            yield running.stdout.readline(), psutil.Process(running.pid)
        finally:
            running.terminate()


@contextmanager
def connections(address: str, count: int) -> Iterator[list[socket.socket]]:
    host, port = address.removeprefix("http://").rstrip("/").split(":")
    with ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection((host, int(port)), timeout=TIMEOUT_S)) for _ in range(count)]


def web_socket(address: str) -> websocket.WebSocket:
    url = address.replace("http", "ws") + "socket.io/?EIO=4&transport=websocket"
    return websocket.create_connection(url, timeout=TIMEOUT_S, header=bearer(TOKEN))
