"""`csv_table`: a table as CSV (RFC 4180) in which no text is a formula to a spreadsheet, and no number has an exponent."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from .durations import decimal

Cell = str | int | float | None

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_table(header: Sequence[str], lines: Iterable[Sequence[Cell]]) -> str:
    """Return a table with `header` over `lines`; numbers have twelve digits, and what a spreadsheet would read as a formula a quote."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows([_safe(cell) for cell in line] for line in lines)
    return text.getvalue()


def _safe(cell: Cell) -> Cell:
    if isinstance(cell, float):
        return decimal(cell)
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
