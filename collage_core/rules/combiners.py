"""Combiners, which say what sub-graphs `Combine` joins. A rule file names them, as in ``kind:A-B``.

After RFC 62 (Collage), "PartitionRule", on combiner rules. A tuple there is here a call with any number of inputs (`Concat`) or
with several outputs (`Split`). A pair combiner decides on one sub-graph and one that reads it; a group combiner lists the groups
that are joined at once. No combiner checks validity.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from ..errors import CollageError
from ..graph.dataflow_graph import DataflowGraph, OpPatternKind
from ..graph.index_set import IndexSet
from ..graph.sub_graph import CONSTANT, SubGraph
from .rule import RuleMatch

_I = OpPatternKind.INJECTIVE
_ANCHORS = (OpPatternKind.COMM_REDUCE, OpPatternKind.OUT_EWISE_FUSABLE)

VARIADIC = frozenset({"Concat", "Max", "Mean", "Min", "Sum", "com.microsoft.QLinearConcat"})
"""Operators with any number of inputs and a kind of at most injective; Relay gives them a tuple."""


class MemberSort(NamedTuple):
    """Properties that members of the closure share by the thousand, by which most pairs are passed over without a look.

    Attributes:
        depth: Number of nodes on the longest path.
        kind: The greatest kind inside.
        is_line: Whether that path holds all nodes.
    """

    depth: int
    kind: OpPatternKind
    is_line: bool


@dataclass(slots=True, eq=False)
class ClosureMember:
    """A sub-graph in the closure, with what a join needs to know of it.

    Attributes:
        depth: Number of nodes on its longest path.
        kind: The greatest kind inside.
        readers: Nodes outside that read it, ascending.
        found: Its nodes and the rules that made it.
        exits: Number of its nodes that are read outside or make an output of the model; 0 if it is not needed.
    """

    depth: int
    kind: OpPatternKind
    readers: tuple[int, ...]
    found: RuleMatch
    exits: int = 0

    @property
    def inside(self) -> IndexSet:
        return self.found.inside

    @property
    def sort(self) -> MemberSort:
        return MemberSort(self.depth, self.kind, len(self.inside) == self.depth)


class PairCombiner(ABC):
    """Joins a sub-graph to one that reads it. The closure checks that they are disjoint and convex, and their depth."""

    @abstractmethod
    def joins(self, graph: DataflowGraph, upper: ClosureMember, lower: ClosureMember) -> bool:
        """Return whether `upper` and `lower`, which reads it, are joined."""

    def may_join(self, upper: MemberSort, lower: MemberSort) -> bool:
        """Return False only where no two members of these sorts are joined."""
        return True


class GroupCombiner(ABC):
    """Joins a sub-graph with several others at once, or with others that it does not touch."""

    @abstractmethod
    def groups(self, member: ClosureMember, closure: ClosureView) -> Iterator[tuple[ClosureMember, ...]]:
        """Yield the groups of disjoint members that are joined and that `member` completes; the others are in `closure` already."""

    @abstractmethod
    def depth(self, group: Sequence[ClosureMember], graph: DataflowGraph) -> int:
        """Return the depth of `group` that the bound applies to."""


class ClosureView(ABC):
    """Questions that group combiners ask the closure."""

    graph: DataflowGraph
    most_exits: int | None
    """Most exits of a valid set; None for no bound."""

    @abstractmethod
    def holding(self, index: int) -> Sequence[ClosureMember]:
        """Return the members so far that hold the node `index`."""

    @abstractmethod
    def reading_alike(self, name: str, operators: tuple[str, ...]) -> Sequence[ClosureMember]:
        """Return the members so far with these `operators_of_branch` that read the tensor `name`, maybe the host's, from outside."""

    @abstractmethod
    def is_injective(self, index: int) -> bool:
        """Return whether the sub-rule found a set that holds the node `index` and is at most injective."""


