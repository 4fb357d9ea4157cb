"""`undecided`: what measuring left undecided in a run, and what would decide it; `decide` measures that for a while, and plans again.

A record enters; plain data leaves. `undecided` measures nothing: it draws the known costs anew within their intervals, as the run did, and
looks up in the cost database how often and how long each computation was timed. Only `decide` and `decided` run anything.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from ..cost.cost import Cost
from ..cost.database.database import CostDatabase
from ..cost.database.records import CostRow
from ..cost.measuring.repetition_rounds import ROUND_EVERY_S
from ..cost.measuring.repetitions import MOST, repetition_count
from ..documents.statement_text import change_text
from ..documents.statements import PlanTime, compared, time_of_plan
from ..documents.undecided import Decided, DecisionNeeds, RepeatedCost, RunUndecided, StablePart, UndecidedPart, UndecidedRival
from ..errors import CollageError
from ..events import Emit, ignore
from ..graph.computation import Computations
from ..graph.index_set import IndexSet
from ..pipeline.discover import Phases
from ..pipeline.loop.measuring_policy import MeasuringPolicy
from ..pipeline.loop.rivals import Rival, rivals_of, width_s
from ..pipeline.loop.search_and_merge import Planned, SearchSettings, searched
from ..pipeline.plan_documents import plan_document
from ..pipeline.record.record import CostedCandidate, RunRecord, search_candidates, unknown_costs
from ..rewrite.plan import Plan
from ..rules.candidate import CandidatePartition
from ..rules.spec import HOST_TARGET
from ..search.constraints.constraints import parse_constraints
from .remeasure import baseline_rows
from .search_again import search_again
from .terms import Terms
from .trial_setup import check_measurable, measuring, model_of
from .what_if import given_result, plan_of_result, replanned

STABLE = 0.9
"""A partition that is chosen in a smaller share of the draws is a toss-up."""
ONE_TRIAL_S = 1.0
"""Seconds of a trial of which the database knows nothing."""


@dataclass(frozen=True)
class Timed:
    """How a computation was timed so far.

    Attributes:
        repetitions: How often.
        seconds: What one repetition takes, with its build.
        is_known: Whether the database says so; else it is assumed.
    """

    repetitions: int = 1
    seconds: float = ONE_TRIAL_S
    is_known: bool = False


def undecided(record: RunRecord, database: CostDatabase | None = None, clock: Callable[[], float] = time.monotonic) -> RunUndecided:
    """Return what is not decided in the plan of a run.

    Args:
        database: Says how often computations were timed; None where that is assumed.
    """
    planned, rivals = _rivals(record, clock)
    timed = _Timings(record, database)
    total_s = record.plan.total_s
    parts = [part for part in record.plan.partitions if part.target != HOST_TARGET]
    return RunUndecided(
        total_s=total_s,
        total_interval_s=record.plan.total_interval_s,
        is_measured=any(width_s(item.cost) for item in planned.costed),
        partitions=tuple(StablePart(**{one.name: getattr(part, one.name) for one in fields(StablePart)}) for part in parts),
        toss_ups=tuple(part.id for part in parts if part.stability is not None and part.stability < STABLE),
        rivals=tuple(_rival_row(record, rival, timed, total_s) for rival in rivals),
        seconds=_all_s(rivals, timed, total_s),
        unknown_costs=unknown_costs(record.candidates),
    )


def undecided_here(record: RunRecord, clock: Callable[[], float] = time.monotonic) -> RunUndecided:
    """Return `undecided` with what the user's own cost database says, where there is one that can be read."""
    try:
        with CostDatabase(read_only=True) as database:
            return undecided(record, database, clock)
    except CollageError:
        return undecided(record, None, clock)


def decide(
    record: RunRecord,
    source: str | Path,
    limit_s: float | None = None,
    emit: Emit = ignore,
    clock: Callable[[], float] = time.monotonic,
) -> Decided:
    """Measure further repetitions of what is undecided, and plan again on the costs that are known then.

    Args:
        source: The model's file or sample.
        limit_s: Seconds of measuring; those that `undecided` tells unless given. A trial that has begun ends.

    Raises:
        CollageError: nothing is undecided, or this machine cannot measure it.
    """
    before, costs = _decide(record, source, limit_s, emit, clock)
    renewed = _with_costs(record, costs)
    found = replanned(renewed, Terms(record.plan.constraints))
    kept = given_result(renewed, [part.id for part in record.plan.partitions])
    by_id = {item.id: item.cost for item in record.candidates}
    change = None if kept is None else compared(_time_of(found.plan), _time_of(plan_of_result(renewed, kept)))
    return Decided(
        before=before,
        after=undecided_here(replace(renewed, plan=found.plan), clock),
        repeated=tuple(RepeatedCost(id, by_id[id], cost) for id, cost in costs.items()),
        plan=found.plan.partitions,
        total_s=found.plan.total_s,
        change=change,
        change_text="" if change is None else change_text(change),
        is_same_plan={part.id for part in found.plan.partitions} == {part.id for part in record.plan.partitions},
    )


