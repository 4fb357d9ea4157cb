"""The server over real connections: its addresses, and what slow, broken and hostile clients get. After each of them it still answers."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle
from typing import Any

import numpy as np
import pytest

from collage_core.serving import http_server
from collage_core.serving.http_server import ModelServer
from collage_core.serving.served_model import ServedModel
from collage_core.version import __version__

from .conftest import MOST_BYTES, running

INFER = "/v2/models/inverse/infer"
X = {"name": "x", "datatype": "FP32", "shape": [2, 3], "data": [1, 2, 4, 5, 8, 10]}
K = {"name": "k", "datatype": "INT64", "shape": [2], "data": [3, -4]}
REQUEST = json.dumps({"inputs": [X, K]})


def ask(server: ModelServer, method: str, path: str, body: str | bytes | None = None, **headers: str) -> tuple[int, Any, dict[str, str]]:
    connection = http.client.HTTPConnection(*server.server_address[:2], timeout=20)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None, dict(answer.getheaders())
    finally:
        connection.close()


@pytest.fixture(autouse=True)
def answers_afterwards(server: ModelServer) -> Iterator[None]:
    """Whatever a test does, the server answers the next request."""
    yield
    status, told, _ = ask(server, "POST", INFER, REQUEST)
    assert (status, told["outputs"][1]["data"]) == (200, [6, -8])


def test_it_says_that_it_lives_and_what_it_serves(server: ModelServer):
    assert ask(server, "GET", "/v2")[:2] == (200, {"name": "collage", "version": __version__, "extensions": ["binary_tensor_data"]})
    assert ask(server, "GET", "/v2/health/live")[:2] == (200, {"live": True})
    assert ask(server, "GET", "/v2/health/ready")[:2] == (200, {"ready": True})
    assert ask(server, "GET", "/v2/models/inverse/ready")[:2] == (200, {"name": "inverse", "ready": True})
    for path in ("/v2/models/inverse", "/v2/models/inverse/", "/v2/models/inverse/versions/1", "/v2/models/%69nverse?x=1"):
        assert ask(server, "GET", path)[:2] == (200, server.model.metadata())
    status, told, headers = ask(server, "HEAD", "/v2")
    assert (status, told, headers["Content-Type"]) == (200, None, "application/json")


def test_binary_tensors_come_after_the_json(server: ModelServer):
    sent = {**X, "parameters": {"binary_data_size": 24}}
    del sent["data"]
    text = json.dumps({"inputs": [sent, K], "parameters": {"binary_data_output": True}}).encode()
    body = text + np.array(X["data"], np.float32).tobytes()
    connection = http.client.HTTPConnection(*server.server_address[:2], timeout=20)
    connection.request("POST", INFER, body, {"Inference-Header-Content-Length": str(len(text))})
    answer = connection.getresponse()
    size, got = int(answer.headers["Inference-Header-Content-Length"]), answer.read()
    connection.close()
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert [one["parameters"]["binary_data_size"] for one in json.loads(got[:size])["outputs"]] == [24, 16]
    np.testing.assert_allclose(np.frombuffer(got[size : size + 24], np.float32), 1 / np.array(X["data"]), rtol=1e-6)
    assert np.frombuffer(got[size + 24 :], np.int64).tolist() == [6, -8]


def test_a_connection_serves_one_request_after_another(server: ModelServer):
    connection = http.client.HTTPConnection(*server.server_address[:2], timeout=20)
    for body, want in ((REQUEST, 200), ("{}", 400), (REQUEST, 200)):
        connection.request("POST", INFER, body)
        answer = connection.getresponse()
        assert answer.status == want
        answer.read()
    assert connection.sock is not None
    connection.close()


def test_eight_clients_at_once_get_each_its_own_answer(server: ModelServer):
    wrong: list[int] = []

    def work(number: int) -> None:
        for turn in range(10):
            body = json.dumps({"inputs": [X, {**K, "data": [number, turn]}]})
            if ask(server, "POST", INFER, body)[1]["outputs"][1]["data"] != [2 * number, 2 * turn]:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


WRONG: list[tuple[str, str, str | None, dict[str, str], int, str]] = [
    ("GET", "/", None, {}, 404, "there is nothing at '/': begin at /v2/models/inverse"),
    ("GET", "/v2/models", None, {}, 404, "there is nothing at '/v2/models'"),
    ("GET", "/v2/models/other", None, {}, 404, "there is no model 'other'; the one that is served is 'inverse'"),
    ("GET", "/v2/models/inverse/versions/2", None, {}, 404, "has no version '2'; its only one is '1'"),
    ("GET", "/v2/models/inverse/secret", None, {}, 404, "there is nothing at"),
    ("GET", "/v2/../../etc/passwd", None, {}, 404, "there is nothing at"),
    ("GET", INFER, None, {}, 405, "is asked with POST, and not with GET"),
    ("POST", "/v2", "{}", {}, 405, "is asked with GET, and not with POST"),
    ("POST", "/v2/models/inverse", "{}", {}, 405, "is asked with GET, and not with POST"),
    ("POST", "/other", "{}", {}, 404, "there is nothing at '/other'"),
    ("DELETE", "/v2/models/inverse", None, {}, 405, "'DELETE' is not served here"),
    ("OPTIONS", INFER, None, {}, 405, "'OPTIONS' is not served here"),
    ("BREW", "/v2", None, {}, 501, "Unsupported method ('BREW')"),
    ("GET", "/v2", "body", {}, 400, "GET has no body"),
    ("POST", INFER, "", {}, 400, "the body is no JSON"),
    ("POST", INFER, "{", {}, 400, "the body is no JSON"),
    ("POST", INFER, "[1]", {}, 400, "the body is a JSON list"),
    ("POST", INFER, REQUEST, {"Inference_Header_Content_Length": "99999"}, 400, "Inference-Header-Content-Length is '99999'"),
    ("POST", INFER, REQUEST, {"Inference_Header_Content_Length": "-1"}, 400, "Inference-Header-Content-Length is '-1'"),
    ("POST", INFER, REQUEST, {"Content_Length": "-5"}, 400, "must say once how long its body is"),
    ("POST", INFER, REQUEST, {"Content_Length": "1e3"}, 400, "must say once how long its body is"),
    ("POST", INFER, REQUEST, {"Content_Length": "9" * 15}, 413, f"at most {MOST_BYTES} are read"),
    ("POST", INFER, REQUEST, {"Transfer_Encoding": "chunked"}, 411, "must come in one piece"),
    ("GET", "/v2", None, {"Host": "evil.example"}, 403, "is asked as 'evil.example', which is no name of this machine"),
    ("POST", INFER, REQUEST, {"Origin": "https://evil.example"}, 403, "a page of 'https://evil.example' asks"),
    ("POST", INFER, REQUEST, {"Origin": "null"}, 403, "a page of 'null' asks"),
]


HUGE = 1 << 39
ODD_INPUTS: list[tuple[dict[str, object], str]] = [
    ({"shape": [0, HUGE, HUGE], "data": []}, "which no array can have: its sizes are too large together"),
    ({"shape": [HUGE, HUGE, 0], "data": []}, "which no array can have: its sizes are too large together"),
    ({"shape": [1 << 62, 4]}, "which no array can have: its sizes are too large together"),
    ({"shape": [1 << 70]}, "which no array can have: its sizes are too large together"),
    ({"shape": [0, HUGE], "data": []}, f"the input 'x' is float32[0, {HUGE}], the model takes float32[2, 3]"),
    ({"shape": [-2, -3]}, "the shape [-2, -3]; it must be a list of whole numbers"),
    ({"shape": [-1, 3]}, "the shape [-1, 3]; it must be a list of whole numbers"),
    ({"shape": [2.0, 3]}, "the shape [2.0, 3]; it must be a list of whole numbers"),
    ({"shape": {"0": 2}}, "the shape {'0': 2}; it must be a list of whole numbers"),
    ({"datatype": 3}, "has the datatype 3; the known ones are BOOL"),
    ({"datatype": None}, "has the datatype None; the known ones are BOOL"),
    ({"datatype": ["FP32"]}, "has the datatype ['FP32']; the known ones are BOOL"),
    ({"datatype": {"a": 1}}, "has the datatype {'a': 1}; the known ones are BOOL"),
]
for change, message in ODD_INPUTS:
    WRONG.append(("POST", INFER, json.dumps({"inputs": [{**X, **change}, K]}), {}, 400, message))


@pytest.mark.parametrize(("method", "path", "body", "headers", "status", "message"), WRONG)
def test_what_is_not_right_is_refused_as_json(
    server: ModelServer, method: str, path: str, body: str | None, headers: dict[str, str], status: int, message: str
):
    got, told, said = ask(server, method, path, body, **headers)
    assert (got, message in told["error"]) == (status, True), told
    assert list(told) == ["error"]
    assert said["Content-Type"] == "application/json"
    assert "Traceback" not in told["error"]


def test_names_of_this_machine_are_right_for_a_local_server(server: ModelServer):
    for host in ("localhost", "localhost:99", "127.0.0.1", "[::1]:8080", "LOCALHOST"):
        assert ask(server, "GET", "/v2", Host=host)[0] == 200
    port = server.server_address[1]
    assert ask(server, "GET", "/v2", Host=f"localhost:{port}", Origin=f"http://localhost:{port}")[0] == 200


def raw(server: ModelServer, *sent: bytes, ends: bool = True) -> bytes:
    """Send bytes, and return all that comes back until the server closes, which it may do before it has all of them."""
    with socket.create_connection(server.server_address[:2], timeout=20) as connection:
        with suppress(OSError):
            for part in sent:
                connection.sendall(part)
            if ends:
                connection.shutdown(socket.SHUT_WR)
        got = b""
        with suppress(ConnectionError):
            while part := connection.recv(1 << 16):
                got += part
        return got


HOSTILE = [
    ([b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64], b""),
    ([b"\r\n\r\n"], b""),
    ([b"GET\r\n\r\n"], b"Bad request syntax"),
    ([b"GET /v2 HTTP/9.9\r\n\r\n"], b"Invalid HTTP version"),
    ([b"GET " + b"/" * 70_000 + b" HTTP/1.1\r\n\r\n"], b"414"),
    ([b"GET /v2 HTTP/1.1\r\nA: " + b"a" * 70_000 + b"\r\n\r\n"], b"431"),
    ([b"GET /v2 HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n"], b"431"),
    ([f"POST {INFER} HTTP/1.1\r\nContent-Length: 9\r\nContent-Length: 8\r\n\r\n{{".encode()], b"400"),
    ([f"POST {INFER} HTTP/1.1\r\n\r\n".encode()], b"411"),
    ([f"POST {INFER} HTTP/1.1\r\nContent-Length: 900\r\n\r\n{{".encode()], b"the body ends after 1 of 900 bytes"),
    ([f"POST {INFER} HTTP/1.1\r\nContent-Length: 99999999\r\nExpect: 100-continue\r\n\r\n".encode()], b"413"),
    ([f"POST {INFER} HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n".encode(), b"{}"], b"100 Continue"),
    ([b"GET /v2 HTTP/1.0\r\n\r\n"], b"200"),
    ([b"GET /\x00\xff HTTP/1.1\r\n\r\n"], b"404"),
]


@pytest.mark.parametrize(("sent", "answer"), HOSTILE)
def test_what_is_no_http_or_lies_does_no_harm(server: ModelServer, sent: list[bytes], answer: bytes):
    assert answer in raw(server, *sent)


def test_nothing_after_a_refused_body_is_taken_for_a_request(server: ModelServer):
    smuggled = b"GET /v2/health/live HTTP/1.1\r\n\r\n"
    got = raw(server, f"POST {INFER} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode(), smuggled)
    assert got.count(b"HTTP/1.1 ") == 1
    assert b"411" in got


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        ([b"GET /v2 HTTP/1.1\r\nA: "], b""),
        ([f"POST {INFER} HTTP/1.1\r\nContent-Length: 900\r\n\r\n{{".encode()], b"408"),
        ([], b""),
    ],
    ids=["half a header", "half a body", "nothing"],
)
def test_a_client_that_is_too_slow_is_given_up(server: ModelServer, monkeypatch: pytest.MonkeyPatch, sent: list[bytes], answer: bytes):
    monkeypatch.setattr(http_server, "REQUEST_S", 0.1)
    monkeypatch.setattr(http_server, "IDLE_S", 0.1)
    got = raw(server, *sent, ends=False)
    assert answer in got or got == b"", "where this machine is busy, the time may be over before the header is read"
    monkeypatch.undo()


def is_closed(connection: socket.socket) -> bool:
    """Send one more byte, and return whether the other side has closed the connection."""
    try:
        connection.sendall(b"a")
        connection.settimeout(0.02)
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_a_byte_now_and_then_does_not_hold_a_request_open(server: ModelServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_server, "REQUEST_S", 0.2)
    with socket.create_connection(server.server_address[:2], timeout=20) as connection:
        connection.sendall(b"GET /v2 HTTP/1.1\r\nA: ")
        while not is_closed(connection):
            pass
    monkeypatch.undo()


def test_a_client_that_leaves_before_the_answer_does_no_harm(server: ModelServer):
    for _ in range(5):
        with socket.create_connection(server.server_address[:2], timeout=20) as connection:
            connection.sendall(f"POST {INFER} HTTP/1.1\r\nContent-Length: {len(REQUEST)}\r\n\r\n{REQUEST}".encode())


def test_more_connections_than_there_may_be_are_closed_at_once(served: ServedModel, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_server, "MOST_CONNECTIONS", 2)
    with running(served) as server:
        held = []
        for _ in range(2):
            connection = http.client.HTTPConnection(*server.server_address[:2], timeout=20)
            connection.request("GET", "/v2")
            assert connection.getresponse().read()
            held.append(connection)
        assert raw(server, b"GET /v2 HTTP/1.1\r\n\r\n") == b""
        for connection in held:
            connection.close()


def test_requests_that_are_too_large_together_wait_outside(server: ModelServer):
    with server.holding(http_server.BODIES_AT_ONCE * MOST_BYTES):
        status, told, headers = ask(server, "POST", INFER, REQUEST)
    assert (status, headers["Retry-After"]) == (503, "1")
    assert "too large together" in told["error"]


def test_a_fault_of_ours_is_told_without_its_details(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(server.model, "infer", fail)
    status, told, _ = ask(server, "POST", INFER, REQUEST)
    monkeypatch.undo()
    assert (status, told["error"]) == (500, "the server met a fault of its own; its log has the details")
    assert "ZeroDivisionError: a secret" in capfd.readouterr().err


BAD = [
    b"garbage\r\n\r\n",
    b"GET /v2 HTTP/1.1\r\nA: ",
    f"POST {INFER} HTTP/1.1\r\nContent-Length: 900\r\n\r\n{{".encode(),
    f"POST {INFER} HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n".encode() + b"x" * 100_000,
    f"POST {INFER} HTTP/1.1\r\nContent-Length: {len(REQUEST)}\r\n\r\n{REQUEST}".encode(),
    b"",
]


def harm(server: ModelServer, done: threading.Event) -> None:
    """Send what is no request, hold a few connections open, and leave without a word, until `done`."""
    held: list[socket.socket] = []
    for sent in cycle(BAD):
        if done.wait(0.02):
            break
        with suppress(OSError):
            held.append(socket.create_connection(server.server_address[:2], timeout=20))
            held[-1].sendall(sent)
        if len(held) > 4:
            held.pop(0).close()
    for connection in held:
        connection.close()


def ask_in_turn(server: ModelServer, number: int, wrong: list[object]) -> None:
    """Ask again and again, and add to `wrong` whatever was not answered right."""
    for turn in range(40):
        body = json.dumps({"inputs": [X, {**K, "data": [number, turn]}]})
        try:
            status, told, _ = ask(server, "POST", INFER, body)
            if status != 200 or told["outputs"][1]["data"] != [2 * number, 2 * turn]:
                wrong.append((number, turn, status, told))
        except Exception as error:  # noqa: BLE001 - told below, in the test's own thread
            wrong.append((number, turn, repr(error)))


@pytest.mark.long
def test_good_clients_are_answered_while_bad_ones_do_what_they_can(server: ModelServer):
    done, wrong = threading.Event(), list[object]()
    others = [threading.Thread(target=harm, args=(server, done)) for _ in range(3)]
    clients = [threading.Thread(target=ask_in_turn, args=(server, number, wrong)) for number in range(8)]
    for thread in (*others, *clients):
        thread.start()
    for thread in clients:
        thread.join()
    done.set()
    for thread in others:
        thread.join()
    assert wrong == []
