"""Resources of runs: the snapshot of one, its plan, and the list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from collage_core.documents.leaderboard import Leader
from collage_core.documents.plan import Baseline, MeasuredPlan, PlanInfo
from collage_core.documents.run import CancelledInfo, RivalInfo
from collage_core.documents.statements import PlanTime
from collage_core.documents.verdict import Verdict
from collage_core.documents.verify import VerifyInfo

from .live import ApiError, Numbered, RunState
from .requests import RunOptions


@dataclass(frozen=True)
class TargetCounts:
    """Counts of one target. `found` counts candidates and `rejected` sub-graphs; the others count distinct computations.

    Attributes:
        measured: A trial gave their cost.
        invalid: They have no cost, whether a trial or the database says so.
        cache_hits: Their cost was known.
        built: Trials that got as far as a built candidate.
        spared: Not measured, since even at their least possible cost no better plan has them.
        trials: How many were made; together they took `trials_s` seconds.
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
    """The trial that began last; `spans` as in `CostedRow`, `since_s` on the run's clock, `repetition` as in `CandidateBuilding`."""

    target: str
    label: str
    spans: list[int]
    since_s: float
    repetition: int = 1


@dataclass(frozen=True)
class NewCost:
    """A cost that got known while the run goes on, as `CandidateCosted` told it; `seconds` is None where there is a `reason`."""

    target: str
    label: str
    seconds: float | None
    interval_s: float | None
    reason: str


@dataclass(frozen=True)
class PlacedPart:
    """A partition of a search's newest state; `spans` as in `CostedRow`."""

    target: str
    spans: list[int]


@dataclass(frozen=True)
class SearchStand:
    """The progress of a search and its newest state, as `SearchProgress` has them.

    Attributes:
        least_s: No plan is below it, as far as the search has come; None where the search rests on bounds.
    """

    states: int
    frontier: int
    covered: int
    nodes: int
    placed: list[PlacedPart] = field(default_factory=list)
    placed_s: float = 0.0
    least_s: float | None = None


@dataclass(frozen=True)
class ConvergencePoint:
    """The best total so far and its lower bound, from `seconds` on the run's clock until the next point; None while not known.

    Attributes:
        bound_s: No plan is below it, as the present search has proven.
        estimate_s: While costs are measured, `ConsideredPlan.total_s`.
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
    """The plan that decides what is measured next. `total_s` is an estimate: heuristic bounds stand in for unknown costs."""

    total_s: float
    partitions: list[ConsideredPart]


@dataclass(frozen=True)
class BudgetInfo:
    """The seconds that the run could take (None for no limit), those that measuring took, and what it left undecided."""

    limit_s: float | None
    spent_s: float
    undecided: tuple[RivalInfo, ...]


@dataclass(frozen=True)
class Comparing:
    """The progress that `ComparingPlans` told last."""

    doing: Literal["build", "time"]
    name: str
    done: int
    total: int


@dataclass(frozen=True)
class BodyProgress:
    """The progress that `SearchingBody` told last."""

    doing: Literal["search", "measure"]
    name: str
    number: int
    count: int
    done: int
    total: int


@dataclass(frozen=True)
class RunSnapshot:
    """``GET /api/v1/runs/<id>``: everything the page needs to draw the run as of event `seq`.

    Attributes:
        created: ISO 8601, UTC.
        machine: The machine that measured its costs.
        done: Distinct computations whose cost is known, of `total`.
        now_s: The time on the run's clock when this is sent, or at the last event of a run that has ended.
        phases: Those that have begun, in their order.
        step: Of the measuring loop, as its latest `StepStarted` says; None outside of it.
        doing: While a candidate is measured, the trial; None while a search goes on.
        ends_s: The time on the run's clock at which it will be over, about; None while that cannot be estimated.
        comparing: While whole plans are built and timed, how far that is.
        body: While a body of a node is searched, how far that is.
        leaders: The leaderboard, from the first candidates on; it stays as it was at the end.
        new_costs: The costs that got known last, the newest first.
        waits_for: While it is queued, what it waits for, in words.
        search: While a search goes on, its progress, also that of a search that decides what is measured next.
        considered: While costs are measured, the plan that decides what is measured next.
        convergence: The course of best total and bound; thinned, so that it is never long.
        plan: The best plan so far (costs and transitions may be missing), or the final one.
        time: What is known of the time of the plan; None while it may still change.
        verdict: The sentence that leads all that is said of the plan; None while it may still change.
        decided_by: What decided that it is the plan, as in `PlanDecided`, or ``given``, of a plan of the user's own; None where nothing
            was timed end to end.
        alternatives: Baselines and other plans that were timed end to end, as in `PlanDecided`.
        groups, costs: As in `RunRequest`.
        conflict: Indices in `constraints` of a minimal set that cannot hold together.
        uncovered: Nodes that no usable candidate holds.
        artifact: The runnable artifact is built and verified: the export holds it.
        recorded: Its costs come with a sample; this installation did not measure them.
        accuracy: The largest relative error that was asked for; None where none was.
        remeasured: Id of the candidate that it measured afresh; all other costs are those of its `base`.
        options: Those that were given.
        described: The targets that are only described: their costs are estimates.
        has_own_costs: It knows costs that its base does not, since a described toolchain was tried beside it, or more was measured.
        budget: Of a run that measured, once it is over.
        cancelled: Of a run that was stopped and kept its best plan; None for others, and where nothing is missing.
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
    phase: str | None = None
    step: str | None = None
    done: int = 0
    total: int = 0
    counts: list[TargetCounts] = field(default_factory=list)
    lower_bound_s: float | None = None
    best_s: float | None = None
    optimal: bool | None = None
    plan: PlanInfo | None = None
    baselines: list[Baseline] = field(default_factory=list)
    time: PlanTime | None = None
    verdict: Verdict | None = None
    decided_by: Literal["sum", "whole", "given"] | None = None
    alternatives: list[MeasuredPlan] = field(default_factory=list)
    verify: VerifyInfo | None = None
    notes: list[str] = field(default_factory=list)
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
    budget: BudgetInfo | None = None
    cancelled: CancelledInfo | None = None
    comparing: Comparing | None = None
    body: BodyProgress | None = None
    leaders: tuple[Leader, ...] = ()
    new_costs: list[NewCost] = field(default_factory=list)
    waits_for: str = ""
    groups: list[list[int]] = field(default_factory=list)
    costs: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RunMarks:
    """Body of ``PATCH /api/v1/runs/<id>``; answered with a `RunSummary`. A field that is None stays as it is.

    Attributes:
        name: The name that its user gave it; empty for none.
    """

    name: str | None = None
    note: str | None = None
    is_starred: bool | None = None


