"""`Broadcaster`: sends runs as they happen over Socket.IO to the clients that listen to them, from one thread.

`Subscribe` messages enter; for each, at most about twenty `Batch`es or `Change`s a second leave, as the cursors of `stream` give
them. A client that does not acknowledge gets nothing more, and costs nothing more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from flask import request
from flask_socketio import SocketIO

from collage_core.base.counted import counted
from collage_core.errors import CollageError

from ..http.error_answers import Problem, api_error, error_body
from ..http.validation import read
from ..messages.live import Batch, Change, Subscribe, Subscribed
from ..runs.live_run import LiveRun
from ..services import Services
from ..shared.json_files import json_data
from ..streaming.stream import Cursor, SnapshotCursor

PAUSE_S = 0.05
"""Shortest time between two messages of one subscription."""

RUNS_PER_CLIENT = 16


Key = tuple[str, str, str]
"""Of a subscription: the client, the id of the run, and `Subscribe.to`."""


@dataclass
class _Listener:
    """One client's subscription to the events or to the snapshot of one run."""

    run: LiveRun
    cursor: Cursor | SnapshotCursor
    not_before: float = 0.0

    def next_message(self) -> Batch | Change | None:
        """Return what the client gets next, if anything."""
        return self.run.next_batch(self.cursor) if isinstance(self.cursor, Cursor) else self.run.next_change(self.cursor)


class Broadcaster:
    """Sends every listener what is new.

    Args:
        send: Sends a message to a client, with what to call on its acknowledgement.
        news: Set when a run has new events.
    """

    def __init__(self, send: Callable[[str, Batch | Change, Callable[[], None]], None], news: threading.Event):
        self._send = send
        self._news = news
        self._listeners: dict[Key, _Listener] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._loop, name="collage-broadcast", daemon=True)
        self._thread.start()

    def add(self, client: str, run: LiveRun, message: Subscribe) -> Subscribed:
        """Let the client listen to the run as `message` asks; a second time moves it there.

        Raises:
            Problem: it listens to too many.
        """
        snapshot = run.snapshot
        cursor: Cursor | SnapshotCursor
        if message.to == "events":
            cursor = Cursor(snapshot.id, max(0, min(message.after, snapshot.seq)))
        else:
            cursor = SnapshotCursor(message.after, snapshot)
        with self._lock:
            runs = {run for who, run, _ in self._listeners if who == client} - {snapshot.id}
            if len(runs) >= RUNS_PER_CLIENT:
                raise Problem(429, "too_many", f"this page listens to {counted(len(runs), 'run')} already", "unsubscribe from some")
            self._listeners[client, snapshot.id, message.to] = _Listener(run, cursor)
        self._news.set()
        return Subscribed(snapshot.id, snapshot.seq)

    def remove(self, client: str, message: Subscribe | None = None) -> None:
        """Let the client listen no more, to what `message` names or to anything."""
        with self._lock:
            for key in [key for key in self._listeners if key[0] == client and (message is None or key[1:] == (message.run, message.to))]:
                del self._listeners[key]

    def close(self) -> None:
        """Send nothing more."""
        self._closed = True
        self._news.set()
        self._thread.join()

    def _loop(self) -> None:
        wait_s: float | None = None
        while not self._closed:
            self._news.wait(wait_s)
            self._news.clear()
            wait_s = self._round()

    def _round(self) -> float | None:
        """Send the messages that are due; returns how long to wait for those that are not, None where nothing waits."""
        with self._lock:
            listeners = list(self._listeners.items())
        now = time.monotonic()
        waits = []
        for (client, _, _), listener in listeners:
            if listener.not_before > now:
                waits.append(listener.not_before - now)
                continue
            message = listener.next_message()
            if message is not None:
                listener.not_before = now + PAUSE_S
                waits.append(PAUSE_S)
                self._send(client, message, self._on_acknowledgement(listener))
        return min(waits, default=None)

    def _on_acknowledgement(self, listener: _Listener) -> Callable[[], None]:
        def acknowledged(*_: Any) -> None:
            listener.cursor.acknowledged()
            self._news.set()

        return acknowledged


def register(socketio: SocketIO, services: Services) -> Broadcaster:
    """Let `socketio` answer the messages of `protocol`; the caller closes the broadcaster."""

    def send(client: str, message: Batch | Change, acknowledged: Callable[[], None]) -> None:
        name = "batch" if isinstance(message, Batch) else "change"
        socketio.server.emit(name, json_data(message), to=client, callback=acknowledged)

    broadcaster = Broadcaster(send, services.news)

    def subscribe(data: Any = None) -> dict[str, Any]:
        return _answered(lambda: _subscribe(broadcaster, services, data))

    def unsubscribe(data: Any = None) -> dict[str, Any]:
        return _answered(lambda: _unsubscribe(broadcaster, services, data))

    def disconnect(*_: Any) -> None:
        broadcaster.remove(request.sid)  # type: ignore[attr-defined]

    socketio.on_event("subscribe", subscribe)
    socketio.on_event("unsubscribe", unsubscribe)
    socketio.on_event("disconnect", disconnect)
    return broadcaster


def _subscribe(broadcaster: Broadcaster, services: Services, data: Any) -> Subscribed:
    message = read(Subscribe, data)
    return broadcaster.add(request.sid, services.runs.live_run(message.run), message)  # type: ignore[attr-defined]


def _unsubscribe(broadcaster: Broadcaster, services: Services, data: Any) -> Subscribed:
    message = read(Subscribe, data)
    snapshot = services.runs.get(message.run)
    broadcaster.remove(request.sid, message)  # type: ignore[attr-defined]
    return Subscribed(message.run, snapshot.seq)


def _answered(action: Callable[[], Subscribed]) -> dict[str, Any]:
    try:
        return asdict(action())
    except CollageError as error:
        return error_body(api_error(error))
