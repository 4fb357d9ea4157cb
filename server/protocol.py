"""Every message and resource between the server and the page: one dataclass each, and nothing else.

The TypeScript types in ``frontend/src/protocol.ts`` are generated from this file (``make protocol``); a test fails when
they are stale. Pipeline events are the classes of `collage_core.events`, carried as they are.

Live runs, over Socket.IO (namespace ``/``):

* client → server ``subscribe`` `Subscribe`; answered (acknowledgement) with `Subscribed` or ``{"error": ApiError}``.
* server → client ``batch`` `Batch`: numbered events, at most about 20 messages a second. The client answers each with its
  acknowledgement (with no value); until then only a small window of batches is sent.
* client → server ``unsubscribe`` `Subscribe`; answered in the same way.

Numbers ascend and may skip: where there are more thinnable events than a page can draw, some are left out, and nothing
else is. A client that is too slow for the decisions, comes late or returns (`Subscribe.after` says what it has seen)
gets what the server still holds; where that is not all, `Batch.gap` is true and `Batch.after` beyond what the client has.
Then it fetches ``GET /api/v1/runs/<id>`` (`RunSnapshot.seq` says up to which event it is) and drops queued events up to
that number.

When a run ends (`RunStateChanged` with ``done``, ``failed`` or ``cancelled``) the client fetches the snapshot: it holds
the final plan with its costs and transitions. ``POST /api/v1/runs`` with a `RunRequest.base` waits a moment for the
search, so its answer is mostly that snapshot already.
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
    events.PlanConsidered,
    events.SearchProgress,
    events.PlanImproved,
    events.BaselineMeasured,
    events.Verified,
    events.Note,
)
"""The pipeline's events, as they travel: each is its fields and ``type``, the name of its class."""

THINNABLE = (events.CandidateBuilding, events.PlanConsidered, events.SearchProgress)
"""Events that may be dropped when there are many; all others are decisions and always arrive."""

RunState = Literal["queued", "running", "done", "cancelled", "failed", "recorded"]


@dataclass(frozen=True)
class ApiError:
    """Body of every error answer, under the key ``error``."""

    code: str
    message: str
    hint: str


@dataclass(frozen=True)
class ErrorBody:
    """Every answer whose status is 400 or more."""

    error: ApiError


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
    """An event and its number in the run, from 1. `at_s`: on the run's clock, which counts seconds from when it was created."""

    seq: int
    event: dict[str, Any]
    at_s: float = 0.0


@dataclass(frozen=True)
class RunStateChanged:
    """The run's state is another one; sent by the server itself, among the numbered events. Never dropped.

    Attributes:
        error: Why it failed; with ``done``, why the artifact asked for could not be built (the plan stands).
        conflict: Indices in `RunSnapshot.constraints` of a minimal set that cannot hold together.
        uncovered: Nodes that no usable candidate holds.
        artifact: The runnable artifact is built and verified.
    """

    state: RunState
    error: ApiError | None = None
    conflict: list[int] = field(default_factory=list)
    uncovered: list[int] = field(default_factory=list)
    artifact: bool = False


@dataclass(frozen=True)
class Batch:
    """Some numbered events of a run, in order. `gap` says that events before them were lost: fetch a snapshot.

    Attributes:
        after: Every event up to this number was sent before, is left out for being thinnable, or is lost (`gap`).
        now_s: What the run's clock shows when this is sent.
    """

    run: str
    items: list[Numbered]
    gap: bool = False
    after: int = 0
    now_s: float = 0.0


@dataclass(frozen=True)
class PageConfig:
    """What the page is started with: the JSON in the attribute ``data-config`` of its ``#app`` element.

    Attributes:
        prefix: Path under which everything lies, such as ``/tools/collage``; empty at the root. No slash at its end.
        model: Id of the model to open when the address names nothing.
        local_paths: ``POST /api/v1/models`` with ``{"path": …}`` is accepted.
        upload_bytes: Largest upload that is accepted, all files together.
    """

    version: str
    prefix: str
    model: str | None
    local_paths: bool
    upload_bytes: int


@dataclass(frozen=True)
class RuleRejection:
    """How many sub-graphs a rule turned down at a stage, by one check."""

    stage: str
    check: str
    count: int


