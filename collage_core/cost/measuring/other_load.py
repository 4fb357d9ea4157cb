"""`OtherLoad`: how many cores other processes keep busy; `busy_text`: whether that leaves kernels the cores that they want.

Counters of processor time enter; a number and a sentence leave. Nothing is timed and nobody is slowed down.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

import psutil

SPARE = 0.3
"""So many cores may be missing: every machine does a little beside."""
SHORTEST_S = 0.1
"""Over a shorter time the counters, which go up in hundredths of a second, tell nothing."""

Counters = Callable[[], tuple[float, float]]
"""Gives processor seconds so far: of everybody, on the cores that this process may use; of this process and its descendants."""


class OtherLoad:
    """Counts from when it is made.

    Args:
        clock: Gives seconds that only go up.
    """

    def __init__(self, counters: Counters | None = None, clock: Callable[[], float] = time.monotonic):
        self._counters = counters or _counters
        self._clock = clock
        self._began = (clock(), *self._counters())

    def cores(self) -> float:
        """How many cores other processes kept busy on average; 0 where too little time has gone by to tell."""
        began, everybody_s, own_s = self._began
        took_s = self._clock() - began
        if took_s < SHORTEST_S:
            return 0.0
        everybody_now_s, own_now_s = self._counters()
        return max(0.0, (everybody_now_s - everybody_s) - (own_now_s - own_s)) / took_s


def busy_text(others: float, cores: int, threads: int) -> str:
    """Say that other processes take cores which `threads` threads want; empty where they leave enough of the `cores`."""
    if others <= cores - min(threads, cores) + SPARE:
        return ""
    return f"other processes keep {min(others, cores):.1f} of the {cores} cores busy"


def _counters() -> tuple[float, float]:
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    each = psutil.cpu_times(percpu=True)
    everybody = sum(sum(each[core]) - each[core].idle - getattr(each[core], "iowait", 0.0) for core in allowed if core < len(each))
    return everybody, _own_s(psutil.Process())


def _own_s(process: psutil.Process) -> float:
    own = 0.0
    for one in (process, *process.children(recursive=True)):
        with suppress(psutil.Error):
            times = one.cpu_times()
            own += times.user + times.system + getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return own