def _time_of(plan: Plan) -> PlanTime:
    return time_of_plan(plan_document(plan))


def decided(
    record: RunRecord,
    source: str | Path,
    limit_s: float | None,
    terms: Terms,
    emit: Emit = ignore,
    clock: Callable[[], float] = time.monotonic,
) -> RunRecord:
    """Measure as `decide` does, search under `terms` on the costs that are known then, and return the new record. Raises as `decide`."""
    phases = Phases(emit)
    with phases("costs"):
        _, costs = _decide(record, source, limit_s, emit, clock)
    known = _with_costs(record, costs)
    document = replace(known.document, baselines=baseline_rows(known, known.problem, known.candidates))
    return search_again(replace(known, document=document, regret_s={}), terms, emit)


def _decide(
    record: RunRecord, source: str | Path, limit_s: float | None, emit: Emit, clock: Callable[[], float]
) -> tuple[RunUndecided, dict[str, Cost]]:
    """Return what was undecided, and candidate id → cost after further repetitions."""
    before = undecided_here(record, clock)
    if not before.rivals:
        raise CollageError("nothing is undecided in this run", "--undecided without --measure says how stable it is", "nothing")
    wanted = _distinct(_rivals(record, clock)[1])
    for target in dict.fromkeys(item.target for item in wanted):
        check_measurable(record, target)
    return before, _repeated(record, source, wanted, before.seconds if limit_s is None else limit_s, emit, clock)


def _rivals(record: RunRecord, clock: Callable[[], float]) -> tuple[Planned, list[Rival]]:
    """Return the plan of `record`, and those of its rivals that matter. Equal computations are off by the same."""
    costed = [CostedCandidate(_found(record, item), item.cost) for item in record.candidates]
    result = given_result(record, [part.id for part in record.plan.partitions])
    if result is None:
        raise CollageError("the plan of the run holds partitions that are not among its candidates", "", "bad_run")
    problem, settings = record.problem, SearchSettings.given(record.plan.options)
    constraints = parse_constraints([dict(item) for item in record.plan.constraints], problem)

    def search(moved: list[CostedCandidate], limit_s: float) -> Planned:
        drawn = problem.with_candidates(search_candidates(moved, problem.lowered))
        best = searched(drawn, constraints, settings.within(limit_s), ignore)
        return Planned(best, best, drawn, moved)

    planned = Planned(result, result, problem, costed)
    found = rivals_of(planned, search, _key, clock=clock)
    return planned, MeasuringPolicy().undecided(found, record.plan.total_s)


def _found(record: RunRecord, item: CostedCandidate) -> CandidatePartition:
    if isinstance(item.held, CandidatePartition):
        return item.held
    return CandidatePartition(record.graph, item.target, IndexSet(item.inside), str(item.held.data["rule"]))


def _key(candidate: CandidatePartition) -> Hashable:
    return candidate.target, candidate.computation


def _rival_row(record: RunRecord, rival: Rival, timed: _Timings, total_s: float) -> UndecidedRival:
    plan, instead = (tuple(_shown(record, item) for item in items) for items in (rival.partitions, rival.instead))
    return UndecidedRival(
        plan=plan,
        instead=instead,
        above_s=rival.above_s,
        width_s=math.hypot(*rival.widths.values()),
        could_gain_s=rival.could_gain_s,
        needs=needs(rival, {key: timed(item) for key, item in _by_key(rival).items()}, total_s),
    )


def _shown(record: RunRecord, item: CostedCandidate) -> UndecidedPart:
    nodes = tuple(item.inside)
    ops = tuple(record.graph.nodes[node].op for node in nodes)
    return UndecidedPart(item.id, item.target, nodes, ops, item.cost.seconds, item.cost.interval_s)


def _by_key(rival: Rival) -> dict[Hashable, CostedCandidate]:
    """Return a candidate of each computation in which the two sides differ."""
    items = [item for item in (*rival.partitions, *rival.instead) if isinstance(item.held, CandidatePartition)]
    return {key: item for item in items if (key := _key(item.held)) in rival.widths}  # type: ignore[arg-type]


def needs(rival: Rival, timed: Mapping[Hashable, Timed], total_s: float) -> DecisionNeeds:
    """Return what would decide between a plan of `total_s` and a rival of it.

    Intervals narrow with the root of the repetitions. It is decided once the difference is off by no more than it is large, and what
    makes no difference: so many times as many repetitions are needed as the square of the ratio says.
    """
    in_all = _repetitions(rival, timed, total_s)
    more = {key: max(min(in_all[key], MOST) - one.repetitions, 0) for key, one in timed.items()}
    return DecisionNeeds(
        seconds=max(sum(more[key] * one.seconds for key, one in timed.items()), ROUND_EVERY_S * max(more.values(), default=0)),
        repetitions=sum(more.values()),
        computations=len(timed),
        is_enough=all(count <= MOST for count in in_all.values()),
        is_assumed=any(not one.is_known for one in timed.values()),
    )


