"""Resources of what measuring left undecided in a run, and what would decide it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class UndecidedPart:
    """A partition of one side of an undecided choice."""

    id: str
    target: str
    nodes: list[int]
    ops: list[str]
    cost_s: float | None
    interval_s: float | None


@dataclass(frozen=True)
class DecisionNeeds:
    """The measuring that would decide a choice.

    Attributes:
        repetitions: Of all computations together.
        is_enough: False where even the most repetitions may leave it open.
        is_assumed: How long a trial takes is assumed.
    """

    seconds: float
    repetitions: int
    computations: int
    is_enough: bool
    is_assumed: bool


@dataclass(frozen=True)
class UndecidedRival:
    """Partitions of the plan, and others that could be better.

    Attributes:
        above_s: By how much the others are slower on known costs.
        width_s: By how much that may be off.
    """

    plan: list[UndecidedPart]
    instead: list[UndecidedPart]
    above_s: float
    width_s: float
    could_gain_s: float
    needs: DecisionNeeds


@dataclass(frozen=True)
class StablePart(UndecidedPart):
    """A partition of the plan, and the share of the draws of the costs in which it stays chosen."""

    stability: float | None
    decided_by: str
    source: str


@dataclass(frozen=True)
class RunUndecided:
    """``GET /api/v1/runs/<id>/undecided``: what ``collage explain --undecided`` tells.

    Attributes:
        is_measured: A cost says by how much it may be off; else nothing can be called undecided.
        toss_ups: Ids of the partitions that stay chosen in few draws.
        rivals: The largest gain first.
        seconds: Of measuring that would decide all of them.
    """

    run: str
    total_s: float
    total_interval_s: float | None
    is_measured: bool
    partitions: list[StablePart]
    toss_ups: list[str]
    rivals: list[UndecidedRival]
    seconds: float
