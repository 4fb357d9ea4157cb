"""The finalists of a run, plans that are timed whole in turns: which of them need another round, and which becomes the plan.

The seconds of each round enter; indices of finalists and their intervals leave. Nothing is built or timed here. How two finalists are
compared is that of all contenders (`cost.measuring.paired_rounds`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal

from ...cost.measuring.paired_rounds import FEWEST_ROUNDS, TIE, Round, beats, fastest, ratio_of, seconds_of, slower, time_of
from ...documents.plan import PlanPart
from ...documents.run import Alternative, RunDocument
from ...documents.statements import Statement, compared, measured_beside, of_row, time_of_plan, time_of_row
from ...documents.verify import Verify
from ...rewrite.plan import Plan

NEAR = 0.15
"""Two that differ by no more than this share may change places from one process to the next: memory lies elsewhere in each."""
Kind = Literal["search", "rival", "baseline"]
SEARCHED: Final = "search"
RIVAL: Final = "rival"
BASELINE: Final = "baseline"
"""Kinds of finalists: the plan that the search found, others whose sum is nearly as good, and each target alone, or greedy."""

GIVEN: Final = "given"
"""``decided_by`` of a plan that the user gave; of one that was searched for it is ``sum`` or ``whole``."""

NO_TIME = "no time was left to compare it"


@dataclass
class Finalist:
    """A plan that is timed end to end.

    Attributes:
        names: Its names, each with its kind: `SEARCHED`, `RIVAL` or `BASELINE`. One plan may be several baselines.
        chosen: Its candidates, as indices in the problem.
        rank: Its order among equally fast plans; the least is preferred. It begins with the number of its partitions.
        may_ship: It holds the user's constraints, so it may become the plan.
        total_s: Its predicted time; None where one of its costs is not known, or a bound stands for it.
        guessed_s: The same, with bounds for what was not measured: it says which plans to build first, and is told to nobody.
        folder: Its artifact; None while it is not built.
        verify: As the document's `verify`, once it was compared with the reference.
        reason: Why it was not timed; empty where it was.
        is_late: No time was left to build or time it.
    """

    names: dict[str, Kind]
    plan: Plan
    chosen: tuple[int, ...]
    rank: tuple[int, int]
    may_ship: bool
    total_s: float | None
    guessed_s: float | None
    folder: Path | None = None
    verify: Verify | None = None
    reason: str = ""
    is_late: bool = False

    def leave_for_time(self) -> None:
        """Say that no time was left for it."""
        self.reason, self.is_late = NO_TIME, True


@dataclass(frozen=True)
class WholeTime:
    """The time of one inference of a whole plan.

    Attributes:
        interval_s: Half of its 95 % interval over the rounds, relative to the plan; None with too few rounds.
        at_least_s: The lower end of that interval.
    """

    measured_s: float | None = None
    interval_s: float | None = None
    rounds: int = 0
    at_least_s: float | None = None


def near(rounds: Sequence[Round], among: Sequence[int], began: Mapping[int, Sequence[int]]) -> list[int]:
    """Return the fastest of some finalists and those `NEAR` it that new processes may bring ahead; none where there is none such.

    Args:
        began: Finalist → the later rounds with which a new process of it began; one that lost in several is left out.
    """
    timed = [index for index in among if seconds_of(rounds, index)]
    if not timed:
        return []
    ahead = fastest(rounds, timed)

    def may_win(index: int) -> bool:
        starts = sorted({0, *began.get(ahead, ()), *began.get(index, ())})
        parts = [rounds[first:last] for first, last in pairwise([*starts, len(rounds)])]
        has_lost = len(parts) > 1 and all(slower(part, index, ahead) > 1 + TIE for part in parts)
        return slower(rounds, index, ahead) <= 1 + NEAR and not has_lost

    found = [index for index in timed if index != ahead and may_win(index)]
    return sorted([ahead, *found]) if found else []


def winner(rounds: Sequence[Round], finalists: Sequence[Finalist]) -> int:
    """Return the finalist that becomes the plan: the first, unless another one is faster; of the fastest then the preferred one.

    Of a baseline the ratio is enough, also where noise leaves open which one is faster: whoever measures both would see no other.
    A baseline of fewer partitions need not be faster than the first, only as fast.
    """
    able = [index for index, one in enumerate(finalists) if one.may_ship and not one.reason]
    unbeaten = [index for index in able if not any(beats(rounds, other, index) for other in able)]
    if 0 in unbeaten:
        baselines = [index for index in unbeaten if BASELINE in finalists[index].names.values()]
        unbeaten = [index for index in baselines if slower(rounds, 0, index) > 1 + TIE]
        if not unbeaten:
            simpler = [index for index in baselines if finalists[index].rank[0] < finalists[0].rank[0]]
            tied = [index for index in simpler if all(slower(rounds, index, other) <= 1 + TIE for other in (0, *baselines))]
            return min([0, *tied], key=lambda index: finalists[index].rank)
    if not unbeaten:
        return 0
    ahead = fastest(rounds, unbeaten)
    tied = [index for index in unbeaten if 0 < slower(rounds, index, ahead) <= 1 + TIE]
    return min([ahead, *tied], key=lambda index: finalists[index].rank)


def whole_times(rounds: Sequence[Round], plan: int, count: int) -> list[WholeTime]:
    """Return the times of all `count` finalists.

    That of the plan is its own over the rounds. Each other one is its ratio to the plan in the rounds of both, times that.
    """
    own = time_of(rounds, plan)
    assert own is not None
    made = []
    for index in range(count):
        found, base_s = (own, 1.0) if index == plan else (ratio_of(rounds, index, plan), own.value)
        if found is None:
            made.append(WholeTime())
            continue
        off = found.half if found.rounds >= FEWEST_ROUNDS else None
        made.append(
            WholeTime(
                base_s * found.value, None if off is None else base_s * off, found.rounds, None if off is None else base_s * found.low
            )
        )
    return made


def alternatives(finalists: Sequence[Finalist], times: Sequence[WholeTime], plan: int) -> tuple[Alternative, ...]:
    """Return the rows of the document: every finalist but the plan, and every baseline, whatever plan it is."""
    return tuple(
        Alternative(
            name=name,
            kind=kind,
            total_s=one.total_s,
            measured_s=time.measured_s,
            interval_s=time.interval_s,
            rounds=time.rounds,
            reason=one.reason,
            is_plan=index == plan,
            partitions=tuple(PlanPart(id=part.id, target=part.target, nodes=part.nodes) for part in one.plan.partitions),
            at_least_s=time.at_least_s,
        )
        for index, (one, time) in enumerate(zip(finalists, times, strict=True))
        for name, kind in one.names.items()
        if index != plan or kind == BASELINE
    )


BARRED = "it may not be the plan: it does not hold the constraints, or plans are not chosen by time"


def barred(finalists: Sequence[Finalist], times: Sequence[WholeTime], plan: int) -> list[str]:
    """Return the names of the finalists that are clearly faster than the plan, and may not take its place."""
    plan_s = times[plan].measured_s or 0.0
    found = [one for one, time in zip(finalists, times, strict=True) if not one.may_ship and _upper_s(time) * (1 + TIE) < plan_s]
    return [name for one in found for name in one.names]


def _upper_s(time: WholeTime) -> float:
    return math.inf if time.measured_s is None or time.interval_s is None else time.measured_s + time.interval_s


def decision_text(document: RunDocument) -> str:
    """Return what decided which plan is the plan, as one sentence; empty where nothing was timed end to end."""
    rows, plan_s = document.alternatives, measured_beside(document)
    if not rows or plan_s is None:
        return ""
    if document.decided_for:
        ratios = (of_row(document, row).ratio for row in rows if row.measured_s is not None)
        fastest = _percent(min([1.0, *(ratio for ratio in ratios if ratio is not None)]), "slower", "faster")
        return f"this is the plan for {document.decided_for}: timed end to end, the fastest here is {fastest}"
    if document.decided_by == GIVEN:
        beside = next(row for row in rows if not row.is_plan)
        text = "the plan was given, and not searched for"
        return f"{text}: timed end to end, {beside.name} is {_percent(of_row(document, beside).ratio, 'slower', 'faster')}"
    others = [of_row(document, row) for row in rows if row.measured_s is not None and not row.is_plan]
    if document.decided_by == "whole":
        searched = next((row for row in rows if row.kind == SEARCHED), None)
        if searched is None:  # Over several shapes another plan was to take its place, which is no faster here.
            return f"end-to-end timing decided for the plan of the least sum: {_next_plan(others)}"
        least = replace(time_of_row(document, searched), measured_s=None)
        sums = _percent(compared(time_of_plan(document.plan), least).ratio, "above", "below")
        text = f"end-to-end timing decided: this plan's sum is {sums} the least, but"
        if searched.measured_s is None:
            return f"{text} the plan of the least sum is out: {searched.reason}"
        whole = _percent(of_row(document, searched).ratio, "slower", "faster")
        if searched.measured_s <= plan_s * (1 + TIE):
            has_fewer = len(document.plan.partitions) < len(searched.partitions)
            why = "has fewer partitions" if has_fewer else "is of targets that come first"
            return f"{text} timed end to end the two are not apart (that of the least sum is {whole}), and this one {why}"
        return f"{text} timed end to end the plan of the least sum is {whole}"
    return f"the sum of the costs decided: {_next_plan(others, ', which is not enough to tell the two apart')}"


def _next_plan(others: Sequence[Statement], unsure: str = "") -> str:
    """Return how far the fastest of the other plans is from the plan, timed end to end; with `unsure` at the end where it is faster."""
    if not others:
        return "no other plan was timed end to end"
    ratio = min(other.ratio or 0.0 for other in others)
    text = f"timed end to end, the next plan is {_percent(ratio, 'slower', 'faster')}"
    return f"{text}{unsure}" if ratio < 1 else text


def _percent(ratio: float | None, more: str, less: str) -> str:
    if ratio is None:
        return f"not known to be {more}"
    share = ratio - 1
    return f"{abs(share):.1%} {more if share >= 0 else less}"
