"""The child's side of a worker: serves calls from its private socket, one after another, until the parent is gone.

Standard output and error are a file of the parent, so that prints of a toolchain do not mix with messages.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import select
import signal
import socket
import sys
import threading
from typing import Any

from .channel import Channel, ChannelClosed
from .light_imports import spare
from .report import report_to
from .worker_errors import PackedError, by_name

_PR_SET_PDEATHSIG = 1
_LOOK_AGAIN_MS = 1000


def main(descriptor: int) -> None:
    """Serve calls in a process that was started for this; never return."""
    spare()
    serve(descriptor)


def serve(descriptor: int) -> None:
    """Serve calls on the inherited socket `descriptor`; never return."""
    os.set_inheritable(descriptor, False)
    end_with_parent()
    threading.Thread(target=_end_on_hang_up, args=(descriptor,), daemon=True).start()
    channel = Channel(socket.socket(fileno=descriptor))
    try:
        channel.send(("ready", None))
        while True:
            _serve(channel)
    except ChannelClosed:
        os._exit(0)


def _serve(channel: Channel) -> None:
    number, module, name, data = channel.receive()
    report_to(lambda message: channel.send(("progress", number, message)))
    answer = _answer(number, module, name, data)
    report_to(None)
    channel.send_bytes(answer)


def _answer(number: int, module: str, name: str, data: bytes) -> bytes:
    """Run the call, and return its pickled result or exception."""
    try:
        arguments: tuple[Any, ...] = pickle.loads(data)
        return pickle.dumps(("result", number, by_name(module, name)(*arguments)), protocol=5)
    except ChannelClosed:
        raise
    except BaseException as error:  # noqa: BLE001 - any exception is sent to the parent, which raises it there
        return pickle.dumps(("error", number, PackedError.pack(error)), protocol=5)


def end_with_parent() -> None:
    """Have the kernel end this process when the parent ends, even inside native code, where it can (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _end_on_hang_up(descriptor: int) -> None:
    """End this process, also one whose parent had gone before it asked the kernel, when the other end of its socket is closed."""
    poll = select.poll()
    poll.register(descriptor, 0)  # a hang-up is always reported
    while not poll.poll(_LOOK_AGAIN_MS):  # polls again, since a close on this side is only reported at a new poll
        pass
    os._exit(1)
