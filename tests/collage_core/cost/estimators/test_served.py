"""Costs from a server: what is asked, what is believed, and what is said of a server that is none."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Any

import cost_server
import pytest

import collage_core as collage
from collage_core.errors import Cancelled, CollageError
from collage_core.events import Event, Note, ignore
from collage_core.options import Options
from collage_core.pipeline.partition import partition


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[dict[str, Any]], Any]], str]]:
    servers: list[HTTPServer] = []

    def start(answer: Callable[[dict[str, Any]], Any]) -> str:
        class Handler(cost_server.Handler):
            def do_POST(self: BaseHTTPRequestHandler) -> None:
                made = answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                data = made if isinstance(made, bytes) else json.dumps(made).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        servers.append(HTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def plan(address: str, *targets: str) -> Any:
    return collage.partition("mini_mnist", targets=targets or ("onnxruntime",), costs=address, threads=1)


def test_the_reference_server_is_asked_once_for_each_computation(serve: Callable[..., str]) -> None:
    asked: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        asked.append(request)
        return cost_server.answer(request)

    cost_server.KNOWN.clear()
    address = serve(answer)
    record = plan(address)
    assert {part.source for part in record.plan.partitions} == {"estimate"}
    assert all(address in item.cost.reason for item in record.candidates if item.target != "host")
    keys = [request["key"] for request in asked if "onnx" not in request]
    assert len(set(keys)) == len(keys) == len(cost_server.KNOWN)
    first = len(asked)
    plan(address)
    assert not any("onnx" in request for request in asked[first:]), "what the server knows is not sent again"


def test_what_a_server_says_is_invalid_is_in_no_plan(serve: Callable[..., str]) -> None:
    def answer(request: dict[str, Any]) -> dict[str, Any]:
        return {"schema": 1, "invalid": "no such core"} if request["target"] == "openvino" else {"schema": 1, "latency_s": 1e-3}

    events: list[Event] = []
    address = serve(answer)
    record = partition("mini_mnist", Options(("openvino", "onnxruntime"), costs=address, threads=1), events.append)
    assert {part.target for part in record.plan.partitions} == {"onnxruntime"}
    assert {item.cost.reason for item in record.candidates if item.target == "openvino"} == {"no such core"}
    notes = [event.text for event in events if isinstance(event, Note)]
    assert f"every cost is an estimate by the cost server '{address}'; transitions are free" in notes
    assert any(text.startswith(f"the cost server '{address}' refuses openvino on ") and text.endswith(": no such core") for text in notes)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"nothing", "does not keep to the contract"),
        ({"schema": 2, "latency_s": 1.0}, "does not keep to the contract: .*schema"),
        ({"schema": 1, "latency_s": "fast"}, "does not keep to the contract: .*latency_s"),
        ({"schema": 1, "latency_s": -1.0}, "that is not a cost"),
        ({"schema": 1, "needs": "model"}, "asks for a model that it has"),
        (b"{" + b" " * (2 << 20) + b"}", "does not keep to the contract: it answers with status 200"),
    ],
)  # fmt: skip
def test_answers_that_are_none_end_the_run_with_one_line(serve: Callable[..., str], answer: Any, message: str) -> None:
    with pytest.raises(CollageError, match=message) as raised:
        plan(serve(lambda request: answer))
    assert "\n" not in raised.value.message


def test_a_server_that_is_not_there_is_one_line() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(CollageError, match="cannot be reached"):
        plan(address)
    with pytest.raises(CollageError, match="is no address of a cost server"):
        plan("http://")


@pytest.fixture
def trickle() -> Iterator[tuple[str, threading.Event]]:
    """A server that sends a byte now and then, and never all of an answer; and whether it was asked."""
    is_over, is_asked = threading.Event(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            is_asked.set()
            with suppress(OSError):
                while not is_over.wait(0.01):
                    self.wfile.write(b" ")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", is_asked
    is_over.set()
    server.shutdown()
    server.server_close()


def test_a_server_that_trickles_leaves_costs_unknown_once_the_budget_is_over(trickle: tuple[str, threading.Event]) -> None:
    address, _ = trickle
    record = collage.partition("mini_mnist", targets=("onnxruntime",), costs=address, threads=1, budget_s=0.2)
    reasons = {item.cost.reason for item in record.candidates if item.target != "host"}
    assert reasons == {f"the cost server '{address}' did not answer in the 200 ms of --budget"}
    assert {part.decided_by for part in record.plan.partitions} == {"priority"}


def test_a_server_that_trickles_does_not_hold_up_a_run_that_is_stopped(trickle: tuple[str, threading.Event]) -> None:
    address, is_asked = trickle
    with pytest.raises(Cancelled):
        partition("mini_mnist", Options(("onnxruntime",), costs=address), ignore, should_stop=is_asked.is_set)
