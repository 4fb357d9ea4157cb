"""`Segments`: runs between cut points, maximal regions and the whole model, for toolchains that optimise across operators.

Segments may have several exits. Every other node leads to a cut point or comes from it, and one tensor of the cut point is all that
the nodes up to it pass to the nodes after it; tensors of the host do not count. The beginning and the end of the model count as
cut points.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import accumulate, pairwise
from typing import ClassVar

from ..graph.dataflow_graph import DataflowGraph
from ..graph.index_set import IndexSet
from .base import PartitionRule, RuleContext, RuleMatch
from .candidate import Rejection, RejectionLog
from .regions import regions

DEFAULT_LIMIT = 5_000
"""Most runs that one rule finds; longer ones are left out then, and a note reports it."""


@dataclass(frozen=True)
class Segments(PartitionRule):
    """The whole model where the sub-rule takes every node, else the maximal regions; then every run between two cut points.

    Host nodes are included. A set with fewer than two nodes that are not the host's is left out, since the sub-rule finds it.
    Runs are deferred; they come shortest first and are made one by one.

    Attributes:
        of: The rule that finds the single nodes that the toolchain takes.
        max_depth: Most nodes on the longest path inside; None for no bound.
        limit: Most runs.
    """

    name: ClassVar[str] = "segments"
    of: PartitionRule
    max_depth: int | None = None
    limit: int = DEFAULT_LIMIT

    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        graph, reads = context.graph, context.graph.sources
        is_taken = self._taken(context)
        whole = [list(range(len(graph)))] if all(is_taken) else regions(reads, is_taken)
        seen = set()
        for nodes in whole:
            if _placeable(graph, nodes) < 2:
                continue
            inside = IndexSet(nodes)
            seen.add(inside)
            depth = _depth(reads, nodes)
            if self.max_depth is None or depth <= self.max_depth:
                yield RuleMatch(inside, self.name)
            else:
                reason = f"depth: its longest path holds {depth} nodes, at most {self.max_depth} may be"
                context.log.add(Rejection(context.target, tuple(nodes), self.name, "validity", reason), "depth")
        runs = (run for run in _runs(graph, is_taken, self.max_depth) if run not in seen)
        for count, run in enumerate(runs):
            if count == self.limit:
                reason = f"stopped at {self.limit} runs: longer ones of {context.target} were not looked at"
                context.note(self.name, "validity", reason, "limit")
                return
            yield RuleMatch(run, self.name, deferred=True)

    def _taken(self, context: RuleContext) -> list[bool]:
        """Return for each node whether it is taken; the host's nodes are. Log the sub-rule's rejections unless they are logged already."""
        quiet = RuleContext(context.graph, context.target, RejectionLog())
        is_taken = [node.is_host for node in context.graph.nodes]
        for found in self.of.find(quiet):
            if len(found.inside) == 1:
                is_taken[found.inside.base] = True
        if quiet.log.counts and not any(group in context.log.counts for group in quiet.log.counts):
            deque(self.of.find(context), maxlen=0)
        return is_taken


def cut_points(graph: DataflowGraph) -> list[int]:
    """Return the cut points in order, without those of the host. Takes time linear in nodes and edges.

    In a topological order, every node before v leads to v exactly when v is the only one of the first v + 1 nodes that none of
    them reads; and every node after v comes from v exactly when v is the only one of v and its successors that reads none of them.
    """
    count, reads = len(graph), graph.sources
    first_reader, last_reader = [count] * count, [-1] * count
    for index in range(count - 1, -1, -1):
        for source in reads[index]:
            first_reader[source] = index
            last_reader[source] = max(last_reader[source], index)
    unread = _covering([(index, first_reader[index]) for index in range(count)], count)
    unfed = _covering([(max(sources, default=-1) + 1, index + 1) for index, sources in enumerate(reads)], count)
    passing = _covering([(index + 1, last_reader[index]) for index in range(count)], count)
    return [
        index
        for index, node in enumerate(graph.nodes)
        if unread[index] == unfed[index] == 1
        and passing[index] == 0
        and not node.is_host
        and sum(1 for tensor in node.outputs if graph.readers[tensor.name]) == 1
    ]


def _covering(intervals: Sequence[tuple[int, int]], count: int) -> list[int]:
    """Return for each position how many of the half-open intervals (begin, end) cover it."""
    change = [0] * (count + 1)
    for begin, end in intervals:
        if begin < end:
            change[begin] += 1
            change[end] -= 1
    return list(accumulate(change[:count]))


def _runs(graph: DataflowGraph, is_taken: Sequence[bool], max_depth: int | None) -> Iterator[IndexSet]:
    """Yield every run of taken nodes from after one cut point up to another, the shortest first.

    All nodes between two cut points are on paths from one to the other. So depths add up, and a run that extends a run that is too
    deep is too deep as well.
    """
    ends = _ends(graph)
    intervals = list(pairwise(ends))
    depth = [_depth(graph.sources, range(begin + 1, end + 1)) for begin, end in intervals]
    whole = [all(is_taken[begin + 1 : end + 1]) for begin, end in intervals]
    placeable_in = [_placeable(graph, range(begin + 1, end + 1)) for begin, end in intervals]

    def starting(first: int, last: int, deep: int, placeable: int) -> list[tuple[int, int, int, int, int]]:
        """Return the run from interval `first` to interval `last`, as the heap holds it; an empty list where it is not allowed."""
        if last == len(intervals) or not whole[last] or (max_depth is not None and deep + depth[last] > max_depth):
            return []
        return [(ends[last + 1] - ends[first], first, last, deep + depth[last], placeable + placeable_in[last])]

    heap = [run for first in range(len(intervals)) for run in starting(first, first, 0, 0)]
    heapify(heap)
    while heap:
        length, first, last, deep, placeable = heappop(heap)
        for longer in starting(first, last + 1, deep, placeable):
            heappush(heap, longer)
        if placeable > 1:
            yield IndexSet.window(ends[first] + 1, (1 << length) - 1)


def _ends(graph: DataflowGraph) -> list[int]:
    """Return the boundaries of runs: the index -1, each cut point, and the last node."""
    ends = [-1, *cut_points(graph)]
    last = len(graph) - 1
    if _placeable(graph, range(ends[-1] + 1, last + 1)) == 0 and len(ends) > 1:
        ends.pop()  # Only host nodes follow; they belong to the run before.
    return [*ends, last] if ends[-1] < last else ends


def _placeable(graph: DataflowGraph, nodes: Sequence[int]) -> int:
    return sum(1 for index in nodes if not graph.nodes[index].is_host)


def _depth(reads: Sequence[Sequence[int]], nodes: Sequence[int]) -> int:
    """Return the number of nodes on the longest path among `nodes`, which are ascending."""
    longest: dict[int, int] = {}
    for index in nodes:
        longest[index] = 1 + max((longest.get(source, 0) for source in reads[index]), default=0)
    return max(longest.values(), default=0)
