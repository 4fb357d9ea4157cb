"""Combinator rules that unite, label or filter the matches of their sub-rules. `combine` has a file of its own.

After RFC 62 (Collage), "PartitionRule": `UnionPartitionRule`, `PrimitivePartitionRule`, `CompositePartitionRule`,
`OnlyValidPartitionRule`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..graph.constant_fed import constant_fed_nodes, with_constant_fed
from ..graph.dataflow_graph import DataflowGraph, Node
from ..graph.index_set import IndexSet
from ..graph.sub_graph import SubGraphConfig, Violation
from .candidate import Rejection
from .rule import PartitionRule, RuleContext, RuleMatch


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
