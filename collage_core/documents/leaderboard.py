"""The leaderboard of a run that goes on: each toolchain alone, and the best mix so far, as their times get known.

Rows and plain events (`Event.to_json`) enter; rows leave, the fastest first. The terminal and the server make it from the same events.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

MIX = "best mix"
"""Name of the row of the best plan of several partitions."""


@dataclass(frozen=True)
class Leader:
    """A row of the leaderboard.

    Attributes:
        name: Of a target alone, or `MIX`.
        total_s: Of a target alone the time of its largest candidate, of the mix the predicted one; None where that is not known.
        interval_s: Half of its 95 % interval; None where that is not known.
        measured_s: Its time as a whole plan, timed end to end; None before that.
        nodes: Number of nodes that `total_s` is of, of all `of`; 0 before it is known.
        targets: Of the mix, those that have a part of it.
        partitions: Of the mix.
        reason: Why there is no time; empty where there is one, or none yet.
    """

    name: str
    total_s: float | None = None
    interval_s: float | None = None
    measured_s: float | None = None
    nodes: int = 0
    of: int = 0
    targets: tuple[str, ...] = ()
    partitions: int = 0
    reason: str = ""

    @property
    def seconds(self) -> float | None:
        """The time that counts: end to end where that is known."""
        return self.measured_s if self.measured_s is not None else self.total_s


def leaders_after(rows: Iterable[Leader], event: Mapping[str, Any]) -> tuple[Leader, ...]:
    """Return the rows after an event, the fastest first; those of a part of the model and those without a time come last."""
    known = {row.name: row for row in rows}
    kind = event["type"]
    if kind == "PhaseStarted" and event["phase"] == "load":
        known.clear()
    elif kind == "CandidatesFound":
        known.setdefault(event["target"], Leader(event["target"], reason="" if event["candidates"] else "it takes no node of the model"))
    elif kind == "TargetAlone":
        told = {name: event[name] for name in ("total_s", "interval_s", "nodes", "of", "reason")}
        known[event["target"]] = replace(known.get(event["target"], Leader(event["target"])), **told)
    elif kind == "PlanImproved":
        known.pop(MIX, None)
        if len(event["partitions"]) > 1:
            targets = tuple(dict.fromkeys(target for target, _ in event["partitions"]))
            nodes = sum(len(indices) for _, indices in event["partitions"])
            known[MIX] = Leader(MIX, event["total_s"], nodes=nodes, of=nodes, targets=targets, partitions=len(event["partitions"]))
    elif kind == "BaselineMeasured" and event["name"] in known:
        reason = event["reason"] if event["measured_s"] is None else ""
        known[event["name"]] = replace(known[event["name"]], measured_s=event["measured_s"], reason=reason)
    elif kind == "PlanDecided" and event["name"] not in known and MIX in known:
        known[MIX] = replace(known[MIX], measured_s=event["measured_s"])
    return tuple(
        sorted(known.values(), key=lambda row: (row.nodes < row.of, math.inf if row.seconds is None else row.seconds, bool(row.reason)))
    )
