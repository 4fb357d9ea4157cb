"""`compare`: how two plans of one model differ: totals, targets, and region by region which decisions differ and what each is worth.

Two plans enter, each a run, a baseline of a run, or a plan file; plain data leaves. Two cost databases are passed on to `compare_costs`.
Nothing is measured or changed.
"""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from ..cost.cost import HOST_COST
from ..documents.compare import (
    Change,
    ComparedModel,
    ComparedPartition,
    ComparedPlan,
    ComparedRegion,
    CostsCompared,
    MovedNode,
    PlansCompared,
)
from ..documents.plan import PlanPartition, moves_s
from ..documents.run import Alternative, BaselineInfo
from ..documents.statement_text import change_text
from ..documents.statements import PlanTime, Statement, compared, time_of_plan, time_of_row, time_of_run, turned
from ..errors import CollageError
from ..graph.computation import Computations
from ..graph.index_set import IndexSet
from ..pipeline.plan_documents import plan_document
from ..pipeline.record.record import FILE_NAME, CostedCandidate, RunRecord, record_path
from ..pipeline.whole.differences import swapped_saves_s
from ..rewrite.plan import Plan, read_plan
from ..rules.spec import HOST_TARGET
from .compare_costs import compare_costs, is_database
from .plan_difference import Region, moved_nodes, regions_of
from .what_if import plan_of_baseline

BASELINE = "#"
"""Stands between a run and the name of one of its baselines."""


@dataclass(frozen=True)
class Side:
    """One of two plans that are compared.

    Attributes:
        record: The run whose costs the plan has; None of a plan file alone.
        whole: Its time as far as it was timed end to end; None where it was not.
        is_own: It is the plan of `record`, whose other plans were timed in turns with it.
    """

    name: str
    plan: Plan
    record: RunRecord | None = None
    whole: PlanTime | None = None
    is_own: bool = False

    @property
    def time(self) -> PlanTime:
        """Return what is known of its time."""
        known = time_of_plan(plan_document(self.plan))
        if self.whole is None:
            return known
        measured = {name: getattr(self.whole, name) for name in ("measured_s", "interval_s", "least_ratio", "unexplained_s")}
        return replace(known, **measured)

    @property
    def compared(self) -> ComparedPlan:
        """The side as a comparison tells it."""
        parts = [part for part in self.plan.partitions if part.target != HOST_TARGET]
        nodes: Counter[str] = Counter()
        for part in parts:
            nodes[part.target] += len(part.nodes)
        time = self.time
        return ComparedPlan(
            name=self.name,
            total_s=time.predicted_s,
            total_interval_s=time.predicted_interval_s,
            measured_s=time.measured_s,
            interval_s=time.interval_s,
            transitions_s=moves_s(self.plan),
            partitions=len(parts),
            targets=dict(nodes),
            machine=self.plan.machine,
        )


def compare(first: str | Path | RunRecord, second: str | Path | RunRecord) -> PlansCompared | CostsCompared:
    """Compare two runs, baselines or plans of one model, or two cost databases.

    Args:
        first, second: A run as `partition` returned it, its folder, its ``run.json.gz``, a plan file; ``RUN#NAME`` is the baseline NAME
            of a run. Or a cost database, as `compare_costs` takes it.

    Raises:
        CollageError: there is no such plan, the two are plans of different models, or one is a database and the other a plan.
    """
    if all(not isinstance(one, RunRecord) and is_database(str(one)) for one in (first, second)):
        return compare_costs(str(first), str(second))
    return compare_plans(first, second)


def compare_plans(first: str | Path | RunRecord, second: str | Path | RunRecord) -> PlansCompared:
    """Compare two runs, baselines or plans of one model; arguments and errors are those of `compare`."""
    databases = [str(one) for one in (first, second) if not isinstance(one, RunRecord) and is_database(str(one))]
    if databases:
        other = next(one for one in (first, second) if str(one) != databases[0])
        which = "a run" if isinstance(other, RunRecord) else repr(str(other))
        raise CollageError(f"{databases[0]!r} is a cost database, {which} is none", "compare two plans, or two databases", "bad_option")
    loaded: dict[Path, RunRecord] = {}
    return compare_sides(side_of(first, loaded), side_of(second, loaded))


