"""`Combine`: all ways of joining what the sub-rule found into larger sub-graphs, by combiners.

Seeds: RFC 62 (0.81), `CombinePartitionRule` and its combiner rules. The result is the closure: u and d join when they are
disjoint, a tensor of u enters d, a combiner allows their kinds, the depths add up to at most the bound, and nothing that
leaves the union comes back into it. Every joined set takes part in further joins, so no order of joining is missed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ..graph import DataflowGraph, IndexSet, OpPatternKind, SubGraph, indices_of
from .base import Found, PartitionRule, RuleContext
from .candidate import Rejection

CLASSIC = ("kind:A-B", "kind:B-R", "kind:I-I")
"""What TVM's `FuseOps` joins."""
ANYTHING = ("kind:A-A",)
"""Joins whatever touches, but for opaque calls."""
DEFAULT_LIMIT = 20_000
"""Most sets that the closure of one target may hold; past it no more are joined, and that is reported."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A set in the closure, with what a join needs to know of it."""

    bits: int
    depth: int
    kind: OpPatternKind
    readers: int
    found: Found


@dataclass(frozen=True)
class Combine(PartitionRule):
    """The closure of the sub-rule's sets under joining.

    Attributes:
        combiners: Such as ``kind:A-B``: what is at most A joins what reads it and is at most B.
        max_depth: Bound on the sum of the depths of the two that join; None for no bound.
        limit: Most sets that the closure may hold.
    """

    name: ClassVar[str] = "combine"
    of: PartitionRule
    combiners: tuple[str, ...] = CLASSIC
    max_depth: int | None = None
    limit: int = DEFAULT_LIMIT

    def find(self, context: RuleContext) -> Iterator[Found]:
        closure = _Closure(context.graph, [_kinds_of(combiner) for combiner in self.combiners], self.max_depth, self.limit)
        for found in self.of.find(context):
            closure.add(found)
        closure.run()
        if closure.is_cut_off:
            reason = f"stopped at {self.limit} sets: larger sub-graphs of {context.target} were not looked at"
            context.log.add(Rejection(context.target, (), self.name, "validity", reason), "limit")
        for piece in closure.pieces:
            yield Found(piece.found.inside, f"{self.name}.{piece.found.path}", piece.found.composites)


def _kinds_of(combiner: str) -> tuple[OpPatternKind, OpPatternKind]:
    upper, lower = combiner.removeprefix("kind:").split("-")
    return OpPatternKind.from_letter(upper), OpPatternKind.from_letter(lower)


class _Closure:
    """A worklist over the pieces: each new piece meets every older one that touches it, once from each side."""

    def __init__(self, graph: DataflowGraph, kinds: list[tuple[OpPatternKind, OpPatternKind]], max_depth: int | None, limit: int):
        self.graph = graph
        self.kinds = kinds
        self.max_depth = max_depth
        self.limit = limit
        self.pieces: list[_Piece] = []
        self.is_cut_off = False
        self._seen: set[int] = set()
        self._holding: dict[int, list[_Piece]] = defaultdict(list)
        self._reading_from: dict[int, list[_Piece]] = defaultdict(list)

    def add(self, found: Found) -> None:
        """Take a set into the closure, unless it is there already or the bound is reached."""
        if found.inside.bits in self._seen:
            return
        if len(self.pieces) >= self.limit:
            self.is_cut_off = True
            return
        self._seen.add(found.inside.bits)
        sub_graph = SubGraph(self.graph, found.inside)
        self.pieces.append(_Piece(found.inside.bits, sub_graph.depth, sub_graph.kind, sub_graph.outputs.bits, found))

    def run(self) -> None:
        """Join until nothing new comes."""
        at = 0
        while at < len(self.pieces):
            piece = self.pieces[at]
            at += 1
            for lower in self._below(piece):
                self._join(piece, lower)
            for upper in self._above(piece):
                self._join(upper, piece)
            self._remember(piece)

    def _below(self, piece: _Piece) -> list[_Piece]:
        met = {other.bits: other for index in indices_of(piece.readers) for other in self._holding[index]}
        return list(met.values())

    def _above(self, piece: _Piece) -> list[_Piece]:
        met = {other.bits: other for index in indices_of(piece.bits) for other in self._reading_from[index]}
        return list(met.values())

    def _remember(self, piece: _Piece) -> None:
        for index in indices_of(piece.bits):
            self._holding[index].append(piece)
        for index in indices_of(piece.readers):
            self._reading_from[index].append(piece)

    def _join(self, upper: _Piece, lower: _Piece) -> None:
        if upper.bits & lower.bits:
            return
        if self.max_depth is not None and upper.depth + lower.depth > self.max_depth:
            return
        if not any(upper.kind <= kind_up and lower.kind <= kind_down for kind_up, kind_down in self.kinds):
            return
        bits = upper.bits | lower.bits
        if bits in self._seen:
            return
        for reader in indices_of((upper.readers | lower.readers) & ~bits):
            if self.graph.downstream[reader] & bits:
                return
        composites = upper.found.composites + lower.found.composites
        self.add(Found(IndexSet.from_bits(bits), upper.found.path if upper.found.path == lower.found.path else "union", composites))