@dataclass(frozen=True)
class RuleTree:
    """A rule, what it gave and turned down in a run, and the rules below it (`collage_core.rules.tally`).

    Attributes:
        path: Names of the rules from the root to it: that of its candidates begins so, after the target's name.
        options: In words.
        candidates: Those whose path leads through it.
        deferred: Of them, those that are costed only where merging comes to them.
        is_shared: Another rule of the tree has the same path: the counts are of both.
        notes: What was said of the rule itself, such as a pattern that matches nothing.
    """

    path: str
    rule: str
    options: dict[str, str]
    candidates: int
    deferred: int
    is_shared: bool
    rejected: list[RuleRejection]
    notes: list[str]
    of: list[RuleTree]


@dataclass(frozen=True)
class ToolchainInfo:
    """A toolchain that is installed or could be.

    Attributes:
        reason: Why it is not usable.
        hint: The command that mends that.
        described: It is only described, by a text that was saved: its costs are estimates, and nothing can be built for it.
        rules: Its rule tree, as text; where it has none, why.
        tree: The same as data, with counts of 0; None where it has none.
    """

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
    tree: RuleTree | None
    described: bool = False


@dataclass(frozen=True)
class ToolchainList:
    """``GET /api/v1/toolchains``: those that are installed, then those that are only described."""

    toolchains: list[ToolchainInfo]


@dataclass(frozen=True)
class Description:
    """A described toolchain that was saved; `text` is TOML, as for ``--toolchain`` (docs/files.md, "A described toolchain")."""

    name: str
    text: str


@dataclass(frozen=True)
class DescriptionList:
    """``GET /api/v1/described``."""

    toolchains: list[Description]


@dataclass(frozen=True)
class DescriptionText:
    """Body of ``POST /api/v1/described``, which saves it under its own name, and of ``POST /api/v1/described/check``."""

    text: str


@dataclass(frozen=True)
class DescriptionMistake:
    """What is wrong with a description; `line` is counted from 1."""

    line: int
    message: str
    hint: str


@dataclass(frozen=True)
class DescriptionCheck:
    """``POST /api/v1/described/check``: how a description reads; nothing is kept.

    Attributes:
        name: What it calls itself; None where it does not read.
        tree: Its rules.
        has_cost: It has a ``[cost]``, so its costs can be estimated.
    """

    name: str | None
    mistake: DescriptionMistake | None
    tree: RuleTree | None
    has_cost: bool


@dataclass(frozen=True)
class SampleInfo:
    """A bundled model. `recorded` is the id of the recorded run that comes with it, if any."""

    name: str
    title: str
    description: str
    recorded: str | None


@dataclass(frozen=True)
class SampleList:
    """``GET /api/v1/samples``."""

    samples: list[SampleInfo]


@dataclass(frozen=True)
class TensorJson:
    """A tensor that the host or a node makes, as `Tensor.to_json` gives it."""

    name: str
    shape: list[int]
    dtype: str


@dataclass(frozen=True)
class ConstantJson:
    """A weight or other constant, as `Constant.to_json` gives it; `value` only where it is small and shapes the computation."""

    shape: list[int]
    dtype: str
    value: list[float | bool] | None


@dataclass(frozen=True)
class NodeJson:
    """A node of the graph, as `Node.to_json` gives it.

    Attributes:
        id: Its index in the order of the graph.
        kind: E < B < I < R < A < O.
        inputs: Names of tensors and constants; empty where an optional one is absent.
        absorbed: Names of the user's other nodes that folding fused into this one.
        host: It only reshuffles references and is not placed.
    """

    id: int
    name: str
    op: str
    kind: str
    inputs: list[str]
    outputs: list[TensorJson]
    attributes: dict[str, Any]
    absorbed: list[str]
    host: bool


@dataclass(frozen=True)
class GraphJson:
    """The dataflow graph, as `DataflowGraph.to_json` gives it: edges follow from the tensors' names."""

    nodes: list[NodeJson]
    inputs: list[TensorJson]
    outputs: list[str]
    constants: dict[str, ConstantJson]


@dataclass(frozen=True)
class FoldedNodeJson:
    """A node of the user's file that is no node of the graph; `into` names the node that absorbed it, if one did."""

    name: str
    op: str
    into: str | None