def _repetitions(rival: Rival, timed: Mapping[Hashable, Timed], total_s: float) -> dict[Hashable, int]:
    """Return how many repetitions of each computation would decide, those that there are included; more than `MOST` for too many."""
    wanted_s = max(rival.above_s, 0.0) + MeasuringPolicy().tie * total_s
    factor = (math.hypot(*rival.widths.values()) / wanted_s) ** 2 if wanted_s > 0 else math.inf
    return {key: math.ceil(one.repetitions * factor) if factor < MOST else MOST + 1 for key, one in timed.items()}


def _all_s(rivals: Iterable[Rival], timed: _Timings, total_s: float) -> float:
    """Return the seconds that deciding all of them needs: one computation may be in several."""
    longest: dict[Hashable, float] = {}
    for rival in rivals:
        known = {key: timed(item) for key, item in _by_key(rival).items()}
        for key, count in _repetitions(rival, known, total_s).items():
            more = max(min(count, MOST) - known[key].repetitions, 0)
            longest[key] = max(longest.get(key, 0.0), more * max(known[key].seconds, ROUND_EVERY_S))
    return sum(longest.values())


class _Timings:
    """Looks up how the computations of a run were timed."""

    def __init__(self, record: RunRecord, database: CostDatabase | None):
        self._record = record
        self._database = database
        self._versions = {target.name: target.version for target in record.plan.targets}

    def __call__(self, item: CostedCandidate) -> Timed:
        """Return how the computation of `item` was timed, the newest time that fits the run."""
        if self._database is None:
            return Timed()
        digest = self._record.graph.derive(Computations).key(item.inside)
        rows = [row for row in self._database.of_computations([digest]) if self._fits(row, item.target)]
        if not rows:
            return Timed()
        newest = max(rows, key=lambda row: row[1].created)[1]
        return Timed(max(repetition_count(newest), 1), newest.seconds_spent or ONE_TRIAL_S, is_known=True)

    def _fits(self, row: CostRow, target: str) -> bool:
        key, record = row
        own = (target, self._versions.get(target), self._record.machine, self._record.plan.options.get("threads"))
        return (key.toolchain, key.version, key.machine, key.threads) == own and not record.stage


def _distinct(rivals: Iterable[Rival]) -> list[CostedCandidate]:
    """Return one candidate of each computation in which plan and rivals differ."""
    made: dict[Hashable, CostedCandidate] = {}
    for rival in rivals:
        made = {**_by_key(rival), **made}
    return list(made.values())


def _repeated(
    record: RunRecord, source: str | Path, wanted: Sequence[CostedCandidate], limit_s: float, emit: Emit, clock: Callable[[], float]
) -> dict[str, Cost]:
    """Return candidate id → new cost of what could be timed in `limit_s` seconds of repetitions, one of each at least."""
    model = model_of(record, source)
    open_ = [CandidatePartition(model.graph, item.target, IndexSet(item.inside), item.candidate["rule"]) for item in wanted]
    costs: dict[str, Cost] = {}
    with measuring(record, model, dict.fromkeys(item.target for item in wanted), emit) as estimator:
        costs |= {candidate.id: cost for candidate, cost, _ in estimator.estimate(model.graph, open_)}
        ends = clock() + limit_s
        while open_:
            answered = {candidate.id: cost for candidate, cost, _ in estimator.repeat(open_, record.plan.total_s)}
            costs |= answered
            open_ = [candidate for candidate in open_ if candidate.id in answered and clock() < ends]
    before = {item.id: item.cost for item in record.candidates}
    return {id: _as_inside(before[id], cost) for id, cost in costs.items()}


def _as_inside(before: Cost, cost: Cost) -> Cost:
    """Return a new `cost`; one that the run corrected to what it is inside the whole stays that, since a trial times it alone."""
    if before.alone_s is None or cost.seconds is None:
        return cost
    return replace(cost, seconds=before.seconds, reason=before.reason, alone_s=before.alone_s)


def _with_costs(record: RunRecord, costs: Mapping[str, Cost]) -> RunRecord:
    """Return `record` with these costs, and the same for all equal computations."""
    of = record.graph.derive(Computations).of
    by_key = {(item.target, of(item.inside)): costs[item.id] for item in record.candidates if item.id in costs}
    targets = {target for target, _ in by_key}
    costed = [
        CostedCandidate(item.held, by_key.get((item.target, of(item.inside)), item.cost)) if item.target in targets else item
        for item in record.candidates
    ]
    problem = record.problem.with_candidates(search_candidates(costed, record.problem.lowered))
    return replace(record, candidates=costed, problem=problem, has_newer_costs=True)
