"""Times as text: `duration` in the unit that fits, `signed` with its sign, `milliseconds` for tables and drawings; `decimal` is any number;
`now` is this moment.

Seconds enter; text without an exponent leaves. It imports nothing of ours.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

_LEAST_S = 0.5e-15
"""Less than that is no time: costs are counted in femtoseconds."""
_UNITS = (("h", 3600.0, 7200.0), ("min", 60.0, 120.0), ("s", 1.0, 1.0), ("ms", 1e-3, 1e-3), ("µs", 1e-6, 1e-6), ("ns", 1e-9, 0.0))
"""Unit, its seconds, and from how many seconds on it is used."""


def duration(seconds: float | None, digits: int = 4) -> str:
    """Return ``12.35 ms``, with `digits` significant digits, in the unit from ns to h that fits the size; a dash for None."""
    if seconds is None:
        return "-"
    if abs(seconds) < _LEAST_S:
        return "0 µs"
    rounded = abs(float(decimal(seconds, digits)))
    unit, scale = next((unit, scale) for unit, scale, least in _UNITS if rounded >= least)
    return f"{decimal(seconds / scale, digits)} {unit}"


def signed(seconds: float | None) -> str:
    """Return a difference as text, with its sign."""
    return "not known" if seconds is None else f"{'-' if seconds < 0 else '+'}{duration(abs(seconds))}"


def milliseconds(seconds: float, digits: int = 4, interval_s: float | None = None) -> str:
    """Return ``12.35 ms``, or ``12.35 ± 0.2 ms``, with `digits` significant digits; the unit does not change with the size."""
    interval = f" ± {decimal(interval_s * 1e3, 2)}" if interval_s is not None else ""
    return f"{decimal(seconds * 1e3, digits)}{interval} ms"


def decimal(value: float, digits: int = 12) -> str:
    """Return `value` with `digits` significant digits and no exponent; a number whose whole part is longer has all of that."""
    text = f"{value:.{digits}g}"
    if "e" not in text:
        return text
    return f"{value:.0f}" if abs(value) >= 1 else format(Decimal(text), "f")


def now() -> str:
    """Return this moment in UTC to the second, as records and documents hold it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
