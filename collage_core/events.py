"""Everything that the pipeline tells while it works: one frozen dataclass an event, plain data, in the order of the phases.

What goes in is what the phases know at that moment; what comes out is drawn by the terminal, the page and the trace.
`server/protocol.py` carries the same classes to the browser. Names of phases are one phrase each, everywhere the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

PHASES = ("load", "specs", "candidates", "costs", "search", "merge", "rewrite", "verify", "baselines")
STEPS = ("largest first", "settle", "search", "merge", "repeat", "decide")
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
    """Measuring and searching go on to another of the `STEPS`. Sent each time, also for a step that was there before."""

    step: str


@dataclass(frozen=True, slots=True)
class CandidatesFound(Event):
    """Phase 2 is done with one target: candidates, how many distinct computations they are, and what was rejected."""

    target: str
    candidates: int
    unique: int
    rejected: int


@dataclass(frozen=True, slots=True)
class CandidateBuilding(Event):
    """A worker starts on a trial; `done` of `total` distinct computations are known. May be thinned.

    Attributes:
        spans: Its nodes, as the first and the last one of each run without gaps, one after another.
        left_s: About how long costing takes still; None while nothing tells that.
        repetition: After the first one it is timed once more, since a plan rests on it.
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
    """The cost of a candidate is known, or why it has none. A decision: never dropped.

    Attributes:
        candidates: Ids of all candidates that are this computation.
        cost: As `Cost.to_json` gives it.
        took_s: How long its trial took, the build included; None where there was none.
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
class PlanConsidered(Event):
    """While costs are measured: the plan that is best as far as one can tell, and says what is measured next. May be thinned.

    Attributes:
        total_s: What it takes at least, with heuristic bounds for what is not measured: an estimate.
        best_s: Least total of a plan that rests on measurements alone; None while there is none.
        partitions: Target, nodes as in `CandidateBuilding`, and whether the cost is known.
    """

    total_s: float
    best_s: float | None
    partitions: tuple[tuple[str, tuple[int, ...], bool], ...]


@dataclass(frozen=True, slots=True)
class SearchProgress(Event):
    """Where the search stands, and its newest state. May be thinned.

    Attributes:
        covered: So many nodes come before the first one that the newest state leaves open.
        placed: That state: the partitions that it has placed, each as target and nodes (as in `CandidateBuilding`).
    """

    states: int
    transitions: int
    frontier: int
    covered: int
    nodes: int
    lower_bound_s: float
    best_s: float | None
    placed: tuple[tuple[str, tuple[int, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class PlanImproved(Event):
    """A better plan: its total and its partitions as (target, nodes). A decision: never dropped."""

    total_s: float
    partitions: tuple[tuple[str, tuple[int, ...]], ...]
    round: int


@dataclass(frozen=True, slots=True)
class BaselineMeasured(Event):
    """A single target alone (or greedy), through the same artifact code."""

    name: str
    total_s: float | None
    measured_s: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Verified(Event):
    """The assembled plan was run and compared with the reference.

    Attributes:
        max_rel_error: The largest relative error of all outputs; None where it is infinite, which JSON cannot say.
    """

    measured_s: float
    max_rel_error: float | None
    accuracy: float


@dataclass(frozen=True, slots=True)
class Note(Event):
    """Something that the user should know: a bound that was hit, a decision within the noise, a worker that died."""

    text: str


Emit = Callable[[Event], None]
"""What the pipeline calls with each event."""


def ignore(event: Event) -> None:
    """Listens to nothing."""
