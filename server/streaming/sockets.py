"""`Broadcaster`: sends live events over Socket.IO to the clients that listen to a run, from one thread.

`Subscribe` messages enter; `Batch`es leave, at most about twenty a second for each client and run, as `stream.Cursor` gives
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

from ..http.errors import Problem, api_error, error_body
from ..http.validation import read
from ..messages.live import Subscribe, Subscribed
from ..runs.live_run import LiveRun
from ..services import Services
from .stream import Cursor

PAUSE_S = 0.05
"""Shortest time between two batches of a run for one client."""

RUNS_PER_CLIENT = 16


@dataclass
class _Listener:
    """One client's subscription to one run."""

    run: LiveRun
    cursor: Cursor
    not_before: float = 0.0


class Broadcaster:
    """Sends every listener what is new.

    Args:
        send: Sends a message to a client, with what to call on its acknowledgement.
        news: Set when a run has new events.
    """

    def __init__(self, send: Callable[[str, dict[str, Any], Callable[[], None]], None], news: threading.Event):
        self._send = send
        self._news = news
        self._listeners: dict[tuple[str, str], _Listener] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._loop, name="collage-broadcast", daemon=True)
        self._thread.start()

    def add(self, client: str, run: LiveRun, after: int) -> None:
        """Let the client listen to the run after the event of number `after`; a second time moves it there.

        Raises:
            Problem: it listens to too many.
        """
        key = (client, run.snapshot.id)
        with self._lock:
            count = sum(1 for who, _ in self._listeners if who == client)
            if key not in self._listeners and count >= RUNS_PER_CLIENT:
                raise Problem(429, "too_many", f"this page listens to {counted(count, 'run')} already", "unsubscribe from some")
            self._listeners[key] = _Listener(run, Cursor(run.snapshot.id, after))
        self._news.set()

    def remove(self, client: str, run: str | None = None) -> None:
        """Let the client listen no more, to `run` or to anything."""
        with self._lock:
            for key in [key for key in self._listeners if key[0] == client and run in (None, key[1])]:
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
        """Send the batches that are due; returns how long to wait for those that are not, None where nothing waits."""
        with self._lock:
            listeners = list(self._listeners.items())
        now = time.monotonic()
        waits = []
        for (client, _), listener in listeners:
            if listener.not_before > now:
                waits.append(listener.not_before - now)
                continue
            batch = listener.run.next_batch(listener.cursor)
            if batch is not None:
                listener.not_before = now + PAUSE_S
                waits.append(PAUSE_S)
                self._send(client, asdict(batch), self._on_acknowledgement(listener))
        return min(waits, default=None)

    def _on_acknowledgement(self, listener: _Listener) -> Callable[[], None]:
        def acknowledged(*_: Any) -> None:
            listener.cursor.acknowledged()
            self._news.set()

        return acknowledged


def register(socketio: SocketIO, services: Services) -> Broadcaster:
    """Let `socketio` answer the messages of `protocol`; the caller closes the broadcaster."""

    def send(client: str, message: dict[str, Any], acknowledged: Callable[[], None]) -> None:
        socketio.server.emit("batch", message, to=client, callback=acknowledged)

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
    run = services.runs.live_run(message.run)
    seq = run.snapshot.seq
    broadcaster.add(request.sid, run, max(0, min(message.after, seq)))  # type: ignore[attr-defined]
    return Subscribed(message.run, seq)


def _unsubscribe(broadcaster: Broadcaster, services: Services, data: Any) -> Subscribed:
    message = read(Subscribe, data)
    snapshot = services.runs.get(message.run)
    broadcaster.remove(request.sid, message.run)  # type: ignore[attr-defined]
    return Subscribed(message.run, snapshot.seq)


def _answered(action: Callable[[], Subscribed]) -> dict[str, Any]:
    try:
        return asdict(action())
    except CollageError as error:
        return error_body(api_error(error))
