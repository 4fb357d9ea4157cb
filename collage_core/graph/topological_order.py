"""Topological orders and cycles of anything that is numbered and depends on each other: nodes of a model file, partitions of a plan."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import heapify, heappop, heappush


def topological_order(needs: Sequence[Collection[int]]) -> list[int]:
    """Return the indices in an order in which each comes after all that it needs; of those that could be next, the least comes first.

    Indices on a cycle, and those that need one of them, are left out.

    Args:
        needs: For each index the distinct indices that it needs.
    """
    waiting = [len(need) for need in needs]
    readers: list[list[int]] = [[] for _ in needs]
    for index, need in enumerate(needs):
        for source in need:
            readers[source].append(index)
    ready = [index for index, count in enumerate(waiting) if count == 0]
    heapify(ready)
    order = []
    while ready:
        index = heappop(ready)
        order.append(index)
        for reader in readers[index]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                heappush(ready, reader)
    return order


def downstream_of_cycles(successors: Mapping[int, Collection[int]]) -> list[int]:
    """Return the nodes that are on a cycle or downstream of one, in the order of `successors`; empty when there is no cycle."""
    waiting = dict.fromkeys(successors, 0)
    for ends in successors.values():
        for end in ends:
            waiting[end] += 1
    ready = [node for node, count in waiting.items() if not count]
    for node in ready:
        for end in successors[node]:
            waiting[end] -= 1
            if not waiting[end]:
                ready.append(end)
    return [node for node, count in waiting.items() if count]


def shortest_cycle(successors: Mapping[int, Collection[int]]) -> frozenset[int] | None:
    """Return the nodes of a shortest cycle through the first node that is on one; None when there is no cycle."""
    for start in downstream_of_cycles(successors):
        cycle = _cycle_through(start, successors)
        if cycle:
            return cycle
    return None


def _cycle_through(start: int, successors: Mapping[int, Collection[int]]) -> frozenset[int] | None:
    """Return the nodes of a shortest cycle through `start`, found breadth first; None when it is on no cycle."""
    predecessor: dict[int, int] = {}
    queue = [start]
    for node in queue:
        for end in sorted(successors[node]):
            if end == start:
                path = {start}
                while node != start:
                    path.add(node)
                    node = predecessor[node]
                return frozenset(path)
            if end not in predecessor:
                predecessor[end] = node
                queue.append(end)
    return None
