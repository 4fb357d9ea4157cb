"""`RunDocument`: all that a run says, as ``collage partition --json`` prints it and the file of a run keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

from .cost import CostInfo, UnknownCosts
from .json_form import IfKnown, Seconds
from .node_times import PartitionNodeTimes
from .plan import Baseline, MeasuredPlan, PlanInfo, PlanPart, TimedPlan
from .shapes import ShapesInfo
from .verify import Verify

Value = bool | int | float


@dataclass(frozen=True, kw_only=True)
class TensorInfo:
    """A tensor that the host or a node makes, as `Tensor.to_json` gives it.

    Attributes:
        shape: The size of each dimension; None where it depends on data.
        measured_shape: That of the reference run, where a dimension depends on data.
        largest_shape: With the largest size of such dimensions, None where that is not known; left out where none is known.
        symbols: In the graph of a file, where a size is None: every dimension as the file calls it, ``?`` without a name. A single ``…``
            stands for dimensions whose number the file does not say.
    """

    name: str
    shape: tuple[int | None, ...]
    dtype: str
    measured_shape: IfKnown[tuple[int, ...]] = None
    largest_shape: IfKnown[tuple[int | None, ...]] = None
    symbols: IfKnown[tuple[str, ...]] = None


@dataclass(frozen=True, kw_only=True)
class RunModel:
    """The model of a run.

    Attributes:
        nodes: How many.
        fixed: Inputs of the file that are constants here → their values.
        assumed: Dynamic dimensions of the file whose size nobody gave, by symbol or as ``input[axis]`` → the size that they have here.
    """

    name: str
    hash: str
    nodes: int
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    fixed: Mapping[str, Value | tuple[Value, ...]] = field(default_factory=dict)
    assumed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PhaseSeconds:
    """Seconds of each phase; None where it was not done."""

    load_s: float | None = None
    specs_s: float | None = None
    candidates_s: float | None = None
    costs_s: float | None = None
    search_s: float | None = None
    merge_s: float | None = None
    rewrite_s: float | None = None
    verify_s: float | None = None
    baselines_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class TargetInfo:
    """Counts of one target. `candidates`, `deferred` and `invalid` count candidates, the others distinct computations.

    Attributes:
        measured: A trial gave their cost.
        cache_hits: The database had their cost.
        spared: Not measured, since even at their least possible cost no better plan has them.
    """

    name: str
    candidates: int
    unique: int
    deferred: int = 0
    invalid: int
    measured: int
    cache_hits: int
    spared: int = 0


@dataclass(frozen=True, kw_only=True)
class SearchInfo:
    """One search.

    Attributes:
        gap_s: By how much a better plan could be below this one.
        stopped: It ended before it was over.
        transitions: How many moves from one state to another were tried; it has nothing to do with the transitions of a plan.
        seconds: Duration of the search.
    """

    algorithm: str
    optimal: bool
    gap_s: float
    stopped: bool
    total_s: float
    states: int
    transitions: int
    seconds: float
    lower_bound_s: float


@dataclass(frozen=True, kw_only=True)
class RunSearch(SearchInfo):
    """The first search of a run, over the rules' own candidates, and under `final` the last one."""

    final: SearchInfo


@dataclass(frozen=True, kw_only=True)
class RivalInfo:
    """Partitions of the plan, by their ids, and others of the same nodes: measuring could not tell which are faster.

    Attributes:
        above_s: By how much the plan takes longer with `instead`, as far as costs are known.
        could_gain_s: By how much it could become faster with them.
    """

    partitions: tuple[str, ...]
    instead: tuple[PlanPart, ...]
    above_s: float
    could_gain_s: float


@dataclass(frozen=True, kw_only=True)
class RunBudget:
    """The time that measuring took, and the partitions that it left undecided.

    Attributes:
        limit_s: Seconds that the run could take from its start to its answer, but for tuning; None for no limit.
        spent_s: Seconds that measuring took.
        tuned_s: Those of them for tuning.
        first_plan_s: Seconds from the start of the run to its first complete plan.
        undecided: Ids of partitions.
    """

    limit_s: float | None
    spent_s: Seconds
    tuned_s: Seconds = 0.0
    first_plan_s: float | None = None
    undecided: tuple[str, ...]
    rivals: tuple[RivalInfo, ...]


