"""Combinator rules, which join, unite, label or filter the matches of their sub-rules, and the trees of them that toolchains share.

After RFC 62 (Collage), "PartitionRule": `CombinePartitionRule`, `UnionPartitionRule`, `PrimitivePartitionRule`, `CompositePartitionRule`,
`OnlyValidPartitionRule`, and the typical ways to combine rules. The fusion styles (none, tvm, arbitrary) are those of the C++
implementation of Collage.

The result of `Combine` is the closure: u and d join when they are disjoint, d reads a tensor of u, a combiner joins them, their depths
add up to at most the bound, and no path leaves the union and comes back into it. Every joined set takes part in further joins, so no
order of joining is missed. If only valid sets are wanted (`find_valid`), others need not be made. If single nodes join whatever they
touch, the valid sets are enumerated from their exits (`cones`); else the closure prunes sets that cannot grow into a valid one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ..graph.dataflow_graph import DataflowGraph, Node, OpPatternKind
from ..graph.index_set import IndexSet
from ..graph.sub_graph import CONSTANT, SubGraph, SubGraphConfig, Violation, constant_fed_nodes, with_constant_fed
from .candidate import Rejection
from .closure import Closure, ClosurePruner, Grows, joined_provenance
from .combiners import Combiner, Constants, Kinds, TupleProjection, Vertical, parse_combiner
from .cones import Joinable, OneExitSets, deeper_set
from .rule import PartitionRule, Reject, RuleContext, RuleMatch, RuleOptions
from .segments import Segments

CLASSIC = ("kind:A-B", "kind:B-R", "kind:I-I")
"""The combiners of TVM's `FuseOps`."""
ANYTHING = ("kind:A-A",)
"""The combiner that joins any two sets that touch, except opaque calls."""
DEFAULT_LIMIT = 200_000
"""Most sets in the closure of one spec; at the limit joining stops, and a note reports it."""

_ANY = OpPatternKind.OUT_EWISE_FUSABLE


@dataclass(frozen=True)
class Combine(PartitionRule):
    """The closure of the sub-rule's sets under joining.

    Attributes:
        combiners: Names of combiners (`combiners.parse_combiner`).
        max_depth: Bound on the sum of the depths of two sets that join; None for no bound.
        limit: Most sets that are made; the matches of the sub-rule are always kept.
        grows: A function of the user's that has a say in every join, after the combiners. A rule with one cannot be written in a file.
    """

    name: ClassVar[str] = "combine"
    of: PartitionRule
    combiners: tuple[str, ...] = CLASSIC
    max_depth: int | None = None
    limit: int = DEFAULT_LIMIT
    grows: Grows | None = None

    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        closure = Closure(context.graph, self._base(context).values(), self._combiners, self.max_depth, self.limit, grows=self.grows)
        yield from self._closed(context, closure)

    def find_valid(self, context: RuleContext, config: SubGraphConfig, reject: Reject) -> Iterator[RuleMatch]:
        """Yield the valid sets of the closure; of the others only some are made and rejected, and one rejection stands for the rest."""
        base = self._base(context)
        is_free = self.grows is None and _join_anything(self._combiners)
        if is_free and config.max_exits == 1 and all(len(inside) == 1 for inside in base):
            yield from self._one_exit(context, config, base, reject)
            return
        held = frozenset(index for inside in base for index in inside)
        pruner = ClosurePruner(context.graph, held, config, self.max_depth)
        closure = Closure(context.graph, base.values(), self._combiners, self.max_depth, self.limit, pruner, self.grows)
        for match in self._closed(context, closure):
            violation = SubGraph(context.graph, match.inside).violation(config)
            if violation is None:
                yield match
            else:
                reject(match, violation)
        if closure.pruned is not None:
            reject(closure.pruned, _too_many_exits(config, tuple(closure.pruned.inside)))

    @property
    def _combiners(self) -> list[Combiner]:
        return [parse_combiner(text) for text in self.combiners]

    def _base(self, context: RuleContext) -> dict[IndexSet, RuleMatch]:
        base: dict[IndexSet, RuleMatch] = {}
        for match in self.of.find(context):
            base.setdefault(match.inside, replace(match, path=f"{self.name}.{match.path}"))
        return base

    def _closed(self, context: RuleContext, closure: Closure) -> Iterator[RuleMatch]:
        closure.run()
        if closure.is_cut_off:
            self._note_limit(context, "larger sub-graphs")
        for member in closure.members:
            yield member.found

    def _one_exit(
        self, context: RuleContext, config: SubGraphConfig, base: dict[IndexSet, RuleMatch], reject: Reject
    ) -> Iterator[RuleMatch]:
        yield from base.values()
        singles = {inside.base: match for inside, match in base.items()}
        joinable = _joinable(context.graph, singles, any(isinstance(combiner, Constants) for combiner in self._combiners))
        left = max(0, self.limit - len(base))
        sets = OneExitSets(context.graph, sorted(singles), joinable, config.max_depth, self.max_depth, left)
        if sets.cut_off is not None:
            self._note_limit(context, f"some larger sub-graphs, such as those that end in {context.graph.nodes[sets.cut_off].name!r},")
        provenances = {(match.path, match.composites) for match in singles.values()}
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
        """Yield one example of each check that fails for sets of the closure that were not made."""
        nodes = None if self.max_depth == 1 else _two_exits(graph, joinable, singles)
        if nodes is not None:
            yield _too_many_exits(config, nodes)
        depth = config.max_depth
        if depth is not None and (self.max_depth is None or depth < self.max_depth):
            deeper = deeper_set(graph, sorted(singles), joinable, depth)
            if deeper is not None:
                yield Violation("depth", f"sub-graphs of a depth over {depth}, such as this one, were not enumerated", deeper)

    def _note_limit(self, context: RuleContext, what: str) -> None:
        context.note(self.name, "validity", f"stopped at {self.limit} sets: {what} of {context.target} were not looked at", "limit")


