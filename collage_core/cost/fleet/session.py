"""The worker's process for one session: it waits for a connection, serves it through TVM's RPC, and ends with it.

A process of its own for each, since TVM's loop is native code that reads what comes from outside. It is started before
anybody asks, because importing TVM takes a second, and is handed the connection over a socket pair with its parent. When
the parent goes away, for whatever reason, so does this, with everything that it started.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time

from .protocol import ASK, PUT
from .request_handler import RequestHandler

READY = b"r"
SILENCE_S = 120.0
"""A run that holds a worker says something every few seconds; after such a silence it is gone without a word."""
_LOOK_S = 1.0


def main(descriptor: int, name: str) -> None:
    """Serve one connection that comes over the inherited socket `descriptor`; never returns."""
    os.set_inheritable(descriptor, False)
    control = socket.socket(fileno=descriptor)
    import tvm.rpc
    import tvm_ffi

    desk = RequestHandler(name)
    for function_name, function in ((ASK, desk.ask), (PUT, desk.put)):
        tvm_ffi.register_global_func(function_name, function, override=True)
    descriptors = _next_connection(control)
    if descriptors:
        desk.heard = time.monotonic()
        threading.Thread(target=_end_with_parent, args=(control, desk), daemon=True).start()
        try:
            tvm.rpc._ffi_api.ServerLoop(descriptors[0])
        except Exception as error:  # noqa: BLE001 - whatever came in: this session is over, and says why
            print(f"the session ended: {error}", file=sys.stderr, flush=True)
    _end(desk)


def _next_connection(control: socket.socket) -> list[int]:
    """What the parent hands over once it heard that this is ready; nothing where it is gone."""
    try:
        control.sendall(READY)
        return socket.recv_fds(control, 1, 1)[1]
    except OSError:
        return []


def _end_with_parent(control: socket.socket, desk: RequestHandler) -> None:
    """Wait until the parent closes its end, or the run has been silent for too long."""
    control.settimeout(_LOOK_S)
    while time.monotonic() - desk.heard < SILENCE_S:
        try:
            if not control.recv(1):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    _end(desk)


_ending = threading.Lock()


def _end(desk: RequestHandler) -> None:
    """Once, from whichever thread comes first."""
    with _ending:
        desk.close()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