def compare_sides(one: Side, other: Side) -> PlansCompared:
    """Return how two plans differ. Raises CollageError where the two are plans of different models."""
    _check_same_model(one, other)
    parts, others = one.plan.partitions, other.plan.partitions
    regions = regions_of(parts, others)
    changes = [region for region in regions if region.is_change]
    judge = next((side for side in (one, other) if side.record is not None and _knows(side.record, (*parts, *others))), None)
    record, interval_s = None if judge is None else judge.record, _Intervals(one, other)
    half_s = interval_s(parts, others)
    mine, its = (replace(side.time, measured_s=None, unexplained_s=None) for side in (one, other))
    change = _statement(one, other, half_s)
    return PlansCompared(
        model=ComparedModel(one.plan.model.name, one.plan.model.hash, sum(len(part.nodes) for part in parts)),
        first=one.compared,
        second=other.compared,
        predicted=Change.of(compared(mine, its, interval_s=half_s)),
        measured=Change.of(change) if change.basis == "measured" else Change(None, None, None),
        change=change,
        change_text=change_text(change),
        costs_of=None if judge is None else judge.name,
        moved=_moved(parts, others),
        regions=tuple(_region(region, one.plan, record, interval_s) for region in changes),
        unchanged=len(regions) - len(changes),
    )


def _statement(first: Side, other: Side, interval_s: float | None) -> Statement:
    """Return how the first compares with the second; plans of one run were timed in turns with the plan that it decided on."""
    in_turns = first.record is not None and first.record is other.record and first.is_own != other.is_own
    if in_turns and first.is_own:
        return turned(compared(other.time, first.time, interval_s=interval_s))
    return compared(first.time, other.time, interval_s=interval_s, in_turns=in_turns)


def side_of(given: str | Path | RunRecord, loaded: dict[Path, RunRecord] | None = None) -> Side:
    """Return the plan that `given` names, as `compare` takes it.

    Args:
        loaded: Runs that were read already; one that is read here is added.

    Raises:
        CollageError: there is none, or it cannot be read.
    """
    if isinstance(given, RunRecord):
        return _of_run("this run", given)
    text, loaded = str(given), {} if loaded is None else loaded
    if os.path.exists(text) or BASELINE not in text:
        return _at(Path(text), loaded)
    path, _, name = text.rpartition(BASELINE)
    record = _at(Path(path), loaded).record
    if record is None:
        message = f"{path!r} is a plan without its run, so it has no baseline {name!r}"
        raise CollageError(message, f"give the folder of a run: it holds {FILE_NAME!r}", "no_run")
    return side_of_baseline(text, record, name)


def _at(path: Path, loaded: dict[Path, RunRecord]) -> Side:
    """Return the run at `path`; the plan alone where a file of one is given that is not the plan of the run beside it."""
    if os.path.isdir(path) and not os.path.exists(record_path(path)):
        return Side(str(path), read_plan(path))
    if os.path.isdir(path) or path.name.endswith(".gz"):
        return _of_run(str(path), _loaded(record_path(path), loaded))
    plan, beside = read_plan(path), record_path(path)
    if os.path.exists(beside) and _loaded(beside, loaded).plan == plan:
        return _of_run(str(path), _loaded(beside, loaded))
    return Side(str(path), plan)


def _loaded(path: Path, loaded: dict[Path, RunRecord]) -> RunRecord:
    file = path.resolve()
    if file not in loaded:
        loaded[file] = RunRecord.load(path)
    return loaded[file]


def _of_run(name: str, record: RunRecord) -> Side:
    return Side(name, record.plan, record, time_of_run(record.document), is_own=True)


def side_of_baseline(name: str, record: RunRecord, baseline: str) -> Side:
    """Return a plan that was compared with that of a run, by the name that it has there. Raises CollageError where there is none."""
    rows: list[Alternative | BaselineInfo] = [*record.document.alternatives, *record.document.baselines]
    names = list(dict.fromkeys(row.name for row in rows))
    row = next((row for row in rows if row.name == baseline), None)
    if row is None:
        raise CollageError(f"the run has no baseline {baseline!r}", f"it has {', '.join(names) or 'none'}", "unknown_baseline")
    known = time_of_row(record.document, row) if isinstance(row, Alternative) else PlanTime(predicted_s=None, measured_s=row.measured_s)
    return Side(name, plan_of_baseline(record, baseline), record, known)


