"""`shared_worker`: workers of this process that stay warm between callers, for calls that need the same large libraries.

Importing TVM takes seconds, and what reads a Relax module, runs it, and builds its parts needs that once.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .environment import worker_environment
from .worker import Worker

IDLE_S = 15.0
"""Seconds for which an idle worker is kept."""
MOST_BYTES = 16 << 30
"""Bound on a worker's own memory, since it may read files of strangers: several times the largest weights."""

_Key = tuple[str, str, tuple[str, ...], tuple[tuple[str, str], ...]]


class _Shared:
    """A worker, the number of its users, and the timer that ends it when it has none."""

    def __init__(self, imports: Sequence[str]) -> None:
        self.worker = Worker(memory_bytes=MOST_BYTES, imports=imports)
        self.users = 0
        self.end: threading.Timer | None = None


_lock = threading.Lock()
_shared: dict[_Key, _Shared] = {}


@contextmanager
def shared_worker(name: str, imports: Sequence[str] = ()) -> Iterator[Worker]:
    """Give the worker of this name, created with `imports`, to a caller, who must not close it. Threads take turns with its calls.

    It is another one where the environment, the folder or the import path has changed, since a child keeps those that it began with.
    """
    key = (name, os.getcwd(), tuple(sys.path), tuple(sorted(worker_environment(os.environ).items())))
    with _lock:
        one = _shared.setdefault(key, _Shared(imports))
        one.users += 1
        if one.end is not None:
            one.end.cancel()
    try:
        yield one.worker
    finally:
        with _lock:
            one.users -= 1
            if not one.users:
                one.end = threading.Timer(IDLE_S, _end, (key, one))
                one.end.daemon = True
                one.end.start()


def _end(key: _Key, one: _Shared) -> None:
    with _lock:
        if one.users or one.end is not threading.current_thread():
            return
        del _shared[key]
    one.worker.close()
