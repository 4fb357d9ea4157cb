"""`apparent_loss`: what a plan of the user's own costs beside the plan of a run, on the costs that the run knows.

A run and a plan from elsewhere (`given_plan`) enter; plain data leaves. Where the model is given, what the run does not know of the plan
is measured, and then both plans whole; else it is said. The apparent loss is that of RFC 62 (Collage): the plan's time less that of the
user's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ..cost.cost import Cost
from ..documents.compare import ApparentLoss, CostedPlan, UnknownPart
from ..documents.statements import PlanTime, time_beside, time_of_plan
from ..errors import CollageError
from ..events import Emit, ignore
from ..graph.dataflow_graph import DataflowGraph
from ..graph.index_set import IndexSet
from ..model.onnx_model import OnnxModel
from ..pipeline.loop.cost_table import is_settled
from ..pipeline.loop.search_and_merge import SearchSettings
from ..pipeline.plan_documents import plan_document
from ..pipeline.record.record import CostedCandidate, RunRecord, search_candidates
from ..pipeline.whole.baselines import best_of, free_indices
from ..rewrite.plan import Plan
from ..rules.candidate import CandidatePartition
from ..rules.spec import HOST_TARGET
from ..search.searcher import SearchResult
from .compare import Side, compare_sides, side_of
from .given_plan import Assignment, GivenPlan, assign, read_given
from .timed_beside import Beside, timed_beside
from .trial_setup import check_measurable, measuring, model_of
from .what_if import plan_of_result

MOST_ROUNDS = 4
"""After so many rounds of measuring what the best division of the given nodes rests on, it is taken as it is."""
NOT_A_CANDIDATE = "the run has no such candidate: it was not measured"
Piece = tuple[str, IndexSet]


@dataclass(frozen=True)
class OwnPlan:
    """A plan from elsewhere on the costs of a run.

    Attributes:
        record: The run, with what was measured for the plan, and its parts of unknown cost.
        unknown: The parts whose costs are not known to their end.
        ignored: Names of the given plan that the model does not have.
    """

    name: str
    record: RunRecord
    plan: Plan
    unknown: list[CostedCandidate]
    ignored: tuple[str, ...]


def apparent_loss(
    run: str | Path | RunRecord,
    given: str | Path | Mapping[str, str],
    devices: Mapping[str, str] | None = None,
    model: str | Path | None = None,
    emit: Emit = ignore,
) -> ApparentLoss:
    """Return the plan of a run beside one of the user's own.

    Args:
        run: The run or its folder, as `compare` takes it.
        given: A file (`read_given` says of which forms), or a mapping from names of nodes to targets.
        devices: Device or provider, as the given plan names it → target.
        model: The model's file or sample: what the run does not know of the given plan is measured, then both plans are built and timed
            whole in turns. Nothing is measured unless given.

    Returns:
        The comparison. Measured, the times of both are of this occasion.

    Raises:
        CollageError: the given plan cannot be read or does not fit the run, or the model cannot be measured here.
    """
    side = side_of(run)
    if side.record is None:
        raise CollageError(f"{side.name} is a plan without its run, which has the costs", "give the folder of a run", "no_run")
    own = own_plan(side.record, given, devices or {}, model, emit)
    return loss_document(side, own, None if model is None else timed_beside(own.record, own.plan, own.name, model, emit))


def loss_document(side: Side, own: OwnPlan, timed: Beside | None = None) -> ApparentLoss:
    """Return what `apparent_loss` does; `timed` are both plans, timed end to end."""
    whole = time_beside(own.record.document, plan_document(own.plan))
    first, second = replace(side, record=own.record), Side(own.name, own.plan, own.record, whole)
    if timed is not None:
        first, second = (
            replace(plan, whole=PlanTime(predicted_s=None, measured_s=time.measured_s, interval_s=time.interval_s))
            for plan, time in ((first, timed.plan), (second, timed.other))
        )
    compared = compare_sides(first, second)
    return ApparentLoss(
        **{one.name: getattr(compared, one.name) for one in fields(compared) if one.name != "kind"},
        apparent_loss_s=compared.predicted.change_s,
        unknown=tuple(_unknown_part(own.record.graph, item) for item in own.unknown),
        ignored=own.ignored,
        not_measured="" if timed is None else timed.reason,
    )


def costed_plan(record: RunRecord, given: GivenPlan, devices: Mapping[str, str]) -> CostedPlan:
    """Return a plan from elsewhere on the costs of `record`; nothing is measured. Arguments and errors are those of `apparent_loss`."""
    own = own_plan(record, given, devices)
    loss = loss_document(side_of(record), own)
    plan = plan_document(own.plan)
    return CostedPlan(own.name, plan, time_of_plan(plan), loss.apparent_loss_s, loss.unknown, loss.ignored)


def own_plan(
    record: RunRecord,
    given: str | Path | Mapping[str, str] | GivenPlan,
    devices: Mapping[str, str],
    model: str | Path | None = None,
    emit: Emit = ignore,
) -> OwnPlan:
    """Return a plan from elsewhere on the costs of `record`; arguments and errors are those of `apparent_loss`."""
    read = given if isinstance(given, GivenPlan) else read_given(given)
    if read.model_hash not in ("", record.plan.model.hash):
        said = f"{read.name} is a plan of another model than {record.plan.model.name!r} ({record.plan.model.hash[:16]})"
        raise CollageError(said, "give a plan of the same model, with the same shapes and values", "other_model")
    targets = list(dict.fromkeys(item.target for item in record.candidates))
    assignment = assign(read, record.graph, [*(name for name in targets if name != HOST_TARGET), HOST_TARGET], devices)
    _check_covers(record, assignment, read.name)
    costing = _Costing(record, assignment, read.name)
    if model is not None:
        costing.measure(model, emit)
    result = costing.result()
    chosen = [record_candidate(costing.record, index) for index in result.chosen]
    unknown = [item for item in chosen if item.target != HOST_TARGET and not is_settled(item.cost)]
    return OwnPlan(read.name, costing.record, plan_of_result(costing.record, result), unknown, assignment.ignored)


def record_candidate(record: RunRecord, index: int) -> CostedCandidate:
    """Return the candidate with its cost that the problem of `record` has at `index`."""
    wanted = record.problem.candidates[index]
    return next(item for item in record.candidates if item.inside == wanted.inside and item.target == wanted.target)


def largest_pieces(graph: DataflowGraph, target_of: Mapping[int, str]) -> list[Piece]:
    """Return the nodes of each target in connected pieces, as a runtime would divide them, without a cycle between pieces.

    A node is one level behind the nodes of other targets that it reads, and on the level of those of its own. Connected nodes of one
    target and level are a piece, so every tensor between pieces leads to a higher level.
    """
    level: dict[int, int] = {}
    for node in range(len(graph)):
        level[node] = max((level[one] + (target_of.get(one) != target_of.get(node)) for one in graph.sources[node]), default=0)
    piece: dict[int, set[int]] = {node: {node} for node in target_of}
    for node in sorted(target_of):
        for one in graph.sources[node]:
            if one in piece and (target_of[one], level[one]) == (target_of[node], level[node]) and piece[one] is not piece[node]:
                small, large = sorted((piece[one], piece[node]), key=len)
                large |= small
                piece.update(dict.fromkeys(small, large))
    found = {id(nodes): nodes for nodes in piece.values()}.values()
    return sorted(((target_of[min(nodes)], IndexSet(nodes)) for nodes in found), key=lambda one: one[1].first())


class _Costing:
    """The given plan on the costs of a run, which grow as more is measured.

    Attributes:
        record: The run with the pieces of the given plan among its candidates.
    """

    def __init__(self, record: RunRecord, assignment: Assignment, name: str):
        self._assignment = assignment
        self._name = name
        placed = {node: target for node, target in assignment.target_of.items() if target != HOST_TARGET}
        groups = [piece for piece in assignment.groups if piece[0] != HOST_TARGET]
        self._pieces: list[Piece] = groups if assignment.groups else largest_pieces(record.graph, placed)
        self.record = _with_pieces(record, self._pieces)

    def measure(self, source: str | Path, emit: Emit) -> None:
        """Measure the pieces that are not known, then what the best plan of the given nodes rests on, until all of it is known."""
        wanted = [item for item in self.record.candidates if (item.target, item.inside) in set(self._pieces) and not is_settled(item.cost)]
        model: OnnxModel | None = None
        for _ in range(MOST_ROUNDS):
            if not wanted:
                return
            targets = list(dict.fromkeys(item.target for item in wanted))
            for target in targets:
                check_measurable(self.record, target)
            model = model or model_of(self.record, source)
            self._learn(model, wanted, targets, emit)
            tried = {item.id for item in wanted}
            chosen = [record_candidate(self.record, index) for index in self.result().chosen]
            wanted = [item for item in chosen if item.target != HOST_TARGET and item.id not in tried and not is_settled(item.cost)]

    def _learn(self, model: OnnxModel, wanted: Sequence[CostedCandidate], targets: Sequence[str], emit: Emit) -> None:
        asked = [CandidatePartition(model.graph, item.target, IndexSet(item.inside), item.candidate["rule"]) for item in wanted]
        with measuring(self.record, model, targets, emit) as estimator:
            costs = {candidate.id: cost for candidate, cost, _ in estimator.estimate(model.graph, asked)}
        self.record = _with_costs(self.record, [CostedCandidate(item.held, _usable(costs[item.id])) for item in wanted if item.id in costs])

    def result(self) -> SearchResult:
        """Return the best plan on known costs that holds the given plan; that of the pieces where some of them have none.

        Raises:
            CollageError: its partitions cannot run one after another.
        """
        problem, settings = self.record.problem, SearchSettings.given(self.record.plan.options)
        pieces, free = set(self._pieces), free_indices(self.record.problem)
        exact = [index for index, one in enumerate(problem.candidates) if (one.target, one.inside) in pieces or self._is_hosts(one)]
        if not self._assignment.groups:
            allowed = [index for index, one in enumerate(problem.candidates) if one.cost is not None and self._allows(one)]
            found = best_of({*allowed, *free}, problem, settings)
            if found is not None:
                return found
        found = best_of({*exact, *free}, problem, settings)
        if found is None:
            said = f"the partitions of {self._name} cannot run one after another, or their targets exclude each other"
            raise CollageError(said, "a plan's partitions must not form a cycle", "bad_plan")
        return found

    def _allows(self, one: Any) -> bool:
        """Return whether the candidate `one` keeps every node where the given plan has it; nodes that only rename go along."""
        nodes, target_of = self.record.graph.nodes, self._assignment.target_of
        return all(target_of.get(node) == one.target or (node not in target_of and nodes[node].is_host) for node in one.inside)

    def _is_hosts(self, one: Any) -> bool:
        return bool(one.target == HOST_TARGET and all(self._assignment.target_of.get(node) == HOST_TARGET for node in one.inside))


def _usable(cost: Cost) -> Cost:
    """Return a cost that a plan may hold: an invalid one as an unknown one with the reason, since the user's plan holds it all the same."""
    return Cost.unknown(f"{cost.stage}: {cost.reason}") if cost.is_invalid else cost


