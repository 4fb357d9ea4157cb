"""Combiners: which sub-graphs `Combine` joins. Each is a word in a rule file, such as ``kind:A-B``.

Seeds: RFC 62 (0.81), "PartitionRule", on combiner rules; design, "Described toolchain". What is a tuple there is here a call of
any number of inputs (`Concat`) or of several outputs (`Split`). Pair combiners look at one sub-graph and one that reads it;
group combiners say which others a sub-graph is joined with at once. Nothing here looks at validity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ..errors import CollageError
from ..graph.dataflow_graph import DataflowGraph
from ..graph.index_set import IndexSet
from ..graph.op_pattern_kind import OpPatternKind
from ..graph.sub_graph import CONSTANT, SubGraph
from .base import RuleMatch

_I = OpPatternKind.INJECTIVE
_ANCHORS = (OpPatternKind.COMM_REDUCE, OpPatternKind.OUT_EWISE_FUSABLE)

VARIADIC = frozenset({"Concat", "Max", "Mean", "Min", "Sum", "com.microsoft.QLinearConcat"})
"""Operators that take any number of inputs, and are injective or less: what Relay calls with a tuple."""


@dataclass(slots=True, eq=False)
class Piece:
    """A sub-graph on its way through the closure, with what a join needs to know of it.

    Attributes:
        depth: Nodes on its longest path.
        kind: The greatest kind inside.
        readers: Nodes outside that read it, ascending.
        found: Its nodes, and how it came about.
    """

    depth: int
    kind: OpPatternKind
    readers: tuple[int, ...]
    found: RuleMatch

    @property
    def inside(self) -> IndexSet:
        return self.found.inside


class PairCombiner(ABC):
    """Joins a sub-graph to one that reads it. That they are disjoint, how deep they are and convexity are not its business."""

    @abstractmethod
    def joins(self, graph: DataflowGraph, upper: Piece, lower: Piece) -> bool:
        """Whether `upper`, which `lower` reads, is joined to it."""


class GroupCombiner(ABC):
    """Joins a sub-graph with several others, or with others that it does not touch."""

    @abstractmethod
    def groups(self, piece: Piece, pieces: Pieces) -> Iterator[tuple[Piece, ...]]:
        """The groups that are joined and that `piece` completes, all others in `pieces` already; each is disjoint."""

    @abstractmethod
    def depth(self, group: Sequence[Piece], graph: DataflowGraph) -> int:
        """The depth of `group` that the bound is put on."""


class Pieces(ABC):
    """What group combiners ask of the closure."""

    graph: DataflowGraph

    @abstractmethod
    def holding(self, index: int) -> Sequence[Piece]:
        """The pieces so far that hold a node."""

    @abstractmethod
    def reading_tensor(self, name: str) -> Sequence[Piece]:
        """The pieces so far that read a tensor from outside, the host's too."""

    @abstractmethod
    def is_injective(self, index: int) -> bool:
        """Whether the sub-rule found a set that holds a node and is at most injective."""


@dataclass(frozen=True)
class Kinds(PairCombiner):
    """``kind:X-Y``: what is at most X joins what reads it and is at most Y (RFC 62, combining by `OpPatternKind`)."""

    upper: OpPatternKind
    lower: OpPatternKind

    def joins(self, graph: DataflowGraph, upper: Piece, lower: Piece) -> bool:
        return upper.kind <= self.upper and lower.kind <= self.lower


@dataclass(frozen=True)
class TupleProjection(PairCombiner):
    """``tuple_proj``: what holds a call of several outputs joins what reads one of these; both are at most injective."""

    def joins(self, graph: DataflowGraph, upper: Piece, lower: Piece) -> bool:
        if upper.kind > _I or lower.kind > _I:
            return False
        several = (index for index in upper.inside if len(graph.nodes[index].outputs) > 1)
        return any(reader in lower.inside for index in several for reader in graph.consumers[index])


@dataclass(frozen=True)
class Constants(PairCombiner):
    """``constant``: a `Constant` node, which a model that is not folded has, joins what reads it, of whatever kind."""

    def joins(self, graph: DataflowGraph, upper: Piece, lower: Piece) -> bool:
        return all(graph.nodes[index].op == CONSTANT for index in upper.inside)


@dataclass(frozen=True)
class Vertical(PairCombiner):
    """``vertical``: a chain through an anchor.

    The anchor is the one call of kind R or A; what is before it in the chain is at most I, what is after it at most B.
    """

    def joins(self, graph: DataflowGraph, upper: Piece, lower: Piece) -> bool:
        chain = [*upper.inside, *lower.inside]
        kinds = [graph.nodes[index].kind for index in chain]
        anchors = [place for place, kind in enumerate(kinds) if kind in _ANCHORS]
        if len(anchors) != 1 or max(kinds[: anchors[0]], default=_I) > _I:
            return False
        if max(kinds[anchors[0] + 1 :], default=OpPatternKind.BROADCAST) > OpPatternKind.BROADCAST:
            return False
        inside = frozenset(chain)
        sources = [[source for source in graph.sources[index] if source in inside] for index in chain]
        return sources == [[], *([before] for before in chain[:-1])]


