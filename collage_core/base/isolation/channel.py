"""`Channel`: pickled messages over a private socket; every wait can be ended.

A frame is a length of eight bytes and the pickle. No wait blocks forever: while it waits, each side calls `tick` about every 50 ms,
which may raise. This includes waits for the rest of a message, and for a peer that does not read.
"""

from __future__ import annotations

import pickle
import select
import socket
import struct
from collections.abc import Callable
from typing import Any

TICK_S = 0.05
_LENGTH = struct.Struct("!Q")
_READ_BYTES = 1 << 20


_LONGEST_BYTES = 1 << 40


class ChannelClosed(Exception):
    """Raised when the other end of the channel is gone."""


class Garbled(Exception):
    """Raised when the received bytes are no message: something else wrote to the socket, or a class in it is unknown here."""


def _no_tick() -> None:
    return None


class Channel:
    """One end of a socket pair."""

    def __init__(self, end: socket.socket):
        self._socket = end
        end.setblocking(False)

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def send(self, message: Any, tick: Callable[[], None] = _no_tick) -> None:
        """Pickle and send `message`.

        Raises:
            ChannelClosed: the other end is gone.
        """
        self.send_bytes(pickle.dumps(message, protocol=5), tick)

    def send_bytes(self, data: bytes, tick: Callable[[], None] = _no_tick) -> None:
        """Send `data`, which is a pickle already."""
        self._send_all(_LENGTH.pack(len(data)), tick)
        self._send_all(data, tick)

    def receive(self, tick: Callable[[], None] = _no_tick) -> Any:
        """Wait for the next message, and return it.

        Raises:
            ChannelClosed: the other end is gone.
            Garbled: the bytes are no message. Nothing that follows can be read either.
        """
        (length,) = _LENGTH.unpack(self._receive_exactly(_LENGTH.size, tick))
        if length > _LONGEST_BYTES:
            raise Garbled(f"it claims to be {length} bytes long")
        data = self._receive_exactly(length, tick)
        try:
            return pickle.loads(data)
        except Exception as error:
            raise Garbled(f"{type(error).__name__}: {error}") from error

    def _send_all(self, data: bytes, tick: Callable[[], None]) -> None:
        rest = memoryview(data)
        while rest:
            self._wait(select.POLLOUT, tick)
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise ChannelClosed from error

    def _receive_exactly(self, length: int, tick: Callable[[], None]) -> bytearray:
        got = bytearray()
        while len(got) < length:
            self._wait(select.POLLIN, tick)
            try:
                part = self._socket.recv(min(length - len(got), _READ_BYTES))
            except BlockingIOError:
                continue
            except OSError as error:
                raise ChannelClosed from error
            if not part:
                raise ChannelClosed
            got += part
        return got

    def _wait(self, event: int, tick: Callable[[], None]) -> None:
        poll = select.poll()
        poll.register(self._socket, event)
        while not poll.poll(TICK_S * 1000):
            tick()