def _join_anything(combiners: Sequence[Combiner]) -> bool:
    """Return whether `combiners` join any two sets that touch and are not opaque, and nothing else but constants."""
    within = all(
        isinstance(combiner, Vertical | TupleProjection | Constants)
        or (isinstance(combiner, Kinds) and combiner.upper <= _ANY and combiner.lower <= _ANY)
        for combiner in combiners
    )
    return within and Kinds(_ANY, _ANY) in combiners


def _joinable(graph: DataflowGraph, singles: dict[int, RuleMatch], with_constants: bool) -> Joinable:
    """Return which of the nodes `singles` may be joined, as `OneExitSets` takes it."""
    inner = [node.index in singles and not graph.ends[node.index] for node in graph.nodes]
    constant = [with_constants and node.op == CONSTANT for node in graph.nodes]
    opaque = [node.kind > _ANY for node in graph.nodes]
    return Joinable(
        [may and (is_constant or not closed) for may, is_constant, closed in zip(inner, constant, opaque, strict=True)],
        [may and is_constant for may, is_constant in zip(inner, constant, strict=True)],
        opaque,
    )


def _two_exits(graph: DataflowGraph, joinable: Joinable, singles: dict[int, RuleMatch]) -> tuple[int, int] | None:
    """Return the first two nodes that would join into a set with two exits; None where there are none."""
    for upper in singles:
        consumers = graph.consumers[upper]
        if (graph.ends[upper] or len(consumers) > 1) and (joinable.freely[upper] or not joinable.opaque[upper]):
            for lower in consumers:
                if lower in singles and (joinable.anywhere[upper] or not joinable.opaque[lower]):
                    return upper, lower
    return None


def _too_many_exits(config: SubGraphConfig, nodes: tuple[int, ...]) -> Violation:
    bound = "one exit" if config.max_exits == 1 else f"{config.max_exits} exits"
    return Violation("exits", f"sub-graphs with more than {bound}, such as this one, were not enumerated", nodes)


@dataclass(frozen=True)
class Union(PartitionRule):
    """Finds everything that any sub-rule finds, once; of two that find the same set, the path of the first is kept."""

    name: ClassVar[str] = "union"
    of: tuple[PartitionRule, ...]

    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        seen: set[IndexSet] = set()
        for rule in self.of:
            for found in rule.find(context):
                if found.inside not in seen:
                    seen.add(found.inside)
                    yield RuleMatch(found.inside, f"{self.name}.{found.path}", found.composites, found.deferred)


@dataclass(frozen=True)
class Primitive(PartitionRule):
    """Makes each match of the sub-rule a partition of its own: one function in the assembled module."""

    name: ClassVar[str] = "primitive"
    of: PartitionRule

    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        for found in self.of.find(context):
            yield RuleMatch(found.inside, f"{self.name}.{found.path}", found.composites, found.deferred)


@dataclass(frozen=True)
class Composite(PartitionRule):
    """Labels each match of the sub-rule as one call of the toolchain.

    Attributes:
        label: The toolchain's name for it, such as ``conv_relu``.
    """

    name: ClassVar[str] = "composite"
    words: ClassVar[Mapping[str, str]] = {"label": "name"}
    label: str
    of: PartitionRule

    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        for found in self.of.find(context):
            yield RuleMatch(found.inside, f"{self.name}({self.label}).{found.path}", (self.label,), found.deferred)


