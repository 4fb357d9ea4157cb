"""Every message and resource between the server and the page: one dataclass each, and nothing else.

The TypeScript types in ``frontend/src/protocol.ts`` are generated from this file (``make protocol``); a test fails when
they are stale. Pipeline events are the classes of `collage_core.events`, carried as they are.

Live runs, over Socket.IO (namespace ``/``):

* client → server ``subscribe`` `Subscribe`; answered (acknowledgement) with `Subscribed` or an error.
* server → client ``batch`` `Batch`: numbered events, at most about 20 messages a second. The client answers each with its
  acknowledgement; until then only a small window of batches is sent, and past it thinnable events are dropped and the
  client is told to fetch a snapshot (`Batch.gap`).
* client → server ``unsubscribe`` `Subscribe`.

A client that comes late or returns says in `Subscribe.after` what it has seen. What the ring of batches still holds is
sent again; otherwise `Batch.gap` is true and the client fetches ``GET /api/v1/runs/<id>`` (`RunSnapshot.seq` says up to
which event it is) and drops queued events up to that number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from collage_core import events

EVENTS = (
    events.PhaseStarted,
    events.PhaseEnded,
    events.CandidatesFound,
    events.CandidateBuilding,
    events.CandidateCosted,
    events.SearchProgress,
    events.PlanImproved,
    events.BaselineMeasured,
    events.Verified,
    events.Note,
)
"""The pipeline's events, as they travel: each is its fields and ``type``, the name of its class."""

THINNABLE = (events.CandidateBuilding, events.SearchProgress)
"""Events that may be dropped when there are many; all others are decisions and always arrive."""

RunState = Literal["queued", "running", "done", "cancelled", "failed", "recorded"]


@dataclass(frozen=True)
class ApiError:
    """Body of every error answer, under the key ``error``."""

    code: str
    message: str
    hint: str


@dataclass(frozen=True)
class Subscribe:
    """Sent by a client that opens a run. `after` is the number of the last event that it has, 0 for none."""

    run: str
    after: int = 0


@dataclass(frozen=True)
class Subscribed:
    """Answers `Subscribe`: `seq` is the number of the newest event."""

    run: str
    seq: int


@dataclass(frozen=True)
class Numbered:
    """An event and its number in the run, from 1."""

    seq: int
    event: dict[str, Any]


@dataclass(frozen=True)
class RunStateChanged:
    """The run's state is another one; sent by the server itself, among the numbered events. Never dropped."""

    state: RunState
    error: ApiError | None = None


@dataclass(frozen=True)
class Batch:
    """Some numbered events of a run, in order. `gap` says that events before them were lost: fetch a snapshot."""

    run: str
    items: list[Numbered]
    gap: bool = False


@dataclass(frozen=True)
class ToolchainInfo:
    """``GET /api/v1/toolchains`` lists these."""

    name: str
    letter: str
    style: str
    usable: bool
    version: str
    reason: str
    hint: str
    device: str
    precision: str
    rules: str


@dataclass(frozen=True)
class SampleInfo:
    """``GET /api/v1/samples`` lists these. `recorded` is the id of the recorded run that comes with it, if any."""

    name: str
    title: str
    description: str
    recorded: str | None


@dataclass(frozen=True)
class ModelInfo:
    """``GET /api/v1/models`` lists these; ``POST /api/v1/models`` answers one (multipart ``file`` parts, or JSON
    ``{"sample": name}`` / ``{"path": …}``; ``shapes`` as JSON ``{"input": [1, 3, 224, 224]}``).

    Attributes:
        id: The model's hash.
        folded: How many of the user's nodes were folded away.
    """

    id: str
    name: str
    nodes: int
    folded: int
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    size_bytes: int
    quantised: bool
    sample: str | None = None


@dataclass(frozen=True)
class ModelGraph:
    """``GET /api/v1/models/<id>/graph``: the graph as `DataflowGraph.to_json` gives it, and what was folded away."""

    id: str
    graph: dict[str, Any]
    folded: list[dict[str, Any]]


