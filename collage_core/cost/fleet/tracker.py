"""`TrackerConnection`: one connection to TVM's RPC tracker, which knows the workers and which of them are free.

The tracker's protocol is that of ``tvm/rpc/tracker.py`` (TVM 0.27): a magic number either way, then frames of a
little-endian int32 and so many bytes of JSON, one answer for each question. Answers are validated; every wait has a limit.
TVM itself is not imported.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ...errors import CollageError

TRACKER_MAGIC = 0x2F271
SUCCESS, PUT, REQUEST, UPDATE_INFO, SUMMARY, GET_PENDING_MATCHKEYS = 0, 3, 4, 5, 6, 7
ANSWER_S = 5.0
"""Limit in seconds for an answer that needs no waiting."""
_LONGEST_ANSWER = 1 << 24
_INT = struct.Struct("<i")
_TRACKER_HINT = "start one with `python -m tvm.exec.rpc_tracker --host 127.0.0.1 --port 9190` (docs/fleet.md)"

Address = tuple[str, int]


class TrackerLost(Exception):
    """Raised where the tracker cannot be reached, is gone, or gives an invalid answer; the text says which."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A worker that the tracker offers for one session: where it listens, and the key that it expects."""

    host: str
    port: int
    match_key: str

    @property
    def address(self) -> Address:
        return self.host, self.port


@dataclass(frozen=True, slots=True)
class Registered:
    """The workers under one key: their addresses, and how many of them are free."""

    addresses: frozenset[Address]
    free: int


class TrackerConnection:
    """A connection to the tracker at `address`.

    Raises:
        TrackerLost: by every method, too; the connection is of no more use then.
    """

    def __init__(self, address: Address):
        self.address = address
        try:
            self._socket = socket.create_connection(address, timeout=ANSWER_S)
        except OSError as error:
            raise TrackerLost(error.strerror or str(error)) from error
        try:
            self._socket.sendall(_INT.pack(TRACKER_MAGIC))
            deadline = time.monotonic() + ANSWER_S
            if self._receive(_INT.size, deadline) != _INT.pack(TRACKER_MAGIC):
                raise TrackerLost("what answers there is no RPC tracker")
        except OSError as error:
            self.close()
            raise TrackerLost(error.strerror or str(error)) from error
        except TrackerLost:
            self.close()
            raise

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        with suppress(OSError):
            self._socket.close()

    def register(self, key: str, host: str | None, port: int) -> None:
        """Register a worker under `key` that listens at `port`; `host` None for the address that the tracker sees."""
        self._expect_success([UPDATE_INFO, {"key": f"server:{key}", "addr": [host, port]}])

    def offer(self, key: str, host: str | None, port: int, match_key: str) -> None:
        """Offer the worker for one session, under `match_key`."""
        self._expect_success([PUT, key, [port, match_key], host])

    def pending(self) -> frozenset[str]:
        """Return the match keys of this connection that nobody took yet."""
        answer = self._ask([GET_PENDING_MATCHKEYS])
        if not isinstance(answer, list) or not all(isinstance(item, str) for item in answer):
            raise self._invalid(answer)
        return frozenset(answer)

    def request(self, key: str, timeout_s: float = ANSWER_S) -> Offer | None:
        """Return a free worker under `key`; None where none became free in time, and then this connection is closed."""
        try:
            answer = self._ask([REQUEST, key, "", 1], timeout_s)
        except TimeoutError:
            self.close()
            return None
        match answer:
            case [0, [str(host), int(port), str(match_key)]] if host and 0 < port < 1 << 16 and match_key:
                return Offer(host, port, match_key)
        raise self._invalid(answer)

    def summary(self, key: str) -> Registered:
        """Return the workers that are registered under `key`."""
        match self._ask([SUMMARY]):
            case [0, {"queue_info": dict(queues), "server_info": list(servers)}]:
                free = queues.get(key, {}).get("free", 0)
                mine = [server.get("addr") for server in servers if server.get("key") == f"server:{key}"]
                if isinstance(free, int) and all(isinstance(address, list) and len(address) == 2 for address in mine):
                    return Registered(frozenset((str(host), int(port)) for host, port in mine), free)
            case answer:
                raise self._invalid(answer)
        raise self._invalid("a summary of another form")

    def _expect_success(self, message: Any) -> None:
        answer = self._ask(message)
        if answer != SUCCESS:
            raise self._invalid(answer)

    def _ask(self, message: Any, timeout_s: float = ANSWER_S) -> Any:
        data = json.dumps(message).encode()
        deadline = time.monotonic() + timeout_s
        try:
            self._socket.settimeout(ANSWER_S)
            self._socket.sendall(_INT.pack(len(data)) + data)
            (size,) = _INT.unpack(self._receive(_INT.size, deadline))
            if not 0 < size <= _LONGEST_ANSWER:
                raise TrackerLost(f"it announced an answer of {size} bytes")
            return json.loads(self._receive(size, deadline))
        except TimeoutError:
            if message[0] == REQUEST:
                raise
            raise TrackerLost(f"it gave no answer within {timeout_s:g} s") from None
        except (OSError, ValueError, RecursionError) as error:
            raise TrackerLost(getattr(error, "strerror", None) or str(error)) from error

    def _receive(self, size: int, deadline: float) -> bytes:
        got = bytearray()
        while len(got) < size:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)
            part = self._socket.recv(min(size - len(got), 1 << 16))
            if not part:
                raise TrackerLost("it closed the connection")
            got += part
        return bytes(got)

    def _invalid(self, answer: Any) -> TrackerLost:
        return TrackerLost(f"its answer makes no sense: {str(answer)[:80]!r}")


def parse_address(text: str) -> Address:
    """Return ``HOST:PORT`` as (host, port); an IPv6 host is in brackets.

    Raises:
        CollageError: it is no such address.
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (host and colon and port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
        raise CollageError(f"--tracker is {text!r}, it must be HOST:PORT", "such as 127.0.0.1:9190", "bad_option")
    return host, int(port)


def show_address(address: Address) -> str:
    """Return (host, port) as `parse_address` reads it."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def check_key(key: str) -> str:
    """Return `key`, if it can be the key of workers.

    Raises:
        CollageError: it is empty, or has spaces or unprintable characters in it, which end a key in the protocol.
    """
    if not key or not key.isprintable() or " " in key or len(key) > 100:
        raise CollageError(f"--key is {key!r}, it must be a word of at most 100 characters", "such as collage", "bad_option")
    return key


def unreachable(address: Address, reason: str) -> CollageError:
    """Return the error for an address at which no tracker answers."""
    return CollageError(f"no RPC tracker answers at {show_address(address)}: {reason}", _TRACKER_HINT, "no_tracker")
