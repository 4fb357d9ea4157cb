"""The answer of `collage explain --by-targets`: which targets are worth having."""

from __future__ import annotations

from dataclasses import dataclass

from .statements import Statement


@dataclass(frozen=True)
class TargetSet:
    """The best plan over some targets.

    Attributes:
        targets: In the order of the run's.
        used: Those to which the plan gives nodes.
        total_s: Predicted seconds; None where these targets make up no plan, or a cost of it is not known.
        measured_s: Seconds of the plan timed end to end beside that of the run; None where it was not.
        partitions: Of the plan, those of the host not counted.
        is_known: Whether every cost in the plan was measured to its end, or came from where all costs of the run come from.
        against: How the plan compares with that of the run; None where there is no plan.
        text: The time and what it rests on, in words.
    """

    targets: tuple[str, ...]
    used: tuple[str, ...]
    total_s: float | None
    measured_s: float | None
    partitions: int
    is_known: bool
    against: Statement | None
    text: str


@dataclass(frozen=True)
class TargetStep:
    """The best set of so many targets, which all get nodes.

    Attributes:
        total_s, measured_s, is_known: As in `TargetSet`.
        gain: The best set of fewer targets, compared with this one; None for the first.
        text: The targets, their time and what the last of them brings, in words.
    """

    targets: tuple[str, ...]
    total_s: float | None
    measured_s: float | None
    gain: Statement | None
    is_known: bool
    text: str


@dataclass(frozen=True)
class Worth:
    """``GET /api/v1/runs/<id>/worth``: which targets are worth having, as ``collage explain --by-targets`` tells.

    Attributes:
        sets: The fastest first, those without a plan or of unknown time last.
        steps: The best set of each number of targets, as long as one more makes the plan faster.
        as_good: The fewest targets whose plan is within a hundredth of the best.
        text: The answer in one sentence.
        is_whole: False where there was no time for all sets.
    """

    sets: tuple[TargetSet, ...]
    steps: tuple[TargetStep, ...]
    as_good: tuple[str, ...]
    text: str
    is_whole: bool
