"""The server over real connections: its addresses, and what slow, broken and hostile clients get. After each of them it still answers."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from itertools import cycle
from os import sched_yield
from select import select
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from collage_core.serving import http_server, json_bounds
from collage_core.serving.http_server import ModelServer
from collage_core.serving.served_model import MOST_WAITING, ServedModel
from collage_core.version import __version__
from tests.helpers.served import MOST_BYTES, REQUEST, K, X

from .conftest import running

INFER = "/v2/models/inverse/infer"


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
    ("BREW", "/v2", None, {}, 405, "'BREW' is not served here"),
    ("GET", "/v2", "body", {}, 400, "GET has no body"),
    ("POST", INFER, "", {}, 400, "the body is not JSON"),
    ("POST", INFER, "{", {}, 400, "the body is not JSON"),
    ("POST", INFER, "[1]", {}, 400, "the body is a JSON list"),
    ("POST", INFER, REQUEST, {"Inference_Header_Content_Length": "99999"}, 400, "Inference-Header-Content-Length is '99999'"),
    ("POST", INFER, REQUEST, {"Inference_Header_Content_Length": "-1"}, 400, "Inference-Header-Content-Length is '-1'"),
    ("POST", INFER, REQUEST, {"Content_Length": "-5"}, 400, "Content-Length is invalid"),
    ("POST", INFER, REQUEST, {"Content_Length": "1e3"}, 400, "Content-Length is invalid"),
    ("POST", INFER, REQUEST, {"Content_Length": "9" * 15}, 413, f"at most {MOST_BYTES} are read"),
    ("POST", INFER, REQUEST, {"Transfer_Encoding": "chunked"}, 411, "must come in one piece"),
    ("GET", "/v2", None, {"Host": "evil.example"}, 403, "is asked as 'evil.example', which is no name of this machine"),
    ("POST", INFER, REQUEST, {"Origin": "https://evil.example"}, 403, "a page of 'https://evil.example' asks"),
    ("POST", INFER, REQUEST, {"Origin": "null"}, 403, "a page of 'null' asks"),
    ("POST", INFER, REQUEST, {"Origin": "http://[x"}, 403, "a page of 'http://[x' asks"),
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
    server: ModelServer,
    method: str,
    path: str,
    body: str | None,
    headers: dict[str, str],
    status: int,
    message: str,
    capfd: pytest.CaptureFixture[str],
):
    got, told, said = ask(server, method, path, body, **headers)
    assert (got, message in told["error"]) == (status, True), told
    assert list(told) == ["error"]
    assert said["Content-Type"] == "application/json"
    assert "Traceback" not in told["error"] + capfd.readouterr().err


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
    ([b"GET\r\n\r\n"], b"Start line is invalid"),
    ([b"GET\r\nA: b\r\n\r\n"], b"Start line is invalid"),
    ([b"GET /v2 HTTP/9.9\r\n\r\n"], b"HTTP 9.9 is not spoken here"),
    ([b"GET " + b"/" * 70_000 + b" HTTP/1.1\r\n\r\n"], b"431"),
    ([b"GET /v2 HTTP/1.1\r\nA: " + b"a" * 70_000 + b"\r\n\r\n"], b"431"),
    ([b"GET /v2 HTTP/1.1\r\n" + b"A: b\r\n" * 20_000 + b"\r\n"], b"431"),
    ([f"POST {INFER} HTTP/1.1\r\nContent-Length: 9\r\nContent-Length: 8\r\n\r\n{{".encode()], b"400"),
    ([f"POST {INFER} HTTP/1.1\r\n\r\n".encode()], b"411"),
    ([f"POST {INFER} HTTP/1.1\r\nContent-Length: 900\r\n\r\n{{".encode()], b""),
    ([f"POST {INFER} HTTP/1.1\r\nContent-Length: 99999999\r\nExpect: 100-continue\r\n\r\n".encode()], b"413"),
    ([f"POST {INFER} HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n".encode(), b"{}"], b"100 Continue"),
    ([b"GET /v2 HTTP/1.0\r\n\r\n"], b"200"),
    ([b"GET http://[x HTTP/1.1\r\n\r\n"], b'{"error":"the address of the request is none: Invalid IPv6 URL"}'),
    ([b"POST http://[x/v2 HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"], b"the address of the request is none"),
    ([b"GET /\x00 HTTP/1.1\r\n\r\n"], b"404"),
    ([b"GET /\xff HTTP/1.1\r\n\r\n"], b"Bad URI"),
    ([b"GET /%ff HTTP/1.1\r\n\r\n"], b"404"),
]


@pytest.mark.parametrize(("sent", "answer"), HOSTILE)
def test_what_is_no_http_or_lies_does_no_harm(server: ModelServer, sent: list[bytes], answer: bytes, capfd: pytest.CaptureFixture[str]):
    assert answer in raw(server, *sent)
    assert "Traceback" not in capfd.readouterr().err


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


def half_sent(server: ModelServer, body: bytes = b"{", length: int = 900) -> socket.socket:
    """Return a connection whose request never ends."""
    connection = socket.create_connection(server.server_address, timeout=20)
    connection.sendall(f"POST {INFER} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n".encode() + body)
    return connection


def test_bodies_that_stop_halfway_shut_nobody_out(server: ModelServer):
    with ExitStack() as held:
        for _ in range(http_server.MOST_CONNECTIONS + 5):
            held.enter_context(half_sent(server))
        assert ask(server, "POST", INFER, REQUEST)[0] == 200
        assert len(server.active_channels) <= http_server.MOST_CONNECTIONS


def test_the_connection_that_has_been_idle_longest_gives_way(served: ServedModel, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_server, "MOST_CONNECTIONS", 2)
    with running(served) as server, half_sent(server), socket.create_connection(server.server_address, timeout=20) as idle:
        idle.sendall(b"GET /v2 HTTP/1.1\r\n\r\n")
        answer = b""
        while not answer.endswith(b"}"):  # head and body may come apart
            answer += idle.recv(1 << 16)
        while any(channel.requests for channel in server.active_channels.values()):  # its answer may arrive before its work is over
            sched_yield()
        assert ask(server, "GET", "/v2")[0] == 200
        assert idle.recv(1) == b""


def test_bodies_that_hold_too_much_together_give_way(server: ModelServer):
    with ExitStack() as held:
        length = MOST_BYTES - 1
        others = [held.enter_context(half_sent(server, b" " * (length - 1), length)) for _ in range(http_server.BODIES_AT_ONCE + 1)]
        (first, *_), _, _ = select(others, [], [], 20)
        answer = b"".join(iter(lambda: first.recv(1 << 16), b""))
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 1" in answer
        assert b"the requests in progress are too large together" in answer
        assert ask(server, "POST", INFER, REQUEST)[0] == 200


def test_an_answer_that_nobody_takes_is_given_up_and_holds_up_nobody(server: ModelServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_server, "REQUEST_S", 0.3)
    monkeypatch.setattr(server.model, "infer", lambda *_: ({}, bytes(50 << 20)))
    waiting = [socket.create_connection(server.server_address, timeout=20) for _ in range(3)]
    for connection in waiting:
        connection.sendall(f"POST {INFER} HTTP/1.1\r\nContent-Length: 2\r\n\r\n{{}}".encode())
    assert ask(server, "GET", "/v2/health/live")[0] == 200
    while server.active_channels:
        sched_yield()
    for connection in waiting:
        connection.close()
    monkeypatch.undo()


def test_whoever_watches_is_answered_while_all_inferences_wait(server: ModelServer, monkeypatch: pytest.MonkeyPatch):
    goes_on = threading.Event()
    run = server.model._artifact.run

    def slow(arrays: Any) -> Any:
        goes_on.wait()
        return run(arrays)

    monkeypatch.setattr(server.model._artifact, "run", slow)
    statuses: list[int] = []
    threads = [threading.Thread(target=lambda: statuses.append(ask(server, "POST", INFER, REQUEST)[0])) for _ in range(MOST_WAITING + 3)]
    for thread in threads:
        thread.start()
    while len(statuses) < 3:  # those beyond the bound are refused at once, and the others wait
        sched_yield()
    assert ask(server, "GET", "/v2/health/live")[0] == 200
    goes_on.set()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] * MOST_WAITING + [503] * 3


def test_a_flood_of_empty_lists_is_refused_before_it_is_read(server: ModelServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(json_bounds, "json", SimpleNamespace(loads=lambda *_, **__: pytest.fail("it was read")))
    status, told, _ = ask(server, "POST", INFER, "[" + "[]," * 20_000 + "[]]")
    monkeypatch.undo()
    assert status == 413
    assert told["error"].startswith("the JSON has 20002 lists and objects, the inputs can need 1004: ")


TOKEN = "a-secret.of~this+server="
BEARER = f"Bearer {TOKEN}"


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}, {"Authorization": TOKEN}])
def test_without_its_token_a_server_answers_nothing_but_that_it_lives(served: ServedModel, headers: dict[str, str]):
    with running(served, TOKEN) as server:
        for method, path, body in (
            ("GET", "/v2", None),
            ("GET", "/v2/models/inverse", None),
            ("POST", INFER, REQUEST),
            ("GET", "/none", None),
        ):
            status, told, said = ask(server, method, path, body, **headers)
            assert (status, said["Www-Authenticate"]) == (401, "Bearer")
            assert told == {"error": "the request must bring the server's token: Authorization: Bearer TOKEN"}
        for path in ("/v2/health/live", "/v2/health/ready"):
            assert ask(server, "GET", path)[0] == 200


def test_with_its_token_a_server_answers(served: ServedModel):
    with running(served, TOKEN) as server:
        assert ask(server, "GET", "/v2/models/inverse", Authorization=BEARER)[0] == 200
        assert ask(server, "POST", INFER, REQUEST, Authorization=BEARER)[0] == 200


def test_the_body_of_a_stranger_is_not_read(served: ServedModel):
    with running(served, TOKEN) as server:
        got = raw(server, f"POST {INFER} HTTP/1.1\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n".encode())
        assert got.startswith(b"HTTP/1.1 401 ")


def test_a_fault_of_ours_is_told_without_its_details(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(server.model, "infer", fail)
    status, told, _ = ask(server, "POST", INFER, REQUEST)
    monkeypatch.undo()
    assert (status, told["error"]) == (500, "the server has an internal error; its log has the details")
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
