"""`CostInfo` and `Tuned`: a cost as documents and files have it."""

from __future__ import annotations

from dataclasses import dataclass

from .json_form import Seconds


@dataclass(frozen=True, slots=True)
class Tuned:
    """How tuning changed a cost.

    Attributes:
        digest: Name of the schedules (`Plan.tuning`).
        untuned_s: Seconds with the default schedules.
        spent_s: Seconds that tuning took, in all runs.
        trials: Number of schedules that were tried.
    """

    digest: str
    untuned_s: Seconds
    spent_s: Seconds
    trials: int


@dataclass(frozen=True, slots=True)
class CostInfo:
    """A cost as documents have it; `cost.Cost` has these attributes, and says what they are."""

    seconds: Seconds | None
    source: str
    spread_s: Seconds | None = None
    samples: int = 0
    stage: str = ""
    reason: str = ""
    stopped_early: bool = False
    error: float | None = None
    interval_s: Seconds | None = None
    tuned: Tuned | None = None
    alone_s: Seconds | None = None


@dataclass(frozen=True, slots=True)
class UnknownCosts:
    """How many of the costs of a run nobody knows.

    Attributes:
        costs: Of candidates that a plan may hold; those of the host are not counted.
        text: The same in words, with what is not known therefore.
    """

    unknown: int
    costs: int
    text: str
