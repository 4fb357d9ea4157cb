"""Groups of consecutive nodes that the page can fold: name scopes, and sections of a long model (`repeats` finds repeated blocks).

A `DataflowGraph` enters, `NodeGroup`s leave. A group holds consecutive nodes of the graph's order, so no edge runs backwards
whichever groups are drawn as one box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from .dataflow_graph import HOST, DataflowGraph


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Consecutive nodes.

    Attributes:
        first: Index of the first node.
        count: Number of nodes.
        name: Title of the group, and of each block of a repeat.
        times: Number of equal blocks in a row; 1 when the group is no repeat.
        is_alike: The blocks have the same operators and edges, but different sizes.
    """

    first: int
    count: int
    name: str
    times: int = 1
    is_alike: bool = False


_SEPARATORS = ("/", ".")
_MOST_DEPTH = 8
_LEAST_SECTION = 24
_SECTIONS = 100


def scopes_of(graph: DataflowGraph) -> list[tuple[str, ...]]:
    """Return for each node the parts of its name before the last: ``/encoder/layer.0/Add`` gives ``encoder``, ``layer.0``."""
    names = [node.name for node in graph.nodes]
    separator = next((mark for mark in _SEPARATORS if any(mark in name[1:] for name in names)), _SEPARATORS[0])
    return [tuple(part for part in name.split(separator)[:-1] if part)[:_MOST_DEPTH] for name in names]


def scope_groups(graph: DataflowGraph) -> list[NodeGroup]:
    """Return the name scopes as a tree, each group before those inside it. A scope that is entered again is a new group."""
    scopes = scopes_of(graph)
    groups: dict[tuple[int, int], NodeGroup] = {}
    for depth in range(_MOST_DEPTH):
        first = 0
        for after in range(1, len(scopes) + 1):
            scope = scopes[first][: depth + 1]
            if after < len(scopes) and scopes[after][: depth + 1] == scope:
                continue
            if len(scope) == depth + 1 and after - first > 1:
                groups[first, after] = NodeGroup(first, after - first, "/".join(scope))
            first = after
    return sorted(groups.values(), key=lambda group: (group.first, -group.count))


def sections(graph: DataflowGraph) -> list[NodeGroup]:
    """Return the model as about `_SECTIONS` groups, divided where the fewest tensors are live."""
    width = max(_LEAST_SECTION, len(graph) // _SECTIONS)
    live = live_tensors(graph)
    borders = [0]
    while len(graph) - borders[-1] > 2 * width:
        near = range(borders[-1] + width // 2, borders[-1] + width + width // 2)
        borders.append(min(near, key=lambda index: (live[index], abs(index - borders[-1] - width))))
    borders.append(len(graph))
    return [NodeGroup(first, after - first, f"nodes {first} to {after - 1}") for first, after in pairwise(borders) if after - first > 1]


def live_tensors(graph: DataflowGraph) -> list[int]:
    """Return for each node index, and for the end, how many tensors of earlier nodes are read there or later."""
    change = [0] * (len(graph) + 2)
    for name, maker in graph.producer.items():
        readers: Sequence[int] = graph.readers[name]
        if maker == HOST or not readers:
            continue
        change[maker + 1] += 1
        change[readers[-1] + 1] -= 1
    return list(accumulate(change[: len(graph) + 1]))
