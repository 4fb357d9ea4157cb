"""`milliseconds`: a time as text whose unit does not change with its size, for tables and drawings. It imports nothing of ours."""

from __future__ import annotations


def milliseconds(seconds: float, digits: int = 4) -> str:
    """Return ``12.35 ms``, with `digits` significant digits."""
    return f"{seconds * 1e3:.{digits}g} ms"
