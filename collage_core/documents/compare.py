"""The answers of `collage compare` and `collage explain --against`: two plans of one model, or two cost databases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .explain import ExplainedNode
from .json_form import IfKnown
from .plan import PlanInfo
from .statements import PlanTime, Statement


@dataclass(frozen=True)
class ComparedPlan:
    """One of two plans.

    Attributes:
        name: The run, the baseline or the file that it comes from.
        total_s: Predicted seconds of one inference; None where a cost is not known.
        total_interval_s, interval_s: Half of the 95 % interval of `total_s` and of `measured_s`; None where not known.
        measured_s: Seconds, measured end to end; None where it was not.
        transitions_s: The part of `total_s` that transitions and copies take.
        partitions: How many; those of the host are not counted.
        targets: Target → how many nodes it has.
        machine: The machine that measured its costs; empty where the plan does not say.
    """

    name: str
    total_s: float | None
    total_interval_s: float | None
    measured_s: float | None
    interval_s: float | None
    transitions_s: float
    partitions: int
    targets: Mapping[str, int]
    machine: str


@dataclass(frozen=True)
class Change:
    """A difference between two times.

    Attributes:
        change_s: The first less the second, in seconds; None where one is not known.
        interval_s: By how much it may be off.
        is_clear: It is larger than `interval_s`; None where that is not known.
    """

    change_s: float | None
    interval_s: float | None
    is_clear: bool | None

    @classmethod
    def of(cls, statement: Statement) -> Change:
        """Return the change that a statement tells."""
        return cls(statement.change_s, statement.interval_s, statement.is_decided)


@dataclass(frozen=True)
class ComparedModel:
    """The model of both plans."""

    name: str
    hash: str
    nodes: int


@dataclass(frozen=True)
class MovedNode:
    """A node whose target differs; `first` and `second` are its targets."""

    node: int
    name: str
    op: str
    first: str
    second: str


@dataclass(frozen=True)
class ComparedPartition:
    """A partition of one of two plans; `cost_s` in seconds, `interval_s` half of its 95 % interval, each None where not known."""

    id: str
    target: str
    cost_s: float | None
    interval_s: float | None
    source: str
    nodes: tuple[int, ...]
    names: tuple[str, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True)
class ComparedRegion:
    """A set of nodes that is whole partitions of both plans, which differ there.

    Attributes:
        kind: ``moved`` (a node has another target), ``recut`` (other partitions), or ``same`` (the same partition has another cost).
        first_s, second_s: Sums of the costs of `first` and of `second`, in seconds; None where one is not known.
        change_s, interval_s, is_clear: As in `Change`.
        saves_s: By how many seconds the first plan is faster with its own partitions there than with those of the second, transitions
            included; None where no run knows the costs of both.
    """

    kind: str
    nodes: tuple[int, ...]
    first: tuple[ComparedPartition, ...]
    second: tuple[ComparedPartition, ...]
    first_s: float | None
    second_s: float | None
    change_s: float | None
    interval_s: float | None
    is_clear: bool | None
    saves_s: float | None


@dataclass(frozen=True, kw_only=True)
class PlansCompared:
    """How two plans of one model differ.

    Attributes:
        predicted, measured: The difference of the predicted times, and that of the measured ones.
        change: How the first compares with the second: measured times where both have one, else predicted ones.
        change_text: The same in words.
        costs_of: Name of the run on whose costs `ComparedRegion.saves_s` rests; None where neither run knows all of them.
        moved: Every node whose target differs.
        regions: Those that differ, the largest difference first.
        unchanged: How many regions do not differ.
    """

    kind: str = "plans"
    model: ComparedModel
    first: ComparedPlan
    second: ComparedPlan
    predicted: Change
    measured: Change
    change: Statement
    change_text: str
    costs_of: str | None
    moved: tuple[MovedNode, ...]
    regions: tuple[ComparedRegion, ...]
    unchanged: int


@dataclass(frozen=True)
class UnknownPart:
    """A part of a given plan whose cost is not known to its end, with the reason."""

    id: str
    target: str
    nodes: tuple[int, ...]
    names: tuple[str, ...]
    reason: str


@dataclass(frozen=True, kw_only=True)
class ApparentLoss(PlansCompared):
    """The plan of a run, which is the first, beside one of the user's own.

    Attributes:
        apparent_loss_s: Predicted seconds of the first less those of the second; None where a cost is not known.
        unknown: Parts of the second whose costs are not known to their end.
        ignored: Names of the given plan that the model does not have.
        not_measured: Why the second was not timed whole; empty where it was, or where that was not asked for.
        node: The node that was asked about; then `regions` are those that hold it.
    """

    kind: str = "apparent loss"
    apparent_loss_s: float | None
    unknown: tuple[UnknownPart, ...]
    ignored: tuple[str, ...]
    not_measured: str
    node: IfKnown[ExplainedNode] = None


@dataclass(frozen=True)
class AgainstRequest:
    """Asks how a plan of the user's own does on the costs of a run.

    Attributes:
        text: A plan of the user's own, in any form that ``collage explain --against`` takes.
        name: The file that it is from, for messages.
        devices: Device or provider, as the text names it → target.
    """

    text: str
    name: str = "the given plan"
    devices: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CostedPlan:
    """A plan of the user's own on the costs of a run.

    Attributes:
        time: What is known of its time.
        apparent_loss_s: The total of the run's plan less that of this one; None where a cost is not known.
        unknown: Its parts whose costs are not known to their end.
        ignored: Names of the given plan that the model does not have.
    """

    name: str
    plan: PlanInfo
    time: PlanTime
    apparent_loss_s: float | None
    unknown: tuple[UnknownPart, ...]
    ignored: tuple[str, ...]


@dataclass(frozen=True)
class ComparedDatabase:
    """One of two machines; `only_here` counts its costs that the other one lacks."""

    database: str
    machine: str
    only_here: int


@dataclass(frozen=True)
class ToolchainCosts:
    """The common costs of two machines for one toolchain and number of threads.

    Attributes:
        first_versions, second_versions: Those that were measured.
        slower, faster: How many of the costs the first machine has slower and faster by more than their noise.
        median_ratio: Of `CommonCost.ratio`.
    """

    toolchain: str
    threads: int
    first_versions: tuple[str, ...]
    second_versions: tuple[str, ...]
    costs: int
    slower: int
    faster: int
    median_ratio: float


@dataclass(frozen=True)
class CommonCost:
    """A cost that both machines have, in seconds.

    Attributes:
        computation, weights, options: Digests.
        first_interval_s, second_interval_s: Half of their 95 % intervals; None where not known.
        ratio: The first by the second.
        is_clear: They differ by more than their noise.
    """

    computation: str
    weights: str
    toolchain: str
    threads: int
    options: str
    first_s: float
    first_interval_s: float | None
    first_version: str
    second_s: float
    second_interval_s: float | None
    second_version: str
    ratio: float
    is_clear: bool


@dataclass(frozen=True)
class FailureOnOne:
    """A computation that only one of two machines can run.

    Attributes:
        computation, weights, options: As in `CommonCost`.
        fails_on: ``first`` or ``second``.
        stage, reason: Where and why it fails there.
        seconds: What it costs on the other one.
    """

    computation: str
    weights: str
    toolchain: str
    threads: int
    options: str
    fails_on: str
    stage: str
    reason: str
    seconds: float | None


@dataclass(frozen=True)
class CommonTransition:
    """A transition from `maker` to `reader` that both machines have measured: seconds for each, and for each byte."""

    maker: str
    reader: str
    dtype: str
    threads: int
    first_fixed_s: float
    first_per_byte_s: float
    second_fixed_s: float
    second_per_byte_s: float


@dataclass(frozen=True, kw_only=True)
class CostsCompared:
    """How the costs of two machines differ.

    Attributes:
        costs: Every common cost, the largest ratio first.
    """

    kind: str = "costs"
    first: ComparedDatabase
    second: ComparedDatabase
    toolchains: tuple[ToolchainCosts, ...]
    costs: tuple[CommonCost, ...]
    failures: tuple[FailureOnOne, ...]
    transitions: tuple[CommonTransition, ...]
