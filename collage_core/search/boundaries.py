"""`Boundaries`: the tensors of a problem by node, and the boundary of any set of nodes, which the searchers need again and again.

They are computed once for a problem and kept while it lives, so that a later search of the same problem finds them ready.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ..graph.dataflow_graph import HOST
from ..graph.index_set import IndexSet
from .problem import SearchProblem


class Boundary(NamedTuple):
    """The tensors that cross the border of a set of nodes, each given by its index in the problem.

    Attributes:
        host_reads: Tensors of the host that the set reads.
        reads: (tensor, number of its readers in the set) for the tensors of nodes outside.
        makes: (tensor, number of its readers outside, whether the host reads it) for the set's own tensors that leave it.
        exits: Number of nodes in the set that make such a tensor.
    """

    host_reads: tuple[int, ...]
    reads: tuple[tuple[int, int], ...]
    makes: tuple[tuple[int, int, bool], ...]
    exits: int


class Boundaries:
    """The problem's tensors by node.

    A node whose tensors nobody reads gets a tensor without size that the host reads at no cost; its index is past the problem's
    own tensors. So every set of nodes has an exit.

    Attributes:
        maker: The node of each tensor, or `HOST`.
        readers: The nodes that read each tensor.
        reader_bits: The same of what nodes make: the first of them, and all as bits relative to that.
        is_output: Whether the host reads each tensor.
        makes: For each node the tensors that it makes.
        order: The nodes, each after all that it reads from.
    """

    def __init__(self, problem: SearchProblem):
        self.nodes = problem.nodes
        self.maker = [tensor.maker for tensor in problem.tensors]
        self.readers = [tensor.readers for tensor in problem.tensors]
        self.is_output = [tensor.is_output for tensor in problem.tensors]
        is_read = bytearray(problem.nodes)
        for tensor in problem.tensors:
            if tensor.maker != HOST and (tensor.readers or tensor.is_output):
                is_read[tensor.maker] = 1
        for node, read in enumerate(is_read):
            if not read:
                self.maker.append(node)
                self.readers.append(())
                self.is_output.append(True)
        self.reader_bits = [_NEVER if maker == HOST else span(readers, 0) for maker, readers in zip(self.maker, self.readers, strict=True)]
        self._index_by_node()
        self._boundaries: dict[IndexSet, Boundary] = {}

    def _index_by_node(self) -> None:
        self._host_reads: list[list[int]] = [[] for _ in range(self.nodes)]
        self._reads: list[list[tuple[int, int]]] = [[] for _ in range(self.nodes)]
        self.makes: list[list[int]] = [[] for _ in range(self.nodes)]
        for tensor, maker in enumerate(self.maker):
            if maker == HOST:
                for node in self.readers[tensor]:
                    self._host_reads[node].append(tensor)
            else:
                self.makes[maker].append(tensor)
                for node in self.readers[tensor]:
                    self._reads[node].append((tensor, maker))
        self._makers = [span([maker for _, maker in reads], node) for node, reads in enumerate(self._reads)]
        self._inner_readers = [self._all_readers(node) for node in range(self.nodes)]

    def _all_readers(self, node: int) -> tuple[int, int]:
        """Return the readers of what `node` makes, as `span` does; none that is ever inside where a tensor of it leaves anyway."""
        leaves = any(self.is_output[tensor] or not self.readers[tensor] for tensor in self.makes[node])
        return _NEVER if leaves else span([reader for tensor in self.makes[node] for reader in self.readers[tensor]], node)

    @cached_property
    def order(self) -> list[int]:
        """A topological order; nodes that become ready together come in ascending order."""
        waiting = [len({maker for _, maker in reads}) for reads in self._reads]
        ready = [node for node in reversed(range(self.nodes)) if not waiting[node]]
        order = []
        while ready:
            node = ready.pop()
            order.append(node)
            for reader in sorted({reader for tensor in self.makes[node] for reader in self.readers[tensor]}, reverse=True):
                waiting[reader] -= 1
                if not waiting[reader]:
                    ready.append(reader)
        return order

    def boundary(self, inside: IndexSet) -> Boundary:
        """Return the boundary of `inside`, which is computed once for each set."""
        known = self._boundaries.get(inside)
        if known is None:
            known = self._boundaries[inside] = self._of_node(inside.base) if inside.rel == 1 else self._of_nodes(inside)
        return known

    def has_several_exits(self, inside: IndexSet) -> bool:
        """Return whether `inside` has more than one exit: only then can it be on a cycle between partitions."""
        return inside.rel != 1 and self.boundary(inside).exits > 1

    def _of_node(self, node: int) -> Boundary:
        makes = tuple((tensor, len(self.readers[tensor]), self.is_output[tensor]) for tensor in self.makes[node])
        reads = tuple((tensor, 1) for tensor, _ in self._reads[node])
        return Boundary(tuple(self._host_reads[node]), reads, tuple(m for m in makes if m[1] or m[2]), 1)

    def _of_nodes(self, inside: IndexSet) -> Boundary:
        base, rel = inside.base, inside.rel
        host_reads: dict[int, None] = {}
        reads: dict[int, int] = {}
        makes: list[tuple[int, int, bool]] = []
        exits = 0
        makers, inner_readers = self._makers, self._inner_readers
        for node in inside:
            if self._host_reads[node]:
                host_reads.update(dict.fromkeys(self._host_reads[node]))
            at = node - base
            first, bits = makers[node]
            if bits and (at + first < 0 or rel >> at + first & bits != bits):
                for tensor, maker in self._reads[node]:
                    if maker < base or not rel >> maker - base & 1:
                        reads[tensor] = reads.get(tensor, 0) + 1
            first, bits = inner_readers[node]
            if bits and at + first >= 0 and rel >> at + first & bits == bits:
                continue  # all that it makes is read inside alone
            before = len(makes)
            for tensor in self.makes[node]:
                leaving = 0
                for reader in self.readers[tensor]:
                    if reader < base or not rel >> reader - base & 1:
                        leaving += 1
                if leaving or self.is_output[tensor]:
                    makes.append((tensor, leaving, self.is_output[tensor]))
            exits += len(makes) > before
        return Boundary(tuple(host_reads), tuple(reads.items()), tuple(makes), exits)


_NEVER = (0, 0)


def span(nodes: Sequence[int], node: int) -> tuple[int, int]:
    """Return the first of `nodes` relative to `node`, and all of them as bits relative to the first; `_NEVER` where there are none."""
    if not nodes:
        return _NEVER
    first, bits = min(nodes), 0
    for one in nodes:
        bits |= 1 << one - first
    return first - node, bits


_known: WeakKeyDictionary[SearchProblem, Boundaries] = WeakKeyDictionary()


def boundaries_of(problem: SearchProblem) -> Boundaries:
    """Return the boundaries of `problem`; the same object for the same problem."""
    known = _known.get(problem)
    if known is None:
        known = _known[problem] = Boundaries(problem)
    return known
