"""The answer about the totals of a run: its plan and all that was compared with it, and what decided that it is the plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .statements import PlanTime


@dataclass(frozen=True, kw_only=True)
class TotalRow:
    """A plan of a run with its time.

    Attributes:
        kind: ``plan`` for the plan of the run; the others as in `TimedPlan`.
        rounds: How many times it was timed in turns with the plan; 0 where it was not.
        reason: Why it has no time; empty where it has one.
        against: How it compares with the plan of the run, in words; empty where nobody knows, and for the plan itself.
    """

    name: str
    kind: Literal["plan", "search", "rival", "baseline"]
    time: PlanTime
    rounds: int
    reason: str
    against: str


@dataclass(frozen=True)
class RunTotals:
    """The totals of a run.

    Attributes:
        decision: What decided that the plan is the plan, as one sentence; empty where nothing was timed end to end.
        rows: The plan first; then what was timed end to end, then the others, each the fastest first.
    """

    decision: str
    rows: tuple[TotalRow, ...]
