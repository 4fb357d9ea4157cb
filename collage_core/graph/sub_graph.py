"""`SubGraph`: a set of nodes inside a dataflow graph, its properties and validity; and nodes that only constants feed.

RFC 62 (Collage), "SubGraph". A sub-graph is a set of indices and nothing is rewritten, so thousands can exist at once. A compiler computes
nodes that no input reaches, such as dequantised weights, when it builds what reads them, if it gets both together.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from .dataflow_graph import HOST, DataflowGraph, OpPatternKind
from .index_set import IndexSet

CONSTANT = "Constant"
"""Operator of a node that only holds a value. Such nodes remain when constants are not folded."""


@dataclass(frozen=True, slots=True)
class SubGraphConfig:
    """The validity checks that apply; None means no bound.

    Attributes:
        max_depth: Most nodes on the longest path inside.
        max_exits: Most nodes whose tensors are read outside.
        allow_taps: Whether an exit may also be read inside.
    """

    max_depth: int | None = None
    max_exits: int | None = 1
    allow_taps: bool = False


@dataclass(frozen=True, slots=True)
class Violation:
    """The first check that a sub-graph fails, and the nodes that show it."""

    check: str
    reason: str
    nodes: tuple[int, ...]


class SubGraph:
    """The nodes `inside`, with their entries, exits, inputs and outputs."""

    __slots__ = ("__dict__", "graph", "inside")

    def __init__(self, graph: DataflowGraph, inside: IndexSet):
        self.graph = graph
        self.inside = inside

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SubGraph) and self.graph is other.graph and self.inside == other.inside

    def __hash__(self) -> int:
        return hash(self.inside)

    def __repr__(self) -> str:
        return f"SubGraph({self.label}, {list(self.inside)})"

    @cached_property
    def _members(self) -> frozenset[int]:
        return frozenset(self.inside)

    @cached_property
    def inputs(self) -> IndexSet:
        """Nodes outside that an inside node reads."""
        return IndexSet({source for index in self._members for source in self.graph.sources[index]} - self._members)

    @cached_property
    def outputs(self) -> IndexSet:
        """Nodes outside that read an inside node."""
        return IndexSet({reader for index in self._members for reader in self.graph.consumers[index]} - self._members)

    @cached_property
    def entries(self) -> IndexSet:
        """Inside nodes that read a tensor from outside: another node's, or a model input."""
        producer, inside = self.graph.producer, self._members
        return IndexSet(
            index for index in inside if any(producer.get(name, index) not in inside for name in self.graph.nodes[index].inputs)
        )

    @cached_property
    def exits(self) -> IndexSet:
        """Inside nodes whose tensor is read outside, is a model output, or is read by no node."""
        consumers, ends, inside = self.graph.consumers, self.graph.ends, self._members
        return IndexSet(index for index in inside if ends[index] or not inside.issuperset(consumers[index]))

    @cached_property
    def taps(self) -> IndexSet:
        """Exits that are also read inside."""
        return IndexSet(index for index in self.exits if not self._members.isdisjoint(self.graph.consumers[index]))

    @cached_property
    def depth(self) -> int:
        """Number of nodes on the longest path inside."""
        sources = self.graph.sources
        longest: dict[int, int] = {}
        for index in self.inside:
            before = 0
            for source in sources[index]:
                before = max(before, longest.get(source, 0))
            longest[index] = before + 1
        return max(longest.values(), default=0)

    @cached_property
    def kind(self) -> OpPatternKind:
        """The greatest kind inside. A `Constant` beside other nodes does not count, since it computes nothing."""
        nodes = [self.graph.nodes[index] for index in self.inside]
        working = [node for node in nodes if node.op != CONSTANT] or nodes
        return max((node.kind for node in working), default=OpPatternKind.ELEMWISE)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the inside nodes, in order."""
        return tuple(self.graph.nodes[index].name for index in self.inside)

    @property
    def label(self) -> str:
        """The operators in order, such as ``Conv+Add+Relu``; a long label is shortened."""
        count = len(self.inside)
        shown = islice(self.inside, count if count <= 8 else 6)
        return "+".join(self.graph.nodes[index].op for index in shown) + ("" if count <= 8 else f"+…({count} ops)")

    @cached_property
    def re_entered(self) -> IndexSet:
        """Inside nodes that other inside nodes influence through the outside; empty when the sub-graph is convex."""
        if not self.inside:
            return self.inside
        last, base, reached = self.inside.last(), self.inside.base, 0
        for reader in self.outputs:
            if reader < last:
                reached |= self.graph.downstream[reader] >> base
        return IndexSet.from_bits((reached & self.inside.rel) << base)

    def input_tensors(self) -> tuple[str, ...]:
        """Return the names of the tensors read from outside, in the order of the reading nodes; constants are left out."""
        names = (name for index in self.inside for name in self.graph.nodes[index].inputs)
        producer = self.graph.producer
        return tuple(dict.fromkeys(name for name in names if name in producer and producer[name] not in self._members))

    def output_tensors(self) -> tuple[str, ...]:
        """Return the names of the tensors that are read outside or are model outputs, in the order of their producers."""
        wanted = set(self.graph.outputs)
        names = (tensor.name for index in self.inside for tensor in self.graph.nodes[index].outputs)
        return tuple(name for name in names if name in wanted or not self._members.issuperset(self.graph.readers[name]))

    def violation(self, config: SubGraphConfig) -> Violation | None:
        """Return the first check of `config` that fails, or None when the sub-graph is valid (RFC 62, `IsValid`)."""
        if not self.inside:
            return Violation("empty", "holds no node", ())
        if config.max_exits is not None and len(self.exits) > config.max_exits:
            return Violation(
                "exits", f"{len(self.exits)} of its nodes are read outside, at most {config.max_exits} may be", tuple(self.exits)
            )
        if not config.allow_taps and self.taps:
            return Violation("taps", "a node is read both inside and outside", tuple(self.taps))
        if self.re_entered:
            return Violation("convexity", "what leaves it comes back in through nodes outside", tuple(self.re_entered))
        if config.max_depth is not None and self.depth > config.max_depth:
            return Violation("depth", f"its longest path holds {self.depth} nodes, at most {config.max_depth} may be", tuple(self.inside))
        return None


def fed(graph: DataflowGraph) -> list[bool]:
    """Return for each node whether an input of the model reaches it; all do where none would."""
    is_fed: list[bool] = []
    for node, sources in zip(graph.nodes, graph.sources, strict=True):
        is_fed.append(any(graph.producer.get(name) == HOST for name in node.inputs) or any(is_fed[source] for source in sources))
    return is_fed if any(is_fed) else [True] * len(is_fed)


def constant_fed_nodes(graph: DataflowGraph) -> set[int]:
    """Return the nodes that no input of the model reaches; none where it reaches none at all."""
    return {index for index, is_fed in enumerate(fed(graph)) if not is_fed}


def with_constant_fed(graph: DataflowGraph, inside: IndexSet, constant_fed: Collection[int]) -> IndexSet:
    """Return `inside` with those of `constant_fed` that nothing else reads, and those that nothing but these reads."""
    held, waiting = set(inside), list(inside)
    while waiting:
        for source in graph.sources[waiting.pop()]:
            is_alone = source in constant_fed and not graph.ends[source] and held.issuperset(graph.consumers[source])
            if is_alone and source not in held:
                held.add(source)
                waiting.append(source)
    return IndexSet(held) if len(held) > len(inside) else inside
