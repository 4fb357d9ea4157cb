"""Reads how much memory the machine has left for further processes."""

from __future__ import annotations

import psutil


def available_bytes() -> int:
    """Return the bytes that processes can still get without swapping; caches of files count as free."""
    return int(psutil.virtual_memory().available)