@dataclass(frozen=True)
class Kinds(PairCombiner):
    """``kind:X-Y``: a set of at most kind X joins one of at most kind Y that reads it."""

    upper: OpPatternKind
    lower: OpPatternKind

    def joins(self, graph: DataflowGraph, upper: ClosureMember, lower: ClosureMember) -> bool:
        return upper.kind <= self.upper and lower.kind <= self.lower

    def may_join(self, upper: MemberSort, lower: MemberSort) -> bool:
        return upper.kind <= self.upper and lower.kind <= self.lower


@dataclass(frozen=True)
class TupleProjection(PairCombiner):
    """``tuple_proj``: a set with a call of several outputs joins one that reads one of them; both are at most injective."""

    def joins(self, graph: DataflowGraph, upper: ClosureMember, lower: ClosureMember) -> bool:
        if upper.kind > _I or lower.kind > _I:
            return False
        several = (index for index in upper.inside if len(graph.nodes[index].outputs) > 1)
        return any(reader in lower.inside for index in several for reader in graph.consumers[index])


@dataclass(frozen=True)
class Constants(PairCombiner):
    """``constant``: a `Constant` node (only a model that is not folded has some) joins a set of any kind that reads it."""

    def joins(self, graph: DataflowGraph, upper: ClosureMember, lower: ClosureMember) -> bool:
        return all(graph.nodes[index].op == CONSTANT for index in upper.inside)


@dataclass(frozen=True)
class Vertical(PairCombiner):
    """``vertical``: two sets join that make a chain through an anchor.

    The anchor is the one call of kind R or A; calls before it in the chain are at most I, calls after it at most B.
    """

    def joins(self, graph: DataflowGraph, upper: ClosureMember, lower: ClosureMember) -> bool:
        chain = [*upper.inside, *lower.inside]
        kinds = [graph.nodes[index].kind for index in chain]
        anchors = [position for position, kind in enumerate(kinds) if kind in _ANCHORS]
        if len(anchors) != 1 or max(kinds[: anchors[0]], default=_I) > _I:
            return False
        if max(kinds[anchors[0] + 1 :], default=OpPatternKind.BROADCAST) > OpPatternKind.BROADCAST:
            return False
        inside = frozenset(chain)
        sources = [[source for source in graph.sources[index] if source in inside] for index in chain]
        return sources == [[], *([before] for before in chain[:-1])]

    def may_join(self, upper: MemberSort, lower: MemberSort) -> bool:
        is_one_anchor = (upper.kind in _ANCHORS) != (lower.kind in _ANCHORS)
        return is_one_anchor and upper.is_line and lower.is_line and OpPatternKind.OPAQUE not in (upper.kind, lower.kind)


@dataclass(frozen=True)
class TupleArguments(GroupCombiner):
    """``tuple_arg``: a call with any number of inputs joins all nodes that make its arguments, at once.

    The member with the call and each joined member are at most injective. An argument stays outside where its maker has a greater
    kind, or was not found by the sub-rule. The bound is on the depth of the call's member plus that of the arguments' members.
    """

    def groups(self, member: ClosureMember, closure: ClosureView) -> Iterator[tuple[ClosureMember, ...]]:
        if member.kind > _I:
            return
        for call in (index for index in member.inside if closure.graph.nodes[index].op in VARIADIC):
            yield from _choices(member, _makers(call, member, closure), closure, None)
        for reader in member.readers:
            if closure.graph.nodes[reader].op not in VARIADIC:
                continue
            for lower in closure.holding(reader):
                if lower.kind <= _I and lower.inside.isdisjoint(member.inside):
                    yield from _choices(lower, _makers(reader, lower, closure), closure, member)

    def depth(self, group: Sequence[ClosureMember], graph: DataflowGraph) -> int:
        above = IndexSet()
        for member in group[1:]:
            above |= member.inside
        return group[0].depth + SubGraph(graph, above).depth


def _makers(call: int, lower: ClosureMember, closure: ClosureView) -> list[int]:
    """Return the nodes outside `lower` that make arguments of `call` and may be joined to it."""
    graph = closure.graph
    outside = (source for source in graph.sources[call] if source not in lower.inside)
    return [source for source in outside if graph.nodes[source].kind <= _I and closure.is_injective(source)]


