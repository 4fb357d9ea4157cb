"""Enumerates the valid sets with one exit that joining of single nodes makes, from their exits instead of by joining.

A graph, the nodes that may be joined and the bounds enter; sets of nodes leave. No two sets are tried pair by pair.

**What the sets are.** Let T be a set with the one exit e, and v another node of it. Every reader of v is inside, or v would be an
exit too. So T holds, with each node but e, all of that node's readers: it is a filter. The converse holds as well, as long as
no node but e makes a model output. Three things follow. Every path from v goes on inside until it meets e, so each node reaches
e inside and T is connected. Nothing leaves T but from e, and what leaves from e does not come back, since e reads nothing that it
reaches: T is convex. And e is read outside or by nobody, never inside, so there are no taps. The nodes that can be in such a
set are those from which every path leads to e, the *cone* of e (`cone`); the longest path from v to e is the same in every T that
holds v, because T holds all paths. A bound on the depth of T is therefore a bound on the nodes of the cone.

**All of them, once.** Order the nodes of a cone by their longest path to e. The nodes of T at distance d+1 have all readers among
those at distance d or less, and do not read each other. So a set of depth d is extended by any choice, not empty, of the nodes
at distance d+1 whose readers are all in it, and every filter is made in one way only (`_filters`).

**Which of them joining makes.** Two sets join when they are disjoint, touch, have a convex union, and their depths add up to at
most m. A connected convex set of depth under m is always made: of its blocks (parts that no single node cuts) take one that
shares at most one node with the others; it has a node that reads none of it and one that none of it reads, and one of these two
is not the shared node. Taking that one away leaves the set connected and convex; it alone has depth 1, so by induction the two
join. A set T of depth m exactly must be joined from U above and D below, of depths p and m-p. Then e is in D, no edge
leads back from D to U, U holds with each node the nodes of T that it reads, and U is connected and holds every node whose longest
path down has more than m-p nodes. Conversely, take the component of {nodes of T whose longest path up has at most p nodes} that
holds all nodes whose longest path down has more than m-p: where there is one, it and the rest are of depth under m, are convex
and connected, and so are made, and joined (`_is_joined`).

Equal cones, of which a network with repeated layers has many, are enumerated once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import islice

from ..graph.dataflow_graph import DataflowGraph
from ..graph.index_set import IndexSet, indices_of

_FIRST_SHARE = 4
"""Number of sets of each cone that are enumerated in the first round; it doubles with each round."""


@dataclass(frozen=True, slots=True)
class Joinable:
    """Says which nodes may be in a set besides its exit; a node that makes a model output never may.

    Attributes:
        freely: For each node, whether it may where the exit is not opaque.
        anywhere: For each node, whether it may with any exit (a `Constant`, where constants join their readers).
        opaque: For each node, whether it is opaque as an exit.
    """

    freely: Sequence[bool]
    anywhere: Sequence[bool]
    opaque: Sequence[bool]


@dataclass(frozen=True, slots=True)
class Cone:
    """A cone relative to its first node: bit k is the k-th node from there, and the last bit is the exit.

    Attributes:
        span: Bit number of the exit.
        members: For each distance from the exit, from 2 on, its nodes as (bit, bits of the readers).
    """

    span: int
    members: tuple[tuple[tuple[int, int], ...], ...]


@dataclass(slots=True)
class _Group:
    """Exits of equal cones, and the sets found so far: (first node relative to the exit, window)."""

    exits: list[int] = field(default_factory=list)
    sets: list[tuple[int, int]] = field(default_factory=list)


def cone(graph: DataflowGraph, end: int, joinable: Sequence[bool], depth: int | None) -> dict[int, int]:
    """Return the nodes that can be in a set of depth at most `depth` whose one exit is `end`: node → nodes on its longest path to `end`."""
    consumers, sources = graph.consumers, graph.sources
    down = {end: 1}
    waiting = [-source for source in sources[end] if joinable[source]]
    heapify(waiting)
    met = set(waiting)
    while waiting:
        node = -heappop(waiting)
        farthest = 0
        for reader in consumers[node]:
            below = down.get(reader)
            if below is None:
                break
            farthest = max(farthest, below)
        else:
            if depth is not None and farthest >= depth:
                continue
            down[node] = farthest + 1
            for source in sources[node]:
                if joinable[source] and -source not in met:
                    met.add(-source)
                    heappush(waiting, -source)
    return down


def bounded_cone(graph: DataflowGraph, end: int, joinable: Joinable, depth: int | None) -> dict[int, int]:
    """Return the `cone` of `end` over the nodes that may be in a set with it."""
    return cone(graph, end, joinable.anywhere if joinable.opaque[end] else joinable.freely, depth)


def deeper_set(graph: DataflowGraph, exits: Sequence[int], joinable: Joinable, depth: int) -> tuple[int, ...] | None:
    """Return the first set with one exit whose depth is `depth` + 1; None where there is none."""
    for end in exits:
        down = bounded_cone(graph, end, joinable, depth + 1)
        deep = next((node for node, distance in down.items() if distance > depth), None)
        if deep is not None:
            inside = {deep}
            for node in sorted(down):
                if not inside.isdisjoint(graph.sources[node]):
                    inside.add(node)
            return tuple(sorted(inside))
    return None


class OneExitSets:
    """The valid sets with one exit, of at least two nodes.

    Args:
        exits: The nodes that may be exits.
        joinable: The nodes that may be in a set with them.
        depth: Bound on the depth of a set.
        joined_depth: Bound on the sum of the depths of two sets that join; sets of exactly that depth are checked (`_is_joined`).
        limit: Most sets that are enumerated.

    Attributes:
        cut_off: An exit whose sets were not all enumerated because of the limit; None when all were.
    """

    def __init__(
        self,
        graph: DataflowGraph,
        exits: Sequence[int],
        joinable: Joinable,
        depth: int | None,
        joined_depth: int | None,
        limit: int,
    ):
        bound = min((given for given in (depth, joined_depth) if given is not None), default=None)
        self.cut_off: int | None = None
        self._groups: dict[Cone, _Group] = {}
        for end in exits:
            down = bounded_cone(graph, end, joinable, bound)
            if len(down) > 1:
                self._groups.setdefault(_relative_cone(graph, down), _Group()).exits.append(end)
        self._enumerate(joined_depth if joined_depth == bound else None, limit)

    def __iter__(self) -> Iterator[IndexSet]:
        window = IndexSet.window
        for group in self._groups.values():
            for end in group.exits:
                for first, rel in group.sets:
                    yield window(end + first, rel)

    def _enumerate(self, joined_depth: int | None, limit: int) -> None:
        """Enumerate some sets of each cone in turn, so that at the limit every part of the model has had its share."""
        waiting = [(group, relative, _filters(relative, joined_depth)) for relative, group in self._groups.items()]
        share, left = _FIRST_SHARE, limit
        while waiting:
            unfinished = []
            for group, relative, filters in waiting:
                allowed = min(share, left // len(group.exits))
                looked_at = _take(group, relative, filters, allowed)
                left -= looked_at * len(group.exits)
                if looked_at == share:
                    unfinished.append((group, relative, filters))
                elif looked_at == allowed and next(filters, None) is not None:
                    self.cut_off = group.exits[0]
            waiting, share = unfinished, 2 * share


def _take(group: _Group, cone: Cone, filters: Iterator[int], most: int) -> int:
    """Move at most `most` sets from `filters` to `group`, and return how many were taken from `filters`."""
    looked_at = 0
    for bits in islice(filters, most):
        looked_at += 1
        if bits:
            low = (bits & -bits).bit_length() - 1
            group.sets.append((low - cone.span, bits >> low))
    return looked_at


def _relative_cone(graph: DataflowGraph, down: dict[int, int]) -> Cone:
    """Return the cone of the distances `down` as a `Cone`, relative to its first node."""
    base, end = min(down), max(down)
    layers: list[list[tuple[int, int]]] = [[] for _ in range(max(down.values()) - 1)]
    for node, distance in down.items():
        if node != end:
            readers = 0
            for reader in graph.consumers[node]:
                readers |= 1 << reader - base
            layers[distance - 2].append((1 << node - base, readers))
    return Cone(end - base, tuple(map(tuple, layers)))


def _filters(cone: Cone, joined_depth: int | None) -> Iterator[int]:
    """Yield every set of the cone with two nodes or more, the shallow ones first, and 0 in place of each that joining does not make."""
    last = [1 << cone.span]
    for depth, layer in enumerate(cone.members, 2):
        grown: list[int] = []
        for below in last:
            free = [bit for bit, readers in layer if readers & below == readers]
            if depth == joined_depth == 2:
                yield from (below | bit for bit in free)
                continue
            for bits, several in _choices(below, free):
                if depth <= len(cone.members):
                    grown.append(bits)
                yield bits if depth != joined_depth or not several or _is_joined(cone, bits, depth) else 0
        last = grown


def _choices(below: int, free: Sequence[int]) -> Iterator[tuple[int, bool]]:
    """Yield `below` with each choice of at least one of the bits `free`, and whether the choice has several bits."""
    choices = [below]
    for bit in free:
        for index in range(len(choices)):
            choices.append(choices[index] | bit)
            yield choices[-1], index > 0


def _is_joined(cone: Cone, bits: int, depth: int) -> bool:
    """Return whether the set `bits`, whose depth is the bound on the sum of two, is the union of two sets that touch."""
    readers = {bit: above & bits for layer in cone.members for bit, above in layer if bit & bits}
    down = {bit: distance for distance, layer in enumerate(cone.members, 2) for bit, _ in layer if bit & bits}
    up = dict.fromkeys((1 << index for index in indices_of(bits)), 1)
    for bit in up:
        for index in indices_of(readers.get(bit, 0)):
            up[1 << index] = max(up[1 << index], up[bit] + 1)
    for above in range(1, depth):
        deep = sum(bit for bit, distance in down.items() if distance > depth - above)
        if not deep & ~_component(deep & -deep, [bit for bit in up if up[bit] <= above], readers):
            return True
    return False


def _component(start: int, nodes: Sequence[int], readers: dict[int, int]) -> int:
    """Return the bits of `nodes` that are connected with `start` among them, edges taken in both directions."""
    everything = sum(nodes)
    edges = [bit | readers.get(bit, 0) & everything for bit in nodes]
    component, before = start, 0
    while component != before:
        before = component
        for edge in edges:
            # Two sources of one reader meet in it; a node and its readers form one edge of a hypergraph.
            if edge & component:
                component |= edge
    return component
