"""`bound_sockets`: bounds the messages, sessions and silence of Socket.IO's clients.

A `SocketIO` enters; WSGI middleware leaves, which refuses requests beyond the bounds before Socket.IO sees them. Without this a web socket
reads a message however long it gets, reads on while earlier ones wait to be handled, and may be silent for ever; what is no message prints
a traceback, and leaves a thread behind; and a message may have any number of attachments, which are kept until the last one comes.
"""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import simple_websocket
from flask_socketio import SocketIO
from socketio import packet as packets
from wsproto.utilities import RemoteProtocolError

from ..http.error_answers import error_response
from ..http.security import is_socket_path
from ..messages.live import ApiError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

MESSAGE_BYTES = 64 << 10
"""Longest message, and longest body of a request, that a client may send."""

MOST_WAITING = 16
"""While so many messages of a client wait to be handled, no more are read from it."""

MOST_UNREAD = 1_000
"""A client that leaves more messages than these unread is not listened to any longer."""

MOST_SESSIONS = 256
"""Most clients at once. Each costs a thread, and one that does not answer is forgotten within a minute."""

_PACKETS = tuple("12345")
"""First characters of the packets of Engine.IO that a client sends."""
_PING, _MESSAGE = "2", "4"
"""Those of a ping, which only an upgrade to a web socket begins with, and of a packet with a message of Socket.IO."""
_SEPARATOR = "\x1e"
"""Between the packets in the body of a request."""
_OWN_EVENTS = ("connect", "disconnect")
"""Events of Socket.IO itself, which no client sends."""

SILENCE_S = 60.0
"""A web socket from which no message comes for so long is closed: Socket.IO's clients answer a ping of the server every 25 s."""


class SocketBounds:
    """WSGI middleware in front of Socket.IO, whose own limits leave some of its requests without an answer."""

    def __init__(self, app: WSGIApplication, engine: Any):
        self._app = app
        self._engine = engine

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        refusal = self._refusal(environ) if is_socket_path(environ) else None
        if refusal is None:
            return self._app(environ, start_response)
        status, error = refusal
        return error_response(status, error)(environ, start_response)

    def _refusal(self, environ: WSGIEnvironment) -> tuple[int, ApiError] | None:
        length = environ.get("CONTENT_LENGTH") or "0"
        if not length.isdecimal():
            return 400, ApiError("invalid", f"{length[:20]!r} is no length of a body", "send Content-Length as a number")
        if len(length) > len(str(MESSAGE_BYTES)) or int(length) > MESSAGE_BYTES:
            return 413, ApiError(
                "too_large", f"a message of {length[:20]} bytes is too large", f"send at most {MESSAGE_BYTES} bytes at once"
            )
        sid = parse_qs(environ.get("QUERY_STRING", "")).get("sid")
        if sid is None and len(self._engine.sockets) >= MOST_SESSIONS:
            return 503, ApiError("busy", f"{MOST_SESSIONS} pages or programs listen already", "close some, and try again in a minute")
        client = self._engine.sockets.get(sid[0]) if sid else None
        if environ.get("REQUEST_METHOD") == "POST" and client is not None and client.queue.qsize() > MOST_UNREAD:
            return 429, ApiError("too_many", f"more than {MOST_UNREAD} messages were not read", "read them first")
        if environ.get("REQUEST_METHOD") == "POST":
            body = environ["wsgi.input"].read(int(length))
            environ["wsgi.input"] = io.BytesIO(body)
            sent = body.decode("utf-8", "replace").split(_SEPARATOR)
            if not all(_is_packet(packet) and packet[0] != _PING for packet in sent):  # a ping would hold up its thread for ever
                return 400, ApiError("invalid", "the body is no packets of Socket.IO with text", "use a client of Socket.IO")
        return None


