"""`Segments`: the largest regions that a toolchain can take as one, the whole model first, with any exits.

Design, "Contracts" (segments and the whole model may have several exits). For toolchains that optimise across operators.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ..graph import DataflowGraph, IndexSet, SubGraph, SubGraphConfig, indices_of
from .base import Found, PartitionRule, RuleContext
from .candidate import Rejection


@dataclass(frozen=True)
class Segments(PartitionRule):
    """The whole model where the sub-rule takes every node, else the maximal regions between the nodes that it does not take.

    Attributes:
        of: Finds the single nodes that the toolchain takes.
        max_depth: Most nodes on the longest path inside; None for no bound.
    """

    name: ClassVar[str] = "segments"
    of: PartitionRule
    max_depth: int | None = None

    def find(self, context: RuleContext) -> Iterator[Found]:
        quiet = RuleContext(context.graph, context.target, type(context.log)())
        taken = 0
        for found in self.of.find(quiet):
            if len(found.inside) == 1:
                taken |= found.inside.bits
        config = SubGraphConfig(self.max_depth, None, True)
        for bits in regions(context.graph, taken):
            inside = IndexSet.from_bits(bits)
            violation = SubGraph(context.graph, inside).violation(config)
            if violation is None:
                yield Found(inside, self.name)
            else:
                nodes = tuple(inside)
                context.log.add(
                    Rejection(context.target, nodes, self.name, "validity", f"{violation.check}: {violation.reason}"), violation.check
                )


def regions(graph: DataflowGraph, taken: int) -> list[int]:
    """Disjoint convex regions of the nodes `taken`, as large as one sweep in order makes them; single nodes are left out.

    A node joins the regions that it reads from when the union stays convex; host nodes in between are taken along.
    """
    taken |= sum(1 << node.index for node in graph.nodes if node.is_host)
    if taken == graph.all_bits and graph.nodes:
        return [graph.all_bits]
    made: list[int] = []
    for index in indices_of(taken):
        made = _grown(graph, made, index)
    placeable = ~sum(1 << node.index for node in graph.nodes if node.is_host)
    return [bits for bits in made if (bits & placeable).bit_count() > 1]


def _grown(graph: DataflowGraph, made: list[int], index: int) -> list[int]:
    grown = 1 << index
    kept = []
    for bits in made:
        touches = bits & graph.predecessors[index]
        if touches and _is_convex(graph, bits | grown):
            grown |= bits
        else:
            kept.append(bits)
    return [*kept, grown]


def _is_convex(graph: DataflowGraph, bits: int) -> bool:
    return not SubGraph(graph, IndexSet.from_bits(bits)).re_entered
