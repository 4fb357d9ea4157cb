"""`verdict`: the sentence that leads all that is said of a run, printed as it is by page, terminal, report and `collage survey`.

The document of a run enters; a `Verdict` leaves. It rests on `compared` alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from ..base.durations import duration
from .plan import Baseline
from .run import Alternative, RunDocument
from .statement_text import time_text, transfers_text
from .statements import LEAST, PlanTime, Statement, compared, fastest, time_of_row, time_of_run

HOST = "host"
LONGEST_S = 150.0
"""Measuring that would take longer is not proposed: a run takes no longer either."""
FEWEST_ROUNDS = 6
"""With fewer rounds a plan that is near has no interval."""

Kind = Literal["faster", "slower", "alone", "undecided", "unknown", "wrong"]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The first thing to know about a run.

    Attributes:
        kind: ``faster`` or ``slower`` than the best target alone, for a plan of several targets; ``alone`` where one target for the whole
            model is the plan; ``undecided`` where measuring could not tell; ``unknown`` where nothing can be compared; ``wrong`` where the
            plan errs too much.
        text: The sentence.
        is_good: The measured interval lies on one side of 1, and the plan is right: only then is it shown in green.
        against: The target alone that the plan is compared with, or the other plan that is nearest; empty where there is none.
        statement: The time of `against`, compared with that of the plan; None where nothing is compared.
    """

    kind: Kind
    text: str
    is_good: bool = False
    against: str = ""
    statement: Statement | None = None


def verdict(document: RunDocument) -> Verdict:
    """Return the verdict on the plan of a run."""
    found = _of_times(document)
    disturbance = "" if document.disturbance is None else f"; {document.disturbance.text}"
    return replace(found, text=found.text + transfers_text(document.plan.free_transfers) + disturbance)


def _of_times(document: RunDocument) -> Verdict:
    verify, own = document.verify, time_of_run(document)
    error, accuracy = verify.max_rel_error, verify.accuracy
    if error is not None and accuracy is not None and not error <= accuracy:
        return Verdict(kind="wrong", text=f"wrong by {error:.2g}, {accuracy:g} is allowed")
    is_checked = error is not None
    targets = {target.name for target in document.targets}
    alone = {name: time for name, time in _times_alone(document).items() if name in targets}
    name = _target_alone(document, targets)
    if name:
        return _alone(document, name, own, targets, is_checked)
    index = fastest(list(alone.values()), own)
    if index is None:
        text = f"{time_text(own)}; no target alone runs the whole model in a known time" if targets else time_text(own)
        return Verdict(kind="unknown", text=text)
    against, time = list(alone.items())[index]
    statement = widened(compared(time, own), document)
    return _mix(document, against, statement, is_checked)


def widened(statement: Statement, document: RunDocument) -> Statement:
    """Return a statement whose interval counts what disturbed the run: kernels that lack a core are not all slowed down alike."""
    if document.disturbance is None or statement.interval_s is None or statement.seconds is None:
        return statement
    off_s, ratio, least = document.disturbance.share / 2 * statement.seconds, statement.ratio, statement.least_ratio
    if ratio is not None and least is not None and statement.reference_s:
        least = ratio - math.hypot(ratio - least, off_s / statement.reference_s)
    return replace(statement, interval_s=math.hypot(statement.interval_s, off_s), least_ratio=least)


def _times_alone(document: RunDocument) -> dict[str, PlanTime]:
    rows: list[Baseline | Alternative] = [*document.alternatives, *document.baselines]
    times: dict[str, PlanTime] = {}
    for row in rows:
        plain = PlanTime(predicted_s=row.total_s, measured_s=row.measured_s)
        known = time_of_row(document, row) if isinstance(row, Alternative) else plain
        if row.name not in times or (times[row.name].measured_s is None and row.measured_s is not None):
            times[row.name] = known
    return times


def _target_alone(document: RunDocument, targets: set[str]) -> str:
    """Return the target that has the whole model undivided in the plan; empty where none has."""
    own = next((row.name for row in document.alternatives if row.is_plan and row.name in targets), "")
    parts = document.plan.partitions
    return own or (parts[0].target if len(parts) == 1 and parts[0].target != HOST else "")