def _is_packet(packet: object) -> bool:
    """Return whether a client may send this: a packet of Engine.IO whose message, if it has one, python-socketio handles without a fault.

    Attachments are none of ours, and a message that announces some would be kept with all that come.
    """
    if not isinstance(packet, str) or not packet.startswith(_PACKETS):
        return False
    if packet[0] != _MESSAGE:
        return True
    try:
        message = packets.Packet(encoded_packet=packet[1:]) if packet[1:2].isdecimal() else None
    except (ValueError, RecursionError):
        return False
    if message is None:
        return False
    is_list = isinstance(message.data, list)
    match message.packet_type:
        case packets.CONNECT | packets.DISCONNECT:
            return message.data is None or isinstance(message.data, dict)
        case packets.EVENT:
            return is_list and len(message.data) in (1, 2) and isinstance(message.data[0], str) and message.data[0] not in _OWN_EVENTS
        case packets.ACK:
            return is_list and message.id is not None
    return False


class _BoundedWebSocket(simple_websocket.Server):
    """A web socket that reads no message longer than `MESSAGE_BYTES`, and no further ones while `MOST_WAITING` wait."""

    def __init__(self, environ: WSGIEnvironment):
        self._taken = threading.Condition()
        self._is_over = False
        super().__init__(environ, max_message_size=MESSAGE_BYTES)

    def handshake(self) -> None:
        super().handshake()
        # From here on `SILENCE_S` is the limit; a socket with a time limit of its own may send half a message.
        self.sock.settimeout(None)

    def receive(self, timeout: float | None = None) -> Any:
        message = super().receive(timeout)
        with self._taken:
            self._taken.notify_all()
        return message

    def close(self, reason: int | None = None, message: str | None = None) -> None:
        super().close(reason, message)
        self.event.set()  # so that whoever waits for a message learns of it

    def end(self) -> None:
        """End the connection, whatever other threads wait for on it."""
        self.connected = False
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        with self._taken:
            self._is_over = True
            self._taken.notify_all()

    def _handle_events(self) -> bool:
        goes_on: bool = super()._handle_events()
        with self._taken:
            self._taken.wait_for(lambda: self._is_over or len(self.input_buffer) < MOST_WAITING)
        return goes_on and not self._is_over


class _WebSocketTransport:
    """A web socket as Engine.IO expects one: the handler, a method of a client's session, reads and writes messages until it ends."""

    def __init__(self, handler: Any, _server: Any):
        self._handler = handler
        self._session = handler.__self__
        self._socket: _BoundedWebSocket

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            self._socket = _BoundedWebSocket(environ)
        except RemoteProtocolError as error:
            refusal = ApiError("invalid", f"this is no request for a web socket: {error}", "use a client of Socket.IO")
            return error_response(400, refusal)(environ, start_response)
        try:
            self._handler(self)
        finally:
            self._socket.end()
        raise ConnectionError  # The connection is over: werkzeug must not write an answer to it.

    def close(self) -> None:
        if self._socket.connected:
            self._socket.close()

    def send(self, message: str | bytes) -> None:
        try:
            self._socket.send(message)
        except simple_websocket.ConnectionClosed as error:
            raise OSError("the web socket is closed") from error

    def wait(self) -> Any:
        """Return the next message; None ends the connection."""
        if self._session.closed or self._session.queue.qsize() > MOST_UNREAD:
            return None
        try:
            message = self._socket.receive(timeout=SILENCE_S)
        except simple_websocket.ConnectionClosed:
            return None
        if message is None:
            # Whoever is silent may not read either, and the thread that writes must not wait for that.
            self._socket.end()
        return message if _is_packet(message) else None


def bound_sockets(socketio: SocketIO) -> Callable[[WSGIApplication], SocketBounds]:
    """Bound the web sockets of `socketio`; the result makes the middleware that bounds its requests."""
    engine = socketio.server.eio
    engine._async = {**engine._async, "websocket": _WebSocketTransport}
    return lambda app: SocketBounds(app, engine)
