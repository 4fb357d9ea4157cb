"""Python's collector of reference cycles, switched off for as long as it would only get in the way."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collector() -> Iterator[None]:
    """Without the collector: it would go through hundreds of thousands of objects that are in no cycle, or into what is timed."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
