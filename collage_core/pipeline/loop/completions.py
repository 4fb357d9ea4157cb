"""`completions`: what is measured beside the large parts of a toolchain that cannot take the whole model, so that they make a plan.

Candidates of each target enter; candidates leave, in groups that fit in one plan. No cost is known or needed here: a toolchain that
stops at the last nodes of a detector brings nothing by itself, and how fast another one is at the whole model says little of how fast
it is at those nodes alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from itertools import permutations

from ...graph.cycles import downstream_of_cycles
from ...graph.dataflow_graph import DataflowGraph
from ...graph.work_estimate import WorkEstimator
from ...rules.candidate import CandidatePartition
from ...rules.leftovers import LARGE

MOST_OF_THE_WORK = 0.5
"""The least share of the model's operations that the large parts of a target have together: those of less are found as any others are."""
MOST_PARTS = 3
"""Most parts of each of the two targets of a group: few cuts win."""
MOST_TRIED = 40
"""Most candidates of a target that are looked at, the largest."""


def completions(graph: DataflowGraph, by_target: Mapping[str, Sequence[CandidatePartition]]) -> list[list[CandidatePartition]]:
    """Return for each target that cannot take the whole model, and each other target, parts of both that fit in one plan.

    Of the first they are the parts with the most operations, each with `LARGE` of the model's at least; of the other the parts with the
    most nodes beside them. A group may leave nodes to further targets.
    """
    work = graph.derive(WorkEstimator)
    all_operations = sum(map(work.operations, range(len(graph))))
    largest = {target: nlargest(MOST_TRIED, found, key=lambda one: len(one.inside)) for target, found in by_target.items()}

    def operations(candidate: CandidatePartition) -> float:
        return sum(map(work.operations, candidate.inside))

    own = {}
    for target, found in largest.items():
        if found and len(found[0].inside) < len(graph):
            large = sorted((one for one in found if operations(one) >= LARGE * all_operations), key=operations, reverse=True)
            parts = _fitting(graph, (), large)
            own[target] = parts if sum(map(operations, parts)) >= MOST_OF_THE_WORK * all_operations else []
    pairs = ((mine, theirs) for mine, theirs in permutations(largest, 2) if own.get(mine))
    return [[*own[mine], *_fitting(graph, own[mine], _disjoint(by_target[theirs], own[mine]))] for mine, theirs in pairs]


def _disjoint(candidates: Iterable[CandidatePartition], beside: Sequence[CandidatePartition]) -> list[CandidatePartition]:
    """Return the largest of `candidates` that share no node with those `beside` them."""
    free = (one for one in candidates if not any(one.inside.bits & other.inside.bits for other in beside))
    return nlargest(MOST_TRIED, free, key=lambda one: len(one.inside))


def _fitting(
    graph: DataflowGraph, beside: Sequence[CandidatePartition], candidates: Iterable[CandidatePartition]
) -> list[CandidatePartition]:
    """Return the first of `candidates` that fit in one plan with each other and with those `beside` them."""
    taken: list[CandidatePartition] = []
    for candidate in candidates:
        others = [*beside, *taken]
        if not any(candidate.inside.bits & other.inside.bits for other in others) and _is_acyclic(graph, [*others, candidate]):
            taken.append(candidate)
        if len(taken) == MOST_PARTS:
            break
    return taken


def _is_acyclic(graph: DataflowGraph, parts: Sequence[CandidatePartition]) -> bool:
    """Return whether `parts` and the other nodes can run one after another."""
    part_of = list(range(len(graph)))
    for part in parts:
        for index in part.inside:
            part_of[index] = part.inside.base
    successors: dict[int, set[int]] = {part: set() for part in part_of}
    for index, sources in enumerate(graph.sources):
        for source in sources:
            if part_of[source] != part_of[index]:
                successors[part_of[source]].add(part_of[index])
    return not downstream_of_cycles(successors)
