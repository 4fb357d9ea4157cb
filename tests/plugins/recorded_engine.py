"""`RecordedEngine`: the engine, whose runs are the recorded run of a sample, told as it happened, on a clock that the test holds.

A run takes `LASTS_S` seconds of that clock, and none of any other. What is asked about it afterwards is answered from its record.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from collage_core.documents.verify import Verify
from collage_core.errors import Cancelled
from collage_core.events import (
    BaselineMeasured,
    CandidateBuilding,
    CandidateCosted,
    CandidatesFound,
    ComparingPlans,
    Emit,
    Event,
    PhaseEnded,
    PhaseStarted,
    PlanConsidered,
    PlanDecided,
    PlanImproved,
    SearchProgress,
    StepStarted,
    TargetAlone,
    Verified,
)
from collage_core.graph.index_set import IndexSet
from collage_core.model.samples import registry
from collage_core.pipeline.cancelled import NOT_BUILT, cancelled_document
from collage_core.pipeline.record.record import RunRecord
from collage_server.worker.engine import CollageEngine

LASTS_S = 20.0
TRIALS_S, SEARCH_S, WHOLE_S = 0.6, 12.0, 14.0
"""When the first trial begins, when the last is over, and when whole plans are built."""


@dataclass(frozen=True)
class HeldClock:
    """A clock that stands still until it is set; `file` holds its seconds, since runs look at it from a process of their own."""

    file: Path

    def seconds(self) -> float:
        return float(self.file.read_text())

    def set(self, seconds: float) -> None:
        written = self.file.with_suffix(".new")
        written.write_text(str(seconds))
        os.replace(written, self.file)


@dataclass(frozen=True)
class RecordedEngine(CollageEngine):
    """Tells the recorded run of `sample`. Its artifact is one file: no toolchain builds anything."""

    clock: HeldClock
    sample: str = "crnn"

    def partition(self, model: Path, options: dict[str, Any], out: Path, emit: Emit, should_stop: Callable[[], bool]) -> RunRecord:
        record = RunRecord.load(Path(registry.__file__).parent / "recorded" / f"{self.sample}.json.gz")
        document, phase, has_plan = record.document, "load", False
        for at_s, event in events_of(record, options["targets"]):
            while self.clock.seconds() < at_s and not should_stop():
                time.sleep(0.005)
            if should_stop():
                if not has_plan:
                    raise Cancelled
                unbuilt = replace(document, verify=Verify(reason=NOT_BUILT), alternatives=(), baselines=(), decided_by="sum", budget=None)
                record.document = replace(unbuilt, cancelled=cancelled_document(phase, 0, 0, unbuilt, True))
                record.save(out.parent)
                return record
            phase = event.phase if isinstance(event, PhaseStarted) else phase
            has_plan = has_plan or isinstance(event, PlanImproved)
            emit(event)
        out.mkdir(parents=True)
        (out / "artifact.json").write_text('{"form": "module"}')
        record.save(out)
        return record


def events_of(record: RunRecord, asked: Iterable[str]) -> Iterator[tuple[float, Event]]:
    """The events of the run of `record`, each with the second at which it happens; a target that it does not know takes no node."""
    document, nodes = record.document, len(record.graph)
    for phase in ("load", "specs"):
        yield 0.0, PhaseStarted(phase)
        yield 0.2, PhaseEnded(phase, 0.2)
    yield 0.2, PhaseStarted("candidates")
    for target in document.targets:
        yield 0.3, CandidatesFound(target.name, target.candidates, target.unique, 0)
    for name in set(asked) - {target.name for target in document.targets}:
        yield 0.3, CandidatesFound(name, 0, 0, 0)
    yield 0.5, PhaseEnded("candidates", 0.3)
    yield 0.5, PhaseStarted("costs")
    yield from _trials(record)
    yield SEARCH_S, PhaseEnded("costs", SEARCH_S - TRIALS_S)
    yield SEARCH_S, PhaseStarted("search")
    chosen = [(part.target, tuple(part.nodes)) for part in document.plan.partitions]
    placed = tuple((target, tuple(IndexSet(held).spans())) for target, held in chosen)
    total_s = document.plan.total_s
    for at in range(len(placed) + 1):
        covered = sum(len(held) for _, held in chosen[:at])
        placed_s = sum(part.cost_s or 0.0 for part in document.plan.partitions[:at])
        states = document.search.states * at // len(placed)
        state = SearchProgress(states, 3 * states, 7, covered, nodes, 0.95 * total_s, None, placed[:at], placed_s)
        yield SEARCH_S + 0.2 * at, state
    yield WHOLE_S, PhaseEnded("search", WHOLE_S - SEARCH_S)
    for phase in ("rewrite", "verify"):
        yield WHOLE_S, PhaseStarted(phase)
        yield WHOLE_S + 0.4, PhaseEnded(phase, 0.4)
    yield WHOLE_S + 0.4, PhaseStarted("baselines")
    timed = [row for row in document.alternatives if row.measured_s is not None]
    rounds = max(row.rounds for row in timed)
    for at in range(rounds):
        at_s = WHOLE_S + 0.5 + (LASTS_S - 1.0 - WHOLE_S) * at / rounds
        yield at_s, ComparingPlans("time", "", at, rounds, LASTS_S - at_s)
    assert document.verify.measured_s is not None
    yield LASTS_S - 0.5, Verified(document.verify.measured_s, document.verify.max_rel_error, document.verify.accuracy or 0.0)
    for row in document.baselines:
        yield LASTS_S - 0.5, BaselineMeasured(row.name, row.total_s, row.measured_s, row.reason)
    rows = tuple(row.summary for row in document.alternatives)
    name = next((row.name for row in document.alternatives if row.is_plan), "search")
    yield LASTS_S, PlanDecided("whole", name, document.verify.measured_s, rows)
    yield LASTS_S, PhaseEnded("baselines", LASTS_S - WHOLE_S - 0.4)


def _trials(record: RunRecord) -> Iterator[tuple[float, Event]]:
    """Each candidate that was measured, the largest first: what is whole leads the leaderboard."""
    nodes = len(record.graph)
    measured = [one for one in record.candidates if one.cost.source == "measured" and not one.is_merged]
    measured.sort(key=lambda one: (-len(one.inside), one.target))
    each_s = (SEARCH_S - TRIALS_S) / len(measured)
    plan, known = record.document.plan, set[str]()
    ids = {part.id for part in plan.partitions} & {one.id for one in measured}
    yield TRIALS_S, StepStarted("largest first", LASTS_S - TRIALS_S)
    for number, costed in enumerate(measured):
        begins_s, label = TRIALS_S + number * each_s, str(costed.candidate["label"])
        if len(costed.inside) < nodes:
            yield begins_s, StepStarted("settle", LASTS_S - begins_s)
            parts = tuple((part.target, tuple(IndexSet(part.nodes).spans()), part.id in known) for part in plan.partitions)
            yield begins_s, PlanConsidered(0.9 * plan.total_s, None, parts)
        trial = CandidateBuilding(costed.target, costed.id, label, tuple(costed.inside.spans()), number, len(measured), LASTS_S - begins_s)
        yield begins_s, trial
        ends_s, left_s = begins_s + each_s, LASTS_S - begins_s - each_s
        known.add(costed.id)
        cost = costed.cost.to_json()
        yield ends_s, CandidateCosted(costed.target, (costed.id,), label, cost, False, number + 1, len(measured), each_s, left_s)
        if len(costed.inside) == nodes:
            yield ends_s, TargetAlone(costed.target, nodes, nodes, costed.cost.seconds, costed.cost.interval_s)
            if number == 0 and costed.cost.seconds is not None:
                yield ends_s, PlanImproved(costed.cost.seconds, ((costed.target, tuple(costed.inside)),), 0)
        if costed.id in ids and ids <= known:
            yield ends_s, PlanImproved(plan.total_s, tuple((part.target, tuple(part.nodes)) for part in plan.partitions), 1)
