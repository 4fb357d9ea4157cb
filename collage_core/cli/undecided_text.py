"""The decisions that a run left open, and what would decide them: the documents of `collage explain --undecided`, and their text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..base.counted import counted
from ..base.durations import duration
from ..documents.cost import UnknownCosts
from ..documents.plan import PlanPartition
from ..documents.undecided import Decided, DecisionNeeds, RunUndecided, StablePart
from ..events import Emit
from ..pipeline.record.record import RunRecord
from ..pipeline.whole.differences import region_text
from ..rules.spec import HOST_TARGET
from ..what_if.undecided import STABLE, decide
from .say import say

SHOWN = 8
"""Decisions, and toss-ups, that are listed; the document has all."""


def decide_run(path: Path, model: str, limit_s: float | None, emit: Emit) -> Decided:
    """Measure what is undecided in the run at `path` for a while; return what came of it.

    Args:
        limit_s: Seconds of measuring; as long as it needs unless given.
    """
    return decide(RunRecord.load(path), model, limit_s, emit)


def show_undecided(document: RunUndecided) -> None:
    """Print what is undecided as text."""
    off = "" if document.total_interval_s is None else f" ± {duration(document.total_interval_s)}"
    say(f"predicted {duration(document.total_s)}{off}")
    for line in stability_lines(document.partitions, document.unknown_costs):
        say(line)
    if not document.is_measured:
        say("no cost of this run has an interval, so nothing can be called undecided")
        return
    rivals = document.rivals
    if not rivals:
        say("nothing is undecided that could gain more than a hundredth of the total")
        return
    say("undecided; what would decide it:")
    for rival in rivals[:SHOWN]:
        gain = f"could be {duration(rival.could_gain_s)} faster"
        say(f"  {region_text(rival.plan, rival.instead)}: the second {gain}, {needs_text(rival.needs)}")
    if len(rivals) > SHOWN:
        say(f"  and {len(rivals) - SHOWN} more (--json has all)")
    say(f"`collage explain RUN --undecided --measure MODEL` measures them, for about {duration(document.seconds, 2)}, and plans again")


def needs_text(needs: DecisionNeeds) -> str:
    """Return what a decision needs: ``measure these two for 20 s more``."""
    many = {1: "this one", 2: "these two"}.get(needs.computations, f"these {needs.computations}")
    advice = f"measure {many} for {duration(max(needs.seconds, 1), 2)} more"
    if not needs.is_enough:
        advice += ", which may still not decide: both are nearly equally fast"
    return advice + (" (how long a trial takes is assumed)" if needs.is_assumed else "")


def stability_lines(partitions: Sequence[StablePart | PlanPartition], unknown: UnknownCosts | None = None) -> list[str]:
    """Return the toss-ups of a plan as lines: partitions that stay chosen in fewer than nine of ten searches with varied costs.

    Before them stands how many costs are not known.
    """
    first = [] if unknown is None else [unknown.text]
    placed = [part for part in partitions if part.target != HOST_TARGET]
    known = [(part.stability, part) for part in placed if part.stability is not None]
    if not known:
        return first
    toss_ups = sorted(((share, part) for share, part in known if share < STABLE), key=lambda pair: pair[0])
    if not toss_ups:
        lowest = min(share for share, _ in known)
        which = "" if len(known) == len(placed) else f" but {len(placed) - len(known)}, of which it is not known,"
        often = "all searches" if lowest == 1 else f"at least {lowest:.0%} of searches"
        return [*first, f"every partition{which} stays in the plan in {often} with costs varied within their intervals"]
    meaning = "share of searches, with costs varied within their intervals, in which they stay in the plan"
    lines = [*first, f"toss-ups: {len(toss_ups)} of {counted(len(known), 'partition')} ({meaning}):"]
    for share, part in toss_ups[:SHOWN]:
        ops = "+".join(part.ops[:6]) + ("+…" if len(part.ops) > 6 else "")
        off = "" if part.interval_s is None else f" ± {duration(part.interval_s)}"
        lines.append(f"  {share:>4.0%}  {ops} on {part.target}, {duration(part.cost_s)}{off}")
    return [*lines, f"  and {len(toss_ups) - SHOWN} more"] if len(toss_ups) > SHOWN else lines


def show_decided(document: Decided) -> None:
    """Print the answer of `decide_run` as text."""
    for row in document.repeated:
        before_s, after_s = (f"{duration(cost.seconds)} ± {duration(cost.interval_s)}" for cost in (row.before, row.after))
        say(f"  {row.id}: {before_s} before, {after_s} now")
    say(f"{len(document.before.rivals)} undecided before, {len(document.after.rivals)} now")
    if document.is_same_plan:
        say(f"the plan stays: predicted {duration(document.total_s)}")
    else:
        gain = document.change_text or "not known"
        say(f"another plan is best now: predicted {duration(document.total_s)}, {gain} beside that of the run")
        say("`collage partition` with the same options makes it: what was measured is stored")
