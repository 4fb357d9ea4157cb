"""`milliseconds`: a time as text whose unit does not change with its size, for tables and drawings. It imports nothing of ours."""

from __future__ import annotations


def milliseconds(seconds: float, digits: int = 4) -> str:
    """Return ``12.35 ms``, with `digits` significant digits; a whole number of milliseconds has all of its own."""
    value = seconds * 1e3
    text = f"{value:.{digits}g}"
    return f"{round(value) if 'e+' in text else text} ms"
