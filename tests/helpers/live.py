"""Helpers of the server's tests: a server that listens, the sockets of pages, a model that needs no reading."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import engineio
import requests
import socketio
from flask import Flask

from collage_server import model_store
from collage_server.launch import listen, make_wsgi_server
from collage_server.services import Services
from collage_server.shared.json_files import write_json
from collage_server.worker import load_model

TOKEN = "the-token-of-the-tests"
"""The token of each server that a test starts in a process of its own."""

DEADLINE_S = 600.0
"""Nothing healthy takes so long, however busy the machine."""


def until(condition: Callable[[], Any], what: str = "the condition") -> Any:
    """Wait for the first true value of `condition` and return it; fail when it never comes."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f"{what} did not come true within {DEADLINE_S:g} s")


def bearer(token: str | None) -> dict[str, str]:
    """Return the headers of a program that has the token."""
    return {"Authorization": f"Bearer {token}"}


@dataclass
class Listener:
    """A page's socket: keeps every batch and every change that it gets."""

    client: socketio.Client
    batches: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)
    """While it is not set the client reads and does not acknowledge."""

    def subscribe(self, run: str, after: int = 0, to: str = "events") -> dict[str, Any]:
        return self.client.call("subscribe", {"run": run, "after": after, "to": to}, timeout=DEADLINE_S)

    @property
    def items(self) -> list[dict[str, Any]]:
        return [item for batch in list(self.batches) for item in batch["items"]]

    def states(self) -> list[str]:
        return [item["event"]["state"] for item in self.items if item["event"]["type"] == "RunStateChanged"]


@dataclass
class Live:
    """A server that listens."""

    address: str
    services: Services
    http: requests.Session
    listeners: list[Listener] = field(default_factory=list)

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a program that has the token."""
        return bearer(self.services.config.token)

    def get(self, path: str) -> Any:
        answer = self.http.get(self.address + "api/v1/" + path, timeout=DEADLINE_S)
        assert answer.ok, answer.text
        return answer.json()

    def post(self, path: str, body: Any = None) -> Any:
        answer = self.http.post(self.address + "api/v1/" + path, json=body, timeout=DEADLINE_S)
        assert answer.ok, answer.text
        return answer.json()

    def start(self, model: str, *targets: str, **more: Any) -> dict[str, Any]:
        return self.post("runs", {"model": model, "targets": list(targets), **more})

    def ended(self, run: str) -> dict[str, Any]:
        """Wait for the end of the run and return its snapshot."""
        return until(lambda: (got := self.get(f"runs/{run}"))["state"] not in ("queued", "running") and got, f"the end of {run}")

    def listen(self, acknowledge: bool = True) -> Listener:
        arrived: dict[str, list[dict[str, Any]]] = {"batch": [], "change": []}
        listener = Listener(_client(lambda name, message: arrived[name].append(message)), arrived["batch"], arrived["change"])
        if acknowledge:
            listener.hold.set()

        def on_message(message: dict[str, Any]) -> None:
            listener.hold.wait(DEADLINE_S)

        for name in arrived:
            listener.client.on(name, on_message)
        listener.client.connect(self.address, self.headers, transports=["websocket"])
        self.listeners.append(listener)
        return listener


def _client(on_message: Callable[[str, dict[str, Any]], None]) -> socketio.Client:
    """Make a client that calls `on_message` in the order in which they arrive: its own handlers run in a thread for each message."""

    class InOrder(engineio.Client):
        def _trigger_event(self, event: str, *args: Any, **options: Any) -> Any:
            if event == "message" and args[0].startswith("2"):
                name, body = json.loads(args[0].lstrip("0123456789"))
                on_message(name, body)
            return super()._trigger_event(event, *args, **options)

    class Client(socketio.Client):
        def _engineio_client_class(self) -> type[engineio.Client]:
            return InOrder

    return Client(reconnection=False)


def put_model(file: Path, data: bytes) -> str:
    """Put a model into the store without reading it; returns its id."""
    file.write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    folder = model_store._models_folder() / digest
    folder.mkdir()
    tensor = {"name": "x", "shape": [1, 3], "dtype": "float32"}
    nodes = [{"name": "a", "op": "Conv"}, {"name": "b", "op": "Relu"}]
    write_json(folder / load_model.GRAPH, {"id": digest, "graph": {"nodes": nodes}, "folded": []})
    write_json(folder / load_model.GROUPS, {"repeats": [], "scopes": [], "sections": []})
    meta = {
        "id": digest,
        "name": file.stem,
        "nodes": 2,
        "folded": 0,
        "inputs": [tensor],
        "outputs": [tensor],
        "size_bytes": len(data),
        "quantised": False,
        "sample": None,
        "files": [load_model.stamp(file)],
        "graph_digest": "d" * 32,
        "shapes": {"x": [1, 3]},
        "values": {},
        "dimensions": {},
        "accuracy": 1e-3,
    }
    (folder / model_store.META).write_text(json.dumps(meta))
    return digest


def serve(app: Flask) -> Iterator[Live]:
    """Serve `app` on a free port while the generator is open."""
    listening = listen("127.0.0.1", 0)
    server = make_wsgi_server(app, "127.0.0.1", listening)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    with requests.Session() as http:
        made = Live(f"http://127.0.0.1:{listening.getsockname()[1]}/", app.extensions["collage"], http)
        http.headers.update(made.headers)
        yield made
        _disconnect(made.listeners)
    server.shutdown()
    thread.join()
    server.server_close()
    listening.close()


def _disconnect(listeners: list[Listener]) -> None:
    """Disconnect all at once: each client waits three seconds for a farewell that its own reader has taken."""
    for listener in listeners:
        listener.hold.set()
    threads = [threading.Thread(target=listener.client.disconnect) for listener in listeners if listener.client.connected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
