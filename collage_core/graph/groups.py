"""Stretches of nodes that can be shown as one: repeated blocks, the scopes of the nodes' names, and sections of a long model.

In goes a `DataflowGraph`, out come `NodeGroup`s: stretches in the order of the graph. Whatever stretches are drawn as one
box each, no edge runs backwards then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .dataflow_graph import HOST, DataflowGraph


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes that follow one another.

    Attributes:
        first: The first node.
        count: How many they are.
        name: What to call them; a block of a repeat is called by it, too.
        times: How many equal blocks they are, one after the other; 1 where they are no repeat.
        is_alike: The blocks have the same operators and edges, and other sizes.
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
    """For each node the parts of its name before the last: ``/encoder/layer.0/Add`` stands in ``encoder``, ``layer.0``."""
    names = [node.name for node in graph.nodes]
    separator = next((one for one in _SEPARATORS if any(one in name[1:] for name in names)), _SEPARATORS[0])
    return [tuple(part for part in name.split(separator)[:-1] if part)[:_MOST_DEPTH] for name in names]


def scope_groups(graph: DataflowGraph) -> list[NodeGroup]:
    """The name scopes as a tree: a group before those inside it. A scope that is left and entered again is a group each time."""
    scopes = scopes_of(graph)
    found: dict[tuple[int, int], NodeGroup] = {}
    for depth in range(_MOST_DEPTH):
        first = 0
        for after in range(1, len(scopes) + 1):
            here = scopes[first][: depth + 1]
            if after < len(scopes) and scopes[after][: depth + 1] == here:
                continue
            if len(here) == depth + 1 and after - first > 1:
                found[first, after] = NodeGroup(first, after - first, "/".join(here))
            first = after
    return sorted(found.values(), key=lambda group: (group.first, -group.count))


def sections(graph: DataflowGraph) -> list[NodeGroup]:
    """The model as some hundred stretches, cut where the fewest tensors pass."""
    width = max(_LEAST_SECTION, len(graph) // _SECTIONS)
    passing = live_tensors(graph)
    cuts = [0]
    while len(graph) - cuts[-1] > 2 * width:
        near = range(cuts[-1] + width // 2, cuts[-1] + width + width // 2)
        cuts.append(min(near, key=lambda place: (passing[place], abs(place - cuts[-1] - width))))
    cuts.append(len(graph))
    return [NodeGroup(first, after - first, f"nodes {first} to {after - 1}") for first, after in pairwise(cuts) if after - first > 1]


def live_tensors(graph: DataflowGraph) -> list[int]:
    """For each place in the order, the last included, how many tensors of earlier nodes are read at it or after it."""
    change = [0] * (len(graph) + 2)
    for name, maker in graph.producer.items():
        readers: Sequence[int] = graph.readers[name]
        if maker == HOST or not readers:
            continue
        change[maker + 1] += 1
        change[readers[-1] + 1] -= 1
    live, passing = 0, []
    for by in change[: len(graph) + 1]:
        live += by
        passing.append(live)
    return passing
