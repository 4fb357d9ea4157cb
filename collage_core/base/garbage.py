"""Switches Python's garbage collector off for a block of code."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collector(*, keeps: bool = False) -> Iterator[None]:
    """Switch the garbage collector off inside the ``with`` block, and on again afterwards if it was on.

    It would only cost time there: it scans hundreds of thousands of objects that are in no cycle, or runs while a kernel is timed.

    Args:
        keeps: The objects that were made inside are needed for long: they join the oldest generation at once, unscanned.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if keeps and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        if was_on:
            gc.enable()
