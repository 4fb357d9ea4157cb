"""The closure of sub-graphs under joining, computed with a worklist: each new set is joined with every older set that it touches.

The first sets, the combiners and the bounds enter; `ClosureMember`s leave, each set once. `combine` defines the closure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

from ..graph.dataflow_graph import DataflowGraph, OpPatternKind
from ..graph.index_set import IndexSet
from ..graph.sub_graph import CONSTANT, SubGraph, SubGraphConfig
from .combiners import ClosureMember, ClosureView, Combiner, GroupCombiner, Horizontal, MemberSort, PairCombiner, operators_of_branch
from .cones import cone
from .rule import RuleMatch

_I = OpPatternKind.INJECTIVE

Grows = Callable[[DataflowGraph, Sequence[IndexSet]], bool]
"""Decides whether the sets of nodes that a combiner would join are joined. Of two sets, the one that is read comes first."""


class ClosurePruner:
    """Decides which sub-graphs the closure keeps: those that are valid, or may grow into a valid one.

    It never rejects a sub-graph that could; it may keep one that cannot.

    Args:
        held: The nodes of the first sets: no other node ever gets inside.
        config: Says which sets are valid.
        max_depth: Bound on the depth of joined sets.
    """

    def __init__(self, graph: DataflowGraph, held: frozenset[int], config: SubGraphConfig, max_depth: int | None):
        self._consumers = graph.consumers
        self._config = config
        self._always_exit = [ends or not held.issuperset(readers) for ends, readers in zip(graph.ends, graph.consumers, strict=True)]
        bound = min((given for given in (max_depth, config.max_depth) if given is not None), default=None)
        self._exits: dict[int, IndexSet] = {}
        if config.max_exits == 1 and bound is not None:
            inner = [index in held and not graph.ends[index] for index in range(len(graph))]
            exits: dict[int, list[int]] = defaultdict(list)
            for end in held:
                for node in cone(graph, end, inner, bound):
                    exits[node].append(end)
            self._exits = {node: IndexSet(ends) for node, ends in exits.items()}

    @property
    def most_exits(self) -> int | None:
        """Most exits of a valid set; None for no bound."""
        return self._config.max_exits

    def keeps(self, inside: IndexSet) -> bool:
        """Return whether the closure must keep `inside`."""
        if self._exits:
            return self._can_have_one_exit(inside)
        exits = [index for index in inside if self._always_exit[index]]
        if self._config.max_exits is not None and len(exits) > self._config.max_exits:
            return False
        return self._config.allow_taps or not any(reader in inside for index in exits for reader in self._consumers[index])

    def _can_have_one_exit(self, inside: IndexSet) -> bool:
        """Return whether some node can be the only exit of a set that holds `inside`: every path from `inside` leads to it."""
        nodes = iter(inside)
        possible = self._exits[next(nodes)]
        for index in nodes:
            possible &= self._exits[index]
            if not possible:
                return False
        return True


class Closure(ClosureView):
    """The closure of `base` under `combiners`.

    Args:
        max_depth: Bound on the sum of the depths of the sets that join.
        limit: Most members; those of `base` are always kept.
        pruner: Says which sets need not be kept; None keeps all.
        grows: Asked about each group of sets that would make a new one; None joins them all.

    Attributes:
        members: The sets so far, those of `base` first.
        is_cut_off: Whether the limit was reached.
        pruned: The first set that `pruner` did not keep.
    """

    def __init__(
        self,
        graph: DataflowGraph,
        base: Iterable[RuleMatch],
        combiners: Sequence[Combiner],
        max_depth: int | None,
        limit: int,
        pruner: ClosurePruner | None = None,
        grows: Grows | None = None,
    ):
        self.graph = graph
        self.members: list[ClosureMember] = []
        self.is_cut_off = False
        self.pruned: RuleMatch | None = None
        self._pairs = [combiner for combiner in combiners if isinstance(combiner, PairCombiner)]
        self._groups = [combiner for combiner in combiners if isinstance(combiner, GroupCombiner)]
        self._max_depth = max_depth
        self._limit = limit
        self._pruner = pruner
        self._grows = grows
        self._seen: set[IndexSet] = set()
        self._holding: dict[int, dict[MemberSort, list[ClosureMember]]] = defaultdict(partial(defaultdict, list))
        self._reading: dict[int, dict[MemberSort, list[ClosureMember]]] = defaultdict(partial(defaultdict, list))
        self.most_exits = pruner.most_exits if pruner is not None else None
        self._by_tensor: dict[tuple[str, tuple[str, ...]], list[ClosureMember]] | None = (
            defaultdict(list) if any(isinstance(combiner, Horizontal) for combiner in combiners) else None
        )
        self._has_constants = any(node.op == CONSTANT for node in graph.nodes)
        for match in base:
            sub_graph = SubGraph(graph, match.inside)
            self._seen.add(match.inside)
            self.members.append(ClosureMember(sub_graph.depth, sub_graph.kind, tuple(sub_graph.outputs), match, self._exits(match.inside)))
        self._injective = frozenset(index for member in self.members if member.kind <= _I for index in member.inside)

    def run(self) -> None:
        """Join until no new set appears, or the limit is reached."""
        next_index = 0
        while next_index < len(self.members) and not self.is_cut_off:
            member = self.members[next_index]
            next_index += 1
            if self._pairs:
                self._join_with_neighbours(member)
            for combiner in self._groups:
                for group in combiner.groups(member, self):
                    if self._max_depth is None or combiner.depth(group, self.graph) <= self._max_depth:
                        self._add(group)
                    if self.is_cut_off:
                        return
            self._index(member)

    def holding(self, index: int) -> Sequence[ClosureMember]:
        return list(chain.from_iterable(self._holding[index].values()))

    def reading_alike(self, name: str, operators: tuple[str, ...]) -> Sequence[ClosureMember]:
        return [] if self._by_tensor is None else self._by_tensor[name, operators]

    def is_injective(self, index: int) -> bool:
        return index in self._injective

    def _join_with_neighbours(self, member: ClosureMember) -> None:
        """Join `member` with every older member that reads it or that it reads."""
        depth_left = None if self._max_depth is None else self._max_depth - member.depth
        own = member.sort

        def may_join(upper: MemberSort, lower: MemberSort) -> bool:
            return any(combiner.may_join(upper, lower) for combiner in self._pairs)

        for lower in _members_at(self._holding, member.readers, depth_left, lambda sort: may_join(own, sort)):
            self._join(member, lower)
        for upper in _members_at(self._reading, member.inside, depth_left, lambda sort: may_join(sort, own)):
            self._join(upper, member)

    def _join(self, upper: ClosureMember, lower: ClosureMember) -> None:
        if not upper.inside.isdisjoint(lower.inside):
            return
        if any(combiner.joins(self.graph, upper, lower) for combiner in self._pairs):
            self._add((upper, lower))

    def _add(self, group: Sequence[ClosureMember]) -> None:
        """Add the union of `group`, unless it is there already, is not convex, may not grow so, or need not be kept."""
        inside = group[0].inside
        for member in group[1:]:
            inside |= member.inside
        if inside in self._seen:
            return
        readers = self._outside(inside, group)
        if readers is None or (self._grows is not None and not self._grows(self.graph, [member.inside for member in group])):
            return
        match = RuleMatch(inside, *joined_provenance([member.found for member in group]))
        if self._pruner is not None and not self._pruner.keeps(inside):
            self._seen.add(inside)
            self.pruned = self.pruned or match
            return
        if len(self.members) >= self._limit:
            self.is_cut_off = True
            return
        self._seen.add(inside)
        depth, kind = SubGraph(self.graph, inside).depth, self._kind(inside, group)
        self.members.append(ClosureMember(depth, kind, readers, match, self._exits(inside)))

    def _exits(self, inside: IndexSet) -> int:
        return len(SubGraph(self.graph, inside).exits) if self._by_tensor is not None else 0

    def _outside(self, inside: IndexSet, group: Sequence[ClosureMember]) -> tuple[int, ...] | None:
        """Return the nodes outside that read `inside`; None where a path from one of them leads back in."""
        base, rel, last = inside.base, inside.rel, inside.last()
        readers = []
        for reader in sorted({reader for member in group for reader in member.readers}):
            if reader > last:
                readers.append(reader)
            elif not rel >> reader - base & 1:
                if self.graph.downstream[reader] >> base & rel:
                    return None
                readers.append(reader)
        return tuple(readers)

    def _kind(self, inside: IndexSet, group: Sequence[ClosureMember]) -> OpPatternKind:
        return SubGraph(self.graph, inside).kind if self._has_constants else max(member.kind for member in group)

    def _index(self, member: ClosureMember) -> None:
        sort = member.sort
        for index in member.inside:
            self._holding[index][sort].append(member)
        for index in member.readers:
            self._reading[index][sort].append(member)
        if self._by_tensor is not None:
            operators = operators_of_branch(self.graph, member.inside)
            for name in SubGraph(self.graph, member.inside).input_tensors():
                self._by_tensor[name, operators].append(member)


def _members_at(
    known: dict[int, dict[MemberSort, list[ClosureMember]]],
    indices: Iterable[int],
    depth_left: int | None,
    is_wanted: Callable[[MemberSort], bool],
) -> Iterator[ClosureMember]:
    """Yield the members at `indices` of a depth of at most `depth_left` and of the sorts that are wanted, each once."""
    met = set()
    for index in indices:
        for sort, members in known[index].items():
            if (depth_left is None or sort.depth <= depth_left) and is_wanted(sort):
                for member in members:
                    if id(member) not in met:
                        met.add(id(member))
                        yield member


def joined_provenance(group: Sequence[RuleMatch]) -> tuple[str, tuple[str, ...]]:
    """Return the path of rules and the composites of the union of `group`: the common path, else that of a union of rules."""
    path = group[0].path
    if any(match.path != path for match in group):
        path = f"{path.partition('.')[0]}.union"
    composites = tuple(label for match in group for label in match.composites)
    return path, composites
