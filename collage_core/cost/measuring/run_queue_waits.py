"""Run-queue waits: how long threads of this process were ready to run and waited for a core, as Linux counts it.

They notice another process that takes the core in turns, which the reference kernel is too short for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

Waits = Callable[[], list[int]]
"""Returns the nanoseconds that each thread has waited so far."""

_THREADS = Path("/proc/self/task")
_LINE_BYTES = 96
_MOST = 0.99


@contextmanager
def run_queue_waits() -> Iterator[Waits]:
    """Open the counters of the threads that there are by now; if the system has none, the list is empty."""
    files: list[int] = []
    with suppress(OSError):
        for folder in _THREADS.iterdir():
            with suppress(OSError):
                files.append(os.open(folder / "schedstat", os.O_RDONLY))
    try:
        yield lambda: [_waited_ns(file) for file in files]
    finally:
        for file in files:
            os.close(file)


def _waited_ns(file: int) -> int:
    """Return what one thread has waited; 0 where it has ended or the system keeps no such statistics."""
    with suppress(OSError, ValueError, IndexError):
        return int(os.pread(file, _LINE_BYTES, 0).split()[1])
    return 0


def waited_share(before: Sequence[int], after: Sequence[int], seconds: float) -> float:
    """Return the share, below 1, of `seconds` that the thread which waited longest spent waiting."""
    longest_s = max((later - earlier for earlier, later in zip(before, after, strict=True)), default=0) * 1e-9
    return min(max(longest_s, 0.0) / seconds, _MOST) if seconds > 0 else 0.0
