"""A topological order of anything that is numbered and depends on each other: nodes of a model file, partitions of a plan."""

from __future__ import annotations

from collections.abc import Collection, Sequence
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
