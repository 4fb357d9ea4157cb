"""`report`: what a function running in a worker calls to tell the parent how far it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

_lock = threading.Lock()
_sink: Callable[[Any], None] | None = None


def report(message: Any) -> None:
    """Hand `message` (picklable) to the `on_progress` of the running call; outside a worker nobody listens."""
    with _lock:
        if _sink is not None:
            _sink(message)


def report_to(sink: Callable[[Any], None] | None) -> None:
    """Where `report` goes from now on; set by the child before and after each call."""
    global _sink
    with _lock:
        _sink = sink