@dataclass(frozen=True)
class OpenModel:
    """JSON body of ``POST /api/v1/models``: exactly one of `sample`, `path` and `again`; answered with a `ModelInfo`.

    An upload is multipart instead: a part ``file`` for the model and one for each file of its external data, and
    ``shapes`` as JSON text.

    Attributes:
        path: A file on the server's machine; only where `PageConfig.local_paths` says so.
        again: Id of a model whose file has changed: what lies there now is opened, with the same shapes.
        shapes: Input name to shape, such as ``{"x": [1, 3, 224, 224]}``.
    """

    sample: str | None = None
    path: str | None = None
    again: str | None = None
    shapes: dict[str, list[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelInfo:
    """``GET /api/v1/models/<id>``: a model that was opened.

    Attributes:
        id: The model's hash.
        folded: How many of the user's nodes were folded away.
        size_bytes: The file with its external data.
        sample: Name of the bundled model that it is, if it is one.
        stale: The file was changed or removed since; open it again.
    """

    id: str
    name: str
    nodes: int
    folded: int
    inputs: list[TensorJson]
    outputs: list[TensorJson]
    size_bytes: int
    quantised: bool
    sample: str | None = None
    stale: bool = False


@dataclass(frozen=True)
class ModelList:
    """``GET /api/v1/models``, newest first."""

    models: list[ModelInfo]


@dataclass(frozen=True)
class ModelGraph:
    """``GET /api/v1/models/<id>/graph``: the graph as `DataflowGraph.to_json` gives it, and what was folded away."""

    id: str
    graph: GraphJson
    folded: list[FoldedNodeJson]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a run goes about it, as `collage partition` takes it too; what is left out is left to the engine.

    In what is said of each target, an empty name stands for all others.

    Attributes:
        accuracy: Largest relative error; None for the default of the model, or that of the base.
        time_limit_s: None for none.
        max_depth: Bound on every candidate of a target's rules.
        max_exits: Exits of combined candidates.
        taps: Targets whose combined candidates may be read inside and outside.
        fusion: How a target's calls combine: ``none``, ``tvm`` or ``arbitrary``.
        threads: Of every kernel; None for the usable cores.
        percentile: Of the measured samples: what counts as the cost.
        measure_all: Measure every candidate, not only those that can matter.
        search: Name of the searcher.
        objective: What plans are chosen by.
    """

    accuracy: float | None = None
    time_limit_s: float | None = None
    max_depth: dict[str, int] = field(default_factory=dict)
    max_exits: dict[str, int] = field(default_factory=dict)
    taps: list[str] = field(default_factory=list)
    fusion: dict[str, str] = field(default_factory=dict)
    threads: int | None = None
    percentile: float | None = None
    measure_all: bool = False
    search: str | None = None
    objective: str | None = None

    def given(self) -> dict[str, Any]:
        """Those that say something."""
        values = {name: getattr(self, name) for name in RunOptions.__dataclass_fields__}
        return {name: value for name, value in values.items() if value is not None and value is not False and value not in ({}, [])}


@dataclass(frozen=True)
class NodeGroupJson:
    """Nodes that follow one another and can be shown as one.

    Attributes:
        first: The first node; the group holds `count` of them.
        times: How many equal blocks they are, one after the other; 1 where they are no repeat.
        is_alike: The blocks have the same operators and edges, and other sizes.
    """

    first: int
    count: int
    name: str
    times: int
    is_alike: bool


@dataclass(frozen=True)
class ModelGroups:
    """``GET /api/v1/models/<id>/groups``: ways to show a large model as few boxes.

    Attributes:
        repeats: Repeated blocks; no two overlap.
        scopes: The scopes of the nodes' names as a tree: a group stands before those inside it.
        sections: The whole model as some hundred stretches, cut where few tensors pass.
    """

    id: str
    repeats: list[NodeGroupJson]
    scopes: list[NodeGroupJson]
    sections: list[NodeGroupJson]


@dataclass(frozen=True)
class LayoutJson:
    """``GET`` and ``PUT /api/v1/models/<id>/layouts/<key>``: where boxes stand and edges run, as some page laid them out.

    The key is the page's digest of everything that the layout depends on: sizes, edges and their order.

    Attributes:
        centres: x, y of each box.
        points: x, y of all points of all edges, one edge after another.
        offsets: Per edge where its points begin in `points`; one more entry at the end.
        labels: Per edge x, y of its label's centre; null twice where it has none.
    """

    centres: list[float]
    points: list[float]
    offsets: list[int]
    labels: list[float | None]


@dataclass(frozen=True)
class DotCluster:
    """Nodes that are drawn together, with a border of a colour, ``#rrggbb``."""

    label: str
    colour: str
    nodes: list[int]


@dataclass(frozen=True)
class DotRequest:
    """Body of ``POST /api/v1/models/<id>/dot``; answered with the graph as DOT, for Graphviz.

    Attributes:
        fills: The colour of each node, in order, ``#rrggbb`` or None; empty for none.
        clusters: `DotCluster`s.
    """

    title: str
    fills: list[str | None] = field(default_factory=list)
    clusters: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class CheckOptions(RunOptions):
    """Body of ``POST /api/v1/options``; answered with `OptionProblems`."""

    targets: list[str]


@dataclass(frozen=True)
class OptionProblem:
    """What is wrong with an option, or with what it says of `target`, where it speaks of several."""

    option: str
    target: str
    message: str
    hint: str


@dataclass(frozen=True)
class OptionProblems:
    """``POST /api/v1/options``: everything that is wrong; a run with such options would not start."""

    problems: list[OptionProblem]


@dataclass(frozen=True)
class RunRequest(RunOptions):
    """Body of ``POST /api/v1/runs``; answered with a `RunSnapshot`.

    Attributes:
        model: The model's id.
        targets: Names of toolchains, in order of priority.
        constraints: As in a constraints file (design, "Constraints file").
        base: Id of a run whose costs are to be used as they are: only the search runs (a pin, a veto), under its options.
        measure: With `base`, id of a candidate of it that is measured afresh first; targets and constraints are those of the base.
        toolchain: Text of a described toolchain that is tried beside the costs of `base`; it need not be saved, nor be among `targets`.
    """

    model: str
    targets: list[str]
    constraints: list[dict[str, Any]] = field(default_factory=list)
    base: str | None = None
    measure: str | None = None
    toolchain: str | None = None


@dataclass(frozen=True)
class WhatIfRequest:
    """Body of ``POST /api/v1/runs/<id>/what-if``, answered with `WhatIf`, and of ``…/effects``, answered with `Effects`.

    Attributes:
        targets: Those that may be used; the others of the run are switched off.
        constraints: As in `RunRequest`.
        accuracy: Largest relative error of a partition; None for that of the run.
        groups: For the effects: indices in `constraints` of those that are taken back together.
    """

    targets: list[str]
    constraints: list[dict[str, Any]] = field(default_factory=list)
    accuracy: float | None = None
    groups: list[list[int]] = field(default_factory=list)


@dataclass(frozen=True)
class TargetCounts:
    """How far one target is. Candidates were `found` and sub-graphs `rejected`; the rest is of distinct computations.

    Attributes:
        measured: A trial gave a cost.
        invalid: There is no cost, whoever says so.
        cache_hits: The cost was known.
        built: Trials that got as far as a built candidate.
        spared: Not measured, since no better plan has them even at the least that they may cost.
        trials: How many were made, in `trials_s` seconds together.
    """

    name: str
    found: int = 0
    unique: int = 0
    rejected: int = 0
    measured: int = 0
    invalid: int = 0
    cache_hits: int = 0
    built: int = 0
    spared: int = 0
    trials: int = 0
    trials_s: float = 0.0


@dataclass(frozen=True)
class PhaseTime:
    """A phase that has begun. `started_s` is on the run's clock; `seconds` is None until the phase is over."""

    phase: str
    started_s: float | None
    seconds: float | None


@dataclass(frozen=True)
class Doing:
    """The trial that was begun last; `spans` as in `CostedRow`, `since_s` on the run's clock, `sitting` as in `CandidateBuilding`."""

    target: str
    label: str
    spans: list[int]
    since_s: float
    sitting: int = 1


@dataclass(frozen=True)
class SearchStand:
    """Where a search stands, as `SearchProgress` tells it."""

    states: int
    frontier: int
    covered: int
    nodes: int


@dataclass(frozen=True)
class ConvergencePoint:
    """From `seconds` on the run's clock, until the next point: the best total so far, and what no plan is below; None while not known.

    Attributes:
        bound_s: Proven by the search that goes on.
        estimate_s: While costs are measured: an estimate (`ConsideredPlan.total_s`).
    """

    seconds: float
    best_s: float | None
    bound_s: float | None
    estimate_s: float | None = None


@dataclass(frozen=True)
class ConsideredPart:
    """A partition of a `ConsideredPlan`; `spans` as in `CostedRow`."""

    target: str
    spans: list[int]
    is_known: bool


@dataclass(frozen=True)
class ConsideredPlan:
    """The plan that says what is measured next. `total_s` is an estimate: it takes heuristic bounds for costs that are not known."""

    total_s: float
    partitions: list[ConsideredPart]


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
    accuracy: float | None
    reference: str | None


@dataclass(frozen=True)
class RunSnapshot:
    """``GET /api/v1/runs/<id>``: everything the page needs to draw the run as of event `seq`.

    Attributes:
        created: ISO 8601, UTC.
        machine: Where its costs were measured.
        done: Distinct computations whose cost is known, of `total`.
        now_s: What the run's clock shows when this is sent, or what it showed at the last event.
        phases: Those that have begun, in the order in which they did.
        doing: While costs are measured.
        ends_s: When costing is over, about, on the run's clock; None while nothing tells that.
        search: While a search goes on.
        considered: While costs are measured.
        convergence: How best total and bound went; thinned, so that it is never long.
        plan: The best plan so far (costs and transitions may be missing), or the final one.
        conflict: Indices in `constraints` of a minimal set that cannot hold together.
        uncovered: Nodes that no usable candidate holds.
        artifact: The runnable artifact is built and verified: the export holds it.
        recorded: Its costs come with the product and were not measured by this installation.
        accuracy: The largest relative error that was asked for; None where none was.
        remeasured: Id of the candidate that it measured afresh; it is on the other costs of its `base`.
        options: As far as they were given.
        described: Those of the targets that are only described: their costs are estimates.
        has_own_costs: It knows costs that its base does not, since a described toolchain was tried beside it.
    """

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
    conflict: list[int] = field(default_factory=list)
    uncovered: list[int] = field(default_factory=list)
    artifact: bool = False
    recorded: bool = False
    now_s: float = 0.0
    phases: list[PhaseTime] = field(default_factory=list)
    doing: Doing | None = None
    ends_s: float | None = None
    search: SearchStand | None = None
    considered: ConsideredPlan | None = None
    convergence: list[ConvergencePoint] = field(default_factory=list)
    accuracy: float | None = None
    remeasured: str | None = None
    options: RunOptions = field(default_factory=RunOptions)
    described: list[str] = field(default_factory=list)
    has_own_costs: bool = False


@dataclass(frozen=True)
class RunMarks:
    """Body of ``PATCH /api/v1/runs/<id>``; answered with a `RunSummary`. What is None stays as it is.

    Attributes:
        name: What its user calls it; empty for nothing.
    """

    name: str | None = None
    note: str | None = None
    is_starred: bool | None = None


@dataclass(frozen=True)
class RunSummary:
    """One row of ``GET /api/v1/runs``.

    Attributes:
        total_s: Total of the best plan, if there is one.
        by_target: Target → what its partitions take together, in seconds.
        moves_s: What handing over takes, of the total.
        constraints: How many there are.
        artifact, recorded, remeasured: As in `RunSnapshot`.
        name, note, is_starred: As in `RunMarks`.
    """

    id: str
    state: RunState
    model: str
    model_name: str
    targets: list[str]
    constraints: int
    created: str
    base: str | None
    machine: str
    total_s: float | None
    artifact: bool
    by_target: dict[str, float] = field(default_factory=dict)
    moves_s: float | None = None
    optimal: bool | None = None
    verify: VerifyInfo | None = None
    recorded: bool = False
    remeasured: str | None = None
    name: str = ""
    note: str = ""
    is_starred: bool = False


@dataclass(frozen=True)
class RunList:
    """``GET /api/v1/runs``: recorded runs too; newest first."""

    runs: list[RunSummary]


@dataclass(frozen=True)
class RunLog:
    """``GET /api/v1/runs/<id>/log``: the newest decisions of a run, in order; `is_cut` says that there were more."""

    run: str
    items: list[Numbered]
    is_cut: bool


@dataclass(frozen=True)
class NodeCandidate:
    """One row of ``GET /api/v1/runs/<id>/candidates?node=<index>``: a candidate that holds the node.

    Attributes:
        cost: As `Cost.to_json` gives it.
        times: How many candidates of the target are this computation.
        chosen: It is in the plan.
        regret_s: Least total of a plan that holds it, less the least total; None where not known or in no plan.
        regret_at_least_s: A proven lower bound of it, where it takes too long to know it exactly; else the same.
    """

    id: str
    target: str
    label: str
    nodes: list[int]
    rule: str
    times: int
    cost: dict[str, Any]
    chosen: bool
    regret_s: float | None
    regret_at_least_s: float | None


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
class CostedRow:
    """One row of `RunCandidates`: a candidate that was costed, the invalid ones too.

    Attributes:
        spans: Its nodes, in pairs of the first and the last one of a run without gaps: ``[0, 3, 7, 7]`` is 0, 1, 2, 3 and 7.
        times: How many candidates of the target are this computation.
        cost: As `Cost.to_json` gives it.
        chosen: It is in the plan.
        regret_s: Least total of a plan that holds it, less the least total; None where that is not known or there is no such plan.
        in_no_plan: It is known that no plan holds it.
    """

    id: str
    target: str
    label: str
    rule: str
    spans: list[int]
    times: int
    cost: dict[str, Any]
    chosen: bool
    regret_s: float | None
    in_no_plan: bool


@dataclass(frozen=True)
class CandidateRegret:
    """What insisting on a candidate costs; fields as in `NodeCandidate` and `CostedRow`."""

    id: str
    regret_s: float | None
    regret_at_least_s: float | None
    in_no_plan: bool


@dataclass(frozen=True)
class RegretRequest:
    """Body of ``POST /api/v1/runs/<id>/regrets``: ids of candidates, at most 200."""

    candidates: list[str]


@dataclass(frozen=True)
class RunRegrets:
    """Answers `RegretRequest`: worked out when asked for, within a second; those that cannot be used are left out."""

    run: str
    regrets: list[CandidateRegret]


@dataclass(frozen=True)
class RejectedRow:
    """A sub-graph that became no candidate; `spans` as in `CostedRow`. Of each sort of rejection only some are kept.

    Attributes:
        rule: Names of the rules from the one that rejected it down.
    """

    target: str
    spans: list[int]
    rule: str
    stage: str
    reason: str


@dataclass(frozen=True)
class RunCandidates:
    """``GET /api/v1/runs/<id>/candidates``: every candidate that was costed, and what the rules rejected."""

    run: str
    candidates: list[CostedRow]
    rejections: list[RejectedRow]


@dataclass(frozen=True)
class RunSpec:
    """A rule tree of a run, and the targets that share it: its rules ran once for all of them.

    Attributes:
        is_sample: The run is of a version that did not count rejections: these are at least so many.
        merged: Target → further candidates, made of neighbours after a search.
        invalid: Target → stage → how many of its candidates came to nothing there.
    """

    targets: list[str]
    tree: RuleTree
    is_sample: bool
    merged: dict[str, int]
    invalid: dict[str, dict[str, int]]


@dataclass(frozen=True)
class RunRules:
    """``GET /api/v1/runs/<id>/rules``: the specs of the run, the host's last."""

    run: str
    specs: list[RunSpec]


@dataclass(frozen=True)
class BaselinePlan:
    """``GET /api/v1/runs/<id>/baselines/<name>/plan``: how a single target alone, or greedy, cuts the model, on the run's costs."""

    run: str
    name: str
    plan: PlanInfo


@dataclass(frozen=True)
class WhatIf:
    """The best plan on a run's costs under other terms. Nothing of it is kept: ``POST /api/v1/runs`` with a `base` keeps it.

    Attributes:
        plan: None where no plan holds the terms.
        optimal: No better plan holds them.
        untimed: Candidates that are accurate enough now, and were not when the run measured: what they take is not known.
        error: Why there is no plan.
        conflict: Indices in the request's constraints of those that cannot hold together.
        off: Targets that are switched off, and cannot be beside these.
        uncovered: Nodes that no usable candidate holds.
    """

    run: str
    plan: PlanInfo | None
    optimal: bool = False
    untimed: int = 0
    error: ApiError | None = None
    conflict: list[int] = field(default_factory=list)
    off: list[str] = field(default_factory=list)
    uncovered: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Effect:
    """What one of the terms does.

    Attributes:
        alone_s: The best total under it alone, less the best total under none; None where no plan holds it.
        saves_s: The best total under all terms, less the best under all others; None where no plan holds them.
        refuses: How many candidates it forbids.
    """

    alone_s: float | None
    saves_s: float | None
    refuses: int


@dataclass(frozen=True)
class Effects:
    """The effects of the groups asked for, of each target that is switched off, and of the accuracy where another was given.

    Those that took too long are missing: at the end of `groups`, among the targets, or None.
    """

    run: str
    groups: list[Effect]
    off: dict[str, Effect]
    accuracy: Effect | None


@dataclass(frozen=True)
class TraceStart:
    """What was counted before some step of a trace: states taken, found, found again by a better way; candidates refused."""

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
        before: What was counted before it.
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
    """What is said of a whole trace.

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
    """``GET /api/v1/runs/<id>/trace/chunks/<number>``: steps of a trace, one in each place of the columns (docs/files.md, "A trace").

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
class Storage:
    """``GET /api/v1/storage``: the one folder in which everything is kept, and its size."""

    folder: str
    size_bytes: int
