"""`Line`: the nodes of a model in one order, the tensors that cross each position of it, cut points and frontiers.

A graph enters; positions, sets of nodes and plain numbers leave. The order is topological. So the nodes between any two positions are
convex, and such sets fit together into a plan, whatever crosses. Nodes that no input of the model reaches are not in the order: each
belongs to the first node that reads what comes of it. Else dequantised weights would cross every position of a quantised model.

Frontiers are positions that few tensors cross, and those where the kind of work changes.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import accumulate, groupby, pairwise

from ..graph.dataflow_graph import DataflowGraph
from ..graph.index_set import IndexSet
from ..graph.sub_graph import fed
from ..graph.work_estimate import BY_BYTES, WorkEstimator, work_kind

_FAMILIES = {"pointwise": "convolution", "grouped": "convolution"}
"""Kinds of work that are no reason to change the toolchain between them → the kind that they count as."""
HEAVY, HEAVY_OF_MOST = 1e-3, 0.1
"""The least share of the model's operations in a node of heavy work; in a model of very many nodes, of those of its heaviest node."""
_QUANTISING, _DEQUANTISING = ("QuantizeLinear",), ("DequantizeLinear", "DynamicQuantizeLinear")
"""Operators before which no run ends with what they quantise, and operators that no run ends with."""
_ACTIVATIONS = ("Clip", "LeakyRelu", "Relu", "Sigmoid", "Tanh")
"""Operators that toolchains make part of the operator on integers before them."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """A tensor that crosses the positions `begin` to `end`, both included: it is made before them and read after them."""

    begin: int
    end: int
    bytes: int

    @property
    def span(self) -> int:
        """The positions from its maker to its last reader."""
        return self.end - self.begin + 1


class Line:
    """The order of one graph. Position p lies before the p-th node; the position after the last node is `len`.

    Attributes:
        order: The nodes that an input of the model reaches; all nodes where it reaches none.
        kinds: For each of them the kind of heavy work that it does; None for light work.
    """

    def __init__(self, graph: DataflowGraph):
        self._graph = graph
        kinds = _heavy_kinds(graph)
        self.order = _keeping_to_a_kind(graph, fed(graph), kinds)
        self.kinds = [kinds[index] for index in self.order]
        self._home = _homes(graph, self.order)

    def __len__(self) -> int:
        return len(self.order)

    @cached_property
    def members(self) -> list[IndexSet]:
        """For each position the node after it, with the nodes that belong to that."""
        homes: list[list[int]] = [[] for _ in self.order]
        for index, position in enumerate(self._home):
            homes[position].append(index)
        return [IndexSet(nodes) for nodes in homes]

    def between(self, begin: int, end: int) -> IndexSet:
        """Return the nodes between two positions."""
        return IndexSet(index for members in self.members[begin:end] for index in members)

    @cached_property
    def crossings(self) -> list[Crossing]:
        """Every tensor of a node in the order that a later one reads; so the model's inputs are not among them."""
        graph, home, crossings = self._graph, self._home, []
        for position, index in enumerate(self.order):
            for tensor in graph.nodes[index].outputs:
                last = max((home[reader] for reader in graph.readers[tensor.name]), default=-1)
                if last > position:
                    crossings.append(Crossing(position + 1, last, tensor.type.bytes))
        return crossings

    @cached_property
    def can_end(self) -> list[bool]:
        """For each position but the last whether a run may end there: after no node of the host, and within no operator on integers.

        Toolchains make one operator on integers of what lies between a DequantizeLinear and the next QuantizeLinear, with both of them,
        but not if some of it is in another partition. So a quantised tensor is handed over as it lies between these two.
        """
        return [False, *map(self._may_be_last, self.order[:-1])]

    def _may_be_last(self, index: int) -> bool:
        node = self._graph.nodes[index]
        if node.is_host or node.op in _DEQUANTISING:
            return False
        if node.op in _QUANTISING:
            readers = self._readers_of_outputs(index)
            return bool(readers) and all(self._graph.nodes[reader].op in _DEQUANTISING for reader in readers)
        return not self._is_quantised_next[index]

    @cached_property
    def _is_quantised_next(self) -> list[bool]:
        """For each node whether all that it makes is quantised, at once or behind an activation."""
        nodes, is_next = self._graph.nodes, [False] * len(self._graph)
        for index in range(len(nodes) - 1, -1, -1):
            readers = self._readers_of_outputs(index)
            is_next[index] = bool(readers) and all(
                nodes[reader].op in _QUANTISING or (nodes[reader].op in _ACTIVATIONS and is_next[reader]) for reader in readers
            )
        return is_next

    def _readers_of_outputs(self, index: int) -> list[int]:
        """Return the nodes that read what the node makes; none where something of it leaves the model."""
        outputs = self._graph.nodes[index].outputs
        if any(tensor.name in self._graph.outputs for tensor in outputs):
            return []
        return [reader for tensor in outputs for reader in self._graph.readers[tensor.name]]

    @cached_property
    def cut_points(self) -> list[int]:
        """The cut points as positions of their nodes, ascending. Takes time linear in nodes and edges.

        Every node before v leads to v exactly when v is the only one of the nodes up to it that none of them reads; and every node
        after v comes from v exactly when v is the only one of v and its successors that reads none of them.
        """
        count, home = len(self), self._home
        in_order = set(self.order)
        reads = [[home[source] for source in self._graph.sources[index] if source in in_order] for index in self.order]
        first_reader, last_reader = [count] * count, [-1] * count
        for position in range(count - 1, -1, -1):
            for source in reads[position]:
                first_reader[source] = position
                last_reader[source] = max(last_reader[source], position)
        unread = covering([(position, first_reader[position]) for position in range(count)], count)
        unfed = covering([(max(sources, default=-1) + 1, position + 1) for position, sources in enumerate(reads)], count)
        passing = covering([(position + 1, last_reader[position]) for position in range(count)], count)
        nodes, readers = self._graph.nodes, self._graph.readers
        return [
            position
            for position, index in enumerate(self.order)
            if unread[position] == unfed[position] == 1
            and passing[position] == 0
            and not nodes[index].is_host
            and sum(1 for tensor in nodes[index].outputs if readers[tensor.name]) == 1
        ]