@dataclass(frozen=True)
class RunRequest:
    """Body of ``POST /api/v1/runs``; answered with a `RunSnapshot`.

    Attributes:
        model: The model's id.
        targets: Names of toolchains, in order of priority.
        constraints: As in a constraints file (design, "Constraints file").
        base: Id of a run whose costs are to be used as they are: only the search runs (a pin, a veto).
        accuracy: Largest relative error; None for the default of the model.
        time_limit_s: None for none.
    """

    model: str
    targets: list[str]
    constraints: list[dict[str, Any]] = field(default_factory=list)
    base: str | None = None
    accuracy: float | None = None
    time_limit_s: float | None = None


@dataclass(frozen=True)
class TargetCounts:
    """How far one target is."""

    name: str
    found: int = 0
    unique: int = 0
    rejected: int = 0
    measured: int = 0
    invalid: int = 0
    cache_hits: int = 0


@dataclass(frozen=True)
class PlanPartition:
    """One partition of a plan (design, `partition`)."""

    id: str
    target: str
    nodes: list[int]
    names: list[str]
    ops: list[str]
    cost_s: float | None
    spread_s: float | None
    samples: int
    source: str
    stability: float | None


@dataclass(frozen=True)
class PlanTransition:
    """A tensor that changes hands; `source` and `target` are names of targets or ``host``."""

    source: str
    target: str
    tensor: str
    bytes: int
    cost_s: float


@dataclass(frozen=True)
class PlanInfo:
    """The best plan so far, or the final one."""

    total_s: float
    partitions: list[PlanPartition]
    transitions: list[PlanTransition]


@dataclass(frozen=True)
class Baseline:
    """A single target alone, or greedy; `total_s` is None where it cannot run the model, with the reason."""

    name: str
    total_s: float | None
    measured_s: float | None
    reason: str = ""


@dataclass(frozen=True)
class VerifyInfo:
    """The assembled plan against the reference; None fields were not done."""

    measured_s: float | None
    additive_error_s: float | None
    max_rel_error: float | None
    accuracy: float
    reference: str | None


@dataclass(frozen=True)
class RunSnapshot:
    """``GET /api/v1/runs/<id>``: everything the page needs to draw the run as of event `seq`."""

    id: str
    state: RunState
    seq: int
    model: str
    model_name: str
    targets: list[str]
    constraints: list[dict[str, Any]]
    created: str
    base: str | None
    machine: str
    phase: str | None
    done: int
    total: int
    counts: list[TargetCounts]
    lower_bound_s: float | None
    best_s: float | None
    optimal: bool | None
    plan: PlanInfo | None
    baselines: list[Baseline]
    verify: VerifyInfo | None
    notes: list[str]
    error: ApiError | None = None


@dataclass(frozen=True)
class NodeCandidate:
    """One row of ``GET /api/v1/runs/<id>/candidates?node=<index>``: a candidate that holds the node.

    Attributes:
        cost: As `Cost.to_json` gives it.
        chosen: It is in the plan.
        regret_s: Least total of a plan that holds it, less the least total; None where not known or in no plan.
    """

    id: str
    target: str
    label: str
    nodes: list[int]
    rule: str
    cost: dict[str, Any]
    chosen: bool
    regret_s: float | None


@dataclass(frozen=True)
class NodeRejection:
    """A target that has no usable candidate for the node, or a sub-graph that was rejected, with the stage and the reason."""

    target: str
    nodes: list[int]
    stage: str
    reason: str


@dataclass(frozen=True)
class NodeCandidates:
    """``GET /api/v1/runs/<id>/candidates?node=<index>``."""

    node: int
    candidates: list[NodeCandidate]
    rejections: list[NodeRejection]


@dataclass(frozen=True)
class Storage:
    """``GET /api/v1/storage``: the one folder in which everything is kept, and its size."""

    folder: str
    size_bytes: int
