"""Bodies of requests for runs and plans."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from collage_core.documents.dry_run import DryRun


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a run, the same as those of `collage partition`; the engine has its own default for each that is left out.

    In an option that names targets, the empty name stands for all others.

    Attributes:
        accuracy: Largest relative error; None for the default of the model, or that of the base.
        value_policy: What must be right of NaN and infinities: ``finite`` or ``any``; None for ``finite``.
        budget_s: To the answer; None for what the size of the model suggests.
        tune_s: For tuning kernels, on top of that; None for no tuning.
        time_limit_s: Of each search; None for none.
        max_depth: Target → bound on every candidate of its rules.
        max_exits: Target → exits of combined candidates.
        taps: Targets whose combined candidates may be read inside and outside.
        fusion: Target → how its calls combine: ``none``, ``tvm`` or ``arbitrary``.
        threads: Of every kernel; None for the usable cores.
        percentile: Of the measured samples; it is the cost.
        measure_all: Measure every candidate, not only those that can matter.
        search: Name of the searcher.
        objective: The measure by which plans are chosen.
    """

    accuracy: float | None = None
    value_policy: str | None = None
    budget_s: float | None = None
    tune_s: float | None = None
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
        """Return the options that were given, by name."""
        values = {name: getattr(self, name) for name in RunOptions.__dataclass_fields__}
        return {name: value for name, value in values.items() if value is not None and value is not False and value not in ({}, [])}


@dataclass(frozen=True)
class CheckOptions(RunOptions):
    """Body of ``POST /api/v1/options``; answered with `OptionProblems`."""

    targets: list[str]


@dataclass(frozen=True)
class OptionProblem:
    """A mistake in an option, or in what it says of `target`, where it names several."""

    option: str
    target: str
    message: str
    hint: str


@dataclass(frozen=True)
class OptionProblems:
    """``POST /api/v1/options``: every mistake; a run with such options would not start."""

    problems: list[OptionProblem]


@dataclass(frozen=True)
class RunRequest(RunOptions):
    """Body of ``POST /api/v1/runs``; answered with a `RunSnapshot`.

    Attributes:
        model: The model's id.
        targets: Names of toolchains, in order of priority.
        constraints: As in a constraints file (docs/files.md, "Constraints").
        groups: Indices in `constraints` of those that were decided together, one list a decision; empty where that is not known.
        costs: With `base`, seconds that the user typed in, by candidate id: they count in place of the known costs.
        base: Id of a run whose costs are used as they are: only the search runs, under the options of the base.
        measure: With `base`, id of a candidate of it that is measured afresh first; targets and constraints are those of the base.
        decide_s: With `base`, seconds for which what is undecided in it is measured further; targets and constraints are those of the base.
        own_plan: With `base`, an `AgainstRequest`: a plan of the user's own, which is timed end to end beside that of the base, and is that
            of the new run.
        toolchain: With `base`, text of a described toolchain that is tried beside its costs; it need not be saved, nor be among `targets`.
    """

    model: str
    targets: list[str]
    constraints: list[dict[str, Any]] = field(default_factory=list)
    groups: list[list[int]] = field(default_factory=list)
    costs: dict[str, float] = field(default_factory=dict)
    base: str | None = None
    measure: str | None = None
    decide_s: float | None = None
    own_plan: dict[str, Any] | None = None
    toolchain: str | None = None


@dataclass(frozen=True)
class DryRunAnswer:
    """``POST /api/v1/dry-run``, with a `RunRequest`: the dry run of that run; where there is none, the reason."""

    dry_run: DryRun | None
    reason: str = ""
