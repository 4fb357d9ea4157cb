"""Says whether the client whose request is being answered still waits for the answer."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable

from flask import request


def asker_left() -> Callable[[], bool]:
    """Return a function that says whether the client of the current request has closed its connection.

    The function may be called outside of the request. Under a server that does not give the connection away, nobody ever leaves.
    """
    connection = request.environ.get("werkzeug.socket")
    if not isinstance(connection, socket.socket):
        return lambda: False
    return lambda: _is_closed(connection)


def _is_closed(connection: socket.socket) -> bool:
    try:
        # With a time limit set, a read waits even if it is told not to: so it is asked first whether there is something.
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        return bool(poll.poll(0)) and connection.recv(1, socket.MSG_PEEK) == b""
    except (OSError, ValueError):
        return True