@dataclass(frozen=True)
class Alternative(TimedPlan):
    """A plan that was timed end to end beside the plan; the baselines are among them, also that which is the plan.

    Attributes:
        at_least_s: The lower end of the 95 % interval of `measured_s`; noise reaches farther up than down. Left out where there were too
            few rounds.
    """

    partitions: tuple[PlanPart, ...]
    at_least_s: IfKnown[Seconds] = None

    @property
    def summary(self) -> MeasuredPlan:
        """The same with the number of its partitions."""
        return MeasuredPlan(**{field.name: getattr(self, field.name) for field in fields(TimedPlan)}, partitions=len(self.partitions))


@dataclass(frozen=True)
class BaselineInfo(Baseline):
    """A baseline; that of a partitioning has its partitions, so that whoever explains the plan can tell where the two differ."""

    partitions: IfKnown[tuple[PlanPart, ...]] = None


@dataclass(frozen=True, kw_only=True)
class NodeWithBodies:
    """A node with bodies: who runs it, and how often its bodies ran.

    Attributes:
        runs_on: The target of its partition: the host, which runs its bodies by their own plans, or one that takes it as a whole.
        host: Its cost on the host.
        predicted_s: What its bodies add up to, each as often as it ran; None where that is not known.
    """

    node: int
    name: str
    op: str
    runs_on: str
    host: CostInfo
    predicted_s: Seconds | None = None
    bodies: tuple[BodyPlan, ...]


@dataclass(frozen=True, kw_only=True)
class BodyPlan(PlanInfo):
    """A body, how often it ran in the reference run, and its plan.

    Attributes:
        attribute: Of the node.
        nodes: How many it has.
        bodies: The nodes with bodies in it.
    """

    attribute: str
    runs: int
    nodes: int
    bodies: tuple[NodeWithBodies, ...]


@dataclass(frozen=True)
class CancelledInfo:
    """The phase in which a run was stopped that kept its best plan, and what is missing, one sentence each."""

    phase: str
    missing: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Disturbance:
    """Other load on the machine while whole plans were timed.

    Attributes:
        share: The share of the cores of this process that others kept busy, from 0 to 1.
        text: The same in words.
    """

    share: float
    text: str


@dataclass(frozen=True, kw_only=True)
class RunDocument:
    """All that a run says.

    Attributes:
        budget: None of a run that did not measure.
        decided_by: What decided that the plan is the plan: the ``sum`` of its costs, or the ``whole`` measured; or it was ``given``.
        alternatives: Empty where nothing was timed end to end.
        cancelled: Of a run that its user stopped; None for others, and where nothing is missing.
        unknown_costs: None where every cost is known, if only by a bound.
        disturbance: What disturbed the timing of whole plans; None where nothing did.
        decided_for: Shapes that the plan was decided for, where it is not the fastest of this one.
        shapes: Of a run for several shapes (docs/shapes.md).
        node_times: Times that a profiler gave, of partitions of several nodes.
        regions: Name → the run of each other region of the same module.
        artifacts: Folder → the artifact that was built in it in another form than a module.
    """

    schema: int = 1
    model: RunModel
    phases: PhaseSeconds
    targets: tuple[TargetInfo, ...]
    search: RunSearch
    plan: PlanInfo
    budget: RunBudget | None
    decided_by: Literal["sum", "whole", "given"]
    alternatives: tuple[Alternative, ...]
    bodies: tuple[NodeWithBodies, ...]
    baselines: tuple[BaselineInfo, ...]
    verify: Verify
    cancelled: CancelledInfo | None
    unknown_costs: IfKnown[UnknownCosts] = None
    disturbance: IfKnown[Disturbance] = None
    decided_for: IfKnown[str] = None
    shapes: IfKnown[ShapesInfo] = None
    node_times: IfKnown[tuple[PartitionNodeTimes, ...]] = None
    regions: IfKnown[Mapping[str, RunDocument]] = None
    artifacts: IfKnown[Mapping[str, Verify]] = None
