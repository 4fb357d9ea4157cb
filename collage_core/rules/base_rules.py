"""Base rules: they read the dataflow graph directly.

Seeds: RFC 62 (0.81), "PartitionRule": `OpPredicatePartitionRule`, `OpCallByKindPartitionRule`, `HostPartitionRule`; and
`Explicit`, which is "just fuse what I tell you to fuse" by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ..errors import CollageError
from ..graph import IndexSet, Node, OpPatternKind
from .base import Found, PartitionRule, RuleContext
from .candidate import Rejection
from .pattern import matches, parse_pattern


@dataclass(frozen=True)
class OpPredicate(PartitionRule):
    """A candidate for every call whose operator the toolchain takes.

    Attributes:
        ops: Operators that are taken; empty for all.
        dtypes: Dtypes that every tensor it reads and makes must have; empty for all.
    """

    name: ClassVar[str] = "op_predicate"
    ops: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()

    def find(self, context: RuleContext) -> Iterator[Found]:
        for node in context.graph.nodes:
            if node.is_host:
                continue
            reason = self._refusal(context, node)
            if reason:
                context.log.add(Rejection(context.target, (node.index,), self.name, "predicate", reason), node.op)
            else:
                yield Found(IndexSet.window(node.index, 1), self.name)

    def _refusal(self, context: RuleContext, node: Node) -> str:
        if self.ops and node.op not in self.ops:
            return f"{context.target} does not take operator {node.op}"
        if self.dtypes:
            types = context.graph.types
            used = [types[name].dtype for name in node.inputs if name in types] + [tensor.type.dtype for tensor in node.outputs]
            odd = next((dtype for dtype in used if dtype not in self.dtypes), None)
            if odd:
                return f"{context.target} does not take dtype {odd} ({node.op})"
        return ""


@dataclass(frozen=True)
class OpCallByKind(PartitionRule):
    """A candidate for every call of at most a kind: what `FuseOps` would consider part of a kernel.

    Attributes:
        max_kind: Letter of the greatest `OpPatternKind` taken.
        ops: Operators that are taken; empty for all.
    """

    name: ClassVar[str] = "op_call_by_kind"
    max_kind: str = "A"
    ops: tuple[str, ...] = ()

    def find(self, context: RuleContext) -> Iterator[Found]:
        bound = OpPatternKind.from_letter(self.max_kind)
        for node in context.graph.nodes:
            if node.is_host:
                continue
            if node.kind > bound:
                reason = f"{node.op} is of kind {node.kind.letter}, at most {self.max_kind} is taken"
            elif self.ops and node.op not in self.ops:
                reason = f"{context.target} does not take operator {node.op}"
            else:
                yield Found(IndexSet.window(node.index, 1), self.name)
                continue
            context.log.add(Rejection(context.target, (node.index,), self.name, "predicate", reason), node.op)


@dataclass(frozen=True)
class Host(PartitionRule):
    """A candidate for every node that only reshuffles references and is left to the host, at no cost."""

    name: ClassVar[str] = "host"

    def find(self, context: RuleContext) -> Iterator[Found]:
        for node in context.graph.nodes:
            if node.is_host:
                yield Found(IndexSet.window(node.index, 1), self.name)


@dataclass(frozen=True)
class Explicit(PartitionRule):
    """A candidate for each named set of nodes, and no other.

    Attributes:
        sets: Names of nodes, one tuple a candidate.
    """

    name: ClassVar[str] = "explicit"
    sets: tuple[tuple[str, ...], ...]

    def find(self, context: RuleContext) -> Iterator[Found]:
        for names in self.sets:
            unknown = next((name for name in names if name not in context.graph.index_by_name), None)
            if unknown is not None:
                raise CollageError(
                    f"the rule 'explicit' of {context.target} names the node {unknown!r}, which the model does not have",
                    "`collage candidates MODEL --json` lists the nodes' names",
                    "unknown_node",
                )
            yield Found(IndexSet(context.graph.index_by_name[name] for name in names), self.name)


@dataclass(frozen=True)
class DFPattern(PartitionRule):
    """A candidate for every sub-graph that a pattern matches; they may overlap.

    Attributes:
        match: The pattern (see `pattern`).
        label: The toolchain's word for it; a composite of that name.
        dtypes: Dtypes that every tensor made inside must have; empty for all.
    """

    name: ClassVar[str] = "df_pattern"
    match: str
    label: str = ""
    dtypes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parse_pattern(self.match)

    def find(self, context: RuleContext) -> Iterator[Found]:
        pattern, graph = parse_pattern(self.match), context.graph
        seen: set[int] = set()
        for node in graph.nodes:
            for bits in sorted(matches(pattern, graph, node.index) - seen):
                seen.add(bits)
                inside = IndexSet.from_bits(bits)
                odd = self._odd_dtype(context, inside)
                if odd:
                    reason = f"pattern {self.label or self.match} does not take dtype {odd}"
                    context.log.add(Rejection(context.target, tuple(inside), self.name, "predicate", reason), self.label)
                else:
                    yield Found(inside, self.name, (self.label,) if self.label else ())

    def _odd_dtype(self, context: RuleContext, inside: IndexSet) -> str | None:
        made = (tensor.type.dtype for index in inside for tensor in context.graph.nodes[index].outputs)
        return next((dtype for dtype in made if self.dtypes and dtype not in self.dtypes), None)
