"""`Segments`: runs between frontiers, maximal regions and the whole model, for toolchains that optimise across operators.

Segments may have several exits. At a frontier few tensors pass from the nodes before it to those after it (`line.split`); one tensor
alone at a cut point (`Line.cut_points`). The beginning and the end of the model are frontiers too.

Maximal regions are disjoint sets of the nodes that a toolchain takes. The graph of the regions and the other nodes has no cycle, so each
region is convex and all of them fit in one plan; joining any two regions of which one reads the other would make a cycle. Leftovers are
the maximal regions of the nodes that are left to a target where other targets take their large regions. A leftover may have several
exits; it fits in one plan with the regions of the others.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise, permutations, takewhile
from typing import ClassVar

from ..graph.dataflow_graph import DataflowGraph
from ..graph.index_set import IndexSet
from ..graph.work_estimate import WorkEstimator
from .candidate import Rejection, RejectionLog
from .line import MOST_PARTS, Label, Line, majors, split
from .rule import PartitionRule, RuleContext, RuleMatch, Tables

DEFAULT_LIMIT = 5_000
"""Most runs that one rule finds; longer ones are left out then, and a note reports it."""
LONG_RUNS = 100
"""Number of runs from the beginning of the model, and of runs to its end, that are found whatever the limit."""


@dataclass(frozen=True)
class Segments(PartitionRule):
    """The whole model where the sub-rule takes every node, else the maximal regions; leftovers; then runs between two frontiers.

    Host nodes are included where the sub-rule admits them. A set with fewer than two other nodes is left out, since the sub-rule finds it.
    Runs are deferred, but for those between major frontiers; the others come shortest first and are made one by one. Profiles do not
    make that needless: each candidate is bounded and estimated anew after each trial, and merging tries the deferred ones where they pay.

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
        graph, seen = context.graph, set[IndexSet]()
        is_taken = self.taken(context)
        for nodes, path in self._regions(context, is_taken):
            if nodes in seen or _placeable(graph, nodes) < 2:
                continue
            seen.add(nodes)
            if self._is_shallow(graph, nodes):
                yield RuleMatch(nodes, path)
            else:
                reason = f"depth: its longest path holds {_depth(graph, nodes)} nodes, at most {self.max_depth} may be"
                context.log.add(Rejection(context.target, tuple(nodes), self.name, "validity", reason), "depth")
        for run, is_deferred in self._runs(context, is_taken):
            if run not in seen:
                seen.add(run)
                yield RuleMatch(run, self.name, deferred=is_deferred)

    def taken(self, context: RuleContext) -> list[bool]:
        """Return for each node whether it is taken; the host's are, if admitted. Log the sub-rule's rejections once."""
        nodes = context.graph.derive(_TakenOf).by(self.of, context.tables)
        if nodes.rejected and not any((context.target, *sort) in context.log.counts for sort in nodes.rejected):
            deque(self.of.find(context), maxlen=0)
        return nodes.mask

    def _regions(self, context: RuleContext, is_taken: Sequence[bool]) -> Iterator[tuple[IndexSet, str]]:
        """Yield the whole model or the regions, then the leftovers, each with its path."""
        graph = context.graph
        for nodes in [range(len(graph))] if all(is_taken) else maximal_regions(graph.sources, is_taken):
            yield IndexSet(nodes), self.name
        regions = leftovers(graph, is_taken, context.others)
        for names, nodes in regions.regions:
            yield IndexSet(nodes), f"{self.name}.beside({', '.join(names)})"
        if regions.missing:
            sets = f"{regions.looked_at} of {regions.looked_at + regions.missing} sets of other targets"
            context.note(self.name, "validity", f"what others leave to {context.target} was looked for with {sets}", "beside")

    def _runs(self, context: RuleContext, is_taken: Sequence[bool]) -> Iterator[tuple[IndexSet, bool]]:
        """Yield the runs, and whether each is deferred; those between major frontiers first."""
        graph = context.graph
        line = graph.derive(Line)
        positions, parts = majors(*_labels(context, line, is_taken), line.crossings, line.can_end)
        if parts > MOST_PARTS:
            reason = f"the kind of work or who takes it changes {parts - 1} times: only the runs between the {len(positions)} frontiers"
            context.note(self.name, "validity", f"{reason} with the most work beside them are not deferred", "frontiers")
        yield from ((run, False) for run in _Runs(self, graph, _intervals(graph, positions), is_taken).shortest_first())
        runs = _Runs(self, graph, graph.derive(_between_ends), is_taken)
        for count, run in enumerate(runs.shortest_first()):
            if count == self.limit:
                longer = f"longer ones of {context.target} were not looked at, but for some that begin or end the model"
                context.note(self.name, "validity", f"stopped at {self.limit} runs: {longer}", "limit")
                yield from ((run, True) for run in runs.at_the_ends())
                return
            yield run, True

    def _is_shallow(self, graph: DataflowGraph, nodes: IndexSet) -> bool:
        most = self.max_depth
        return most is None or len(nodes) <= most or _depth(graph, nodes, most) <= most


