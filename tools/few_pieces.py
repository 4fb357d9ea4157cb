"""A slow exhaustive search over few pieces: every piece between two cuts is timed alone on every target, with no budget.

A model and its targets enter; the plans of one to three pieces with the least sums leave, for whoever times them end to end. It knows
nothing of rules, estimates or the search: a plan of `collage partition` that is behind one of these has missed it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import combinations, pairwise, product
from pathlib import Path

from collage_core.cost.database.database import CostDatabase
from collage_core.cost.estimators.measure import MeasureEstimator
from collage_core.documents.plan import PlanPartition
from collage_core.graph.dataflow_graph import DataflowGraph
from collage_core.graph.index_set import IndexSet
from collage_core.graph.work_estimate import WorkEstimator
from collage_core.model.onnx_model import OnnxModel
from collage_core.rewrite.plan import Plan
from collage_core.rules.candidate import CandidatePartition

CUTS = 8
MOST_PIECES = 3
PLANS = 5

Piece = tuple[int, int, str]
"""The first node, the one after the last, and the target."""


def cuts_of(graph: DataflowGraph, count: int = CUTS) -> list[int]:
    """Return up to `count` nodes before which the model is cut, in order: in each of as many shares of its work, where least crosses."""
    last_reader = [max(readers, default=-1) for readers in graph.consumers]
    crossing = [sum(last_reader[maker] >= cut for maker in range(cut)) for cut in range(len(graph))]
    work_of = WorkEstimator(graph)
    work = [work_of(IndexSet([index])).operations for index in range(len(graph))]
    total, done, shares = sum(work) or 1.0, 0.0, list[int]()
    for index, operations in enumerate(work):
        # Half by work and half by number: a tail of many small nodes is worth cuts, too.
        shares.append(min(count - 1, int(count * (done / total + index / len(work)) / 2)))
        done += operations
    inner = range(1, len(graph))
    return sorted({min((cut for cut in inner if shares[cut] == share), key=lambda cut: (crossing[cut], -cut)) for share in set(shares[1:])})


def divisions(size: int, cuts: Sequence[int], targets: Sequence[str]) -> Iterator[tuple[Piece, ...]]:
    """Yield every way to divide `size` nodes at up to two of the cuts, no two neighbours on one target."""
    for count in range(MOST_PIECES):
        for chosen in combinations(cuts, count):
            ends = list(pairwise((0, *chosen, size)))
            for names in product(targets, repeat=count + 1):
                if all(before != after for before, after in pairwise(names)):
                    yield tuple((begin, end, name) for (begin, end), name in zip(ends, names, strict=True))


def best_divisions(seconds: Mapping[Piece, float], size: int, cuts: Sequence[int], targets: Sequence[str]) -> list[tuple[Piece, ...]]:
    """Return the `PLANS` divisions with the least sums, the best first; one with a piece that does not run is none."""
    sums = {division: sum(seconds.get(piece, math.inf) for piece in division) for division in divisions(size, cuts, targets)}
    return sorted((division for division, total in sums.items() if math.isfinite(total)), key=lambda division: sums[division])[:PLANS]


def timed_pieces(
    model: OnnxModel, cuts: Sequence[int], targets: Sequence[str], threads: int, accuracy: float, folder: Path
) -> dict[Piece, float]:
    """Return the seconds of every piece that runs and is accurate enough, each measured alone."""
    ends = [0, *cuts, len(model.graph)]
    pieces = {
        (begin, end, target): CandidatePartition(model.graph, target, IndexSet(range(begin, end)), "few_pieces")
        for begin, end in combinations(ends, 2)
        for target in targets
    }
    piece_of = {candidate: piece for piece, candidate in pieces.items()}
    with (
        CostDatabase(folder / "few_pieces.sqlite3") as database,
        closing(MeasureEstimator(model, model.seeded_inputs(), threads, database, accuracy)) as estimator,
    ):
        costs = {piece_of[candidate]: cost for candidate, cost, _ in estimator.estimate(model.graph, list(piece_of))}
    return {piece: cost.seconds for piece, cost in costs.items() if cost.seconds is not None and not cost.is_invalid}


def plan_of(division: Sequence[Piece], plan: Plan, graph: DataflowGraph) -> Plan:
    """Return `plan` with the pieces of a division for partitions, their costs not stated."""
    partitions = [
        PlanPartition(
            id=CandidatePartition(graph, target, IndexSet(range(begin, end)), "few_pieces").id,
            target=target,
            nodes=tuple(range(begin, end)),
            names=tuple(node.name for node in graph.nodes[begin:end]),
            ops=tuple(node.op for node in graph.nodes[begin:end]),
            cost_s=None,
            source="unknown",
        )
        for begin, end, target in division
    ]
    return plan.model_copy(update={"partitions": tuple(partitions), "transitions": (), "total_s": 0.0})
