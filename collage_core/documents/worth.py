"""The answer of `collage explain --by-targets`: which targets are worth having."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TargetSet:
    """The best plan over some targets.

    Attributes:
        targets: In the order of the run's.
        used: Those to which the plan gives nodes.
        total_s: Predicted seconds; None where these targets make up no plan.
        partitions: Of the plan, those of the host not counted.
        is_known: Whether every cost in the plan was measured to its end, or came from where all costs of the run come from.
    """

    targets: tuple[str, ...]
    used: tuple[str, ...]
    total_s: float | None
    partitions: int
    is_known: bool


@dataclass(frozen=True)
class TargetStep:
    """The best set of so many targets, which all get nodes; `gain_s` seconds over the best of fewer, None for the first."""

    targets: tuple[str, ...]
    total_s: float
    gain_s: float | None
    is_known: bool


@dataclass(frozen=True)
class Worth:
    """``GET /api/v1/runs/<id>/worth``: which targets are worth having, as ``collage explain --by-targets`` tells.

    Attributes:
        sets: The fastest first, those without a plan last.
        steps: The best set of each number of targets, as long as one more makes the plan faster.
        as_good: The fewest targets whose plan is within a hundredth of the best.
        is_whole: False where there was no time for all sets.
    """

    sets: tuple[TargetSet, ...]
    steps: tuple[TargetStep, ...]
    as_good: tuple[str, ...]
    is_whole: bool
