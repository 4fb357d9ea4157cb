"""`StopRequest`: in the process of a run, whether its user wants it to end with the best plan so far.

The server leaves a file in the run's folder (`LiveRun.request_stop`): a file is seen whatever the process is busy with, and needs no
thread that listens. Nothing is written here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ..shared.run_files import STOP

LOOK_S = 0.05
"""From one look for the file to the next at least: a search asks thousands of times a second."""


class StopRequest:
    """True when called, once the file is there."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic):
        self._file = folder / STOP
        self._clock = clock
        self._next_s = clock()
        self._is_there = False

    def __call__(self) -> bool:
        now = self._clock()
        if not self._is_there and now >= self._next_s:
            self._is_there = self._file.exists()
            self._next_s = now + LOOK_S
        return self._is_there