def _with_pieces(record: RunRecord, pieces: Iterable[Piece]) -> RunRecord:
    """Return `record` with a usable candidate for each piece: those that it lacks, or found to be invalid, have an unknown cost."""
    known = {(item.target, item.inside): item for item in record.candidates}
    added = []
    for target, inside in pieces:
        item = known.get((target, inside))
        if item is None:
            added.append(
                CostedCandidate(CandidatePartition(record.graph, target, inside, f"{target}.given"), Cost.unknown(NOT_A_CANDIDATE))
            )
        elif item.cost.is_invalid:
            added.append(CostedCandidate(item.held, _usable(item.cost)))
    return _with_costs(record, added)


def _with_costs(record: RunRecord, items: Sequence[CostedCandidate]) -> RunRecord:
    """Return `record` with these candidates in place of those of the same id, or behind the others."""
    new = {item.id: item for item in items}
    kept = [new.pop(item.id, item) for item in record.candidates]
    costed = [*kept, *new.values()]
    return replace(record, candidates=costed, problem=record.problem.with_candidates(search_candidates(costed, record.problem.lowered)))


def _check_covers(record: RunRecord, assignment: Assignment, name: str) -> None:
    """Raise CollageError where a node has no place that is not the host's for free."""
    free = {node for index in free_indices(record.problem) for node in record.problem.candidates[index].inside}
    missing = [node.name for node in record.graph.nodes if node.index not in assignment.target_of and node.index not in free]
    if not missing:
        return
    listed = ", ".join(map(repr, missing[:3])) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
    others = f"; {len(assignment.ignored)} of its names are not nodes of the model" if assignment.ignored else ""
    hint = "give the rest to a target with a line *=TARGET before the others; a runtime's names are the model's with its optimisations off"
    raise CollageError(f"{name} has no place for {listed}{others}", hint, "bad_plan")


def _unknown_part(graph: DataflowGraph, item: CostedCandidate) -> UnknownPart:
    nodes = tuple(item.inside)
    reason = "its trial was ended early" if item.cost.stopped_early else item.cost.reason
    return UnknownPart(item.id, item.target, nodes, tuple(graph.nodes[node].name for node in nodes), reason)
