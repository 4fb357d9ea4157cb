"""Base rules, which read the dataflow graph directly.

After RFC 62 (Collage), "PartitionRule": `OpPredicatePartitionRule`, `OpCallByKindPartitionRule`, `HostPartitionRule`,
`DFPatternPartitionRule`; `Explicit`, which takes sets of nodes by name; and `PatternTable`, whose matches a process with TVM found
(`RuleContext.tables`). TVM's own partitioning (`FuseOpsByPattern`) takes the first match and checks neither that nothing outside reads
what is inside nor that no path leaves and comes back; `PatternTable` gives every match, and rejects those that are no valid partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from ..errors import CollageError
from ..graph.control_flow import CONTROL_OPS
from ..graph.dataflow_graph import DataflowGraph, Node, OpPatternKind
from ..graph.index_set import IndexSet
from ..graph.sub_graph import SubGraph, SubGraphConfig
from .candidate import Rejection
from .operators import Condition, first_failure
from .pattern import MOST_MATCHES, Matcher, operators_of, parse_pattern
from .rule import PartitionRule, RuleContext, RuleMatch, TableMatch


@dataclass(frozen=True)
class OpPredicate(PartitionRule):
    """A candidate for every call whose operator the toolchain takes.

    Attributes:
        ops: Operators that are taken; empty for all.
        dtypes: Dtypes that the tensors of the call may have; empty for all.
        where: Conditions on the attributes of the call and on the types of its tensors.
    """

    name: ClassVar[str] = "op_predicate"
    ops: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()

    def __post_init__(self) -> None:
        if self.ops:
            _check_where(self.where, self.ops, "`ops`")

    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        _note_absent(context, self.name, self.ops)
        for node in context.graph.nodes:
            if node.is_host:
                continue
            reason = self._refusal(context, node)
            if reason:
                context.log.add(Rejection(context.target, (node.index,), self.name, "predicate", reason), node.op)
            else:
                yield RuleMatch(IndexSet.window(node.index, 1), self.name)

    def _refusal(self, context: RuleContext, node: Node) -> str:
        if self.ops and node.op not in self.ops:
            return f"{context.target} does not take operator {node.op}"
        if self.dtypes:
            types = context.graph.types
            used = [types[name].dtype for name in node.inputs if name in types] + [tensor.type.dtype for tensor in node.outputs]
            odd = next((dtype for dtype in used if dtype not in self.dtypes), None)
            if odd:
                return f"{context.target} does not take dtype {odd} ({node.op})"
        return first_failure(context.graph, (node.index,), self.where) or ""


def _check_where(where: Iterable[Condition], ops: Iterable[str], named_in: str) -> None:
    """Raise CollageError for a condition on an operator that the rule never takes: it would always hold."""
    known = set(ops)
    odd = next((condition for condition in where if condition.op not in ("*", *known)), None)
    if odd is not None:
        raise CollageError(
            f"where names {odd.subject!r}, and there is no {odd.op} in {named_in}", f"it has {', '.join(sorted(known))}", "bad_where"
        )


def _note_absent(context: RuleContext, rule: str, ops: Iterable[str]) -> None:
    """Log a note when a rule names operators and the model has none of them."""
    named = dict.fromkeys(ops)
    if named and not any(node.op in named for node in context.graph.nodes):
        listed = ", ".join(list(named)[:5]) + (" …" if len(named) > 5 else "")
        context.note(rule, "predicate", f"the model has no node of the operators that {context.target} takes: {listed}", "absent")


@dataclass(frozen=True)
class OpCheck(PartitionRule):
    """A candidate for every call that a function of the toolchain takes. It holds code, so it can be printed, but not written in a file.

    Attributes:
        check: Returns why the toolchain does not take a node of a graph; empty where it does.
        ops: Operators whose calls are checked.
    """

    name: ClassVar[str] = "op_check"
    check: Callable[[DataflowGraph, Node], str]
    ops: tuple[str, ...]

    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        _note_absent(context, self.name, self.ops)
        for node in context.graph.nodes:
            if node.is_host:
                continue
            reason = self.check(context.graph, node)
            if reason:
                context.log.add(Rejection(context.target, (node.index,), self.name, "predicate", reason), node.op)
            else:
                yield RuleMatch(IndexSet.window(node.index, 1), self.name)


@dataclass(frozen=True)
class OpCallByKind(PartitionRule):
    """A candidate for every call whose kind is at most `max_kind`: what `FuseOps` would consider part of a kernel.

    Attributes:
        max_kind: Letter of the greatest `OpPatternKind` taken.
        ops: Operators that are taken; empty for all.
    """

    name: ClassVar[str] = "op_call_by_kind"
    max_kind: str = "A"
    ops: tuple[str, ...] = ()

    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        bound = OpPatternKind.from_letter(self.max_kind)
        _note_absent(context, self.name, self.ops)
        for node in context.graph.nodes:
            if node.is_host:
                continue
            if node.kind > bound:
                reason = f"{node.op} is of kind {node.kind.letter}, at most {self.max_kind} is taken"
            elif self.ops and node.op not in self.ops:
                reason = f"{context.target} does not take operator {node.op}"
            else:
                yield RuleMatch(IndexSet.window(node.index, 1), self.name)
                continue
            context.log.add(Rejection(context.target, (node.index,), self.name, "predicate", reason), node.op)


@dataclass(frozen=True)
class Host(PartitionRule):
    """A candidate for every node that only renames tensors, which costs nothing, and for every one whose bodies the host could run."""

    name: ClassVar[str] = "host"

    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        for node in context.graph.nodes:
            if node.is_host or node.op in CONTROL_OPS:
                yield RuleMatch(IndexSet.window(node.index, 1), self.name)


@dataclass(frozen=True)
class Explicit(PartitionRule):
    """A candidate for each named set of nodes, and no other.

    Attributes:
        sets: Names of the nodes of each candidate.
    """

    name: ClassVar[str] = "explicit"
    sets: tuple[tuple[str, ...], ...]

    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        for names in self.sets:
            unknown = next((name for name in names if name not in context.graph.index_by_name), None)
            if unknown is not None:
                raise CollageError(
                    f"the rule 'explicit' of {context.target} names the node {unknown!r}, which the model does not have",
                    "`collage candidates MODEL --json` lists the nodes' names",
                    "unknown_node",
                )
            yield RuleMatch(IndexSet(context.graph.index_by_name[name] for name in names), self.name)


@dataclass(frozen=True)
class DFPattern(PartitionRule):
    """A candidate for every sub-graph that a pattern matches; they may overlap.

    Attributes:
        match: The pattern (see `pattern`).
        label: The toolchain's name for it, which becomes the name of a composite.
        dtypes: Dtypes that the tensors made inside may have; empty for all.
        where: Conditions on the nodes inside (see `where`).
    """

    name: ClassVar[str] = "df_pattern"
    match: str
    label: str = ""
    dtypes: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()

    def __post_init__(self) -> None:
        _check_where(self.where, operators_of(parse_pattern(self.match)), f"the pattern {self.match!r}")

    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        matcher = Matcher(parse_pattern(self.match), context.graph)
        composites = (self.label,) if self.label else ()
        seen: set[IndexSet] = set()
        for node in context.graph.nodes:
            for inside in matcher.at(node.index):
                if inside in seen:
                    continue
                seen.add(inside)
                refusal = self._refusal(context, inside)
                if refusal:
                    pattern = self.label or self.match
                    reason = f"pattern {pattern}: {refusal}"
                    context.log.add(Rejection(context.target, tuple(inside), self.name, "predicate", reason, pattern=pattern), pattern)
                else:
                    yield RuleMatch(inside, self.name, composites)
        self._note(context, matcher, found_some=bool(seen))

    def _refusal(self, context: RuleContext, inside: IndexSet) -> str | None:
        if self.dtypes:
            made = (tensor.type.dtype for index in inside for tensor in context.graph.nodes[index].outputs)
            odd = next((dtype for dtype in made if dtype not in self.dtypes), None)
            if odd:
                return f"{context.target} does not take dtype {odd} there"
        return first_failure(context.graph, inside, self.where)

    def _note(self, context: RuleContext, matcher: Matcher, found_some: bool) -> None:
        """Log a note when nothing matched, with the operators that the model lacks, and when the limit cut matches off."""
        title = f"pattern {self.label or self.match}"
        if matcher.cut_off:
            node_name = context.graph.nodes[matcher.cut_off[0]].name
            reason = f"{title} matches in more than {MOST_MATCHES} ways at {node_name!r}: the others were not looked at"
            context.note(self.name, "pattern", reason, "limit")
        if not found_some:
            ops = {node.op for node in context.graph.nodes}
            absent = dict.fromkeys(op for op in operators_of(matcher.pattern) if op not in ops)
            why = f", which has no {', '.join(absent)}" if absent else ""
            reason = f"{title} matches nothing in the model{why}"
            context.note(self.name, "pattern", reason, f"absent {self.label or self.match}", is_absence=True)


@dataclass(frozen=True)
class PatternTable(PartitionRule):
    """A candidate for every sub-graph that a pattern of a table matches and its check takes; its label is the pattern's name.

    Attributes:
        prefix: What the names of the table's patterns begin with, such as ``cublas``; or the whole name of one pattern.
    """

    name: ClassVar[str] = "pattern_table"
    prefix: str

    def find(self, context: RuleContext) -> Iterator[RuleMatch]:
        table = context.tables.get(self.prefix)
        if table is None:
            raise CollageError(
                f"the pattern table {self.prefix!r} of {context.target} is TVM's, and was not matched here",
                "`collage partition` and `collage candidates` match it, where apache-tvm is installed",
                "bad_rule",
            )
        seen: set[IndexSet] = set()
        for match in table:
            indices = context.graph.index_by_name
            inside = IndexSet(indices[name] for name in match.nodes if name in indices)
            if not inside or inside in seen:
                continue
            stage, check, reason = self._refusal(context, match, inside)
            if reason:
                note = f"pattern {match.label}: {reason}"
                rejection = Rejection(context.target, tuple(inside), self.name, stage, note, pattern=match.label)
                context.log.add(rejection, f"{check} {match.label}")
            else:
                seen.add(inside)
                yield RuleMatch(inside, self.name, (match.label,))
        if not seen:
            context.note(self.name, "pattern", f"the pattern table {self.prefix} takes nothing in the model", f"absent {self.prefix}")

    def _refusal(self, context: RuleContext, match: TableMatch, inside: IndexSet) -> tuple[str, str, str]:
        """Return the stage, the check and the reason why the match is no candidate; empty where it is one."""
        if match.refusal:
            return "predicate", "check", match.refusal
        violation = SubGraph(context.graph, inside).violation(SubGraphConfig())
        return ("validity", violation.check, f"{violation.check}: {violation.reason}") if violation else ("", "", "")


def table_prefixes(rule: PartitionRule) -> list[str]:
    """Return the prefixes of the pattern tables in the tree `rule`, each once."""
    own = [rule.prefix] if isinstance(rule, PatternTable) else []
    return list(dict.fromkeys([*own, *(prefix for sub in rule.below for prefix in table_prefixes(sub))]))