@dataclass(frozen=True)
class MatchCheck(PartitionRule):
    """Keeps the matches that a function of the toolchain takes. It holds code, so it can be printed, but not written in a file.

    Attributes:
        check: Returns why the toolchain does not take a sub-graph; empty where it does. One rejection is logged for each reason.
    """

    name: ClassVar[str] = "match_check"
    check: Callable[[DataflowGraph, IndexSet], str]
    of: PartitionRule

    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        for found in self.of.find(context):
            reason = self.check(context.graph, found.inside)
            if reason:
                context.log.add(Rejection(context.target, tuple(found.inside), self.name, "predicate", reason), reason)
            else:
                yield RuleMatch(found.inside, f"{self.name}.{found.path}", found.composites, found.deferred)

    def admits_host(self, graph: DataflowGraph, node: Node) -> bool:
        return not self.check(graph, IndexSet.window(node.index, 1)) and self.of.admits_host(graph, node)


@dataclass(frozen=True)
class Folds(PartitionRule):
    """Adds to each match what only constants feed and nothing else reads: the toolchain computes that when it builds.

    Only nodes that the sub-rule finds by themselves are added. Where two matches become equal, the first is kept.
    """

    name: ClassVar[str] = "folds"
    of: PartitionRule

    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        matches = list(self.of.find(context))
        alone = {found.inside.base for found in matches if len(found.inside) == 1}
        constant_fed = constant_fed_nodes(context.graph) & alone
        seen: set[IndexSet] = set()
        for found in matches:
            inside = with_constant_fed(context.graph, found.inside, constant_fed)
            if inside not in seen:
                seen.add(inside)
                yield RuleMatch(inside, f"{self.name}.{found.path}", found.composites, found.deferred)


@dataclass(frozen=True)
class OnlyValid(PartitionRule):
    """Keeps the matches that are valid partitions, and logs the others with the check that failed and the nodes that show it.

    Attributes:
        max_depth: Most nodes on the longest path inside; None for no bound.
        max_exits: Most nodes that are read outside.
        allow_taps: Whether such a node may also be read inside.
    """

    name: ClassVar[str] = "only_valid"
    of: PartitionRule
    max_depth: int | None = None
    max_exits: int = 1
    allow_taps: bool = False

    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        def reject(found: RuleMatch, violation: Violation) -> None:
            reason = f"{violation.check}: {violation.reason}"
            path = f"{self.name}.{found.path}"
            context.log.add(Rejection(context.target, tuple(found.inside), path, "validity", reason), violation.check)

        config = SubGraphConfig(self.max_depth, self.max_exits, self.allow_taps)
        for found in self.of.find_valid(context, config, reject):
            yield RuleMatch(found.inside, f"{self.name}.{found.path}", found.composites, found.deferred)


COMBINERS = {"tvm": CLASSIC, "arbitrary": ANYTHING}
"""Fusion style → combiners."""
FUSION_STYLES = ("none", *COMBINERS)


def fusion_tree(calls: PartitionRule, options: RuleOptions, *, style: str, depth: int) -> PartitionRule:
    """Return a rule tree that finds single calls, combinations of them, and the largest regions.

    Args:
        calls: The rule that finds the single calls that the toolchain takes.
        options: Options of the user; the fusion style and depth in them override the toolchain's.
        style: The toolchain's own fusion style.
        depth: The toolchain's own bound for combined candidates.
    """
    style = options.fusion or style
    if style == "none":
        return Primitive(OnlyValid(calls, options.max_depth, options.max_exits, options.allow_taps))
    bound = depth if options.max_depth is None else options.max_depth
    combined = Combine(calls, COMBINERS[style], bound)
    valid = OnlyValid(combined, bound, options.max_exits, options.allow_taps)
    return Primitive(Union((valid, Segments(calls, options.max_depth))))


def classic_fusion(calls: PartitionRule, options: RuleOptions, depth: int) -> PartitionRule:
    """Return a rule tree that finds all sub-graphs that TVM's `FuseOps` could fuse, not only the largest."""
    return fusion_tree(calls, options, style="tvm", depth=depth)


def kernel_fusion(calls: PartitionRule, options: RuleOptions, depth: int, exits: int) -> PartitionRule:
    """Return a rule tree that finds what may become one kernel: `FuseOps`' sub-graphs, chains through an anchor, and parallel calls.

    There are no segments, since those are several kernels. What only constants feed is folded, and part of no kernel.
    """
    bound = depth if options.max_depth is None else options.max_depth
    combined = Combine(calls, (*CLASSIC, "vertical", "horizontal"), bound)
    return Primitive(Folds(OnlyValid(combined, bound, max(options.max_exits, exits), options.allow_taps)))


def arbitrary_fusion(calls: PartitionRule, options: RuleOptions, depth: int) -> PartitionRule:
    """Return a rule tree that finds all connected sub-graphs up to `depth`, for toolchains that take whole sub-graphs."""
    return fusion_tree(calls, options, style="arbitrary", depth=depth)