def _choices(
    lower: ClosureMember, makers: Sequence[int], closure: ClosureView, wanted: ClosureMember | None
) -> Iterator[tuple[ClosureMember, ...]]:
    """Yield `lower` with one member for each of `makers`, in every way in which they are disjoint and `wanted` is among them."""

    def extend(chosen: tuple[ClosureMember, ...], left: Sequence[int]) -> Iterator[tuple[ClosureMember, ...]]:
        if not left:
            if len(chosen) > 1 and (wanted is None or wanted in chosen):
                yield chosen
            return
        if any(left[0] in member.inside for member in chosen):
            yield from extend(chosen, left[1:])
            return
        known = list(closure.holding(left[0]))
        if wanted is not None and left[0] in wanted.inside:
            known.append(wanted)
        for member in known:
            if member.kind <= _I and all(member.inside.isdisjoint(other.inside) for other in chosen):
                yield from extend((*chosen, member), left[1:])

    return extend((lower,), makers)


@dataclass(frozen=True)
class Horizontal(GroupCombiner):
    """``horizontal``: parallel calls that do the same to one tensor join; the union has several exits.

    Two members join when they have the same operators, read a common tensor, and neither reaches the other. A member that is
    itself made of such parallel calls counts as one of them, so that any number can join, but no more than may be exits. Opaque calls
    never join. The bound is on the depth of the deeper one.
    """

    def groups(self, member: ClosureMember, closure: ClosureView) -> Iterator[tuple[ClosureMember, ...]]:
        graph = closure.graph
        if member.kind is OpPatternKind.OPAQUE:
            return
        operators, met = operators_of_branch(graph, member.inside), set()
        room = math.inf if closure.most_exits is None else closure.most_exits - member.exits
        for name in SubGraph(graph, member.inside).input_tensors() if room > 0 else ():
            for other in closure.reading_alike(name, operators):
                if other.exits > room or id(other) in met or other.kind is OpPatternKind.OPAQUE:
                    continue
                met.add(id(other))
                if other.inside.isdisjoint(member.inside) and not _reaches(graph, member, other) and not _reaches(graph, other, member):
                    yield (member, other)

    def depth(self, group: Sequence[ClosureMember], graph: DataflowGraph) -> int:
        return max(member.depth for member in group)


def _reaches(graph: DataflowGraph, upper: ClosureMember, lower: ClosureMember) -> bool:
    base, last, reached = lower.inside.base, lower.inside.last(), 0
    for reader in upper.readers:
        if reader <= last:
            if reader in lower.inside:
                return True
            reached |= graph.downstream[reader] >> base
    return bool(reached & lower.inside.rel)


def operators_of_branch(graph: DataflowGraph, inside: IndexSet) -> tuple[str, ...]:
    """Return the operators of one connected component of `inside`, in order, where all have the same; else those of all nodes."""
    parent = {index: index for index in inside}

    def root(index: int) -> int:
        while parent[index] != index:
            index = parent[index]
        return index

    for index in inside:
        for source in graph.sources[index]:
            if source in parent:
                parent[root(index)] = root(source)
    branches: dict[int, list[str]] = {}
    for index in inside:
        branches.setdefault(root(index), []).append(graph.nodes[index].op)
    first, *others = branches.values()
    if all(branch == first for branch in others):
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
    """Return the combiner that is called `text` in a rule file.

    Raises:
        CollageError: no combiner has that name, or it names an unknown kind.
    """
    if text in _NAMED:
        return _NAMED[text]
    head, _, pair = text.partition(":")
    upper, dash, lower = pair.partition("-")
    if head == "kind" and dash:
        with suppress(KeyError):  # no letter of a kind: the error below lists them
            return Kinds(OpPatternKind.from_letter(upper), OpPatternKind.from_letter(lower))
    letters = ", ".join(kind.letter for kind in OpPatternKind)
    hint = f"the combiners are {', '.join(_NAMED)}, and kind:X-Y with X and Y from {letters}, such as kind:A-B"
    raise CollageError(f"unknown combiner {text!r}", hint, "bad_rule")