@dataclass(frozen=True)
class PlanResult:
    """The time of a plan, and the verdict on it.

    Attributes:
        is_measured: `total_s` was timed end to end, beside other plans; else it is the predicted time.
        text, is_good: As in `Verdict`; empty where nothing is compared.
    """

    total_s: float
    is_measured: bool
    text: str
    is_good: bool


@dataclass(frozen=True)
class RunSummary:
    """One row of ``GET /api/v1/runs``.

    Attributes:
        total_s: Predicted total of the best plan, if there is one.
        measured_s: Of the plan, timed end to end beside its baselines; None where it was not, or by itself alone (`VerifyInfo.apart`).
        result: Of a run that has ended with a plan.
        by_target: Target → what its partitions take together, in seconds.
        moves_s: The part of the total that transitions and copies take.
        constraints: How many decisions they are; their number where the decisions are not known.
        artifact, recorded, remeasured, options: As in `RunSnapshot`.
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
    options: RunOptions = field(default_factory=RunOptions)
    name: str = ""
    note: str = ""
    is_starred: bool = False
    result: PlanResult | None = None
    measured_s: float | None = None


@dataclass(frozen=True)
class RunList:
    """``GET /api/v1/runs``: recorded runs too; newest first."""

    runs: list[RunSummary]


@dataclass(frozen=True)
class Shipped:
    """A file of an export, or a command that uses them, and what it is for."""

    name: str
    says: str


Form = Literal["module", "pieces", "native"]
"""The forms of an artifact, as docs/deploy.md has them."""

AskedForm = Literal["auto", "module", "pieces", "native"]
"""A form as a user asks for it; ``auto`` is the first of native, pieces and module that the plan can have."""


@dataclass(frozen=True)
class ArtifactRequest:
    """Body of ``POST /api/v1/runs/<id>/artifact``; answered with a `RunSnapshot`.

    Attributes:
        form: None for the form of the artifact that is there, and for a module where there is none.
    """

    form: AskedForm | None = None


@dataclass(frozen=True)
class ExportInfo:
    """``GET /api/v1/runs/<id>/export/contents``: what the zip holds, and the commands that use it there.

    Attributes:
        form: The form of the artifact in it; None where it holds none.
        exports: The files that are made when they are asked for, by ``GET /api/v1/runs/<id>/exports/<name>``.
        why_not: Form → why the artifact of this plan cannot have it, of the forms that it cannot have.
    """

    files: list[Shipped]
    commands: list[Shipped]
    form: Form | None = None
    exports: list[Shipped] = field(default_factory=list)
    why_not: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunLog:
    """``GET /api/v1/runs/<id>/log``: the newest decisions of a run, in order; `is_cut` says that there were more."""

    run: str
    items: list[Numbered]
    is_cut: bool
