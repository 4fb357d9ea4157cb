"""Leftovers: the maximal regions of the nodes that are left to a target where other targets take their large regions.

A graph and the nodes that each target takes enter; sets of nodes leave, with the names of the targets that leave them. A leftover may
have several exits. It fits in one plan with the regions of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from ..graph.dataflow_graph import DataflowGraph
from ..graph.work_estimate import WorkEstimator
from .maximal_regions import maximal_regions

LARGE = 0.1
"""The least share of the model's operations in a large region."""
MOST_SETS = 12
"""Most sets of one or two other targets that are looked at."""

Mask = Sequence[bool]


@dataclass(frozen=True, slots=True)
class Leftovers:
    """The leftovers of one target.

    Attributes:
        regions: The names of one or two other targets, and the nodes, ascending. One set of nodes may be left by several.
        looked_at: The sets of other targets that were looked at.
        missing: Further ones that were not.
    """

    regions: list[tuple[tuple[str, ...], list[int]]]
    looked_at: int
    missing: int


def leftovers(graph: DataflowGraph, is_taken: Mask, others: Mapping[str, Mask]) -> Leftovers:
    """Return what is left to the target that takes `is_taken`.

    Of others that take the same nodes the first counts; one that takes the whole model, or the same as the target, leaves nothing.
    """
    by_mask: dict[tuple[bool, ...], str] = {}
    for name, mask in others.items():
        by_mask.setdefault(tuple(mask), name)
    partial = {name: mask for mask, name in by_mask.items() if not all(mask) and list(mask) != list(is_taken)}
    work = list(map(graph.derive(WorkEstimator).operations, range(len(graph))))
    least = LARGE * sum(work)
    sets = [*permutations(partial, 1), *permutations(partial, 2)]
    found = []
    for names in sets[:MOST_SETS]:
        beside: list[list[int]] = []
        for name in names:
            mine = maximal_regions(graph.sources, _without(partial[name], beside), beside)
            beside += [nodes for nodes in mine if sum(work[index] for index in nodes) >= least]
        left = _without(is_taken, beside)
        if left != list(is_taken):
            found += [(names, nodes) for nodes in maximal_regions(graph.sources, left, beside)]
    return Leftovers(found, min(len(sets), MOST_SETS), max(0, len(sets) - MOST_SETS))


def _without(mask: Mask, beside: Sequence[Sequence[int]]) -> list[bool]:
    gone = {index for nodes in beside for index in nodes}
    return [is_taken and index not in gone for index, is_taken in enumerate(mask)]
