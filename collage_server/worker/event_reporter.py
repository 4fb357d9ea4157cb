"""`EventReporter`: sends the events of a run from its process to the server, in bundles, thinned where there are many.

Events enter; lists of plain events leave by `report`: decisions at once, the others some 25 ms apart.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from collage_core.base.isolation.report import report
from collage_core.events import Event

from ..shared.json_files import json_data
from ..shared.thinning import is_thinnable, thin

FLUSH_S = 0.025
BUNDLE_THINNABLE = 40


class EventReporter:
    """A context manager that gives the function which takes events; those that wait are sent when the ``with`` ends."""

    def __init__(self) -> None:
        self._waiting: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._sent = 0.0
        self._flusher = threading.Thread(target=self._flush_now_and_then, daemon=True)

    def __enter__(self) -> Callable[[Event], None]:
        self._flusher.start()
        return self._emit

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        self._flusher.join()
        self._flush()

    def _emit(self, event: Event) -> None:
        with self._lock:
            self._waiting.append(json_data(event.to_json()))
        if not is_thinnable(type(event).__name__) or time.monotonic() - self._sent > FLUSH_S:
            self._flush()

    def _flush(self) -> None:
        with self._lock:
            if self._waiting:
                report(_thinned(self._waiting))
                self._waiting = []
                self._sent = time.monotonic()

    def _flush_now_and_then(self) -> None:
        while not self._over.wait(FLUSH_S):
            self._flush()


def _thinned(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events, with at most `BUNDLE_THINNABLE` thinnable ones."""
    indices = [index for index, event in enumerate(events) if is_thinnable(event["type"])]
    if len(indices) <= BUNDLE_THINNABLE:
        return events
    kept = set(thin(indices, BUNDLE_THINNABLE))
    return [event for index, event in enumerate(events) if index in kept or not is_thinnable(event["type"])]
