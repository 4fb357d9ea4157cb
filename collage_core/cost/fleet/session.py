"""The main function of a worker's process for one session: wait for a connection, serve it through TVM's RPC, and end.

Each session has a process of its own, since TVM's loop is native code that reads data from outside. It is started before anybody
asks, because importing TVM takes a second, and gets the connection over a socket pair with its parent. When the parent ends, for
whatever reason, this process ends too, with everything that it started.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time

from ...base.isolation.light_imports import spare
from .protocol import ASK, PUT
from .request_handler import RequestHandler

READY = b"r"
SILENCE_S = 120.0
"""A run that holds a worker sends a request every few seconds; after such a silence it is gone."""
_POLL_S = 1.0


def main(descriptor: int, name: str) -> None:
    """Serve one connection that comes over the inherited socket `descriptor`; never returns."""
    os.set_inheritable(descriptor, False)
    control = socket.socket(fileno=descriptor)
    spare()
    import tvm.rpc
    import tvm_ffi

    handler = RequestHandler(name)
    for function_name, function in ((ASK, handler.ask), (PUT, handler.put)):
        tvm_ffi.register_global_func(function_name, function, override=True)
    descriptors = _next_connection(control)
    if descriptors:
        handler.last_request = time.monotonic()
        threading.Thread(target=_end_with_parent, args=(control, handler), daemon=True).start()
        try:
            tvm.rpc._ffi_api.ServerLoop(descriptors[0])
        except Exception as error:  # noqa: BLE001 - whatever came in: the session is over, and the reason is printed
            print(f"the session ended: {error}", file=sys.stderr, flush=True)
    _end(handler)


def _next_connection(control: socket.socket) -> list[int]:
    """Tell the parent that this process is ready, and return the descriptor it sends; nothing where the parent is gone."""
    try:
        control.sendall(READY)
        return socket.recv_fds(control, 1, 1)[1]
    except OSError:
        return []


def _end_with_parent(control: socket.socket, handler: RequestHandler) -> None:
    """Wait until the parent closes its end or the run has been silent for too long, then end."""
    control.settimeout(_POLL_S)
    while time.monotonic() - handler.last_request < SILENCE_S:
        try:
            if not control.recv(1):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    _end(handler)


_ending = threading.Lock()


def _end(handler: RequestHandler) -> None:
    """End this process; of several threads, the first one does."""
    with _ending:
        handler.close()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
