"""`builds_disturb`: tells whether a build beside a kernel slows it down: two virtual cores may be one physical core.

A number of threads enters. The probe takes 0.2 s: the reference kernel runs alone, then beside as many spinning processes as a kernel has
threads. Its ratio is kept for each machine, number of usable cores and number of threads; the least one counts, since other work may have
slowed the kernel down while it ran beside the processes.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from ...base.home import home
from ...base.processor import usable_cores
from ...errors import CollageError
from ..database.records import machine_id
from .reference_kernel import time_reference

MOST = 1.05
"""A kernel that takes so many times as long beside a build is as fast as alone: timing cannot tell."""
_EACH_S = 0.1
_QUANTILE = 0.2
"""Noise makes a run longer, never shorter."""
_FILE = "build-disturbance.json"


def builds_disturb(threads: int) -> bool:
    """Return whether kernels of `threads` threads take longer while something is built."""
    if threads >= usable_cores():
        return True
    key = f"{machine_id()}, {usable_cores()} usable, {threads} threads"
    with suppress(CollageError, OSError):  # Where nothing can be kept, each run probes.
        return _least_ratio(home() / _FILE, key, lambda: probe(threads)) > MOST
    return probe(threads) > MOST


def probe(threads: int) -> float:
    """Return how many times as long the reference kernel takes beside `threads` spinning processes."""
    alone = _samples()
    with _spinning(threads):
        beside = _samples()
    return ratio(alone, beside)


def ratio(alone: Sequence[float], beside: Sequence[float]) -> float:
    """Return how many times as long a kernel takes that took `alone` and `beside` others, undisturbed by anything else."""
    return float(np.quantile(beside, _QUANTILE) / np.quantile(alone, _QUANTILE))


def _least_ratio(path: Path, key: str, measure: Callable[[], float]) -> float:
    """Return the least ratio that was ever measured; nothing is measured where it is small already."""
    kept: dict[str, float] = {}
    with suppress(OSError, ValueError, TypeError, AttributeError):  # A file that is not there or broken says nothing.
        kept = {name: float(value) for name, value in json.loads(path.read_text()).items()}
    least = kept.get(key, math.inf)
    if least > MOST:
        least = min(least, measure())
        path.write_text(json.dumps({**kept, key: least}))
    return least


def _samples() -> list[float]:
    taken: list[float] = []
    ends = time.perf_counter() + _EACH_S
    while not taken or time.perf_counter() < ends:
        taken.append(time_reference(time.perf_counter))
    return taken


@contextmanager
def _spinning(count: int) -> Iterator[None]:
    """Keep `count` processes busy meanwhile, from the moment on when they have started."""
    command, nowhere = [sys.executable, "-I", "-S", "-c", "print(flush=True)\nwhile True: pass"], subprocess.DEVNULL
    processes = [subprocess.Popen(command, stdin=nowhere, stdout=subprocess.PIPE, stderr=nowhere) for _ in range(count)]
    try:
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        yield
    finally:
        for process in processes:
            process.kill()
            process.communicate()
