"""`Statement`: how the time of a plan compares with that of another, and `compared`, the one rule by which two plans are compared.

What is known of two plans enters (`PlanTime`); a statement leaves. The plan that a run decided on is the reference of all that is said of
the run. Measured times are compared with measured ones, else predicted with predicted; one of each is never compared, and an unknown cost
is no number.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from .plan import PlanInfo, PlanPartition, TimedPlan
from .run import Alternative, RunDocument
from .verify import VerifyInfo

Basis = Literal["measured", "predicted", "unknown"]
LEAST = 0.01
"""The interval of a measured ratio must be farther from 1 than that to decide: of comparisons of a plan with itself, one in twenty has an
interval that leaves out 1, by less (`make bench-verdicts`)."""
NOT_KNOWN = ("unknown", "bound")
"""Sources of costs that nobody knows; a bound stands for one in a search, and proves nothing."""


@dataclass(frozen=True, kw_only=True)
class PlanTime:
    """The times of one plan, as far as they are known.

    Attributes:
        predicted_s: Its total; None where a cost in it is not known.
        predicted_interval_s: Half of the 95 % interval of `predicted_s`; None where that is not known.
        at_least_s: The total of the costs that are known, estimates from profiles left out.
        measured_s: Seconds timed end to end beside the plan of the run; None where it was not.
        interval_s: Half of the 95 % interval of `measured_s`; None where that is not known.
        unknown: How many of its costs are not known.
        least_ratio: How many times as long as the plan of the run it takes at least: by the lower end of its interval, or where it was so
            far behind in each of a few rounds that it was timed no further; None where that is not known.
        unexplained_s: What it takes timed end to end, less what its parts take alone; None where one of the two is not known.
    """

    predicted_s: float | None
    predicted_interval_s: float | None = None
    at_least_s: float = 0.0
    measured_s: float | None = None
    interval_s: float | None = None
    unknown: int = 0
    least_ratio: float | None = None
    unexplained_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Statement:
    """How the time of a plan compares with that of the reference.

    Attributes:
        basis: Both times are ``measured`` or both ``predicted``; ``unknown`` where neither pair is known.
        seconds, reference_s: The two times; None where `basis` is unknown.
        change_s: `seconds` less `reference_s`; None where that is not known.
        at_least_s: A proven lower bound of the change where it is not known; None where nothing is proven.
        interval_s: By how much the change may be off (95 %); None where that is not known.
        unexplained_s: Of a predicted change, by how much the reference takes longer as a whole than its parts; None where it was not
            measured. A change that is smaller says nothing of which plan is faster.
        least_ratio: Of a measured change, as in `PlanTime`.
        unknown: How many costs of the two plans are not known.
    """

    basis: Basis
    seconds: float | None = None
    reference_s: float | None = None
    change_s: float | None = None
    at_least_s: float | None = None
    interval_s: float | None = None
    unexplained_s: float | None = None
    least_ratio: float | None = None
    unknown: int = 0

    @property
    def is_decided(self) -> bool | None:
        """Return whether one of the two is faster beyond doubt; None where nobody knows how sure the times are."""
        if self.least_ratio is not None and self.least_ratio > 1 + LEAST:
            return True
        if self.change_s is None or self.interval_s is None:
            return None
        margin_s = LEAST * (self.reference_s or 0.0) if self.basis == "measured" else 0.0
        return abs(self.change_s) > math.hypot(self.interval_s, self.unexplained_s or 0.0) + margin_s

    @property
    def ratio(self) -> float | None:
        """Return how many times as long the plan takes as the reference."""
        return None if self.seconds is None or not self.reference_s else self.seconds / self.reference_s

    @property
    def ratios(self) -> tuple[float, float] | None:
        """Return the 95 % interval of `ratio`; None where it is not known."""
        ratio = self.ratio
        if ratio is None or self.interval_s is None or not self.reference_s:
            return None
        half = self.interval_s / self.reference_s
        return ratio - half, ratio + half


NO_CHANGE = Statement(basis="unknown", change_s=0.0, interval_s=0.0)
"""Of a plan and itself, whatever it takes."""


def compared(plan: PlanTime, reference: PlanTime, *, interval_s: float | None = None, in_turns: bool = True) -> Statement:
    """Return how the time of `plan` compares with that of `reference`.

    Args:
        interval_s: Half of the 95 % interval of the difference of the predicted times, which may share costs.
        in_turns: The two were measured in turns: the interval of `plan` is that of its ratio to the reference. Else both count.
    """
    unknown = plan.unknown + reference.unknown
    if plan.measured_s is not None and reference.measured_s is not None:
        halves = (plan.interval_s,) if in_turns else (plan.interval_s, reference.interval_s)
        return Statement(
            basis="measured",
            seconds=plan.measured_s,
            reference_s=reference.measured_s,
            change_s=plan.measured_s - reference.measured_s,
            interval_s=None if None in halves else math.hypot(*(half for half in halves if half is not None)),
            least_ratio=plan.least_ratio,
            unknown=unknown,
        )
    if plan.predicted_s is not None and reference.predicted_s is not None:
        return Statement(
            basis="predicted",
            seconds=plan.predicted_s,
            reference_s=reference.predicted_s,
            change_s=plan.predicted_s - reference.predicted_s,
            interval_s=interval_s,
            unexplained_s=reference.unexplained_s,
        )
    # What is known of the plan alone bounds the change from below, where all of the reference is known.
    least_s = None if reference.predicted_s is None else plan.at_least_s - reference.predicted_s
    return Statement(basis="unknown", at_least_s=least_s, unknown=unknown)


def turned(statement: Statement) -> Statement:
    """Return how the reference of `statement` compares with its plan; a lower bound of the change bounds nothing from below then."""
    change_s = None if statement.change_s is None else -statement.change_s
    return replace(statement, seconds=statement.reference_s, reference_s=statement.seconds, change_s=change_s, at_least_s=None)


def under_restriction(statement: Statement) -> Statement:
    """Return what `statement` says of a plan that holds more than the reference, which the run found best: it cannot be faster.

    A sum that is less says that sums do not decide between the two: by how much the plan is slower is not known then. Neither is it where
    a measured time is less, since the run saw no difference between the two; that one is 0.
    """
    if statement.basis == "predicted" and statement.change_s is not None and statement.change_s < 0:
        return Statement(basis="unknown", at_least_s=0.0, interval_s=None, unexplained_s=statement.unexplained_s)
    if statement.change_s is not None and statement.change_s < 0:
        return replace(statement, change_s=0.0)
    if statement.change_s is None:
        return replace(statement, at_least_s=max(0.0, statement.at_least_s or 0.0))
    return statement


def measured_beside(document: RunDocument) -> float | None:
    """Return what the plan of a run took timed end to end beside the others; None where it was not, or by itself alone, at another time."""
    return measured_of(document.verify, document.alternatives)


def measured_of(verify: VerifyInfo, rows: Sequence[TimedPlan]) -> float | None:
    """As `measured_beside`, of a run with these `rows` of alternatives."""
    if verify.measured_s is not None and not verify.apart:
        return verify.measured_s
    return next((row.measured_s for row in rows if row.is_plan), None)


FAR_BEHIND = {2: 1.5, 3: 1.25, 4: 1.25}
"""Rounds → what was timed no further after so many took at least so many times as long as the fastest in each, by the rules of all runs."""


def time_of_row(document: RunDocument, row: Alternative) -> PlanTime:
    """Return what is known of the time of a plan that was compared with that of the run."""
    own_s, rounds = measured_beside(document), document.verify.rounds or 0
    least = None
    if row.interval_s is None and row.rounds < rounds and row.measured_s is not None and own_s:
        least = FAR_BEHIND.get(row.rounds)
        least = None if least is None or row.measured_s < least * own_s else least
    elif row.at_least_s is not None and own_s:
        least = row.at_least_s / own_s
    return PlanTime(predicted_s=row.total_s, measured_s=row.measured_s, interval_s=row.interval_s, least_ratio=least)


def of_row(document: RunDocument, row: Alternative) -> Statement:
    """Return how a plan that was compared with that of the run compares with it."""
    return compared(time_of_row(document, row), time_of_run(document))


def time_of_run(document: RunDocument) -> PlanTime:
    """Return what is known of the time of the plan of a run."""
    verify, row = document.verify, next((row for row in document.alternatives if row.is_plan), None)
    interval_s = row.interval_s if row is not None and (verify.measured_s is None or verify.apart) else verify.interval_s
    return time_of_plan(document.plan, measured_beside(document), interval_s, verify.additive_error_s)


class Totalled(Protocol):
    """A plan with its total: of a document, or of a plan file."""

    @property
    def total_s(self) -> float: ...
    @property
    def total_interval_s(self) -> float | None: ...
    @property
    def partitions(self) -> Sequence[PlanPartition]: ...


def time_of_plan(
    plan: Totalled, measured_s: float | None = None, interval_s: float | None = None, unexplained_s: float | None = None
) -> PlanTime:
    """Return what is known of the time of a plan by its costs, and by the whole where that was measured."""
    unknown = sum(part.source in NOT_KNOWN for part in plan.partitions)
    guessed_s = sum(part.cost_s or 0.0 for part in plan.partitions if part.source in (*NOT_KNOWN, "profile"))
    return PlanTime(
        predicted_s=None if unknown else plan.total_s,
        predicted_interval_s=None if unknown else plan.total_interval_s,
        at_least_s=max(0.0, plan.total_s - guessed_s),
        measured_s=measured_s,
        interval_s=interval_s,
        unknown=unknown,
        unexplained_s=unexplained_s,
    )


def measured_whole(document: RunDocument, partitions: Collection[str]) -> tuple[float | None, float | None]:
    """Return the measured seconds of the plan that has these `partitions`, by their ids, and their interval, as far as a run has them."""
    wanted = set(partitions)
    if {part.id for part in document.plan.partitions} == wanted:
        own = time_of_run(document)
        return own.measured_s, own.interval_s
    rows = [row for row in document.alternatives if row.measured_s is not None and {part.id for part in row.partitions} == wanted]
    return (rows[0].measured_s, rows[0].interval_s) if rows else (None, None)


def time_beside(document: RunDocument, plan: PlanInfo) -> PlanTime:
    """Return what is known of the time of `plan` in the run of `document`: one that was timed end to end there counts with that."""
    ids = [part.id for part in plan.partitions]
    measured_s, interval_s = measured_whole(document, ids)
    return time_of_plan(plan, measured_s, interval_s)


def of_plan(document: RunDocument, plan: PlanInfo, *, interval_s: float | None = None, is_restricted: bool = False) -> Statement:
    """Return how `plan` compares with the plan that a run decided on.

    Args:
        interval_s: As in `compared`.
        is_restricted: The plan holds more than the run's, as under another constraint: it cannot be faster.
    """
    own = time_of_run(document)
    if {part.id for part in plan.partitions} == {part.id for part in document.plan.partitions}:
        if math.isclose(plan.total_s, document.plan.total_s, rel_tol=1e-9, abs_tol=1e-15):
            return unchanged(own)
        # The same partitions, with other plans of bodies: what was measured is another plan.
        statement = compared(time_of_plan(plan), own, interval_s=interval_s)
        return under_restriction(statement) if is_restricted else statement
    statement = compared(time_beside(document, plan), own, interval_s=interval_s)
    return under_restriction(statement) if is_restricted else statement


def unchanged(own: PlanTime) -> Statement:
    """Return how a plan compares with itself."""
    known_s = own.measured_s if own.measured_s is not None else own.predicted_s
    basis: Basis = "unknown" if known_s is None else "measured" if own.measured_s is not None else "predicted"
    return Statement(basis=basis, seconds=known_s, reference_s=known_s, change_s=0.0, interval_s=0.0, unknown=own.unknown)


def fastest(times: Sequence[PlanTime], reference: PlanTime) -> int | None:
    """Return the index of the fastest of some plans: by measured times where the reference has one and any of them, else predicted.

    None where no time is known.
    """
    is_measured = reference.measured_s is not None and any(one.measured_s is not None for one in times)
    seconds = [one.measured_s if is_measured else one.predicted_s for one in times]
    known = [(value, index) for index, value in enumerate(seconds) if value is not None]
    return min(known)[1] if known else None