@dataclass(frozen=True)
class _Taken:
    """The nodes that a rule takes alone, as a mask, and the sorts of its rejections: (rule, stage, check)."""

    mask: list[bool]
    rejected: list[tuple[str, str, str]]


class _TakenOf:
    """Facts about one graph, each found once: a target asks for them, and so does each whose leftovers depend on it."""

    def __init__(self, graph: DataflowGraph):
        self._graph = graph
        self._known: list[tuple[PartitionRule, _Taken]] = []

    def by(self, rule: PartitionRule, tables: Tables) -> _Taken:
        """Return what this very `rule` takes; equal ones of a plug-in need not find the same."""
        known = next((taken for asked, taken in self._known if asked is rule), None)
        if known is None:
            known = self._find(rule, tables)
            self._known.append((rule, known))
        return known

    def _find(self, rule: PartitionRule, tables: Tables) -> _Taken:
        quiet = RuleContext(self._graph, "", RejectionLog(), tables=tables)
        mask = [node.is_host and rule.admits_host(self._graph, node) for node in self._graph.nodes]
        for match in rule.find(quiet):
            if len(match.inside) == 1:
                mask[match.inside.base] = True
        return _Taken(mask, [sort[1:] for sort in quiet.log.counts])


@dataclass(frozen=True, slots=True)
class _Interval:
    """The nodes between two positions, and how many of them are not the host's."""

    nodes: IndexSet
    placeable: int


def _intervals(graph: DataflowGraph, positions: Sequence[int]) -> list[_Interval]:
    line = graph.derive(Line)
    between = (line.between(begin, end) for begin, end in pairwise(positions))
    return [_Interval(nodes, _placeable(graph, nodes)) for nodes in between]