def _alone(document: RunDocument, name: str, own: PlanTime, targets: set[str], is_checked: bool) -> Verdict:
    """Return the verdict on one target for the whole model: how far the nearest of the other plans is that were timed end to end.

    Where none was, it is how far the nearest of the other `targets` alone is by predicted times.
    """
    others = [row for row in document.alternatives if not row.is_plan and row.measured_s is not None and row.name != name]
    nearest: tuple[float, str, Statement] | None = None
    for row in others:
        statement = widened(compared(time_of_row(document, row), own), document)
        low = _low(statement)
        if statement.basis == "measured" and (nearest is None or low < nearest[0]):
            nearest = low, row.name, statement
    if nearest is None:
        itself = {name, *(row.name for row in document.alternatives if row.is_plan)}
        apart = any(row.measured_s is not None and row.name not in itself for row in document.baselines)
        others_text = f"no other plan was timed {'in turns with it' if apart else 'end to end'}"
        text = f"{name} alone, {time_text(own)}: {'nothing was timed end to end' if own.measured_s is None else others_text}"
        alone = {row.name: PlanTime(predicted_s=row.total_s) for row in document.baselines if row.name in targets - {name}}
        reference = replace(own, measured_s=None)
        index = fastest(list(alone.values()), reference)
        if index is None:
            return Verdict(kind="alone", text=text)
        against, time = list(alone.items())[index]
        statement = compared(time, reference)
        if statement.ratio is not None:
            text += f"; {against} alone takes {_times(statement.ratio)} times as long, predicted"
        return Verdict(kind="alone", text=text, against=against, statement=statement)
    low, other, statement = nearest
    if low > 1 + LEAST:
        return Verdict(
            kind="alone",
            text=f"{name} alone is best (others at least {_percent(low - 1)} slower){', checked' if is_checked else ''}",
            is_good=is_checked,
            against=other,
            statement=statement,
        )
    between = f"{other} takes {_between(statement)} as long" if statement.ratios else f"{other} was timed too seldom"
    text = f"{name} alone; whether another plan is faster is not decided ({between}): {_again(document, statement)}"
    return Verdict(kind="undecided", text=text, against=other, statement=statement)


def _mix(document: RunDocument, against: str, statement: Statement, is_checked: bool) -> Verdict:
    """Return the verdict on a plan that is no single target: how many times as fast as the best of these."""
    ratio = statement.ratio
    if ratio is None:
        text = f"{time_text(time_of_run(document))}; {against} alone was not measured"
        return Verdict(kind="unknown", text=text, against=against, statement=statement)
    if statement.basis == "predicted":
        faster = ratio >= 1
        comparison = f"{_times(ratio)} times faster than" if faster else f"{_percent(1 / max(ratio, 1e-9) - 1)} slower than"
        if abs(ratio - 1) < LEAST:
            comparison = "as fast as"
        kind: Kind = "faster" if faster else "slower"
        text = f"{comparison} {against} alone, predicted and not timed end to end"
        return Verdict(kind=kind, text=text, against=against, statement=statement)
    ratios, low, checked = statement.ratios, _low(statement), ", checked" if is_checked else ""
    if ratios is None and statement.least_ratio is not None:
        text = f"{_times(ratio)} times faster than {against} alone (at least {_times(statement.least_ratio)}){checked}"
        return Verdict(kind="faster", text=text, is_good=is_checked, against=against, statement=statement)
    if ratios is None or (low <= 1 + LEAST and ratios[1] * (1 + LEAST) >= 1):
        between = "it was timed too seldom" if ratios is None else f"it takes {_between(statement)} as long"
        text = f"not decided against {against} alone ({between}): {_again(document, statement)}"
        return Verdict(kind="undecided", text=text, against=against, statement=statement)
    if low > 1:
        text = f"{_times(ratio)} times faster than {against} alone ({_times(low)} to {_times(ratios[1])}){checked}"
        return Verdict(kind="faster", text=text, is_good=is_checked, against=against, statement=statement)
    slower = f"{_percent(1 / max(ratios[1], 1e-9) - 1)} to {_percent(1 / max(ratios[0], 1e-9) - 1)}"
    return Verdict(kind="slower", text=f"{slower} slower than {against} alone, measured{checked}", against=against, statement=statement)


def _again(document: RunDocument, statement: Statement) -> str:
    """Say how long to measure again until the two can be told apart: intervals narrow with the root of the rounds."""
    rounds, round_s = max(document.verify.rounds or 0, FEWEST_ROUNDS), document.verify.round_s
    if round_s is None:
        return "measure again"
    more = 1.0
    if statement.interval_s is not None and statement.change_s is not None:
        more = (statement.interval_s / max(abs(statement.change_s), 1e-12)) ** 2
    seconds = rounds * more * round_s
    if seconds > LONGEST_S:
        return f"the two are so near that measuring for {duration(LONGEST_S)} would not tell"
    return f"measure again for about {duration(seconds, 2)}"


def _low(statement: Statement) -> float:
    """Return how many times as long as the plan the other one takes at least; 0 where that is not known."""
    return statement.least_ratio or (statement.ratios[0] if statement.ratios is not None else 0.0)


def _between(statement: Statement) -> str:
    return f"{_low(statement):.2f} to {statement.ratios[1] if statement.ratios else 0.0:.2f} times"


def _times(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio >= 2 else f"{ratio:.2f}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %"
