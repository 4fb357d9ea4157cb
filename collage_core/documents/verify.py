"""`Verify`: an assembled plan against the reference, as documents and the page have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .json_form import IfKnown


@dataclass(frozen=True)
class VerifyInfo:
    """The assembled plan against the reference; None fields were not done.

    Attributes:
        measured_s: Seconds of one inference, measured end to end.
        additive_error_s: `measured_s` less the predicted time with each part as it was measured alone, before costs were corrected.
        explained_s: The part of `additive_error_s` by which costs were corrected to those inside the whole; None where none was.
        max_rel_error: The largest of all outputs, which may be infinite. The page gets None in place of what is no number.
        accuracy: The largest relative error that was allowed.
        reference: The reference, and what was compared with it, in words.
        errors: Largest relative error of each output, as `max_rel_error`.
        interval_s: Half of the 95 % interval of `measured_s`; None where too few rounds, or none beside other plans, measured it.
        apart: It was measured by itself, later than the baselines and perhaps on another machine: no ratio may hold both.
        gap: That `measured_s` is off the predicted total beyond both intervals, and the likely reason; empty where it is not.
    """

    measured_s: float | None = None
    additive_error_s: float | None = None
    max_rel_error: float | None = None
    accuracy: float | None = None
    reference: str | None = None
    errors: Mapping[str, float | None] = field(default_factory=dict)
    interval_s: float | None = None
    apart: bool = False
    gap: str = ""
    explained_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Parting:
    """The first tensor that is not what it is in the reference.

    Attributes:
        node: Name of the node that makes the tensor.
        input_error, error: Largest relative error of what the node reads, and of the tensor; None where it is no number.
    """

    tensor: str
    node: str
    op: str
    input_error: float
    error: float | None


@dataclass(frozen=True, kw_only=True)
class Nearest:
    """The target that alone comes nearest to the reference.

    Attributes:
        error: Its largest relative error; None where it is no number.
        accuracy: The accuracy that would take it; None where none would.
        begins: Where it parts from the reference; None where that is not known.
        errors: Target → error of all that were tried, as `error`.
    """

    target: str
    error: float | None
    accuracy: float | None
    begins: Parting | None
    errors: Mapping[str, float | None]


@dataclass(frozen=True, kw_only=True)
class Verify(VerifyInfo):
    """The ``verify`` part of the document of a run, and what applying a plan answers.

    Attributes:
        sets: Name of a set of inputs → output → its largest relative error there; empty where nothing was compared.
        moves: Output → how far rounding alone moves it in the model itself; `errors` are what goes beyond it.
        rounds: Rounds of measuring beside other plans; None where there were none.
        round_s: Seconds that a round of the plan and one other took, on average; None where that is not known.
        value_policy: Whether NaN and infinities must be right (docs/values.md).
        estimated_error: What the errors of the partitions add up to; None where none count, since no target lowers the precision.
        reason: Why nothing was built; empty where something was.
        nearest: Where the plan is wrong, the target that alone comes nearest; None where that is not known.
        each: The errors of each partition, where they were asked for (`check_each`).
        shapes: Of a plan for several shapes, each of them.
    """

    sets: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    moves: Mapping[str, float] = field(default_factory=dict)
    rounds: int | None = None
    round_s: float | None = None
    value_policy: str = ""
    estimated_error: float | None = None
    reason: str = ""
    nearest: Nearest | None = None
    each: IfKnown[Mapping[str, Any]] = None
    shapes: IfKnown[tuple[ShapeVerify, ...]] = None


@dataclass(frozen=True, kw_only=True)
class ShapeVerify(Verify):
    """One of several shapes, by its name."""

    name: str