def _check_same_model(one: Side, other: Side) -> None:
    mine, its = one.plan.model, other.plan.model
    if mine.hash != its.hash:
        message = f"{one.name} is a plan of the model {mine.name!r} ({mine.hash[:16]}), {other.name} of {its.name!r} ({its.hash[:16]})"
        raise CollageError(message, "compare plans of one model, with the same shapes and fixed values", "other_model")
    if _names(one.plan) != _names(other.plan):
        message = f"{one.name} and {other.name} are plans of the model {mine.name!r} with different nodes"
        raise CollageError(message, "compare plans with the same shapes, values and folding", "other_model")


def _names(plan: Plan) -> dict[int, str]:
    return {node: name for part in plan.partitions for node, name in zip(part.nodes, part.names, strict=False)}


def _knows(record: RunRecord, parts: Sequence[PlanPartition]) -> bool:
    known = {candidate.id for candidate in record.problem.candidates}
    return all(part.id in known for part in parts)


class _Intervals:
    """Half intervals of differences between partitions of two plans: of one run, equal computations are off by the same in both."""

    def __init__(self, one: Side, other: Side):
        self._is_one_run = one.record is not None and one.record is other.record
        record = one.record or other.record
        self._computations = None if record is None else record.graph.derive(Computations)

    def __call__(self, first: Iterable[PlanPartition], second: Iterable[PlanPartition]) -> float | None:
        """Return by how much the costs of `first` less those of `second` may be off; None where a cost has no interval."""
        widths: dict[Hashable, float] = defaultdict(float)
        for sign, parts in ((1, first), (-1, second)):
            for part in parts:
                if part.source == HOST_COST.source:
                    continue
                if part.interval_s is None:
                    return None
                widths[self._key(sign, part)] += sign * part.interval_s
        return math.hypot(*widths.values())

    def _key(self, sign: int, part: PlanPartition) -> Hashable:
        computation = part.id if self._computations is None else self._computations.of(IndexSet(part.nodes))
        return (part.target, computation) if self._is_one_run else (sign, part.target, computation)


def _moved(first: Sequence[PlanPartition], second: Iterable[PlanPartition]) -> tuple[MovedNode, ...]:
    """Return every node whose target differs."""
    theirs = {node: part.target for part in second for node in part.nodes}
    mine = {node: (part.target, *named) for part in first for node, *named in zip(part.nodes, part.names, part.ops, strict=True)}
    rows = []
    for node in moved_nodes(first, second):
        target, name, op = mine[node]
        rows.append(MovedNode(node, name, op, target, theirs[node]))
    return tuple(rows)


def _region(region: Region, plan: Plan, record: RunRecord | None, interval_s: _Intervals) -> ComparedRegion:
    half_s = None if region.change_s is None else interval_s(region.first, region.second)
    return ComparedRegion(
        kind=region.kind,
        nodes=region.nodes,
        first=tuple(map(_placed, region.first)),
        second=tuple(map(_placed, region.second)),
        first_s=region.first_s,
        second_s=region.second_s,
        change_s=region.change_s,
        interval_s=half_s,
        is_clear=None if half_s is None or region.change_s is None else abs(region.change_s) > half_s,
        saves_s=None if record is None else _saves_s(record, plan, region),
    )


def _placed(part: PlanPartition) -> ComparedPartition:
    return ComparedPartition(**{one.name: getattr(part, one.name) for one in fields(ComparedPartition)})


def _saves_s(record: RunRecord, plan: Plan, region: Region) -> float | None:
    by_id = {item.id: item for item in record.candidates}

    def items(parts: Sequence[PlanPartition]) -> list[CostedCandidate]:
        return [by_id[part.id] for part in parts]

    return swapped_saves_s(record, items(plan.partitions), items(region.first), items(region.second))
