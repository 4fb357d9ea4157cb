"""The decisions that a run left open, and what would decide them: the documents of `collage explain --undecided`, and their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..base.counted import counted
from ..base.durations import duration, signed
from ..events import Emit
from ..pipeline.record.record import RunRecord
from ..pipeline.whole.differences import region_text
from ..what_if.undecided import STABLE, decide, undecided_here
from .say import say

SHOWN = 8


def explain_undecided(path: Path) -> dict[str, Any]:
    """Return what is undecided in the run at `path`, with what the user's cost database knows of its trials."""
    return undecided_here(RunRecord.load(path))


def decide_run(path: Path, model: str, limit_s: float | None, emit: Emit) -> dict[str, Any]:
    """Measure what is undecided in the run at `path` for a while; return what came of it.

    Args:
        limit_s: Seconds of measuring; as long as it needs unless given.
    """
    return decide(RunRecord.load(path), model, limit_s, emit)


def show_undecided(document: Mapping[str, Any]) -> None:
    """Print the document of `explain_undecided` as text."""
    off = "" if document["total_interval_s"] is None else f" ± {duration(document['total_interval_s'])}"
    say(f"predicted {duration(document['total_s'])}{off}")
    known = [part for part in document["partitions"] if part["stability"] is not None]
    for line in stability_lines(known):
        say(line)
    if not document["is_measured"]:
        say("no cost of this run says by how much it may be off, so nothing can be called undecided")
        return
    rivals = document["rivals"]
    if not rivals:
        say("nothing is undecided that could gain more than a hundredth of the total")
        return
    say("undecided; what would decide it:")
    for rival in rivals[:SHOWN]:
        gain = f"could be {duration(rival['could_gain_s'])} faster"
        say(f"  {region_text(rival)}: the second {gain}, {needs_text(rival['needs'])}")
    if len(rivals) > SHOWN:
        say(f"  and {len(rivals) - SHOWN} more (--json has all)")
    say(f"`collage explain RUN --undecided --measure MODEL` measures them, for about {document['seconds']:.0f} s, and plans again")


def needs_text(needs: Mapping[str, Any]) -> str:
    """Return what a decision needs: ``measure these two for 20 s more``."""
    many = {1: "this one", 2: "these two"}.get(needs["computations"], f"these {needs['computations']}")
    said = f"measure {many} for {max(needs['seconds'], 1):.0f} s more"
    if not needs["is_enough"]:
        said += ", which may still not tell them apart: they are nearly as fast"
    return said + (" (how long a trial takes is assumed)" if needs["is_assumed"] else "")


def stability_lines(partitions: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the toss-ups of a plan as lines: partitions that stay chosen in less than nine of ten draws of the costs."""
    known = [part for part in partitions if part.get("stability") is not None]
    if not known:
        return []
    open_ones = sorted((part for part in known if part["stability"] < STABLE), key=lambda part: part["stability"])
    if not open_ones:
        return [f"every partition stays in the plan in at least {min(part['stability'] for part in known):.0%} of the draws of its costs"]
    share = "share of the draws of the costs in which they stay in the plan"
    lines = [f"toss-ups: {len(open_ones)} of {counted(len(known), 'partition')} ({share}):"]
    for part in open_ones[:SHOWN]:
        ops = "+".join(part["ops"][:6]) + ("+…" if len(part["ops"]) > 6 else "")
        off = "" if part["interval_s"] is None else f" ± {duration(part['interval_s'])}"
        lines.append(f"  {part['stability']:>4.0%}  {ops} on {part['target']}, {duration(part['cost_s'])}{off}")
    return [*lines, f"  and {len(open_ones) - SHOWN} more"] if len(open_ones) > SHOWN else lines


def show_decided(document: Mapping[str, Any]) -> None:
    """Print the document of `decide_run` as text."""
    for row in document["repeated"]:
        sides = [f"{duration(row[side]['seconds'])} ± {duration(row[side]['interval_s'])}" for side in ("before", "after")]
        say(f"  {row['id']}: {sides[0]} before, {sides[1]} now")
    before, after = (len(document[side]["rivals"]) for side in ("before", "after"))
    say(f"{before} undecided before, {after} now")
    if document["is_same_plan"]:
        say(f"the plan stays: predicted {duration(document['total_s'])}")
    else:
        gain = signed(document["difference_s"])
        say(f"another plan is best now: predicted {duration(document['total_s'])}, {gain} beside that of the run")
        say("`collage partition` with the same options makes it: what was measured is known")
