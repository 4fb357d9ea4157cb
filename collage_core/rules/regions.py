"""Maximal regions of the nodes that a toolchain takes, found by contracting the graph.

Enters: for each node the nodes that it reads, and which nodes are taken. Leaves: disjoint sets of these. The graph between the
regions and the nodes that are left out never has a cycle, so each region is convex and all of them fit in one plan; and no two
regions of which one reads the other could be one without making such a cycle.
"""

from __future__ import annotations

from collections.abc import Sequence


def regions(reads: Sequence[Sequence[int]], is_taken: Sequence[bool]) -> list[list[int]]:
    """The regions of the taken nodes, single nodes among them, each ascending, ordered by their first node."""
    contraction = _Contraction(reads)
    waiting = [(source, index) for index in range(len(reads)) if is_taken[index] for source in reads[index] if is_taken[source]]
    while True:
        # What stood between two regions may since have become part of one of them: go on until nothing joins.
        left = [(upper, lower) for upper, lower in waiting if not contraction.join(upper, lower)]
        if len(left) == len(waiting):
            break
        waiting = left
    members: dict[int, list[int]] = {}
    for index in range(len(reads)):
        if is_taken[index]:
            members.setdefault(contraction.root(index), []).append(index)
    return list(members.values())


class _Contraction:
    """An acyclic graph whose nodes can be joined, with a topological order that is kept up to date around each join.

    The order is mended as Pearce and Kelly do for an edge: only what lies between the two in the order is looked at.
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
        """The node that now stands for `index`."""
        parent = self.parent
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    def join(self, upper: int, lower: int) -> bool:
        """Make one of both, where no path leads from `upper` to `lower` but the direct one; whether they are one now."""
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
        places = sorted(map(by_order, (*between, *after, upper, lower)))
        for node, place in zip(sorted(between, key=by_order), places, strict=False):
            self.order[node] = place
        self._unite(upper, lower, places[len(between)])
        for node, place in zip(sorted(after, key=by_order), places[len(places) - len(after) :], strict=True):
            self.order[node] = place
        return True

    def _ancestors_between(self, upper: int, lower: int) -> list[int] | None:
        """What `lower` depends on after `upper` in the order; None when one of it depends on `upper`."""
        bound, found = self.order[upper], {lower}
        waiting = [lower]
        while waiting:
            node = waiting.pop()
            for source in self.above[node]:
                if source == upper and node != lower:
                    return None
                if self.order[source] > bound and source not in found:
                    found.add(source)
                    waiting.append(source)
        return list(found - {lower})

    def _descendants_between(self, upper: int, lower: int) -> list[int]:
        """What depends on `upper` before `lower` in the order."""
        bound, found = self.order[lower], set[int]()
        waiting = [upper]
        while waiting:
            for reader in self.below[waiting.pop()]:
                if self.order[reader] < bound and reader not in found:
                    found.add(reader)
                    waiting.append(reader)
        return list(found)

    def _unite(self, upper: int, lower: int, place: int) -> None:
        """Let one of the two stand for both, at `place` in the order; the one with fewer neighbours moves to the other."""
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
        self.order[keep] = place
