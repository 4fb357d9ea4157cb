"""The answers of `collage explain --what-if`: the best plan of a run under other terms, and what each of the terms does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .compare import ComparedRegion
from .cost import CostInfo
from .plan import PlanInfo
from .statements import Statement


@dataclass(frozen=True)
class DeviceTerms:
    """Another size of a device's memory, and another speed of its links.

    Attributes:
        memory: Bytes that it may hold; None for what it may hold anyway.
        link: Times the speed of each copy to it and from it.
    """

    memory: float | None = None
    link: float = 1.0


@dataclass(frozen=True)
class WhatIfRequest:
    """Asks for the best plan of a run under other terms, or what each of the terms does.

    Attributes:
        targets: Those that may be used; the others of the run are switched off.
        constraints: As in a constraints file (docs/files.md, "Constraints").
        accuracy: Largest relative error of a partition; None for that of the run.
        groups: For the effects: indices in `constraints`; those of one group are taken back together.
        costs: Seconds that the user typed in, by candidate id.
        devices: Location → its memory and its link, where they are others than those of the run.
    """

    targets: list[str]
    constraints: list[dict[str, Any]] = field(default_factory=list)
    accuracy: float | None = None
    groups: list[list[int]] = field(default_factory=list)
    costs: dict[str, float] = field(default_factory=dict)
    devices: dict[str, DeviceTerms] = field(default_factory=dict)


@dataclass(frozen=True)
class DeviceCurveRequest:
    """Asks how the best plan changes with the memory of a device, or with the speed of its links.

    Attributes:
        location: The device's memory, such as ``cuda:0``.
        quantity: ``memory`` or ``link``.
    """

    location: str
    quantity: str


@dataclass(frozen=True)
class DevicePiece:
    """The best plan for some sizes of a memory, or some speeds of a link.

    Attributes:
        first, last: The smallest and the largest: bytes, or times the speed of now.
        first_s, last_s: The predicted total at both.
        is_exact: No plan is better, which is proven.
        nodes: Those that are on the device.
        copied: The tensors that are copied to it or from it: the cut.
        copied_bytes: The bytes of all these copies.
    """

    first: float
    last: float
    first_s: float
    last_s: float
    is_exact: bool
    nodes: tuple[int, ...]
    copied: tuple[str, ...]
    copied_bytes: int


@dataclass(frozen=True)
class DeviceCurve:
    """The best plan of a run by the memory of a device, or by the speed of its links, from known costs.

    Attributes:
        now: The bytes or the speed that the run planned with; None without a limit.
        pieces: The smallest sizes or speeds first. Between two there may be a gap where the time was over.
        is_complete: There is no such gap.
        texts: Each piece in words.
    """

    location: str
    quantity: str
    now: float | None
    pieces: tuple[DevicePiece, ...]
    is_complete: bool
    texts: tuple[str, ...]


@dataclass(frozen=True)
class PlanUnderTerms:
    """The best plan under other terms.

    Attributes:
        optimal: It is proven that no better plan holds the terms.
        untimed: How many candidates are accurate enough now, and were not when the run measured: their costs are not known.
        keeps_plan: It is the plan of the run, whose measured times hold for it.
        change: How its time compares with that of the run's plan.
        change_text: The same in words.
        predicted_text: Its predicted time in words: ``at least`` where one of its costs is not known.
    """

    plan: PlanInfo
    optimal: bool
    untimed: int
    keeps_plan: bool
    change: Statement
    change_text: str
    predicted_text: str


@dataclass(frozen=True)
class Effect:
    """The effect of one of the terms.

    Attributes:
        alone: The best plan under it alone, compared with the best one under none; None where no plan holds it.
        saves: The best plan under all terms, compared with the best one under all others; None where no plan holds them.
        refuses: How many candidates it forbids.
        text: The same in words.
    """

    alone: Statement | None
    saves: Statement | None
    refuses: int
    text: str


@dataclass(frozen=True)
class Effects:
    """The effects of the groups asked for, of each target that is switched off and each cost typed in, and of another accuracy.

    Those that took too long are missing: at the end of `groups`, among the targets or the costs, or None.
    """

    groups: tuple[Effect, ...] = ()
    off: Mapping[str, Effect] = field(default_factory=dict)
    accuracy: Effect | None = None
    costs: Mapping[str, Effect] = field(default_factory=dict)


@dataclass(frozen=True)
class TypedCost:
    """A cost that the user typed in.

    Attributes:
        seconds: What was typed.
        before: The cost that the run knows.
        equal: How many candidates cost as much: those of the same computation and target.
    """

    id: str
    target: str
    label: str
    nodes: tuple[int, ...]
    seconds: float
    before: CostInfo
    equal: int


@dataclass(frozen=True)
class TargetUnderTerms:
    """The nodes of a target under other terms, and what it brings.

    Attributes:
        nodes, nodes_before: How many nodes it has in the best plan under the terms, and in the plan of the run that measured.
        untimed: Candidates that are accurate enough now, and that nobody has timed.
        brings_s: What the plan would lose without it; None where it has no node, there is no plan without it, or that takes too long.
    """

    target: str
    nodes: int
    nodes_before: int
    untimed: int
    brings_s: float | None


@dataclass(frozen=True)
class OtherTerms:
    """``POST /api/v1/runs/<id>/other-terms``: what ``collage explain --what-if`` tells besides the plan and its constraints.

    Attributes:
        total_s: Of the run that measured.
        change, change_text, predicted_text: As in `PlanUnderTerms`.
        kept_s: The total of the run's plan under these terms; None where it does not hold them.
    """

    total_s: float
    change: Statement
    change_text: str
    predicted_text: str
    kept_s: float | None
    typed: tuple[TypedCost, ...]
    targets: tuple[TargetUnderTerms, ...]


@dataclass(frozen=True)
class ExplainedTerms(OtherTerms, PlanUnderTerms):
    """The whole answer of ``collage explain --what-if``.

    Attributes:
        measured_s: Measured seconds of the run's plan, where it stays.
        accuracy: Largest relative error of a partition.
        effects: Of each of `constraints`, in their order; those that took too long are missing at the end.
        regions: Those in which the two plans differ by more than a cost.
    """

    measured_s: float | None
    accuracy: float
    constraints: tuple[Mapping[str, Any], ...]
    effects: tuple[Effect, ...]
    regions: tuple[ComparedRegion, ...]
