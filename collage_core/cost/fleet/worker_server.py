"""`WorkerServer`: the server behind `collage worker`: registers with the tracker, and hands each session to a process of its own.

It takes connections, one session at a time, and gives lines for the terminal. When the tracker is gone, it is tried again with a
growing pause, and the worker registers anew. TVM is not imported here.
"""

from __future__ import annotations

import random
import select
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address

from ...errors import CollageError
from .session_process import SessionProcess
from .tracker import Address, TrackerConnection, TrackerLost, show_address

RPC_MAGIC = 0xFF271
RPC_MISMATCH = RPC_MAGIC + 2
SHORTEST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
START_S = 120.0
_HANDSHAKE_S = 5.0
_POLL_S = 1.0
_UNUSED_S = 6.0
"""An offer that was taken, but not followed by a connection for so long, is made again."""
_LONGEST_KEY = 4096
_INT = struct.Struct("<i")


class WorkerServer:
    """Listens at `host` (an address of this machine) and `port` (0 for any that is free).

    Args:
        tracker: Address of the tracker.
        key: Key under which it registers.
        name: Its name in records; made of the host's name and the port where it is empty.
        say: Called with each line for the terminal.

    Raises:
        CollageError: it cannot listen there.
    """

    def __init__(self, tracker: Address, key: str, name: str, host: str, port: int, say: Callable[[str], None]):
        self._tracker_address = tracker
        self._key = key
        self._say = say
        self._listener = _listen(host, port)
        self.port: int = self._listener.getsockname()[1]
        self.name = name or f"{socket.gethostname()}:{self.port}"
        self._advertised_host = _advertised_host(host)
        self._tracker: TrackerConnection | None = None
        self._session: SessionProcess | None = None
        self._match_key = ""
        self._pause_s = SHORTEST_PAUSE_S
        self._next_try = 0.0
        self._taken_since: float | None = None
        self._is_serving = False

    def run(self) -> None:
        """Serve until an exception (Ctrl-C is one) ends it; then nothing is left behind.

        Raises:
            CollageError: the process for a session cannot be started.
        """
        try:
            self._start_session()
            while True:
                self._keep_registered()
                self._wait()
        finally:
            self.close()

    def close(self) -> None:
        """End the session, leave the tracker, and listen no more."""
        self._listener.close()
        if self._tracker is not None:
            self._tracker.close()
        if self._session is not None:
            self._session.end()

    def _start_session(self) -> None:
        self._session = SessionProcess(self.name, START_S)
        self._is_serving = False
        self._match_key = ""

    def _wait(self) -> None:
        """Wait for something to happen, a second at most, and handle it."""
        session, tracker = self._session, self._tracker
        assert session is not None
        waiting: list[socket.socket | SessionProcess | TrackerConnection] = [self._listener, session]
        if tracker is not None:
            waiting.append(tracker)
        ready, _, _ = select.select(waiting, [], [], min(_POLL_S, self._pause_s))
        if session in ready:
            self._renew_session()
        if tracker in ready:
            self._lose_tracker(TrackerLost("it closed the connection"))
        if self._listener in ready:
            self._accept()

    def _renew_session(self) -> None:
        """Start a new session's process after the last one ended: the run is over, or the process failed."""
        assert self._session is not None
        ending = self._session.end()
        self._say(f"the session is over{f' ({ending})' if ending else ''}; free again")
        self._start_session()

    def _keep_registered(self) -> None:
        try:
            if self._tracker is None:
                if time.monotonic() < self._next_try:
                    return
                self._tracker = TrackerConnection(self._tracker_address)
                self._tracker.register(self._key, self._advertised_host, self.port)
                self._say(f"registered under {self._key!r} with the tracker at {show_address(self._tracker_address)}")
                self._match_key = ""
                self._pause_s = SHORTEST_PAUSE_S
            if not self._is_serving:
                self._keep_offered(self._tracker)
        except TrackerLost as lost:
            self._lose_tracker(lost)

    def _keep_offered(self, tracker: TrackerConnection) -> None:
        now = time.monotonic()
        if self._match_key and self._match_key in tracker.pending():
            self._taken_since = None
        elif self._match_key and self._taken_since is None:
            self._taken_since = now
        elif not self._match_key or now - (self._taken_since or now) > _UNUSED_S:
            self._match_key = f"{self._key}:{random.random()}"
            self._taken_since = None
            tracker.offer(self._key, self._advertised_host, self.port, self._match_key)

    def _lose_tracker(self, lost: TrackerLost) -> None:
        if self._tracker is not None:
            self._tracker.close()
            self._tracker = None
        where = show_address(self._tracker_address)
        self._say(f"no tracker at {where} ({lost}); trying again in {self._pause_s:g} s")
        self._next_try = time.monotonic() + self._pause_s
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    def _accept(self) -> None:
        try:
            connection, peer = self._listener.accept()
            with connection:
                connection.settimeout(_HANDSHAKE_S)
                if not self._is_expected(connection):
                    return
                connection.settimeout(None)
                assert self._session is not None
                self._session.pass_on(connection)
        except OSError:  # the other side is gone, or was silent for too long
            return
        self._is_serving = True
        self._say(f"measuring for a run on {show_address(peer[:2])}")

    def _is_expected(self, connection: socket.socket) -> bool:
        """Do the server's part of the RPC handshake; return whether the tracker offered this worker to the other side."""
        if _receive(connection, _INT.size) != _INT.pack(RPC_MAGIC):
            return False
        (size,) = _INT.unpack(_receive(connection, _INT.size))
        if not 0 < size <= _LONGEST_KEY:
            return False
        words = _receive(connection, size).decode("utf-8", "replace").split()
        if self._is_serving or not self._match_key or words[:1] != [f"client:{self._match_key}"]:
            connection.sendall(_INT.pack(RPC_MISMATCH))
            return False
        own = f"server:{self._key}".encode()
        connection.sendall(_INT.pack(RPC_MAGIC) + _INT.pack(len(own)) + own)
        return True


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise CollageError(
            f"cannot listen at {show_address((host, port))}: {error.strerror or error}",
            "give an address of this machine with --host, and a free port with --port",
            "bad_option",
        ) from error


def _advertised_host(host: str) -> str | None:
    """Return the host to register: the one that the user chose, or None for the one from which the connection comes."""
    with suppress(ValueError):
        address = ip_address(host)
        return None if address.is_loopback or address.is_unspecified else host
    return None if host == "localhost" else host


def _receive(connection: socket.socket, size: int) -> bytes:
    """Read exactly `size` bytes. Raises OSError where they do not come."""
    got = b""
    while len(got) < size:
        part = connection.recv(size - len(got))
        if not part:
            raise ConnectionError("the other side closed the connection")
        got += part
    return got