def covering(intervals: Iterable[tuple[int, int]], count: int) -> list[int]:
    """Return for each of `count` positions how many of the half-open intervals (begin, end) cover it."""
    change = [0] * (count + 1)
    for begin, end in intervals:
        if begin < end:
            change[begin] += 1
            change[end] -= 1
    return list(accumulate(change[:count]))


def _heavy_kinds(graph: DataflowGraph) -> list[str | None]:
    """Return for each node the kind of heavy work that it does; None where that is light, or too little to count."""
    operations = list(map(graph.derive(WorkEstimator).operations, range(len(graph))))
    least = min(HEAVY * sum(operations), HEAVY_OF_MOST * max(operations, default=0.0))
    kinds: list[str | None] = []
    for node, amount in zip(graph.nodes, operations, strict=True):
        kind = work_kind(graph, node)
        kinds.append(None if kind in BY_BYTES or amount < least else _FAMILIES.get(kind, kind))
    return kinds


def _keeping_to_a_kind(graph: DataflowGraph, is_fed: Sequence[bool], kinds: Sequence[str | None]) -> list[int]:
    """Return the fed nodes in a topological order in which heavy nodes of one kind follow each other as long as there are any.

    So a backbone comes before the heads that read it along its way. Light nodes come as late as they can, right before their first
    reader, so that what they make crosses little. The order is made from its end.
    """
    waiting = [len(readers) for readers in graph.consumers]
    ready: dict[str | None, list[int]] = {None: []}
    for index, count in enumerate(waiting):
        if is_fed[index] and count == 0:
            ready.setdefault(kinds[index], []).append(-index)
    for heap in ready.values():
        heapify(heap)
    order: list[int] = []
    kind: str | None = None
    while any(ready.values()):
        if not ready[None] and not ready[kind]:
            kind = min((heap[0], word) for word, heap in ready.items() if heap and word is not None)[1]
        index = -heappop(ready[None] or ready[kind])
        order.append(index)
        for source in graph.sources[index]:
            waiting[source] -= 1
            if is_fed[source] and waiting[source] == 0:
                heappush(ready.setdefault(kinds[source], []), -source)
    return order[::-1]


def _homes(graph: DataflowGraph, order: Sequence[int]) -> list[int]:
    """Return for each node its position; that of its first reader for a node that is not in the order, and the last without any."""
    home = [-1] * len(graph)
    for position, index in enumerate(order):
        home[index] = position
    for index in range(len(graph) - 1, -1, -1):
        if home[index] < 0:
            home[index] = min((home[reader] for reader in graph.consumers[index]), default=len(order) - 1)
    return home


LONG = 16
"""Only more nodes than these between two frontiers are split further."""
SHORTEST_SPAN = 8
"""A tensor of a shorter span is never one that a frontier may leave aside: residual blocks stay whole."""
MOST_TENSORS = 8
"""Most tensors that cross a frontier."""
MOST_PARTS = 23
"""Most parts between major frontiers: 276 runs of them."""

Label = Hashable
"""Whatever nodes of one part have in common; None for a node that joins any part."""


