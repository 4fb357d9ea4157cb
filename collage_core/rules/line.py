"""`Line`: the nodes of a model in one order, the tensors that cross each position of it, and the cut points.

A graph enters; positions, sets of nodes and plain numbers leave. The order is topological. So the nodes between any two positions are
convex, and such sets fit together into a plan, whatever crosses. Nodes that no input of the model reaches are not in the order: each
belongs to the first node that reads what comes of it. Else dequantised weights would cross every position of a quantised model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import accumulate

from ..graph.constant_fed import fed
from ..graph.dataflow_graph import DataflowGraph
from ..graph.index_set import IndexSet
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
