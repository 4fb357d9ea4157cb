"""The leaderboard of a run on the terminal: a line for each toolchain alone and for the best mix so far."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.counted import counted
from ..base.durations import duration
from ..documents.leaderboard import MIX, Leader


def leader_lines(rows: Sequence[Leader]) -> list[str]:
    """Return a line for each row, in the order of the rows."""
    width = max((len(_name(row)) for row in rows), default=0)
    return [f"  {_name(row):{width}}  {leader_text(row)}" for row in rows]


def leader_text(row: Leader) -> str:
    """Return what is known of a row."""
    if row.seconds is None:
        return row.reason or "not timed yet"
    if row.measured_s is not None:
        text = f"{duration(row.measured_s)} end to end"
    else:
        off = "" if row.interval_s is None else f" ± {duration(row.interval_s)}"
        text = f"{duration(row.total_s)}{off}" + (" predicted" if row.name == MIX else "")
    if row.name == MIX:
        return f"{text}, {counted(row.partitions, 'partition')} on {' and '.join(row.targets)}"
    return text if row.nodes == row.of else f"{text} for {row.nodes} of {row.of} nodes"


def _name(row: Leader) -> str:
    return row.name if row.name == MIX else f"{row.name} alone"
