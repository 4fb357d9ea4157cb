"""The partitions and transitions of a plan, as plan files, documents and the page have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from pydantic import Field

from .cost import Tuned
from .json_form import IfKnown, Seconds


@dataclass(frozen=True, kw_only=True)
class PlanPartition:
    """A partition of the plan: its nodes by index and by name, its target, and its cost with the source of that cost.

    Attributes:
        cost_s: Seconds; None where the cost is unknown.
        spread_s: Half the inter-quartile range of the samples, in seconds.
        samples: Number of timed runs behind the cost.
        source: As in `Cost.source`.
        stability: Share of resamplings of the costs in which the partition stays chosen; None where no cost has an interval, and
            after a search over known costs, which does not resample.
        interval_s: As in `Cost.interval_s`.
        decided_by: ``cost``; ``priority`` where the order of the targets decided, since costs could not; ``whole`` where it is in the
            plan since that was the fastest when timed end to end, though its sum is not the least.
        tuned: How its kernels were tuned; `Tuned.digest` is a key of `Plan.tuning`. None with the default schedules.
        label: The toolchain's name for what it computes (the labels of its composites), such as ``conv2d_relu``; empty where it has none.
        location: The memory where it reads and makes its tensors; left out where that is the host's.
    """

    id: str
    target: str
    nodes: Annotated[tuple[int, ...], Field(min_length=1)]
    names: tuple[str, ...]
    ops: tuple[str, ...]
    cost_s: Seconds | None
    spread_s: float | None = None
    samples: int = 0
    source: str
    stability: float | None = None
    interval_s: float | None = None
    decided_by: str = "cost"
    tuned: Tuned | None = None
    label: str = ""
    location: IfKnown[str] = None


@dataclass(frozen=True, kw_only=True)
class PlanTransition:
    """A transition: a tensor that a partition (or the host) makes and another (or the host) reads.

    Attributes:
        maker, reader: Names of targets, or ``host``; ``from`` and ``to`` in JSON.
        cost_s: Seconds.
    """

    maker: Annotated[str, Field(alias="from")]
    reader: Annotated[str, Field(alias="to")]
    tensor: str
    bytes: Annotated[int, Field(ge=0)]
    cost_s: Seconds


@dataclass(frozen=True, kw_only=True)
class PlanCopy:
    """A copy of a tensor between two locations; it serves all that read the tensor there.

    Attributes:
        source, destination: Locations, such as ``host``; ``from`` and ``to`` in JSON.
        cost_s: Seconds.
        basis: What its time rests on, in words; empty in plans of older versions.
    """

    source: Annotated[str, Field(alias="from")]
    destination: Annotated[str, Field(alias="to")]
    tensor: str
    bytes: Annotated[int, Field(ge=0)]
    cost_s: Seconds
    basis: str = ""


@dataclass(frozen=True, kw_only=True)
class PlanMemory:
    """The bytes of a plan at one location.

    Attributes:
        weights: Bytes of the initializers of its partitions there, each once however many share it.
        peak: The most that is held at once, `weights` among it.
        limit: What the location may hold; None for no limit.
        at_node, node: Index and name of the first node of the partition that runs at the peak.
    """

    location: str
    weights: int
    peak: int
    limit: int | None
    at_node: int
    node: str


@dataclass(frozen=True, kw_only=True)
class PlanParallel:
    """The bound of what running partitions and copies at the same time could save, from the known costs.

    Attributes:
        total_s: The time of the plan one partition after another.
        critical_path_s: The longest chain of partitions and copies that wait for each other.
        work_s: Resource (a device, a direction of a link) → all the time for which it is busy.
        least_s: The largest of these: no schedule takes less.
        gain_at_most: The share of the total that is more than that.
        text: The bound as a sentence.
    """

    total_s: Seconds
    critical_path_s: Seconds
    work_s: Mapping[str, Seconds]
    least_s: Seconds
    gain_at_most: float
    text: str


class Moves(Protocol):
    """A plan with its transitions and copies."""

    @property
    def transitions(self) -> tuple[PlanTransition, ...]: ...

    @property
    def copies(self) -> tuple[PlanCopy, ...] | None: ...


def moves_s(plan: Moves) -> float:
    """Return the seconds of a plan that transitions and copies take."""
    return sum(transition.cost_s for transition in plan.transitions) + sum(copy.cost_s for copy in plan.copies or ())


@dataclass(frozen=True, kw_only=True)
class PlanInfo:
    """A plan as the document of a run has it.

    Attributes:
        total_s: Predicted seconds of one inference.
        total_interval_s: Half of the 95 % interval of `total_s`; None where a cost in it has no interval.
        copies: The copies between locations; left out where all targets are at the host.
        memory: What each location holds; left out in plans of older versions, and so is `parallel`.
        free_transfers: Described targets in it whose descriptions do not say what transfers cost, so that these count as free; left out
            where there are none.
    """

    total_s: Seconds
    total_interval_s: float | None = None
    partitions: tuple[PlanPartition, ...]
    transitions: tuple[PlanTransition, ...] = ()
    copies: IfKnown[tuple[PlanCopy, ...]] = None
    memory: IfKnown[tuple[PlanMemory, ...]] = None
    parallel: IfKnown[PlanParallel] = None
    free_transfers: IfKnown[tuple[str, ...]] = None


@dataclass(frozen=True, kw_only=True)
class PlanPart:
    """The least that is said of a partition: the id of its candidate, its target and its nodes."""

    id: str
    target: str
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class TimedPlan:
    """A plan that was timed end to end beside the plan, or could not be.

    Attributes:
        kind: ``search`` for the plan that the search found, ``rival`` for one whose sum is nearly as good, or ``baseline``.
        total_s: Its predicted time; None where one of its costs is not known.
        measured_s: The time of the run's plan, times the ratio to it over the rounds of both; None where it was not timed.
        interval_s: Half of the 95 % interval of `measured_s`; None where there were too few rounds.
        reason: Why it was not timed; empty where it was.
        is_plan: It is the plan: the partitions are the same.
    """

    name: str
    kind: Literal["search", "rival", "baseline"]
    total_s: Seconds | None
    measured_s: Seconds | None
    interval_s: Seconds | None
    rounds: int
    reason: str
    is_plan: bool


@dataclass(frozen=True)
class MeasuredPlan(TimedPlan):
    """A `TimedPlan` as events and the page have it: with the number of its partitions."""

    partitions: int


@dataclass(frozen=True)
class Baseline:
    """A target alone, ``<target>+host``, ``<target>:<source>``, or greedy; `total_s` is None where there is none, with the reason."""

    name: str
    total_s: Seconds | None
    measured_s: Seconds | None
    reason: str = ""
