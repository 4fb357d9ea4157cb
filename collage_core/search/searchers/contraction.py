"""`Contraction`: a plan in the making, whose partitions can at every moment be run one after another.

What is not placed yet counts as partitions of one node. Only a partition of several exits can be part of a cycle
(`result.may_loop`), so nothing is looked at before there is one.
"""

from __future__ import annotations

from ...graph.index_set import IndexSet
from ..boundaries import boundaries_of
from ..problem import SearchProblem


class Contraction:
    """The nodes of a problem, some of them joined to partitions, without a cycle between these."""

    def __init__(self, problem: SearchProblem):
        self._frame = boundaries_of(problem)
        self._unit: dict[int, IndexSet] = {}
        self._loose: list[tuple[int, int]] = []
        self._ranks: list[int] = []

    def admits(self, inside: IndexSet) -> bool:
        """Whether joining the unplaced nodes `inside` leaves no way out of them and back in."""
        if inside.rel == 1 or (not self._loose and not self._is_loose(inside)):
            return True
        return not self._returns(inside)

    def add(self, inside: IndexSet) -> None:
        """Join the nodes `inside`, which `admits` allowed."""
        if inside.rel == 1:
            return
        self._unit.update(dict.fromkeys(inside, inside))
        if self._is_loose(inside):
            ranks = [self._rank(node) for node in inside]
            self._loose.append((min(ranks), max(ranks)))

    def _is_loose(self, inside: IndexSet) -> bool:
        return self._frame.boundary(inside).exits > 1

    def _rank(self, node: int) -> int:
        """The place of `node` in an order in which each node comes after all that it reads from."""
        if not self._ranks:
            self._ranks = [0] * self._frame.nodes
            for rank, ordered in enumerate(self._frame.order):
                self._ranks[ordered] = rank
        return self._ranks[node]

    def _limit(self, inside: IndexSet) -> int:
        """From past this rank no way leads back: only partitions of several exits lead to an earlier node."""
        limit = max(self._rank(node) for node in inside)
        grew = True
        while grew:
            grew = False
            for low, high in self._loose:
                if low < limit < high:
                    limit, grew = high, True
        return limit

    def _returns(self, inside: IndexSet) -> bool:
        frame, limit = self._frame, self._limit(inside)
        seen = set(inside)
        waiting = list(inside)
        while waiting:
            node = waiting.pop()
            is_outside = node not in inside
            for tensor in frame.makes[node]:
                for reader in frame.readers[tensor]:
                    if is_outside and reader in inside:
                        return True
                    if reader in seen or self._rank(reader) > limit:
                        continue
                    unit = self._unit.get(reader, (reader,))
                    seen.update(unit)
                    waiting.extend(unit)
        return False