def split(ends: Sequence[int], crossings: Sequence[Crossing], can_end: Sequence[bool]) -> list[int]:
    """Return `ends`, which are ascending positions, with the frontiers between them, ascending.

    Of the tensors that cross a frontier one at most has a short span; the others are side tensors, such as a mask that every layer
    reads, a skip connection, or a feature map for a head that comes later. A short span is at first a quarter of what is between
    two frontiers, then a half of that, and so on.
    """
    borders, between, later = [*ends], list[Crossing](), deque(sorted(crossings, key=lambda crossing: crossing.begin))
    for begin, end in pairwise(ends):
        while later and later[0].begin < end:
            between.append(later.popleft())
        between = [crossing for crossing in between if crossing.end > begin]
        waiting = [(begin, end, math.inf, between)] if end - begin > LONG else []
        while waiting:
            begin, end, most, tensors = waiting.pop()
            new, span = _split_once(begin, end, most, tensors, can_end)
            borders += new
            long = [(low, high) for low, high in pairwise([begin, *new, end]) if new and high - low > LONG]
            for low, high in long:
                inside = [crossing for crossing in tensors if crossing.begin < high and crossing.end > low]
                waiting.append((low, high, span / 2, inside))
    return sorted(borders)


def _split_once(begin: int, end: int, most: float, tensors: Sequence[Crossing], can_end: Sequence[bool]) -> tuple[list[int], float]:
    """Return the frontiers for the longest short span, at most `most`, that gives any, and that span."""
    span = min((end - begin) // 4, most)
    while end - begin > LONG and span >= SHORTEST_SPAN:
        short = _crossed(begin, end, [crossing for crossing in tensors if crossing.span <= span])
        every = _crossed(begin, end, tensors)
        new = [p for p in range(begin + 1, end) if short[p - begin] <= 1 and every[p - begin] <= MOST_TENSORS and can_end[p]]
        if new:
            return new, span
        span /= 2
    return [], span


def _crossed(begin: int, end: int, tensors: Iterable[Crossing]) -> list[int]:
    """Return for each position from `begin` to before `end` how many of `tensors` cross it."""
    clipped = ((max(crossing.begin, begin) - begin, min(crossing.end + 1, end) - begin) for crossing in tensors)
    return covering(clipped, end - begin)


@dataclass(slots=True)
class _Part:
    """Nodes of one label that follow each other, from the first to the last of them; light ones between them do not matter."""

    label: Label
    work: float
    first: int
    last: int


def majors(
    labels: Sequence[Label], work: Sequence[float], crossings: Sequence[Crossing], can_end: Sequence[bool], most: int = MOST_PARTS
) -> tuple[list[int], int]:
    """Return the major frontiers, with the beginning and the end, and how many parts there were before the lightest were left out.

    Where the kind of work changes, a change of the target pays most likely. Of a target without a profiler nothing else tells that, and
    of the others the errors are looked for at such places. Between two parts of different labels the position counts that the fewest bytes
    cross, the last one of several; none where more than `MOST_TENSORS` cross every one.

    Args:
        labels: The label of each node in the order.
        work: The operations of each.
        most: Most parts; the lightest of more are taken for parts of their neighbours.
    """
    count = len(labels)
    parts = _joined(_Part(label, work[index], index, index) for index, label in enumerate(labels) if label is not None)
    before = len(parts)
    while len(parts) > most:
        parts = _without_the_lightest(parts, max(1, (len(parts) - most) // 2), most // 2)
    bytes_at = _bytes_at(crossings, count)
    tensors_at = covering(((crossing.begin, crossing.end + 1) for crossing in crossings), count)
    borders = [0]
    for upper, lower in pairwise(parts):
        positions = [p for p in range(upper.last + 1, lower.first + 1) if can_end[p] and tensors_at[p] <= MOST_TENSORS]
        if positions:
            borders.append(min(reversed(positions), key=bytes_at.__getitem__))
    return [*borders, count], before


def _joined(parts: Iterable[_Part]) -> list[_Part]:
    """Return the parts with neighbours of one label as one."""
    joined = []
    for label, group in groupby(parts, key=lambda part: part.label):
        same = list(group)
        joined.append(_Part(label, sum(part.work for part in same), same[0].first, same[-1].last))
    return joined


def _without_the_lightest(parts: Sequence[_Part], count: int, fewest: int) -> list[_Part]:
    """Return the parts without the `count` lightest and all as light; without `count` of those, spread evenly, for fewer than `fewest`."""
    bar = sorted(part.work for part in parts)[count - 1]
    left = _joined(part for part in parts if part.work > bar)
    if len(left) >= fewest:
        return left
    light = [index for index, part in enumerate(parts) if part.work <= bar]
    gone = {light[number * len(light) // count] for number in range(count)}
    return _joined(part for index, part in enumerate(parts) if index not in gone)


def _bytes_at(crossings: Iterable[Crossing], count: int) -> list[int]:
    change = [0] * (count + 1)
    for crossing in crossings:
        change[crossing.begin] += crossing.bytes
        change[crossing.end + 1] -= crossing.bytes
    total, sums = 0, []
    for amount in change:
        total += amount
        sums.append(total)
    return sums
