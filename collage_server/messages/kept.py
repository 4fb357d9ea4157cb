"""Resources of stored data: a run's trace (docs/files.md, "A trace"), what a session brought, and the size of everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .live import ApiError
from .models import ModelInfo


@dataclass(frozen=True)
class TraceStart:
    """Counts up to a step of a trace: states taken, found, and found again by a better way; candidates refused."""

    taken: int
    found: int
    improved: int
    refused: int
    best_s: float | None


@dataclass(frozen=True)
class TraceResult:
    """How a traced search ended. `total_s` is None where it found no plan."""

    algorithm: str
    optimal: bool
    stopped: bool
    total_s: float | None
    lower_bound_s: float
    states: int
    transitions: int
    seconds: float


@dataclass(frozen=True)
class TraceSearch:
    """One search of a trace, or one walk of it: it begins again where its best plan had a cycle between partitions.

    Attributes:
        is_again: It is such another walk.
        first: Its first step.
        candidates: How many it could choose from.
        before: The counts before it.
        bound_s: No plan is below it; with a state's value it is what no plan over that state is below. None where not known.
        result: None for a walk that was followed by another.
    """

    title: str
    is_again: bool
    first: int
    candidates: int
    before: TraceStart
    bound_s: float | None
    result: TraceResult | None


@dataclass(frozen=True)
class TraceFacts:
    """Facts of a whole trace.

    Attributes:
        size_bytes: Of its file; past `bound_bytes` it goes on with decisions alone, and `is_thinned`.
        chunk_steps: How many steps each chunk holds, the last one fewer.
        reasons: Why candidates were not placed; refusing steps say which by its index.
        seconds: How long tracing took.
    """

    steps: int
    chunk_steps: int
    size_bytes: int
    bound_bytes: int
    is_thinned: bool
    nodes: int
    seconds: float
    reasons: list[str]
    searches: list[TraceSearch]


@dataclass(frozen=True)
class TraceState:
    """``GET /api/v1/runs/<id>/trace``: whether the run's search has been traced.

    Attributes:
        steps: How many there are so far, while it is being traced.
        facts: With ``ready``.
        error: With ``failed``.
    """

    run: str
    state: Literal["none", "tracing", "ready", "failed"]
    steps: int = 0
    facts: TraceFacts | None = None
    error: ApiError | None = None


@dataclass(frozen=True)
class TraceCandidate:
    """A candidate in a trace; `number` is its own in the whole trace, `spans` as in `CostedRow`, `source` that of its cost."""

    number: int
    target: str
    label: str
    spans: list[int]
    cost_s: float | None
    source: str


@dataclass(frozen=True)
class TraceChunk:
    """``GET /api/v1/runs/<id>/trace/chunks/<number>``: steps of a trace, one at each index of the columns (docs/files.md, "A trace").

    Attributes:
        first: Number of its first step.
        kinds: One letter a step.
        ways: State, its parent, the candidate placed there, one after another, for every state that the steps need.
        plans: Numbers of candidates; the steps with a plan say which.
        shown: Every candidate that the steps speak of.
    """

    first: int
    kinds: str
    states: list[int]
    parents: list[int]
    candidates: list[int]
    values: list[int]
    ways: list[int]
    plans: list[list[int]]
    shown: list[TraceCandidate]
    start: TraceStart


@dataclass(frozen=True)
class OpenedSession:
    """Answer of ``POST /api/v1/sessions``: what a session file brought (docs/files.md, "A session").

    Attributes:
        runs: Ids of its runs, as they are here.
        added: How many of them were not here before.
        shown: The one to show; None where it has none.
        notice: What is missing, in one sentence; empty where nothing is.
    """

    model: ModelInfo
    runs: list[str]
    added: int
    shown: str | None
    notice: str = ""


@dataclass(frozen=True)
class Storage:
    """``GET /api/v1/storage``: the one folder in which everything is kept, and its size."""

    folder: str
    size_bytes: int
