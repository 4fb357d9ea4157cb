"""`Contraction`: a partial plan whose partitions can at every moment run one after another.

Nodes without a partition count as partitions of one node. Only a partition with several exits can be on a cycle
(`plan_properties.may_loop`), so nothing is checked before there is one.
"""

from __future__ import annotations

from ...graph.index_set import IndexSet
from ..boundaries import boundaries_of
from ..problem import SearchProblem


class Contraction:
    """The nodes of a problem, some of them joined to partitions, without a cycle between the partitions."""

    def __init__(self, problem: SearchProblem):
        self._boundaries = boundaries_of(problem)
        self._partition: dict[int, IndexSet] = {}
        self._several_exits: list[tuple[int, int]] = []
        """(least rank, greatest rank) of the nodes of each partition with several exits."""
        self._ranks: list[int] = []

    def admits(self, inside: IndexSet) -> bool:
        """Return whether the free nodes `inside` can be joined without a path that leaves them and comes back."""
        if inside.rel == 1 or (not self._several_exits and not self._boundaries.has_several_exits(inside)):
            return True
        return not self._returns(inside)

    def add(self, inside: IndexSet) -> None:
        """Join the nodes `inside`, which `admits` allowed."""
        if inside.rel == 1:
            return
        self._partition.update(dict.fromkeys(inside, inside))
        if self._boundaries.has_several_exits(inside):
            ranks = [self._rank(node) for node in inside]
            self._several_exits.append((min(ranks), max(ranks)))

    def _rank(self, node: int) -> int:
        """Return the position of `node` in a topological order."""
        if not self._ranks:
            self._ranks = [0] * self._boundaries.nodes
            for rank, ordered in enumerate(self._boundaries.order):
                self._ranks[ordered] = rank
        return self._ranks[node]

    def _limit(self, inside: IndexSet) -> int:
        """Return the rank past which no path leads back: only partitions with several exits lead to a node of lower rank."""
        limit = max(self._rank(node) for node in inside)
        grew = True
        while grew:
            grew = False
            for low, high in self._several_exits:
                if low < limit < high:
                    limit, grew = high, True
        return limit

    def _returns(self, inside: IndexSet) -> bool:
        """Return whether a path leaves the nodes `inside` and comes back to them."""
        boundaries, limit = self._boundaries, self._limit(inside)
        seen = set(inside)
        waiting = list(inside)
        while waiting:
            node = waiting.pop()
            is_outside = node not in inside
            for tensor in boundaries.makes[node]:
                for reader in boundaries.readers[tensor]:
                    if is_outside and reader in inside:
                        return True
                    if reader in seen or self._rank(reader) > limit:
                        continue
                    partition = self._partition.get(reader, (reader,))
                    seen.update(partition)
                    waiting.extend(partition)
        return False
