"""`call_in_child`: calls a function that nothing can interrupt, a solver in C++, in a fork of this process that can be killed.

A function enters; what it returns leaves, through a pipe. On a system without forks the function is called here, and nothing interrupts it.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from select import select
from typing import Any, NoReturn

from ...errors import CollageError

_LOOK_S = 0.02
"""How often the wait asks whether it must end."""


def call_in_child(function: Callable[[], Any], should_stop: Callable[[], bool]) -> Any:
    """Return what `function` returns; None once `should_stop` says so.

    Raises:
        CollageError: the child died.
    """
    if sys.platform != "linux":
        return function()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _answer(function, write)
    os.close(write)
    try:
        data = bytearray()
        while True:
            if select([read], [], [], _LOOK_S)[0]:
                part = os.read(read, 1 << 20)
                if not part:
                    break
                data += part
            elif should_stop():
                return None
    finally:
        os.close(read)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    try:
        return pickle.loads(data)
    except (EOFError, pickle.UnpicklingError) as error:
        said = "the solver ended before its answer: by a fault of its own, or since the memory was used up"
        raise CollageError(said, "choose another --search, such as astar", "solver") from error


def _answer(function: Callable[[], Any], write: int) -> NoReturn:
    """Write what `function` returns into the pipe, and end without what the parent does at its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent kills this process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with suppress(BaseException), os.fdopen(write, "wb") as pipe:
        pickle.dump(function(), pipe)
    os._exit(0)
