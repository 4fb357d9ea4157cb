"""`ModelServer`: waitress with bounds for what clients may take of it.

Connections of the network enter, which may be slow, broken or hostile. waitress reads and writes all of them in one thread without waiting
for any, so a client that stops holds up nobody. Bounds that it does not have are here: the time in which a request must arrive and an
answer must be taken, the number of open connections, and the bytes that are held for all of them. A connection over a bound gives way to
the next one. Only faults are logged.
"""

from __future__ import annotations

import logging
import socket
import time
from typing import Any

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import TcpWSGIServer
from waitress.task import ErrorTask

from ..base.durations import duration
from ..version import __version__
from .application import Application, Head, is_loopback, response
from .refusal import Refusal
from .served_model import MOST_WAITING, ServedModel

MOST_CONNECTIONS = 256
"""Most open connections; one more closes the one that has had nothing to do, or has been slow, for longest."""
IDLE_S = 60.0
"""Longest that a connection may be idle between two requests."""
REQUEST_S = 30.0
"""Longest that a request may take to arrive, and an answer to be taken."""
BODIES_AT_ONCE = 4
"""The bytes of all requests in progress are at most so many times those of the largest one."""
MOST_ANSWERS = 256 << 20
"""Most bytes of answers that clients have not taken yet, beside the largest one."""
MOST_HEADER = 1 << 16
LOOK_S = 1.0
"""How often bounds of time are looked at."""
_BESIDE = 4
"""Threads beside those that wait for an inference: whoever watches over the server gets an answer while all others wait."""


class _Parser(HTTPRequestParser):
    """A request as it arrives. Its head is checked before its body is read."""

    path = ""

    def __init__(self, settings: Adjustments, application: Application):
        super().__init__(settings)
        self.began = time.monotonic()
        self._application = application

    def received(self, data: bytes) -> int:
        consumed: int = super().received(data)
        if self.error is not None:
            self.expect_continue = False
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(header_plus)
        except ValueError as error:
            raise ParsingError(f"the address of the request is none: {error}") from error
        if self.version not in ("1.0", "1.1"):
            raise ParsingError(f"HTTP {self.version or '0.9'} is not spoken here")
        headers = {**self.headers, "TRANSFER_ENCODING": "chunked"} if self.chunked else self.headers
        try:
            self._application.check(Head(self.command, self.path.encode("latin-1").decode("utf-8", "replace"), headers))
        except Refusal as refusal:
            self.error, self.body_rcv, self.content_length = refusal, None, 0


class _ErrorTask(ErrorTask):
    """Answers what was refused before the application had it, in the same form as every error, and closes the connection."""

    def execute(self) -> None:
        error = self.request.error
        refusal = error if isinstance(error, Refusal) else Refusal(error.code, str(error.body))
        self.status, headers, body = response(refusal.status, {"error": refusal.message})
        self.response_headers.extend(headers)
        self.set_close_on_finish()
        self.content_length = len(body[0])
        self.write(b"" if getattr(self.request, "command", "") == "HEAD" else body[0])


class _Channel(HTTPChannel):
    """A connection. All of it but `service` runs in the thread of the server."""

    error_task_class = _ErrorTask
    request: Any
    """The request that arrives still, or None."""

    def __init__(self, server: Any, *arguments: Any, **more: Any):
        self.parser_class = lambda settings: _Parser(settings, server.app)
        self._since, self._state = time.monotonic(), "idle"
        super().__init__(server, *arguments, **more)

    @property
    def precedence(self) -> tuple[bool, float]:
        """The order in which connections give way to new ones: idle ones first, then what has taken longest."""
        return self._state != "idle", self._since

    @property
    def request_bytes(self) -> int:
        """Bytes of its requests that are held."""
        under_way = () if self.request is None else (self.request,)
        return sum(request.body_bytes_received for request in (*self.requests, *under_way))

    @property
    def answer_bytes(self) -> int:
        """Bytes of its answers that the client has not taken."""
        return self.total_outbufs_len

    def handle_read(self) -> None:
        super().handle_read()
        self.look()
        if self.request is not None and self.request.body_bytes_received:
            self.server.hold_requests()

    def write_soon(self, data: bytes) -> int:
        written = super().write_soon(data)
        if self.total_outbufs_len > MOST_ANSWERS:
            self.server.look_soon()
        return written

    def look(self) -> None:
        """Note since when it is idle, receives or sends, and give it up where that takes too long."""
        now = time.monotonic()
        state = "works" if self.requests else "sends" if self.total_outbufs_len else "idle" if self.request is None else "receives"
        if state != self._state or state == "works":
            self._since, self._state = now, state
        if self.request is not None and state == "receives":
            self._since = self.request.began
        if now - self._since > (IDLE_S if state == "idle" else REQUEST_S):
            self.give_up(Refusal(408, f"the request did not come within {duration(REQUEST_S)}"))

    def give_up(self, refusal: Refusal) -> None:
        """Answer a request that arrives still with `refusal`, and close the connection."""
        with self.requests_lock:
            request = self.request
            if request is not None and not self.requests and not self.total_outbufs_len:
                self.request, request.error, request.completed = None, refusal, True
                self.requests.append(request)
                self.server.add_task(self)
                return
        self.handle_close()


