"""A slow search over plans of one to three pieces, without rules, estimates or the run's own search.

A model, its targets and a time limit enter; the plans with the least sums leave, built and verified, for whoever times them end to end.
Every piece from the model's beginning to a cut, and from a cut to its end, is timed on every target. Of the pieces between two cuts those
are timed that could be in the best plan: a piece between two cuts is expected to take what two pieces with the same other end
differ by. A plan of `collage partition` that is behind one of these has missed it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import combinations, pairwise, product
from pathlib import Path

from collage_core.base.isolation.worker import Pool
from collage_core.cost.database.database import CostDatabase
from collage_core.cost.estimators.measure import MeasureEstimator
from collage_core.documents.plan import PlanPartition
from collage_core.errors import Cancelled, CollageError
from collage_core.events import ignore
from collage_core.graph.dataflow_graph import DataflowGraph
from collage_core.graph.index_set import IndexSet
from collage_core.graph.work_estimate import WorkEstimator
from collage_core.model.onnx_model import OnnxModel
from collage_core.pipeline.discover import Phases
from collage_core.pipeline.whole.assemble_and_verify import build_and_verify
from collage_core.rewrite.plan import Plan
from collage_core.rules.candidate import CandidatePartition
from collage_core.toolchains.abilities import PlainTwin
from collage_core.toolchains.built_packages import BuiltPackages
from collage_core.toolchains.registry import get

CUTS = 8
MOST_PIECES = 3
PLANS = 5
LEAST = 0.02
"""A piece that takes less than this share of its plan makes no other plan of it."""

Piece = tuple[int, int, str]
"""The first node, the one after the last, and the target."""
Division = tuple[Piece, ...]
Tell = Callable[[str], None]


def cuts_of(graph: DataflowGraph, count: int = CUTS) -> list[int]:
    """Return up to `count` nodes before which the model is cut, in order: in each of as many shares of its work, where least crosses.

    Of as many tensors floats are better than integers, which toolchains round each in its own way.
    """
    last_reader = [max(readers, default=-1) for readers in graph.consumers]
    crossing = [[maker for maker in range(cut) if last_reader[maker] >= cut] for cut in range(len(graph))]
    is_integer = [any(not tensor.type.dtype.startswith("float") for tensor in node.outputs) for node in graph.nodes]
    costs = [(len(makers), sum(is_integer[maker] for maker in makers), -cut) for cut, makers in enumerate(crossing)]
    work_of = WorkEstimator(graph)
    work = [work_of(IndexSet([index])).operations for index in range(len(graph))]
    total, done, shares = sum(work) or 1.0, 0.0, list[int]()
    for index, operations in enumerate(work):
        # Half by work and half by number: a tail of many small nodes is worth cuts, too.
        shares.append(min(count - 1, int(count * (done / total + index / len(work)) / 2)))
        done += operations
    inner = range(1, len(graph))
    return sorted({min((cut for cut in inner if shares[cut] == share), key=lambda cut: costs[cut]) for share in set(shares[1:])})


def divisions(size: int, cuts: Sequence[int], targets: Sequence[str]) -> Iterator[Division]:
    """Yield every way to divide `size` nodes at up to two of the cuts, no two neighbours on one target."""
    for count in range(MOST_PIECES):
        for chosen in combinations(cuts, count):
            ends = list(pairwise((0, *chosen, size)))
            for names in product(targets, repeat=count + 1):
                if all(before != after for before, after in pairwise(names)):
                    yield tuple((begin, end, name) for (begin, end), name in zip(ends, names, strict=True))


def best_divisions(seconds: Mapping[Piece, float], size: int, cuts: Sequence[int], targets: Sequence[str]) -> list[Division]:
    """Return the divisions into several pieces with the least sums, `PLANS` at most, the best first; all of their pieces run.

    Of those that differ in pieces that take next to nothing the best is one.
    """
    several = (division for division in divisions(size, cuts, targets) if len(division) > 1)
    sums = {division: sum(seconds.get(piece, math.inf) for piece in division) for division in several}
    best: dict[frozenset[Piece], Division] = {}
    for division in sorted((division for division, total in sums.items() if math.isfinite(total)), key=lambda division: sums[division]):
        best.setdefault(frozenset(piece for piece in division if seconds[piece] > LEAST * sums[division]), division)
    return list(best.values())[:PLANS]


def timed_pieces(
    size: int, cuts: Sequence[int], targets: Sequence[str], measure: Callable[[Piece], float], is_over: Callable[[], bool]
) -> dict[Piece, float]:
    """Return the seconds of the pieces that were measured before the time `is_over`; infinite for one that does not run, or errs.

    The whole model comes first, then the pieces with one of its ends, and at last those between two cuts, as long as the sum of a plan
    with one of them is expected to be less than the least known sum.
    """
    ends = [(0, size), *(span for cut in sorted(cuts, key=lambda cut: abs(cut - size / 2)) for span in ((0, cut), (cut, size)))]
    waiting = [(begin, end, target) for begin, end in ends for target in targets]
    every = list(divisions(size, cuts, targets))
    seconds: dict[Piece, float] = {}
    while not is_over():
        if waiting:
            piece = waiting.pop(0)
        else:
            sums = {division: sum(expected_s(piece, size, targets, seconds) for piece in division) for division in every}
            best = min(every, key=lambda division: (sums[division], not seconds.keys() >= set(division)))
            if seconds.keys() >= set(best):
                break
            piece = next(piece for piece in best if piece not in seconds)
        seconds[piece] = measure(piece)
    return seconds


def expected_s(piece: Piece, size: int, targets: Sequence[str], seconds: Mapping[Piece, float]) -> float:
    """Return the seconds of `piece`, or the least that may be expected of it, by pieces from its ends to those of the model.

    Where none of these runs on its target, nobody knows what that takes: perhaps half of what another one does.
    """
    if piece in seconds:
        return seconds[piece]
    begin, end, target = piece

    def differences(target: str) -> list[float]:
        longer_shorter = (((0, end, target), (0, begin, target)), ((begin, size, target), (end, size, target)))
        pairs = [(seconds.get(longer, math.inf), seconds.get(shorter, math.inf)) for longer, shorter in longer_shorter]
        return [max(0.0, long_s - short_s) for long_s, short_s in pairs if math.isfinite(long_s) and math.isfinite(short_s)]

    return min(differences(target) or [0.5 * each_s for other in targets for each_s in differences(other)], default=0.0)


def pieces_artifacts(
    model: OnnxModel, plan: Plan, targets: Sequence[str], accuracy: float, folder: Path, limit_s: float, tell: Tell
) -> dict[str, Path]:
    """Search for `limit_s` seconds, and build the best plans; return the folders of those that are right, by name.

    Args:
        plan: What the run found: theirs have its options.
        folder: Gets the costs, and the artifacts.
        tell: Gets a line for each piece and each plan.
    """
    cuts, size, threads = cuts_of(model.graph), len(model.graph), int(plan.options.get("threads", 1))
    # Another layout has the same kernels.
    plain = [name for name in targets if not (isinstance(toolchain := get(name), PlainTwin) and toolchain.plain)]
    began = time.monotonic()

    def is_over() -> bool:
        return time.monotonic() - began > limit_s

    inputs, artifacts = model.seeded_inputs(), dict[str, Path]()
    with Pool() as workers, CostDatabase(folder / "few_pieces.sqlite3") as database:
        estimator = MeasureEstimator(model, inputs, threads, database, accuracy, workers=workers, should_stop=is_over)

        def measure(piece: Piece) -> float:
            begin, end, target = piece
            candidate = CandidatePartition(model.graph, target, IndexSet(range(begin, end)), "few_pieces")
            try:
                cost = next(cost for _, cost, _ in estimator.measure([candidate]))
            except Cancelled:
                return math.inf
            tell(f"nodes {begin} to {end - 1} on {target}: {cost.reason if cost.seconds is None else f'{cost.seconds * 1e3:.3g} ms'}")
            return math.inf if cost.seconds is None else cost.seconds

        with closing(estimator):
            seconds = timed_pieces(size, cuts, plain, measure, is_over)
        tell(f"{len(seconds)} pieces at {len(cuts)} cuts in {time.monotonic() - began:.0f} s{' (all that were allowed)' * is_over()}")
        packages = BuiltPackages(workers.folder)
        for number, division in enumerate(best_divisions(seconds, size, cuts, plain), 1):
            total_ms, out = 1e3 * sum(seconds[piece] for piece in division), folder / f"pieces {number}"
            text = ", ".join(f"{begin} to {end - 1} on {target}" for begin, end, target in division)
            out.mkdir()
            parts = plan_of(division, plan, model.graph)
            try:
                with build_and_verify(model, parts, inputs, Phases(ignore), ignore, out, pool=workers, packages=packages) as built:
                    verdict = "right" if built.is_right else f"it errs by {built.verify.max_rel_error:.2g}"
                    if built.is_right:
                        artifacts[out.name] = out
            except CollageError as error:
                verdict = error.message
            tell(f"{out.name}: {text}: {total_ms:.3g} ms as a sum, {verdict}")
    return artifacts


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
