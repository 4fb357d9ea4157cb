"""`report`: a function in a worker calls it to send its progress to the parent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

_lock = threading.Lock()
_sink: Callable[[Any], None] | None = None


def report(message: Any) -> None:
    """Send `message` (picklable) to the `on_progress` of the running call; outside a worker do nothing."""
    with _lock:
        if _sink is not None:
            _sink(message)


def report_to(sink: Callable[[Any], None] | None) -> None:
    """Set the function that `report` calls from now on; the child sets it before and after each call."""
    global _sink
    with _lock:
        _sink = sink