class ModelServer(TcpWSGIServer):
    """A server of one model.

    Args:
        most_bytes: Most bytes of a body.
        token: What requests must bring; None where they need bring nothing.
    """

    channel_class = _Channel

    def __init__(self, host: str, port: int, model: ServedModel, most_bytes: int, token: str | None = None):
        self.model, self.most_bytes = model, most_bytes
        self.is_local = is_loopback(host)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            settings = Adjustments(
                host="127.0.0.1",
                ident=f"collage/{__version__}",
                threads=MOST_WAITING + _BESIDE,
                max_request_header_size=MOST_HEADER,
                max_request_body_size=most_bytes + 1,
                recv_bytes=1 << 16,
                connection_limit=1 << 30,
                # Bodies and answers stay in memory, where their bytes are counted: the server may run where no disk can be written.
                inbuf_overflow=1 << 62,
                outbuf_overflow=1 << 62,
                outbuf_high_watermark=1 << 62,
                log_socket_errors=False,
            )
            self.app = Application(model, most_bytes, self.is_local, token)
            super().__init__(
                self.app, _sock=listener, adj=settings, bind_socket=False, sockinfo=(family, socket.SOCK_STREAM, 0, (host, port))
            )
        except BaseException:
            listener.close()
            raise
        self._is_ended, self._next_look = False, 0.0

    @property
    def server_address(self) -> tuple[str, int]:
        """The address and the port that it listens at."""
        return self.socket.getsockname()[:2]

    @property
    def address(self) -> str:
        """The address of the server, as clients write it."""
        host, port = self.server_address
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def serve_forever(self) -> None:
        """Serve until `shutdown`, or until the thread is interrupted."""
        while not self._is_ended:
            wasyncore.loop(timeout=LOOK_S, map=self._map, use_poll=True, count=1)
            if time.monotonic() >= self._next_look:
                self._next_look = time.monotonic() + LOOK_S
                self._keep_bounds()

    def shutdown(self) -> None:
        """End `serve_forever`; any thread may call it."""
        self._is_ended = True
        self.pull_trigger()

    def close(self) -> None:
        """Close all connections, and let go of what waits."""
        self.task_dispatcher.shutdown(cancel_pending=True, timeout=0)
        for channel in list(self.active_channels.values()):
            channel.handle_close()
        super().close()

    def handle_accept(self) -> None:
        """Accept a connection; where there are too many, the one that has waited for longest without being at work gives way."""
        if len(self.active_channels) >= MOST_CONNECTIONS:
            self._look()
            waiting = [channel for channel in self.active_channels.values() if not channel.requests]
            if waiting:
                min(waiting, key=lambda channel: channel.precedence).handle_close()
        before = set(self.active_channels)
        super().handle_accept()
        if len(self.active_channels) > MOST_CONNECTIONS:
            for number in set(self.active_channels) - before:
                self.active_channels[number].handle_close()

    def look_soon(self) -> None:
        """Have the bounds looked at before their time; any thread may call it."""
        self._next_look = 0.0
        self.pull_trigger()

    def maintenance(self, now: float) -> None:
        """Do nothing here, where waitress would close idle connections: `serve_forever` looks at all bounds."""

    def _keep_bounds(self) -> None:
        """Give up clients that are too slow, and those for whom the most is held where that is too much for all."""
        self._look()
        self._hold_bytes("request_bytes", BODIES_AT_ONCE * self.most_bytes)
        largest = max((channel.answer_bytes for channel in self.active_channels.values()), default=0)
        self._hold_bytes("answer_bytes", MOST_ANSWERS + largest)

    def _look(self) -> None:
        for channel in list(self.active_channels.values()):
            channel.look()

    def hold_requests(self) -> None:
        """Refuse the request that holds the most of those that arrive still, while all together hold too much."""
        self._hold_bytes("request_bytes", BODIES_AT_ONCE * self.most_bytes)

    def _hold_bytes(self, kind: str, most: int) -> None:
        held = {channel: getattr(channel, kind) for channel in self.active_channels.values()}
        while sum(held.values()) > most:
            movable = [channel for channel in held if held[channel] and not channel.requests]
            if not movable:
                return
            largest = max(movable, key=lambda channel: held[channel])
            largest.give_up(Refusal(503, "the requests in progress are too large together: try again later"))
            del held[largest]


def silence() -> None:
    """Let waitress log its faults alone: whoever reaches a bound is no news."""
    logging.getLogger("waitress").setLevel(logging.ERROR)
