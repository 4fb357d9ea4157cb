"""The answers of `collage explain --undecided`: what measuring left undecided in a run, what would decide it, and what came of that."""

from __future__ import annotations

from dataclasses import dataclass

from .cost import CostInfo, UnknownCosts
from .plan import PlanPartition
from .statements import Statement


@dataclass(frozen=True)
class UndecidedPart:
    """A partition of one side of an undecided choice; `cost_s` in seconds, `interval_s` half of its 95 % interval."""

    id: str
    target: str
    nodes: tuple[int, ...]
    ops: tuple[str, ...]
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
    """Partitions of the plan, and others that could be better by more than anybody cares.

    Attributes:
        above_s: By how many seconds the others are slower on known costs.
        width_s: By how much that may be off.
        could_gain_s: By how many seconds the plan could become faster with the others.
    """

    plan: tuple[UndecidedPart, ...]
    instead: tuple[UndecidedPart, ...]
    above_s: float
    width_s: float
    could_gain_s: float
    needs: DecisionNeeds


@dataclass(frozen=True)
class StablePart(UndecidedPart):
    """A partition of the plan, and the share of searches with costs varied within their intervals in which it stays chosen."""

    stability: float | None
    decided_by: str
    source: str


@dataclass(frozen=True)
class RunUndecided:
    """``GET /api/v1/runs/<id>/undecided``: what ``collage explain --undecided`` tells.

    Attributes:
        total_s: Predicted seconds of the plan.
        total_interval_s: Half of its 95 % interval; None where not known.
        is_measured: A cost says by how much it may be off; else nothing can be called undecided.
        toss_ups: Ids of the partitions that stay chosen in few draws.
        rivals: The largest gain first.
        seconds: Of measuring that would decide all of them, each computation once.
        unknown_costs: As in `RunDocument`: the rest of the answer leaves them out.
    """

    total_s: float
    total_interval_s: float | None
    is_measured: bool
    partitions: tuple[StablePart, ...]
    toss_ups: tuple[str, ...]
    rivals: tuple[UndecidedRival, ...]
    seconds: float
    unknown_costs: UnknownCosts | None = None


@dataclass(frozen=True)
class RepeatedCost:
    """A candidate whose cost was measured further, with that cost before and after."""

    id: str
    before: CostInfo
    after: CostInfo


@dataclass(frozen=True)
class Decided:
    """The result of measuring further.

    Attributes:
        plan: The partitions of the best plan now, as in the plan file.
        total_s: Its predicted seconds.
        change: How it compares with the run's plan on the costs of now; None where that plan cannot be costed now.
        change_text: The same in words; empty where there is none.
        is_same_plan: It is the plan of the run.
    """

    before: RunUndecided
    after: RunUndecided
    repeated: tuple[RepeatedCost, ...]
    plan: tuple[PlanPartition, ...]
    total_s: float
    change: Statement | None
    change_text: str
    is_same_plan: bool
