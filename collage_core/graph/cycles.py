"""Cycles in a directed graph that is given as node → the nodes that its edges lead to."""

from __future__ import annotations

from collections.abc import Collection, Mapping


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
        found = _cycle_through(start, successors)
        if found:
            return found
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
