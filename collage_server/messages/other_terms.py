"""Resources of a run's plan under other terms: the costs that are typed in, and what each target brings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TypedCost:
    """A cost that the user typed in.

    Attributes:
        seconds: What was typed.
        before: The cost that the run knows, as `Cost.to_json` gives it.
        equal: How many candidates cost as much: those of the same computation and target.
    """

    id: str
    target: str
    label: str
    nodes: list[int]
    seconds: float
    before: dict[str, Any]
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
        difference_s: The least total under the terms, less that.
        kept_s: The total of the run's plan under these terms; None where it does not hold them.
    """

    run: str
    total_s: float
    difference_s: float
    kept_s: float | None
    typed: list[TypedCost]
    targets: list[TargetUnderTerms]
