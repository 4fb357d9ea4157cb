"""The closure of sub-graphs under joining, as a worklist: each new one meets every older one that it touches, once from each side.

What enters: the sets to begin with, the combiners and the bounds. What leaves: `Piece`s, each set once. `combine` says what it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

from ..graph.dataflow_graph import DataflowGraph
from ..graph.index_set import IndexSet
from ..graph.op_pattern_kind import OpPatternKind
from ..graph.sub_graph import CONSTANT, SubGraph, SubGraphConfig
from .base import RuleMatch
from .combiners import Combiner, GroupCombiner, Horizontal, PairCombiner, Piece, Pieces
from .cones import cone

_I = OpPatternKind.INJECTIVE


class Hope:
    """Whether a sub-graph may grow into a valid one, or is one; where that is not sure it says yes.

    Args:
        held: The nodes that some set to begin with holds: no other node ever gets inside.
        config: What is valid.
        max_depth: Bound on what joining makes.
    """

    def __init__(self, graph: DataflowGraph, held: frozenset[int], config: SubGraphConfig, max_depth: int | None):
        self._consumers = graph.consumers
        self._config = config
        self._lasting = [ends or not held.issuperset(readers) for ends, readers in zip(graph.ends, graph.consumers, strict=True)]
        bound = min((given for given in (max_depth, config.max_depth) if given is not None), default=None)
        self._homes: dict[int, IndexSet] = {}
        if config.max_exits == 1 and bound is not None:
            inner = [index in held and not graph.ends[index] for index in range(len(graph))]
            homes: dict[int, list[int]] = defaultdict(list)
            for end in held:
                for node in cone(graph, end, inner, bound):
                    homes[node].append(end)
            self._homes = {node: IndexSet(ends) for node, ends in homes.items()}

    def remains(self, inside: IndexSet) -> bool:
        """Whether the closure must keep `inside`."""
        if self._homes:
            return self._has_home(inside)
        lasting = [index for index in inside if self._lasting[index]]
        if self._config.max_exits is not None and len(lasting) > self._config.max_exits:
            return False
        return self._config.allow_taps or not any(reader in inside for index in lasting for reader in self._consumers[index])

    def _has_home(self, inside: IndexSet) -> bool:
        """Whether some node can be the one exit of a set that holds `inside`: all that is inside leads there and nowhere else."""
        nodes = iter(inside)
        home = self._homes[next(nodes)]
        for index in nodes:
            home &= self._homes[index]
            if not home:
                return False
        return True


class Closure(Pieces):
    """The closure of `base` under `combiners`.

    Args:
        max_depth: Bound on the depths of what joins, together.
        limit: Most pieces; those of `base` are always kept.
        hope: Drops what need not be kept; None keeps all.

    Attributes:
        pieces: What it holds so far, `base` first.
        is_cut_off: The limit was met.
        dropped: The first that `hope` dropped.
    """

    def __init__(
        self,
        graph: DataflowGraph,
        base: Iterable[RuleMatch],
        combiners: Sequence[Combiner],
        max_depth: int | None,
        limit: int,
        hope: Hope | None = None,
    ):
        self.graph = graph
        self.pieces: list[Piece] = []
        self.is_cut_off = False
        self.dropped: RuleMatch | None = None
        self._pairs = [combiner for combiner in combiners if isinstance(combiner, PairCombiner)]
        self._groups = [combiner for combiner in combiners if isinstance(combiner, GroupCombiner)]
        self._max_depth = max_depth
        self._limit = limit
        self._hope = hope
        self._seen: set[IndexSet] = set()
        self._holding: dict[int, dict[int, list[Piece]]] = defaultdict(partial(defaultdict, list))
        self._reading: dict[int, dict[int, list[Piece]]] = defaultdict(partial(defaultdict, list))
        self._by_tensor: dict[str, list[Piece]] | None = (
            defaultdict(list) if any(isinstance(combiner, Horizontal) for combiner in combiners) else None
        )
        self._has_constants = any(node.op == CONSTANT for node in graph.nodes)
        for found in base:
            self._begin_with(found)
        self._injective = frozenset(index for piece in self.pieces if piece.kind <= _I for index in piece.inside)

    def run(self) -> None:
        """Join until nothing new comes, or the limit is met."""
        at = 0
        while at < len(self.pieces) and not self.is_cut_off:
            piece = self.pieces[at]
            at += 1
            if self._pairs:
                self._meet(piece)
            for combiner in self._groups:
                for group in combiner.groups(piece, self):
                    self._join_group(combiner, group)
                    if self.is_cut_off:
                        return
            self._remember(piece)

    def holding(self, index: int) -> Sequence[Piece]:
        return list(chain.from_iterable(self._holding[index].values()))

    def reading_tensor(self, name: str) -> Sequence[Piece]:
        return [] if self._by_tensor is None else self._by_tensor[name]

    def is_injective(self, index: int) -> bool:
        return index in self._injective

    def _begin_with(self, found: RuleMatch) -> None:
        sub_graph = SubGraph(self.graph, found.inside)
        self._seen.add(found.inside)
        self.pieces.append(Piece(sub_graph.depth, sub_graph.kind, tuple(sub_graph.outputs), found))

    def _meet(self, piece: Piece) -> None:
        """Join `piece` with every older one that reads it or that it reads."""
        room = None if self._max_depth is None else self._max_depth - piece.depth
        for lower in _met(self._holding, piece.readers, room):
            self._join(piece, lower)
        for upper in _met(self._reading, piece.inside, room):
            self._join(upper, piece)

    def _join(self, upper: Piece, lower: Piece) -> None:
        if not upper.inside.isdisjoint(lower.inside):
            return
        if any(combiner.joins(self.graph, upper, lower) for combiner in self._pairs):
            self._add((upper, lower))

    def _join_group(self, combiner: GroupCombiner, group: tuple[Piece, ...]) -> None:
        if self._max_depth is None or combiner.depth(group, self.graph) <= self._max_depth:
            self._add(group)

    def _add(self, group: Sequence[Piece]) -> None:
        """Take the union of `group` in, unless it is there, is not convex, or need not be kept."""
        inside = group[0].inside
        for piece in group[1:]:
            inside |= piece.inside
        if inside in self._seen:
            return
        readers = self._outside(inside, group)
        if readers is None:
            return
        found = _joined(inside, [piece.found for piece in group])
        if self._hope is not None and not self._hope.remains(inside):
            self._seen.add(inside)
            self.dropped = self.dropped or found
            return
        if len(self.pieces) >= self._limit:
            self.is_cut_off = True
            return
        self._seen.add(inside)
        self.pieces.append(Piece(SubGraph(self.graph, inside).depth, self._kind(inside, group), readers, found))

    def _outside(self, inside: IndexSet, group: Sequence[Piece]) -> tuple[int, ...] | None:
        """The nodes outside that read `inside`; None where one of them leads back in."""
        base, rel, last = inside.base, inside.rel, inside.last()
        readers = []
        for reader in sorted({reader for piece in group for reader in piece.readers}):
            if reader > last:
                readers.append(reader)
            elif not rel >> reader - base & 1:
                if self.graph.downstream[reader] >> base & rel:
                    return None
                readers.append(reader)
        return tuple(readers)

    def _kind(self, inside: IndexSet, group: Sequence[Piece]) -> OpPatternKind:
        return SubGraph(self.graph, inside).kind if self._has_constants else max(piece.kind for piece in group)

    def _remember(self, piece: Piece) -> None:
        for index in piece.inside:
            self._holding[index][piece.depth].append(piece)
        for index in piece.readers:
            self._reading[index][piece.depth].append(piece)
        if self._by_tensor is not None:
            for name in SubGraph(self.graph, piece.inside).input_tensors():
                self._by_tensor[name].append(piece)


def _met(known: dict[int, dict[int, list[Piece]]], indices: Iterable[int], room: int | None) -> Iterator[Piece]:
    """The pieces at `indices` whose depth has room, each once."""
    met = set()
    for index in indices:
        for depth, pieces in known[index].items():
            if room is None or depth <= room:
                for piece in pieces:
                    if id(piece) not in met:
                        met.add(id(piece))
                        yield piece


def _joined(inside: IndexSet, group: Sequence[RuleMatch]) -> RuleMatch:
    """The union of `group`, with the path that all of them have and the composites of each."""
    return RuleMatch(inside, *joined_provenance(group))


def joined_provenance(group: Sequence[RuleMatch]) -> tuple[str, tuple[str, ...]]:
    """The path of rules and the composites of what is joined of `group`: the path that all have, else that of a union."""
    path = group[0].path
    if any(found.path != path for found in group):
        path = f"{path.partition('.')[0]}.union"
    composites = tuple(label for found in group for label in found.composites)
    return path, composites
