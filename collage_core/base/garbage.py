"""Switches Python's garbage collector off for a block of code."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collector() -> Iterator[None]:
    """Switch the garbage collector off inside the ``with`` block, and on again afterwards if it was on.

    It would only cost time there: it scans hundreds of thousands of objects that are in no cycle, or runs while a kernel is timed.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
