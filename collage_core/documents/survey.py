"""The table of `collage survey`: what the runs of many models say, a row for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Alone:
    """One target for the whole model.

    Attributes:
        measured_s, predicted_s: Seconds of one inference; None where not known.
        interval_s: Half of the 95 % interval of `measured_s`, relative to the plan that it was timed beside.
        reason: Why it was not measured; empty where it was.
        is_plan: Whether the plan is this.
    """

    target: str
    measured_s: float | None
    predicted_s: float | None
    interval_s: float | None
    reason: str
    is_plan: bool = False


@dataclass(frozen=True)
class PlanTimes:
    """The plan of a run.

    Attributes:
        targets: The targets in it, the host left out.
        max_rel_error: Largest relative error of its artifact's outputs; None where none was built.
    """

    targets: tuple[str, ...]
    partitions: int
    measured_s: float | None
    interval_s: float | None
    predicted_s: float | None
    max_rel_error: float | None


@dataclass(frozen=True)
class Gain:
    """How many times as long the best target alone takes as the plan.

    Attributes:
        low, high: Its 95 % interval; None where the rounds were too few for one.
        basis: ``measured`` or ``predicted``, both times alike.
    """

    ratio: float
    low: float | None
    high: float | None
    basis: str

    @property
    def is_decided(self) -> bool:
        """Return whether the interval lies on one side of 1."""
        return self.low is not None and self.high is not None and (self.low > 1 or self.high < 1)


@dataclass(frozen=True)
class SurveyRow:
    """One model.

    Attributes:
        model: Its name in the table, and that of its folder.
        source: The model as it was named.
        status: ``planned``; ``refused``, since the model or the options do not allow a plan; or ``failed``, by a crash or our fault.
        reason, hint: Why there is no plan, and what to do; empty where there is one.
        seconds: Wall time of its run.
        best_alone: The fastest target alone; empty where none is known.
        verdict: The sentence that leads all that is said of the run; empty where there is no plan.
        why_not: Why the plan gains no more, one sentence each.
    """

    model: str
    source: str
    status: str
    reason: str = ""
    hint: str = ""
    seconds: float = 0.0
    nodes: int | None = None
    alone: tuple[Alone, ...] = ()
    plan: PlanTimes | None = None
    best_alone: str = ""
    gain: Gain | None = None
    why_not: tuple[str, ...] = ()
    verdict: str = ""


@dataclass(frozen=True)
class SurveyTable:
    """The table of a survey.

    Attributes:
        options: Those of every run.
        targets: Names of the targets that were asked for.
    """

    options: Mapping[str, Any]
    targets: tuple[str, ...]
    models: tuple[SurveyRow, ...]
