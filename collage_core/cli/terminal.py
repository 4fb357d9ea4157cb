"""Terminal output for people: the progress of a run on standard error, and its result as tables on standard output."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Sequence
from types import FrameType

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..base.counted import counted
from ..base.durations import duration
from ..cost.cost import PROFILE
from ..documents.leaderboard import Leader, leaders_after
from ..documents.placement_text import placement_lines
from ..documents.plan import PlanPart, PlanPartition
from ..documents.run import Alternative, BaselineInfo, RunDocument
from ..documents.statement_text import explained_text, time_text
from ..documents.statements import time_of_plan
from ..documents.verdict import verdict
from ..documents.verify import Verify
from ..errors import printable
from ..events import (
    BaselineMeasured,
    CandidateBuilding,
    CandidateCosted,
    CandidatesFound,
    ComparingPlans,
    Event,
    Note,
    PhaseEnded,
    PhaseStarted,
    PlanDecided,
    PlanImproved,
    SearchingBody,
    SearchProgress,
    StepStarted,
    TargetAlone,
    Verified,
)
from ..pipeline.whole.choose_finalists import ON_MEASURED
from ..pipeline.whole.errors_by_set import error_text
from ..pipeline.whole.finalists import RIVAL, SEARCHED, decision_text
from ..rules.partitionings import is_alone
from ..toolchains.target_names import target_name
from .bodies_text import bodies_text
from .leaderboard_text import leader_lines, leader_text
from .proof_text import proof_text
from .undecided_text import SHOWN, stability_lines

PHRASES = {
    "load": "loading the model",
    "specs": "reading the targets' rules",
    "candidates": "finding candidates",
    "costs": "costing candidates",
    "search": "searching",
    "merge": "fusing adjacent partitions",
    "rewrite": "assembling",
    "verify": "comparing with the reference",
    "baselines": "timing beside the baselines",
}


STEPS = {"merge": "fusing", "repeat": "re-timing", "tune": "tuning"}
"""Steps of the measuring loop that are called otherwise in words."""


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


class Progress:
    """Shows events on standard error: on a terminal the present activity, the time left and the leaderboard, which are overwritten; else
    a line for each phase and each toolchain alone; if `quiet`, only notes.

    Ctrl-C counts also where the code that it comes to drops it (a finaliser, a callback of a library): the next event raises it again.
    """

    def __init__(self, *, quiet: bool = False):
        self._console = Console(stderr=True, highlight=False)
        self._quiet = quiet
        self._live: Live | None = None
        self._phase = ""
        self._best: float | None = None
        self._invalid = 0
        self._now = ""
        self._ends_s: float | None = None
        self._leaders: tuple[Leader, ...] = ()
        self._is_interrupted = False

    def __enter__(self) -> Progress:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler and _is_main_thread():
            signal.signal(signal.SIGINT, self._interrupt)
        if self._console.is_terminal and not self._quiet:
            self._live = Live(console=self._console, transient=True, refresh_per_second=4, get_renderable=self.shown)
            self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if signal.getsignal(signal.SIGINT) == self._interrupt and _is_main_thread():
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._live is not None:
            self._live.stop()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._is_interrupted = True
        raise KeyboardInterrupt

    def __call__(self, event: Event) -> None:
        if self._is_interrupted and _is_main_thread():
            raise KeyboardInterrupt
        self._now = self._line(event) or self._now
        left_s = getattr(event, "left_s", None)
        self._ends_s = self._ends_s if left_s is None else time.monotonic() + left_s
        self._leaders = leaders_after(self._leaders, event.to_json())
        kept = self._kept(event)
        if kept and (isinstance(event, Note) or not self._quiet):
            self._console.print(printable(kept), soft_wrap=True, markup=False)

    def shown(self) -> Text:
        """Return what stands below the lines that stay: the present activity, the time left, and the leaderboard."""
        left_s = 0.0 if self._ends_s is None else self._ends_s - time.monotonic()
        left = f", about {duration(left_s, 2)} left" if left_s >= 1 else ""
        lines = [f"{self._now}{left}", *leader_lines(self._leaders)] if self._now else []
        return Text(printable("\n".join(lines)), no_wrap=True, overflow="ellipsis")

    def _line(self, event: Event) -> str:
        if isinstance(event, PhaseStarted):
            self._phase = PHRASES[event.phase]
            self._best = None if event.phase == "load" else self._best  # another shape: its plans are compared with each other
            return f"{self._phase} …"
        if isinstance(event, StepStarted):
            self._phase = f"{self._phase.partition(', ')[0]}, {STEPS.get(event.step, event.step)}"
            return f"{self._phase} …"
        if isinstance(event, CandidateBuilding):
            if event.repetition > 1:
                return f"{self._phase} …  {event.target} {event.label}, round {event.repetition}"
            return f"{self._phase} {event.done}/{event.total}  {event.target} {event.label}"
        if isinstance(event, CandidateCosted):
            self._invalid += event.cost["seconds"] is None
            failed = f"  ({self._invalid} cannot be taken)" if self._invalid else ""
            took = duration(event.cost["seconds"])
            return f"{self._phase} {event.done}/{event.total}  {event.target} {event.label} {took}{failed}"
        if isinstance(event, SearchingBody):
            known = f", {event.done}/{event.total}" if event.total else ""
            doing = "searching" if event.doing == "search" else "measuring"
            return f"{self._phase}, {doing} {event.name} (body {event.number} of {event.count}){known}"
        if isinstance(event, ComparingPlans):
            doing = f"building {event.name}" if event.doing == "build" else f"timing {event.name or 'whole plans'} in turns"
            return f"{self._phase}, {doing}, {event.done + 1}/{event.total}"
        if isinstance(event, SearchProgress):
            bound = "" if event.lower_bound_s is None else f", bound {duration(event.lower_bound_s)}"
            return f"{self._phase} … {counted(event.states, 'state')}{bound}"
        return ""

    def _kept(self, event: Event) -> str:
        """Return the line that stays on the screen for `event`; empty for none."""
        if isinstance(event, Note):
            return f"note: {event.text}"
        if isinstance(event, CandidatesFound):
            return f"{event.target}: {counted(event.candidates, 'candidate')} ({event.unique} different), {event.rejected} rejected"
        if isinstance(event, TargetAlone) and self._live is None:
            return f"{event.target} alone: {leader_text(next(row for row in self._leaders if row.name == event.target))}"
        if isinstance(event, PlanImproved) and (self._best is None or event.total_s < self._best):
            self._best = event.total_s
            return f"best plan: predicted {duration(event.total_s)} in {counted(len(event.partitions), 'partition')}"
        if isinstance(event, Verified):
            error = math.inf if event.max_rel_error is None else event.max_rel_error
            said = "verified" if error <= event.accuracy else "wrong"
            return f"{said}: largest relative error {error:.2g} (at most {event.accuracy:g})"
        if isinstance(event, BaselineMeasured):
            reason = f" ({event.reason})" if event.reason else ""
            return f"{_alone(event.name)}: measured {duration(event.measured_s)}, predicted {duration(event.total_s)}{reason}"
        if isinstance(event, PlanDecided):
            return f"decided by the {event.decided_by}: {event.name}, measured {duration(event.measured_s)}"
        if isinstance(event, PhaseEnded) and event.seconds > 1 and self._live is None:
            return f"{PHRASES[event.phase]}: {duration(event.seconds, 3)}"
        return ""


def _alone(name: str) -> str:
    return f"{name} alone" if is_alone(name) else name


def show_plan(document: RunDocument) -> None:
    """Print the document of `collage partition`: the verdict, then the plan as a table."""
    console = Console(highlight=False, file=sys.stdout)
    console.print(printable(verdict(document).text), markup=False, soft_wrap=True)
    for name, value in document.model.fixed.items():
        shown_value = list(value) if isinstance(value, tuple) else value
        console.print(printable(f"{name} = {shown_value}, a constant: no input any more"), markup=False, soft_wrap=True)
    table = Table("target", "nodes", "operators", "cost", "±", "source", box=None, pad_edge=False)
    for part in document.plan.partitions:
        ops = "+".join(part.ops)
        label = ops if len(ops) <= 60 else ops[:57] + "…"
        off = "" if part.interval_s is None else duration(part.interval_s)
        shown = part.target, str(len(part.nodes)), label, duration(part.cost_s), off, part.source + _tuned(part)
        table.add_row(*(Text(printable(cell)) for cell in shown))
    console.print(table)
    plan, verify = document.plan, document.verify
    proven = proof_text(document)
    estimated = sum(part.source == PROFILE for part in plan.partitions)
    if estimated:
        proven = f"{estimated} estimated from profiles, not measured; {proven}"
    time = time_of_plan(plan)
    off = "" if time.predicted_interval_s is None else f" ± {duration(time.predicted_interval_s)}"
    console.print(f"{time_text(time)}{off} in {counted(len(plan.partitions), 'partition')} ({proven})")
    if verify.measured_s is not None:
        console.print(
            f"measured {_with_interval(verify.measured_s, verify.interval_s)}, "
            f"{error_text(verify.max_rel_error, verify.sets)}{_error_budget(verify)}"
        )
    explained = explained_text(verify)
    if explained:
        console.print(explained)
    decided = decision_text(document)
    if decided:
        console.print(printable(decided), markup=False, soft_wrap=True)
    for row in _others(document):
        why = f"  ({row.reason})" if row.reason else ""
        label, measured, same = _alone(row.name), duration(row.measured_s), ""
        if isinstance(row, Alternative):
            near = row.name if row.name == ON_MEASURED else f"{row.name}, near in its sum"
            label = {SEARCHED: "the plan of the least sum", RIVAL: near}.get(row.kind, label)
            measured = _with_interval(row.measured_s, row.interval_s)
            same = ", the plan itself" if row.is_plan else ""
        predicted = "not known" if row.total_s is None else duration(row.total_s)
        line = f"  {label}: predicted {predicted}, measured {measured}{same}{why}"
        console.print(printable(line), markup=False, soft_wrap=True)
    for line in placement_lines(plan.copies, plan.memory, plan.parallel) if _has_devices(document) else ():
        console.print(printable(line), markup=False, soft_wrap=True)
    for line in bodies_text(document.bodies):
        console.print(printable(line), markup=False, soft_wrap=True)
    for line in (*stability_lines(plan.partitions, document.unknown_costs), *_undecided(document)):
        console.print(printable(line), markup=False, soft_wrap=True)


def _has_devices(document: RunDocument) -> bool:
    """Return whether a run has several devices, so that it matters where tensors are: other memories, or other cores."""
    names = (target_name(row.name) for row in document.targets)
    return document.plan.copies is not None or any(name is not None and name.device_type for name in names)


def _tuned(part: PlanPartition) -> str:
    """Return by how much tuning made a partition faster, and for how long it was tuned; empty where it was not."""
    if part.tuned is None or not part.cost_s:
        return ""
    return f", tuned {duration(part.tuned.spent_s, 2)}: ×{part.tuned.untuned_s / part.cost_s:.2f}"


def _with_interval(seconds: float | None, interval_s: float | None) -> str:
    return duration(seconds) if interval_s is None else f"{duration(seconds)} ± {duration(interval_s)}"


def _others(document: RunDocument) -> list[Alternative | BaselineInfo]:
    """Return the plans beside the plan: those that were timed end to end, the fastest first, and other baselines."""
    known = {row.name for row in document.alternatives}
    rows: list[Alternative | BaselineInfo] = [*document.alternatives, *(row for row in document.baselines if row.name not in known)]
    return sorted(rows, key=lambda row: math.inf if row.measured_s is None else row.measured_s)


def _undecided(document: RunDocument) -> list[str]:
    """Say what measuring left undecided, and how to go on; nothing where that is nothing."""
    budget, plan = document.budget, document.plan
    if not budget or not budget.rivals:
        return []
    placed = {part.id: part for part in plan.partitions}
    lines = [f"undecided after {duration(budget.spent_s, 2)} of measuring; run it again to continue, or with a larger --budget:"]
    for rival in budget.rivals[:SHOWN]:
        mine = [placed[id] for id in rival.partitions if id in placed]
        nodes, first = sum(len(part.nodes) for part in mine), mine[0].names[0] if mine else ""
        gain_s = rival.could_gain_s
        is_less = gain_s < plan.total_s  # What is known this badly may gain more than the plan seems to take.
        gain = f"{duration(gain_s)} faster" + (f", {gain_s / plan.total_s:.0%}" if is_less else "")
        where = f"{counted(nodes, 'node')} from {first!r}"
        lines.append(f"  {_targets(mine)} or {_targets(rival.instead)} for {where}: the second could be {gain}")
    if len(budget.rivals) > SHOWN:
        lines.append(f"  and {len(budget.rivals) - SHOWN} more (--json has all)")
    return [*lines, "`collage explain RUN --undecided` says how long each decision would take to measure"]


def _targets(parts: Sequence[PlanPartition | PlanPart]) -> str:
    named = " + ".join(dict.fromkeys(part.target for part in parts))
    return named if len(parts) == 1 else f"{named} in {counted(len(parts), 'partition')}"


def _error_budget(verify: Verify) -> str:
    """Say what the errors of the partitions add up to, where the search counted them."""
    estimate = verify.estimated_error
    return "" if estimate is None else f" (by its partitions {estimate:.2g}; at most {verify.accuracy:g})"
