"""`SingleNodes`: what the costs of single nodes say about larger candidates: that they cannot be built, or cannot be in a best plan.

Costs of computations of one node enter; a reason to refuse a larger candidate, or the highest cost that it may have, leaves. Nothing is
measured here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...graph.computation import Computations
from ...graph.dataflow_graph import DataflowGraph
from ...graph.index_set import IndexSet
from ...rules.spec import HOST_TARGET
from ..bounds import upper_bound_s
from ..cost import Cost, TransitionModel

BUDGET_SAFETY = 1.5
"""How far a trial may be over the bound before it is sure to lose: costs measured alone are not quite those of a plan."""


class SingleNodes:
    """The fastest known target of each node of `graph`, and the targets that cannot import it."""

    def __init__(self, graph: DataflowGraph):
        self._graph = graph
        self._fastest: dict[str, tuple[str, float]] = {}
        self._refused: dict[tuple[str, str], str] = {}

    def learn(self, inside: IndexSet, target: str, cost: Cost) -> None:
        """Note the cost of a candidate where it is a single node."""
        if len(inside) > 1:
            return
        single = self._computation(inside.first())
        if cost.is_invalid and cost.stage == "import":
            self._refused[target, single] = cost.reason
        elif cost.seconds is not None:
            known = self._fastest.get(single)
            if known is None or cost.seconds < known[1]:
                self._fastest[single] = target, cost.seconds

    def why_refused(self, inside: IndexSet, target: str) -> str:
        """Return why `target` cannot import a larger candidate: a node in it could not be, alone. Empty where nothing says so."""
        if len(inside) == 1:
            return ""
        for index in inside:
            reason = self._refused.get((target, self._computation(index)))
            if reason and not _reads_shape_from(self._graph, index, inside):
                node = self._graph.nodes[index]
                return f"holds {node.name!r} ({node.op}), which {target} cannot import: {reason}"
        return ""

    def budget_s(self, inside: IndexSet, best_s: float | None, transitions: TransitionModel | None, targets: Sequence[str]) -> float | None:
        """Return the highest cost with which a candidate can be in a best plan, with some safety; None while it is not known.

        Args:
            best_s: Cost of the best plan, as far as it is known.
            transitions: Between all of `targets`; None while some of them are not known.
        """
        cheapest = {}
        for index in inside:
            single = (HOST_TARGET, 0.0) if self._graph.nodes[index].is_host else self._fastest.get(self._computation(index))
            if single is None:
                return best_s
            cheapest[index] = single
        bound = upper_bound_s(self._graph, inside, cheapest, transitions, targets) if transitions is not None else None
        return best_s if bound is None else min(bound * BUDGET_SAFETY, best_s or math.inf)

    def _computation(self, index: int) -> str:
        return self._graph.derive(Computations).key(IndexSet((index,)))


def _reads_shape_from(graph: DataflowGraph, index: int, inside: IndexSet) -> bool:
    """Return whether a node reads an int64 made inside: a shape that is open when it stands alone may be known there."""
    made = (tensor for source in IndexSet.from_bits(graph.predecessors[index] & inside.bits) for tensor in graph.nodes[source].outputs)
    return any(tensor.type.dtype == "int64" and tensor.name in graph.nodes[index].inputs for tensor in made)
