"""Events: what the pipeline reports while it works. Each is a frozen dataclass of plain data; they follow the order of the phases.

The phases emit them; the terminal, the page and the trace show them, and `collage_server/protocol.py` sends the same classes to
the browser. A phase has one name, which is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from .documents.plan import MeasuredPlan

PHASES = ("load", "specs", "candidates", "costs", "search", "merge", "rewrite", "verify", "baselines")
STEPS = ("largest first", "profile", "settle", "search", "merge", "repeat", "tune", "decide")
"""The steps of the measuring loop (`pipeline.measure`), within the phases ``costs``, ``search`` and ``merge``."""


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events."""

    def to_json(self) -> dict[str, Any]:
        return {"type": type(self).__name__, **asdict(self)}


@dataclass(frozen=True, slots=True)
class PhaseStarted(Event):
    """A phase begins. Sent once for each phase that runs, in the order of `PHASES`."""

    phase: str


@dataclass(frozen=True, slots=True)
class PhaseEnded(Event):
    """A phase is over after `seconds`."""

    phase: str
    seconds: float


@dataclass(frozen=True, slots=True)
class StepStarted(Event):
    """The measuring loop enters one of the `STEPS`, which it may have been in before.

    Attributes:
        left_s: About how long the run takes still, as the budget has it; None while nobody can tell.
    """

    step: str
    left_s: float | None = None


@dataclass(frozen=True, slots=True)
class CandidatesFound(Event):
    """The candidates of one target are found (phase 2): how many there are, how many distinct computations, and how many rejections."""

    target: str
    candidates: int
    unique: int
    rejected: int


@dataclass(frozen=True, slots=True)
class CandidateBuilding(Event):
    """A worker starts a trial; `done` of about `total` distinct computations are known, a share that never falls. May be thinned.

    Attributes:
        spans: Nodes of the candidate: first and last index of each run without gaps, one after another.
        left_s: As in `StepStarted`.
        repetition: Number of the repetition, from 1; candidates of the best plans are timed more than once.
    """

    target: str
    candidate: str
    label: str
    spans: tuple[int, ...]
    done: int
    total: int
    left_s: float | None = None
    repetition: int = 1


@dataclass(frozen=True, slots=True)
class CandidateCosted(Event):
    """The cost of a candidate, or the reason why it has none, is known. A decision: never dropped.

    Attributes:
        candidates: Ids of all candidates that are the same computation.
        cost: As `Cost.to_json` gives it.
        took_s: Duration of the trial, the build included; None where there was no trial.
        left_s: As in `CandidateBuilding`.
    """

    target: str
    candidates: tuple[str, ...]
    label: str
    cost: dict[str, Any]
    from_cache: bool
    done: int
    total: int
    took_s: float | None = None
    left_s: float | None = None


@dataclass(frozen=True, slots=True)
class TargetAlone(Event):
    """The time of a target alone is known, or the reason why there is none: that of its largest candidate. A decision: never dropped.

    Attributes:
        nodes, of: Number of nodes of the candidate, and of the model.
    """

    target: str
    nodes: int
    of: int
    total_s: float | None
    interval_s: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SearchingBody(Event):
    """A body of an `If`, `Loop` or `Scan` is searched like a model of its own, or its node is measured on the host. May be thinned.

    Attributes:
        doing: ``search`` or ``measure``.
        name: Of the body, such as ``then_branch of pick``, or of the node that is measured.
        number: Which body it is of `count` that are searched, from 1; bodies inside others are not counted.
        done, total: Distinct computations of the body whose cost is known, of about as many; 0 of 0 before they are asked for.
    """

    doing: Literal["search", "measure"]
    name: str
    number: int
    count: int
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class PlanConsidered(Event):
    """The plan that is best by the costs and bounds known so far; its unknown costs are measured next. May be thinned.

    Attributes:
        total_s: Its total, with a heuristic lower bound in the place of each cost that is not measured: an estimate.
        best_s: Least total of a plan whose costs are all measured; None while there is no such plan.
        partitions: Target, nodes as in `CandidateBuilding`, and whether the cost is known.
    """

    total_s: float
    best_s: float | None
    partitions: tuple[tuple[str, tuple[int, ...], bool], ...]


@dataclass(frozen=True, slots=True)
class SearchProgress(Event):
    """Progress of the search, and its newest state. May be thinned.

    Attributes:
        covered: Number of nodes before the first one that the newest state does not cover.
        lower_bound_s, best_s: Of the totals of all plans, and the least so far; None where the search rests on bounds or looks at a part
            of the candidates, as those do that decide what is measured.
        placed: The newest state: the partitions that it has placed, each as target and nodes (as in `CandidateBuilding`).
        placed_s: What these cost together, without transitions; with bounds where the search rests on bounds.
    """

    states: int
    transitions: int
    frontier: int
    covered: int
    nodes: int
    lower_bound_s: float | None
    best_s: float | None
    placed: tuple[tuple[str, tuple[int, ...]], ...] = ()
    placed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class PlanImproved(Event):
    """A better plan was found: its total, and its partitions as (target, nodes). A decision: never dropped."""

    total_s: float
    partitions: tuple[tuple[str, tuple[int, ...]], ...]
    round: int


@dataclass(frozen=True, slots=True)
class ComparingPlans(Event):
    """Whole plans are built, and then timed in turns: the plan, its rivals and the baselines. May be thinned.

    Attributes:
        doing: ``build`` or ``time``.
        name: Of the first plan that is being built; of those that are timed where they are two at most, else empty.
        done: How many plans are built, or rounds over, of about `total`.
        left_s: About how long building and timing take still.
    """

    doing: Literal["build", "time"]
    name: str
    done: int
    total: int
    left_s: float


@dataclass(frozen=True, slots=True)
class BaselineMeasured(Event):
    """A baseline (`rules/partitionings.py` has their names) was built by the same code as the plan, and timed."""

    name: str
    total_s: float | None
    measured_s: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PlanDecided(Event):
    """The plan and its alternatives were timed end to end, turn by turn. A decision: never dropped.

    Attributes:
        decided_by: ``sum`` where the plan of the least sum is the plan; ``whole`` where another one was faster, timed end to end.
        name: The plan's name among the alternatives.
    """

    decided_by: Literal["sum", "whole"]
    name: str
    measured_s: float
    alternatives: tuple[MeasuredPlan, ...]


@dataclass(frozen=True, slots=True)
class Verified(Event):
    """The assembled plan was run and compared with the reference.

    Attributes:
        max_rel_error: Largest relative error over all outputs; None where it is infinite, which JSON has no number for.
    """

    measured_s: float
    max_rel_error: float | None
    accuracy: float


@dataclass(frozen=True, slots=True)
class Note(Event):
    """Something that the user should know, such as a limit that was reached, a decision within the noise, or a worker that died."""

    text: str


Emit = Callable[[Event], None]
"""A function that is called with each event."""


def ignore(event: Event) -> None:
    """Ignore `event`."""
