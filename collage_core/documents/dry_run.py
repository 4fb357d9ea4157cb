"""`DryRun`: what `collage partition --dry-run` says: how many builds a run needs, and about how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .json_form import IfKnown
from .run import RunModel


@dataclass(frozen=True, kw_only=True)
class DryRunTarget:
    """Counts of one target: of candidates, and of distinct computations.

    Of a toolchain that looks at the weights' values, equal computations with other weights are known or measured on their own.

    Attributes:
        candidates: The one count that is of candidates.
        deferred: Measured only where merging comes to them.
    """

    name: str
    candidates: int
    unique: int
    deferred: int
    known: int
    to_measure: int


@dataclass(frozen=True, kw_only=True)
class DryRunTransitions:
    """Counts of ordered pairs of targets between which a transition costs something: all of them, and those not known."""

    pairs: int = 0
    to_measure: int = 0


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """The work that a run would do before it has a plan; every time is an estimate.

    Attributes:
        builds_expected, builds_at_most: Candidates that are built and measured.
        seconds_expected, seconds_at_most: How long that takes.
        after_expected_s, after_at_most_s: How long building and timing whole plans takes after it.
        budget_s: The end of the run, whatever is left; None for none.
        tuning_s: The time for tuning kernels, on top of that; 0 where none is tuned.
        busy: That other processes take the cores now; empty where they do not.
        basis: What the seconds rest on, and what comes on top.
        shapes: Of a model of several shapes, the same for each by its name; the rest adds them up, apart from `model`.
        region, regions: Of a module of several regions, the name of this one, and the same for each of the others by its name.
    """

    schema: int = 1
    dry_run: bool = True
    model: RunModel
    targets: tuple[DryRunTarget, ...]
    transitions: DryRunTransitions = DryRunTransitions()
    builds_at_most: int = 0
    builds_expected: int = 0
    seconds_at_most: float = 0.0
    seconds_expected: float = 0.0
    after_at_most_s: float = 0.0
    after_expected_s: float = 0.0
    budget_s: float | None = None
    tuning_s: float = 0.0
    busy: str = ""
    basis: str
    shapes: IfKnown[Mapping[str, DryRun]] = None
    region: IfKnown[str] = None
    regions: IfKnown[Mapping[str, DryRun]] = None
