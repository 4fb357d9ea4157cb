"""The valid sets with one exit that joining anything makes of single nodes, found from their exits instead of by joining.

What enters: a graph, which nodes may be joined, and the bounds. What leaves: sets of nodes; nothing is tried pair by pair.

**What the sets are.** Let T be a set with the one exit e, and v another node of it. Every reader of v is inside, or v would be an
exit too. So T holds, with each node but e, all of that node's readers: it is a filter. The converse holds as well, as long as
no node but e makes a model output. Three things follow. Every path from v goes on inside until it meets e, so each node reaches
e inside and T is connected. Nothing leaves T but from e, and what leaves from e does not come back, since e reads nothing that it
reaches: T is convex. And e is read outside or by nobody, never inside, so there are no taps. The nodes that can stand in such a
set are those from which every path leads to e, the *cone* of e (`cone`); the longest way from v to e is the same in every T that
holds v, because T holds all ways. A bound on the depth of T is therefore a bound on the nodes of the cone.

**All of them, once.** Order the nodes of a cone by their longest way to e. The nodes of T at distance d+1 have all readers among
those at distance d or less, and do not read each other. So a set of depth d is extended by any choice, not empty, of the nodes
at distance d+1 whose readers are all in it, and every filter comes about in one way only (`_filters`).

**Which of them joining makes.** Two sets join when they are disjoint, touch, have a convex union, and their depths add up to at
most m. A connected convex set of depth under m is always made: of its blocks (parts that no single node cuts) take one that
hangs on at most one node; it has a node that reads none of it and one that none of it reads, and one of these two is not the
node it hangs on. Taking that one away leaves the set connected and convex; it alone has depth 1, so by induction the two
join. A set T of depth m exactly must be joined from U above and D below, of depths p and m-p. Then e is in D, no edge
leads back from D to U, U holds with each node what that one reads inside T, and every node whose way down is longer than m-p is in
U, which is connected. Conversely, take the part of {nodes of T whose way up is at most p} that is connected and holds all
nodes whose way down is longer than m-p: where there is one, it and the rest are of depth under m, are convex and connected,
and so are made, and joined (`_is_joined`).

Equal cones, of which a network with repeated layers has many, are spelt out once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import islice

from ..graph.dataflow_graph import DataflowGraph
from ..graph.index_set import IndexSet, indices_of

_FIRST_SHARE = 4
"""How many sets of each cone are looked at in the first round; then twice as many, and so on."""


@dataclass(frozen=True, slots=True)
class Joinable:
    """Which nodes may stand in a set besides its exit; never one that makes a model output.

    Attributes:
        freely: For each node whether it may, where the exit is not opaque.
        anywhere: For each node whether it may whatever the exit is (a `Constant`, where these join what reads them).
        opaque: For each node whether it is an opaque exit.
    """

    freely: Sequence[bool]
    anywhere: Sequence[bool]
    opaque: Sequence[bool]


@dataclass(frozen=True, slots=True)
class Cone:
    """A cone apart from where it stands: bit k is the k-th node from its first one, the last is the exit.

    Attributes:
        span: Place of the exit.
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
    """Node → nodes on the longest way from it to `end`: all nodes that can stand in a set of at most `depth` whose one exit is `end`."""
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
    """The `cone` of `end` over the nodes that may stand beside it."""
    return cone(graph, end, joinable.anywhere if joinable.opaque[end] else joinable.freely, depth)