class _Runs:
    """The runs of taken nodes over one or more of `intervals`, which follow each other, as far as the depth of `rule` allows."""

    def __init__(self, rule: Segments, graph: DataflowGraph, intervals: Sequence[_Interval], is_taken: Sequence[bool]):
        self._rule, self._graph, self._intervals = rule, graph, intervals
        self._is_whole = [all(is_taken[index] for index in interval.nodes) for interval in intervals]

    def shortest_first(self) -> Iterator[IndexSet]:
        """Yield every run, made only when it is asked for. A run that extends a run that is too deep is too deep as well."""
        heap: list[tuple[int, int, int, IndexSet, int]] = []
        for first in range(len(self._intervals)):
            self._extend(heap, first, first, IndexSet(), 0)
        while heap:
            _, first, last, nodes, placeable = heappop(heap)
            self._extend(heap, first, last + 1, nodes, placeable)
            if placeable > 1:
                yield nodes

    def _extend(self, heap: list[tuple[int, int, int, IndexSet, int]], first: int, last: int, nodes: IndexSet, placeable: int) -> None:
        """Push `nodes` with interval `last`, where that is allowed: a run from interval `first`."""
        if last < len(self._intervals) and self._is_whole[last]:
            longer = nodes | self._intervals[last].nodes
            if self._rule._is_shallow(self._graph, longer):
                heappush(heap, (len(longer), first, last, longer, placeable + self._intervals[last].placeable))

    def at_the_ends(self) -> Iterator[IndexSet]:
        """Yield at most `LONG_RUNS` runs that begin the model, spread evenly, and as many that end it."""
        count = len(self._intervals)
        for order in (range(count), range(count - 1, -1, -1)):
            taken = list(takewhile(self._is_whole.__getitem__, order))
            nodes, placeable, step = IndexSet(), 0, -(-len(taken) // LONG_RUNS)
            for number, interval in enumerate(taken, 1):
                nodes, placeable = nodes | self._intervals[interval].nodes, placeable + self._intervals[interval].placeable
                if number % step == 0 and placeable > 1 and self._rule._is_shallow(self._graph, nodes):
                    yield nodes


def _labels(context: RuleContext, line: Line, is_taken: Sequence[bool]) -> tuple[list[Label], list[float]]:
    """Return for each position of `line` the label of its node and its operations.

    A label is the kind of heavy work and who takes it; a node of light work has one only where not everybody takes it.
    """
    masks = [is_taken, *context.others.values()]
    work = context.graph.derive(WorkEstimator)
    operations = [work.operations(index) for index in line.order]
    labels: list[Label] = []
    for index, kind in zip(line.order, line.kinds, strict=True):
        takers = tuple(mask[index] for mask in masks)
        labels.append(None if kind is None and all(takers) else (kind, takers))
    return labels, operations


def cut_points(graph: DataflowGraph) -> list[int]:
    """Return the nodes that are cut points, in order.

    Every other node that an input of the model reaches leads to a cut point or comes from it, and one tensor of it is all that the
    nodes up to it pass to the nodes after it.
    """
    line = graph.derive(Line)
    return [line.order[position] for position in line.cut_points]


def _between_ends(graph: DataflowGraph) -> list[_Interval]:
    """Return the nodes between each two positions at which runs begin and end; the beginning and the end of the model are such, too."""
    line = graph.derive(Line)
    ends = [0, *(position + 1 for position in line.cut_points if position + 1 < len(line)), len(line)]
    if len(ends) > 2 and _placeable(graph, line.between(ends[-2], ends[-1])) == 0:
        del ends[-2]  # Only host nodes follow; they belong to the run before.
    return _intervals(graph, split(ends, line.crossings, line.can_end))


def _placeable(graph: DataflowGraph, nodes: IndexSet) -> int:
    return sum(1 for index in nodes if not graph.nodes[index].is_host)


def _depth(graph: DataflowGraph, nodes: IndexSet, most: float = math.inf) -> int:
    """Return the number of nodes on the longest path among `nodes`; only that it is more than `most` where it is."""
    longest: dict[int, int] = {}
    deepest = 0
    for index in nodes:
        depth = longest[index] = 1 + max([longest.get(source, 0) for source in graph.sources[index]], default=0)
        if depth > deepest:
            deepest = depth
            if depth > most:
                break
    return deepest


def maximal_regions(reads: Sequence[Sequence[int]], is_taken: Sequence[bool], beside: Sequence[Sequence[int]] = ()) -> list[list[int]]:
    """Return the regions of the taken nodes, single nodes included, each ascending, ordered by their first node.

    Args:
        beside: Regions of others, without taken nodes, each ascending: with them the regions fit in one plan as well.
    """
    contraction = _Contraction(reads)
    for nodes in beside:
        own = set(nodes)
        contraction.join_all([(source, index) for index in nodes for source in reads[index] if source in own])
    contraction.join_all([(source, index) for index in range(len(reads)) if is_taken[index] for source in reads[index] if is_taken[source]])
    members: dict[int, list[int]] = {}
    for index in range(len(reads)):
        if is_taken[index]:
            members.setdefault(contraction.root(index), []).append(index)
    return list(members.values())


class _Contraction:
    """An acyclic graph whose nodes can be joined, with a topological order that each join updates.

    The order is updated as in the algorithm of Pearce and Kelly for an edge: only nodes between the two in the order are visited.
    """

    def __init__(self, reads: Sequence[Sequence[int]]):
        self.parent = list(range(len(reads)))
        self.order = list(range(len(reads)))
        self.above = [set(sources) for sources in reads]
        self.below: list[set[int]] = [set() for _ in reads]
        for index, sources in enumerate(reads):
            for source in sources:
                self.below[source].add(index)

    def root(self, index: int) -> int:
        """Return the node that represents `index`."""
        parent = self.parent
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    def join_all(self, edges: Sequence[tuple[int, int]]) -> None:
        """Join the ends of as many of `edges` as can be. What lies between two may join one of them: repeat until nothing joins."""
        while True:
            left = [(upper, lower) for upper, lower in edges if not self.join(upper, lower)]
            if len(left) == len(edges):
                return
            edges = left

    def join(self, upper: int, lower: int) -> bool:
        """Join the two unless a second path leads from `upper` to `lower`, and return whether they are one node now."""
        upper, lower = self.root(upper), self.root(lower)
        if upper == lower:
            return True
        if self.above[lower] == {upper}:
            self._unite(upper, lower, self.order[upper])
            return True
        between = self._ancestors_between(upper, lower)
        if between is None:
            return False
        after = self._descendants_between(upper, lower) if between else []
        by_order = self.order.__getitem__
        positions = sorted(map(by_order, (*between, *after, upper, lower)))
        for node, position in zip(sorted(between, key=by_order), positions, strict=False):
            self.order[node] = position
        self._unite(upper, lower, positions[len(between)])
        for node, position in zip(sorted(after, key=by_order), positions[len(positions) - len(after) :], strict=True):
            self.order[node] = position
        return True

    def _ancestors_between(self, upper: int, lower: int) -> list[int] | None:
        """Return the nodes after `upper` in the order that `lower` depends on; None when one of them depends on `upper`."""
        bound, ancestors = self.order[upper], {lower}
        waiting = [lower]
        while waiting:
            node = waiting.pop()
            for source in self.above[node]:
                if source == upper and node != lower:
                    return None
                if self.order[source] > bound and source not in ancestors:
                    ancestors.add(source)
                    waiting.append(source)
        return list(ancestors - {lower})

    def _descendants_between(self, upper: int, lower: int) -> list[int]:
        """Return the nodes before `lower` in the order that depend on `upper`."""
        bound, descendants = self.order[lower], set[int]()
        waiting = [upper]
        while waiting:
            for reader in self.below[waiting.pop()]:
                if self.order[reader] < bound and reader not in descendants:
                    descendants.add(reader)
                    waiting.append(reader)
        return list(descendants)

    def _unite(self, upper: int, lower: int, position: int) -> None:
        """Represent both by one node at `position` in the order; the node with fewer neighbours is merged into the other."""
        keep, drop = upper, lower
        if len(self.above[keep]) + len(self.below[keep]) < len(self.above[drop]) + len(self.below[drop]):
            keep, drop = drop, keep
        for mine, theirs in ((self.above, self.below), (self.below, self.above)):
            for other in mine[drop]:
                theirs[other].discard(drop)
                if other != keep:
                    theirs[other].add(keep)
                    mine[keep].add(other)
            mine[drop] = set()
        self.parent[drop] = keep
        self.order[keep] = position


LARGE = 0.1
"""The least share of the model's operations in a large region."""
MOST_SETS = 12
"""Most sets of one or two other targets that are looked at."""

Mask = Sequence[bool]


@dataclass(frozen=True, slots=True)
class Leftovers:
    """The leftovers of one target.

    Attributes:
        regions: The names of one or two other targets, and the nodes, ascending. One set of nodes may be left by several.
        looked_at: The sets of other targets that were looked at.
        missing: Further ones that were not.
    """

    regions: list[tuple[tuple[str, ...], list[int]]]
    looked_at: int
    missing: int


def leftovers(graph: DataflowGraph, is_taken: Mask, others: Mapping[str, Mask]) -> Leftovers:
    """Return what is left to the target that takes `is_taken`.

    Of others that take the same nodes the first counts; one that takes the whole model, or the same as the target, leaves nothing.
    """
    by_mask: dict[tuple[bool, ...], str] = {}
    for name, mask in others.items():
        by_mask.setdefault(tuple(mask), name)
    partial = {name: mask for mask, name in by_mask.items() if not all(mask) and list(mask) != list(is_taken)}
    work = list(map(graph.derive(WorkEstimator).operations, range(len(graph))))
    least = LARGE * sum(work)
    sets = [*permutations(partial, 1), *permutations(partial, 2)]
    regions = []
    for names in sets[:MOST_SETS]:
        beside: list[list[int]] = []
        for name in names:
            mine = maximal_regions(graph.sources, _without(partial[name], beside), beside)
            beside += [nodes for nodes in mine if sum(work[index] for index in nodes) >= least]
        left = _without(is_taken, beside)
        if left != list(is_taken):
            regions += [(names, nodes) for nodes in maximal_regions(graph.sources, left, beside)]
    return Leftovers(regions, min(len(sets), MOST_SETS), max(0, len(sets) - MOST_SETS))


def _without(mask: Mask, beside: Sequence[Sequence[int]]) -> list[bool]:
    gone = {index for nodes in beside for index in nodes}
    return [is_taken and index not in gone for index, is_taken in enumerate(mask)]
