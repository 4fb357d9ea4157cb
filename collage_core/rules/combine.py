"""`Combine`: all ways of joining what the sub-rule found into larger sub-graphs, by combiners.

Seeds: RFC 62 (0.81), `CombinePartitionRule` and its combiner rules. The result is the closure: u and d join when they are
disjoint, a tensor of u enters d, a combiner joins them, the depths add up to at most the bound, and nothing that leaves the
union comes back into it. Every joined set takes part in further joins, so no order of joining is missed.

Where only valid sets are asked for, no others need come out: single nodes that join whatever they touch are then spelt out from
their exits (`cones`), and the closure drops what cannot grow into anything valid.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ..graph.dataflow_graph import DataflowGraph
from ..graph.index_set import IndexSet
from ..graph.op_pattern_kind import OpPatternKind
from ..graph.sub_graph import CONSTANT, SubGraph, SubGraphConfig, Violation
from .base import PartitionRule, Reject, RuleContext, RuleMatch
from .closure import Closure, Hope, joined_provenance
from .combiners import Combiner, Constants, Kinds, TupleProjection, Vertical, parse_combiner
from .cones import Joinable, OneExitSets, deeper_set

CLASSIC = ("kind:A-B", "kind:B-R", "kind:I-I")
"""What TVM's `FuseOps` joins."""
ANYTHING = ("kind:A-A",)
"""Joins whatever touches, but for opaque calls."""
DEFAULT_LIMIT = 200_000
"""Most sets that the closure of one spec may hold; past it no more are joined, and that is reported."""

_ANY = OpPatternKind.OUT_EWISE_FUSABLE


@dataclass(frozen=True)
class Combine(PartitionRule):
    """The closure of the sub-rule's sets under joining.

    Attributes:
        combiners: Such as ``kind:A-B``: what is at most A joins what reads it and is at most B (`combiners`).
        max_depth: Bound on the sum of the depths of the two that join; None for no bound.
        limit: Most sets that are made; what the sub-rule found is always kept.
    """

    name: ClassVar[str] = "combine"
    of: PartitionRule
    combiners: tuple[str, ...] = CLASSIC
    max_depth: int | None = None
    limit: int = DEFAULT_LIMIT

    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        closure = Closure(context.graph, self._base(context).values(), self._combiners, self.max_depth, self.limit)
        yield from self._closed(context, closure)

    def find_valid(self, context: RuleContext, config: SubGraphConfig, reject: Reject) -> Iterator[RuleMatch]:
        """The valid sets of the closure. Of the others only some are made and rejected; that the rest was not is said once."""
        base = self._base(context)
        if config.max_exits == 1 and all(len(inside) == 1 for inside in base) and _join_anything(self._combiners):
            yield from self._one_exit(context, config, base, reject)
            return
        held = frozenset(index for inside in base for index in inside)
        hope = Hope(context.graph, held, config, self.max_depth)
        closure = Closure(context.graph, base.values(), self._combiners, self.max_depth, self.limit, hope)
        for found in self._closed(context, closure):
            violation = SubGraph(context.graph, found.inside).violation(config)
            if violation is None:
                yield found
            else:
                reject(found, violation)
        if closure.dropped is not None:
            reject(closure.dropped, _never_made(config, tuple(closure.dropped.inside)))

    @property
    def _combiners(self) -> list[Combiner]:
        return [parse_combiner(text) for text in self.combiners]

    def _base(self, context: RuleContext) -> dict[IndexSet, RuleMatch]:
        base: dict[IndexSet, RuleMatch] = {}
        for found in self.of.find(context):
            base.setdefault(found.inside, replace(found, path=f"{self.name}.{found.path}"))
        return base

    def _closed(self, context: RuleContext, closure: Closure) -> Iterator[RuleMatch]:
        closure.run()
        if closure.is_cut_off:
            self._tell_limit(context, "larger sub-graphs")
        for piece in closure.pieces:
            yield piece.found

    def _one_exit(
        self, context: RuleContext, config: SubGraphConfig, base: dict[IndexSet, RuleMatch], reject: Reject
    ) -> Iterator[RuleMatch]:
        yield from base.values()
        singles = {inside.base: found for inside, found in base.items()}
        joinable = _joinable(context.graph, singles, any(isinstance(combiner, Constants) for combiner in self._combiners))
        left = max(0, self.limit - len(base))
        sets = OneExitSets(context.graph, sorted(singles), joinable, config.max_depth, self.max_depth, left)
        if sets.cut_off is not None:
            self._tell_limit(context, f"some larger sub-graphs, such as those that end in {context.graph.nodes[sets.cut_off].name!r},")
        provenances = {(found.path, found.composites) for found in singles.values()}
        shared = provenances.pop() if len(provenances) == 1 else None
        if shared is not None and not shared[1]:
            path = shared[0]
            yield from (RuleMatch(inside, path) for inside in sets)
        else:
            yield from (RuleMatch(inside, *joined_provenance([singles[index] for index in inside])) for inside in sets)
        for violation in self._not_made(context.graph, config, joinable, singles):
            reject(RuleMatch(IndexSet(violation.nodes), singles[violation.nodes[0]].path), violation)

    def _not_made(
        self, graph: DataflowGraph, config: SubGraphConfig, joinable: Joinable, singles: dict[int, RuleMatch]
    ) -> Iterator[Violation]:
        """One example of each sort of set that is in the closure, is not valid, and was not spelt out."""
        nodes = None if self.max_depth == 1 else _two_exits(graph, joinable, singles)
        if nodes is not None:
            yield _never_made(config, nodes)
        depth = config.max_depth
        if depth is not None and (self.max_depth is None or depth < self.max_depth):
            deeper = deeper_set(graph, sorted(singles), joinable, depth)
            if deeper is not None:
                yield Violation("depth", f"sub-graphs of a depth over {depth}, such as this one, were not spelt out", deeper)

    def _tell_limit(self, context: RuleContext, what: str) -> None:
        context.note(self.name, "validity", f"stopped at {self.limit} sets: {what} of {context.target} were not looked at", "limit")


