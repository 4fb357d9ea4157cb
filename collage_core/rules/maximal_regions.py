"""Finds the maximal regions of the nodes that a toolchain takes, by contracting edges of the graph.

For each node the nodes that it reads, and whether it is taken, enter; disjoint sets of taken nodes leave. The graph of the regions
and the other nodes has no cycle, so each region is convex and all of them fit in one plan. Joining any two regions of which one
reads the other would make a cycle.

Leftovers are the maximal regions of the nodes that are left to a target where other targets take their large regions. A leftover may have
several exits. It fits in one plan with the regions of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from ..graph.dataflow_graph import DataflowGraph
from ..graph.work_estimate import WorkEstimator


def maximal_regions(reads: Sequence[Sequence[int]], is_taken: Sequence[bool], beside: Sequence[Sequence[int]] = ()) -> list[list[int]]:
    """Return the regions of the taken nodes, single nodes included, each ascending, ordered by their first node.

    Args:
        beside: Regions of others, without taken nodes, each ascending: with them the regions fit in one plan as well.
    """
    contraction = _Contraction(reads)
    for nodes in beside:
        own = set(nodes)
        contraction.join_all([(source, index) for index in nodes for source in reads[index] if source in own])
    contraction.join_all([(source, index) for index in range(len(reads)) if is_taken[index] for source in reads[index] if is_taken[source]])
    members: dict[int, list[int]] = {}
    for index in range(len(reads)):
        if is_taken[index]:
            members.setdefault(contraction.root(index), []).append(index)
    return list(members.values())


class _Contraction:
    """An acyclic graph whose nodes can be joined, with a topological order that each join updates.

    The order is updated as in the algorithm of Pearce and Kelly for an edge: only nodes between the two in the order are visited.
    """

    def __init__(self, reads: Sequence[Sequence[int]]):
        self.parent = list(range(len(reads)))
        self.order = list(range(len(reads)))
        self.above = [set(sources) for sources in reads]
        self.below: list[set[int]] = [set() for _ in reads]
        for index, sources in enumerate(reads):
            for source in sources:
                self.below[source].add(index)

    def root(self, index: int) -> int:
        """Return the node that represents `index`."""
        parent = self.parent
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    def join_all(self, edges: Sequence[tuple[int, int]]) -> None:
        """Join the ends of as many of `edges` as can be. What lies between two may join one of them: repeat until nothing joins."""
        while True:
            left = [(upper, lower) for upper, lower in edges if not self.join(upper, lower)]
            if len(left) == len(edges):
                return
            edges = left

    def join(self, upper: int, lower: int) -> bool:
        """Join the two unless a second path leads from `upper` to `lower`, and return whether they are one node now."""
        upper, lower = self.root(upper), self.root(lower)
        if upper == lower:
            return True
        if self.above[lower] == {upper}:
            self._unite(upper, lower, self.order[upper])
            return True
        between = self._ancestors_between(upper, lower)
        if between is None:
            return False
        after = self._descendants_between(upper, lower) if between else []
        by_order = self.order.__getitem__
        positions = sorted(map(by_order, (*between, *after, upper, lower)))
        for node, position in zip(sorted(between, key=by_order), positions, strict=False):
            self.order[node] = position
        self._unite(upper, lower, positions[len(between)])
        for node, position in zip(sorted(after, key=by_order), positions[len(positions) - len(after) :], strict=True):
            self.order[node] = position
        return True

    def _ancestors_between(self, upper: int, lower: int) -> list[int] | None:
        """Return the nodes after `upper` in the order that `lower` depends on; None when one of them depends on `upper`."""
        bound, ancestors = self.order[upper], {lower}
        waiting = [lower]
        while waiting:
            node = waiting.pop()
            for source in self.above[node]:
                if source == upper and node != lower:
                    return None
                if self.order[source] > bound and source not in ancestors:
                    ancestors.add(source)
                    waiting.append(source)
        return list(ancestors - {lower})

    def _descendants_between(self, upper: int, lower: int) -> list[int]:
        """Return the nodes before `lower` in the order that depend on `upper`."""
        bound, descendants = self.order[lower], set[int]()
        waiting = [upper]
        while waiting:
            for reader in self.below[waiting.pop()]:
                if self.order[reader] < bound and reader not in descendants:
                    descendants.add(reader)
                    waiting.append(reader)
        return list(descendants)

    def _unite(self, upper: int, lower: int, position: int) -> None:
        """Represent both by one node at `position` in the order; the node with fewer neighbours is merged into the other."""
        keep, drop = upper, lower
        if len(self.above[keep]) + len(self.below[keep]) < len(self.above[drop]) + len(self.below[drop]):
            keep, drop = drop, keep
        for mine, theirs in ((self.above, self.below), (self.below, self.above)):
            for other in mine[drop]:
                theirs[other].discard(drop)
                if other != keep:
                    theirs[other].add(keep)
                    mine[keep].add(other)
            mine[drop] = set()
        self.parent[drop] = keep
        self.order[keep] = position


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
    regions = []
    for names in sets[:MOST_SETS]:
        beside: list[list[int]] = []
        for name in names:
            mine = maximal_regions(graph.sources, _without(partial[name], beside), beside)
            beside += [nodes for nodes in mine if sum(work[index] for index in nodes) >= least]
        left = _without(is_taken, beside)
        if left != list(is_taken):
            regions += [(names, nodes) for nodes in maximal_regions(graph.sources, left, beside)]
    return Leftovers(regions, min(len(sets), MOST_SETS), max(0, len(sets) - MOST_SETS))


def _without(mask: Mask, beside: Sequence[Sequence[int]]) -> list[bool]:
    gone = {index for nodes in beside for index in nodes}
    return [is_taken and index not in gone for index, is_taken in enumerate(mask)]