def deeper_set(graph: DataflowGraph, exits: Sequence[int], joinable: Joinable, depth: int) -> tuple[int, ...] | None:
    """The first set with one exit whose depth is `depth` + 1; None where there is none so deep."""
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
        joinable: The nodes that may stand beside them.
        depth: Bound on the depth of a set.
        joined_depth: Bound on the sum of the depths of two that join: sets of just that depth are looked at twice.
        limit: Most sets that are looked at.

    Attributes:
        cut_off: An exit whose sets were not all looked at, because of the limit; None when all were.
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
                self._groups.setdefault(_apart(graph, down), _Group()).exits.append(end)
        self._spell_out(joined_depth if joined_depth == bound else None, limit)

    def __iter__(self) -> Iterator[IndexSet]:
        window = IndexSet.window
        for group in self._groups.values():
            for end in group.exits:
                for first, rel in group.sets:
                    yield window(end + first, rel)

    def _spell_out(self, joined_depth: int | None, limit: int) -> None:
        """Look at some sets of each cone in turn, so that where the limit ends it, no part of the model goes without."""
        waiting = [(group, made, _filters(made, joined_depth)) for made, group in self._groups.items()]
        share, left = _FIRST_SHARE, limit
        while waiting:
            unfinished = []
            for group, made, filters in waiting:
                allowed = min(share, left // len(group.exits))
                looked_at = _take(group, made, filters, allowed)
                left -= looked_at * len(group.exits)
                if looked_at == share:
                    unfinished.append((group, made, filters))
                elif looked_at == allowed and next(filters, None) is not None:
                    self.cut_off = group.exits[0]
            waiting, share = unfinished, 2 * share


def _take(group: _Group, made: Cone, filters: Iterator[int], most: int) -> int:
    """Move at most `most` sets from `filters` to `group`; how many were looked at."""
    looked_at = 0
    for bits in islice(filters, most):
        looked_at += 1
        if bits:
            low = (bits & -bits).bit_length() - 1
            group.sets.append((low - made.span, bits >> low))
    return looked_at


def _apart(graph: DataflowGraph, down: dict[int, int]) -> Cone:
    """The cone of the distances `down`, without its place."""
    base, end = min(down), max(down)
    layers: list[list[tuple[int, int]]] = [[] for _ in range(max(down.values()) - 1)]
    for node, distance in down.items():
        if node != end:
            readers = 0
            for reader in graph.consumers[node]:
                readers |= 1 << reader - base
            layers[distance - 2].append((1 << node - base, readers))
    return Cone(end - base, tuple(map(tuple, layers)))


def _filters(made: Cone, joined_depth: int | None) -> Iterator[int]:
    """Every set of the cone with two nodes or more, the shallow ones first; 0 for one that joining does not make."""
    last = [1 << made.span]
    for depth, layer in enumerate(made.members, 2):
        grown: list[int] = []
        for below in last:
            free = [bit for bit, readers in layer if readers & below == readers]
            if depth == joined_depth == 2:
                yield from (below | bit for bit in free)
                continue
            for bits, several in _choices(below, free):
                if depth <= len(made.members):
                    grown.append(bits)
                yield bits if depth != joined_depth or not several or _is_joined(made, bits, depth) else 0
        last = grown


def _choices(below: int, free: Sequence[int]) -> Iterator[tuple[int, bool]]:
    """`below` with any of the bits `free`, but not with none; and whether these are several."""
    made = [below]
    for bit in free:
        for place in range(len(made)):
            made.append(made[place] | bit)
            yield made[-1], place > 0


def _is_joined(made: Cone, bits: int, depth: int) -> bool:
    """Whether the set `bits`, of just the depth that two together may have, is made of two that touch."""
    readers = {bit: above & bits for layer in made.members for bit, above in layer if bit & bits}
    down = {bit: distance for distance, layer in enumerate(made.members, 2) for bit, _ in layer if bit & bits}
    up = dict.fromkeys((1 << index for index in indices_of(bits)), 1)
    for bit in up:
        for index in indices_of(readers.get(bit, 0)):
            up[1 << index] = max(up[1 << index], up[bit] + 1)
    for above in range(1, depth):
        deep = sum(bit for bit, distance in down.items() if distance > depth - above)
        if not deep & ~_part(deep & -deep, [bit for bit in up if up[bit] <= above], readers):
            return True
    return False


def _part(start: int, nodes: Sequence[int], readers: dict[int, int]) -> int:
    """The bits of `nodes` that are connected to `start` among them, whichever way the edges point."""
    everything = sum(nodes)
    edges = [bit | readers.get(bit, 0) & everything for bit in nodes]
    part, before = start, 0
    while part != before:
        before = part
        for edge in edges:
            # Two sources of one reader meet in it; a node and its readers form one edge of a hypergraph.
            if edge & part:
                part |= edge
    return part