def _join_anything(combiners: Sequence[Combiner]) -> bool:
    """Whether these join whatever is not opaque and touches, two at a time, and nothing else (but constants)."""
    within = all(
        isinstance(combiner, Vertical | TupleProjection | Constants)
        or (isinstance(combiner, Kinds) and combiner.upper <= _ANY and combiner.lower <= _ANY)
        for combiner in combiners
    )
    return within and Kinds(_ANY, _ANY) in combiners


def _joinable(graph: DataflowGraph, singles: dict[int, RuleMatch], with_constants: bool) -> Joinable:
    """Which of the single nodes join what."""
    inner = [node.index in singles and not graph.ends[node.index] for node in graph.nodes]
    constant = [with_constants and node.op == CONSTANT for node in graph.nodes]
    opaque = [node.kind > _ANY for node in graph.nodes]
    return Joinable(
        [may and (is_constant or not closed) for may, is_constant, closed in zip(inner, constant, opaque, strict=True)],
        [may and is_constant for may, is_constant in zip(inner, constant, strict=True)],
        opaque,
    )


def _two_exits(graph: DataflowGraph, joinable: Joinable, singles: dict[int, RuleMatch]) -> tuple[int, int] | None:
    """The first two nodes that would join, but would have two exits."""
    for upper in singles:
        consumers = graph.consumers[upper]
        if (graph.ends[upper] or len(consumers) > 1) and (joinable.freely[upper] or not joinable.opaque[upper]):
            for lower in consumers:
                if lower in singles and (joinable.anywhere[upper] or not joinable.opaque[lower]):
                    return upper, lower
    return None


def _never_made(config: SubGraphConfig, nodes: tuple[int, ...]) -> Violation:
    bound = "one exit" if config.max_exits == 1 else f"{config.max_exits} exits"
    return Violation("exits", f"sub-graphs with more than {bound}, such as this one, were not spelt out", nodes)
