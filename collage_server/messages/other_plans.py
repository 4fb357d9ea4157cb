"""Resources of other plans on a run's costs: one of the user's own, and the best one over each set of targets."""

from __future__ import annotations

from dataclasses import dataclass

from .runs import PlanInfo


@dataclass(frozen=True)
class UnknownPart:
    """A part of a given plan whose cost is not known to its end, with the reason."""

    id: str
    target: str
    nodes: list[int]
    names: list[str]
    reason: str


@dataclass(frozen=True)
class Against:
    """``POST /api/v1/runs/<id>/against``: a plan of the user's own, on the costs of the run. Nothing is measured, nothing is kept.

    Attributes:
        apparent_loss_s: The total of the run's plan less that of this one; None where a cost is not known.
        ignored: Names of the given plan that the model does not have.
    """

    run: str
    name: str
    plan: PlanInfo
    apparent_loss_s: float | None
    unknown: list[UnknownPart]
    ignored: list[str]


@dataclass(frozen=True)
class TargetSet:
    """The best plan over some targets; fields as in `collage_core.what_if.worth.TargetSet`."""

    targets: list[str]
    used: list[str]
    total_s: float | None
    partitions: int
    is_known: bool


@dataclass(frozen=True)
class TargetStep:
    """The best set of so many targets; `gain_s` over the best of fewer, None for the first."""

    targets: list[str]
    total_s: float
    gain_s: float | None
    is_known: bool


@dataclass(frozen=True)
class Worth:
    """``GET /api/v1/runs/<id>/worth``: which targets are worth having, as ``collage explain --by-targets`` tells.

    Attributes:
        as_good: The fewest targets whose plan is within a hundredth of the best.
        is_whole: False where there was no time for all sets.
    """

    run: str
    sets: list[TargetSet]
    steps: list[TargetStep]
    as_good: list[str]
    is_whole: bool