@dataclass(frozen=True)
class TupleArguments(GroupCombiner):
    """``tuple_arg``: a call of any number of inputs joins all that makes its arguments, at once.

    The call's own piece and each joined piece are at most injective. An argument whose maker is more than that, or that the
    sub-rule did not find, stays outside. The bound is on the depth of the call's piece and of the arguments' pieces together.
    """

    def groups(self, piece: Piece, pieces: Pieces) -> Iterator[tuple[Piece, ...]]:
        if piece.kind > _I:
            return
        for call in _variadic(piece, pieces.graph):
            yield from _choices(piece, _makers(call, piece, pieces), pieces, None)
        for reader in piece.readers:
            if pieces.graph.nodes[reader].op not in VARIADIC:
                continue
            for lower in pieces.holding(reader):
                if lower.kind <= _I and lower.inside.isdisjoint(piece.inside):
                    yield from _choices(lower, _makers(reader, lower, pieces), pieces, piece)

    def depth(self, group: Sequence[Piece], graph: DataflowGraph) -> int:
        above = IndexSet()
        for piece in group[1:]:
            above |= piece.inside
        return group[0].depth + SubGraph(graph, above).depth


def _variadic(piece: Piece, graph: DataflowGraph) -> list[int]:
    return [index for index in piece.inside if graph.nodes[index].op in VARIADIC]


def _makers(call: int, lower: Piece, pieces: Pieces) -> list[int]:
    """The nodes outside `lower` that make arguments of `call` and are joined to it."""
    graph = pieces.graph
    outside = (source for source in graph.sources[call] if source not in lower.inside)
    return [source for source in outside if graph.nodes[source].kind <= _I and pieces.is_injective(source)]


def _choices(lower: Piece, makers: Sequence[int], pieces: Pieces, wanted: Piece | None) -> Iterator[tuple[Piece, ...]]:
    """`lower` with one piece for each of `makers`, in every way that leaves them disjoint, and in which `wanted` is among them."""

    def extend(chosen: tuple[Piece, ...], left: Sequence[int]) -> Iterator[tuple[Piece, ...]]:
        if not left:
            if len(chosen) > 1 and (wanted is None or wanted in chosen):
                yield chosen
            return
        if any(left[0] in piece.inside for piece in chosen):
            yield from extend(chosen, left[1:])
            return
        known = list(pieces.holding(left[0]))
        if wanted is not None and left[0] in wanted.inside:
            known.append(wanted)
        for piece in known:
            if piece.kind <= _I and all(piece.inside.isdisjoint(other.inside) for other in chosen):
                yield from extend((*chosen, piece), left[1:])

    return extend((lower,), makers)


@dataclass(frozen=True)
class Horizontal(GroupCombiner):
    """``horizontal``: calls side by side that do the same to one tensor; the union has several exits.

    Two pieces join when they have the same operators, read a same tensor, and neither reaches the other. A piece that is
    itself made of such rows counts as one of them, so that any number join. Nothing opaque does. The bound is on the deeper one.
    """

    def groups(self, piece: Piece, pieces: Pieces) -> Iterator[tuple[Piece, ...]]:
        graph = pieces.graph
        if piece.kind is OpPatternKind.OPAQUE:
            return
        row, met = operators_of_a_row(graph, piece.inside), set()
        for name in SubGraph(graph, piece.inside).input_tensors():
            for other in pieces.reading_tensor(name):
                if id(other) in met or other.kind is OpPatternKind.OPAQUE or not other.inside.isdisjoint(piece.inside):
                    continue
                met.add(id(other))
                if operators_of_a_row(graph, other.inside) == row and _has_higher_latency(graph, piece, other):
                    yield (piece, other)

    def depth(self, group: Sequence[Piece], graph: DataflowGraph) -> int:
        return max(piece.depth for piece in group)


def _has_higher_latency(graph: DataflowGraph, one: Piece, other: Piece) -> bool:
    """Whether neither of two disjoint pieces reaches the other."""
    return not _reaches(graph, one, other) and not _reaches(graph, other, one)


def _reaches(graph: DataflowGraph, upper: Piece, lower: Piece) -> bool:
    base, last, reached = lower.inside.base, lower.inside.last(), 0
    for reader in upper.readers:
        if reader <= last:
            if reader in lower.inside:
                return True
            reached |= graph.downstream[reader] >> base
    return bool(reached & lower.inside.rel)


def operators_of_a_row(graph: DataflowGraph, inside: IndexSet) -> tuple[str, ...]:
    """The operators of each connected part of `inside`, in order, where all parts have the same; else those of all nodes."""
    part = {index: index for index in inside}

    def root(index: int) -> int:
        while part[index] != index:
            index = part[index]
        return index

    for index in inside:
        for source in graph.sources[index]:
            if source in part:
                part[root(index)] = root(source)
    rows: dict[int, list[str]] = {}
    for index in inside:
        rows.setdefault(root(index), []).append(graph.nodes[index].op)
    first, *others = rows.values()
    if all(row == first for row in others):
        return tuple(first)
    return tuple(graph.nodes[index].op for index in inside)


Combiner = PairCombiner | GroupCombiner
_NAMED: Mapping[str, Combiner] = {
    "tuple_arg": TupleArguments(),
    "tuple_proj": TupleProjection(),
    "constant": Constants(),
    "vertical": Vertical(),
    "horizontal": Horizontal(),
}


@cache
def parse_combiner(text: str) -> Combiner:
    """The combiner that a rule file calls `text`.

    Raises:
        CollageError: there is none of that name, or a kind in it is none.
    """
    if text in _NAMED:
        return _NAMED[text]
    head, _, pair = text.partition(":")
    upper, dash, lower = pair.partition("-")
    try:
        if head == "kind" and dash:
            return Kinds(OpPatternKind.from_letter(upper), OpPatternKind.from_letter(lower))
    except KeyError:
        pass
    letters = ", ".join(kind.letter for kind in OpPatternKind)
    hint = f"the combiners are {', '.join(_NAMED)}, and kind:X-Y with X and Y from {letters}, such as kind:A-B"
    raise CollageError(f"unknown combiner {text!r}", hint, "bad_rule")
