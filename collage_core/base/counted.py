"""`counted`: a number and its noun as text. It imports nothing of ours."""

from __future__ import annotations


def counted(number: int, noun: str, many: str = "") -> str:
    """Return ``1 node`` or ``3 nodes``; `many` is the plural where it is not `noun` with an s."""
    return f"{number} {noun if number == 1 else many or f'{noun}s'}"
