"""`Boundaries`: a problem's tensors by node, and the boundary of every set of nodes: what the searchers ask again and again.

Made once for a problem and kept while it lives, so that a search that runs again finds it ready.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ..graph.dataflow_graph import HOST
from ..graph.index_set import IndexSet
from .problem import SearchProblem


class Boundary(NamedTuple):
    """What crosses the border of a set of nodes. Tensors are given by their place in the problem.

    Attributes:
        host_reads: Tensors of the host that it reads.
        reads: (tensor, how many of its nodes read it) for the tensors of other nodes.
        makes: (tensor, how many nodes outside read it, whether the host does) for its own that leave.
        exits: How many of its nodes make such a tensor.
    """

    host_reads: tuple[int, ...]
    reads: tuple[tuple[int, int], ...]
    makes: tuple[tuple[int, int, bool], ...]
    exits: int


class Boundaries:
    """The problem's tensors by node.

    A node whose tensors nobody reads is given one that the host reads, of no size and no cost: its place is past the
    problem's own tensors. So every set of nodes has an exit.

    Attributes:
        maker: The node of each tensor, or `HOST`.
        readers: The nodes that read each tensor.
        is_output: Whether the host reads it.
        edges: For each node, how many readings its tensors have, the host's included; at least 1.
        order: The nodes, each after all that it reads from.
    """

    def __init__(self, problem: SearchProblem):
        self.nodes = problem.nodes
        tensors = problem.tensors
        self.maker = [tensor.maker for tensor in tensors]
        self.readers = [tensor.readers for tensor in tensors]
        self.is_output = [tensor.is_output for tensor in tensors]
        self.edges = [0] * problem.nodes
        for tensor in tensors:
            if tensor.maker != HOST:
                self.edges[tensor.maker] += len(tensor.readers) + tensor.is_output
        for node, count in enumerate(self.edges):
            if not count:
                self.edges[node] = 1
                self.maker.append(node)
                self.readers.append(())
                self.is_output.append(True)
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

    @cached_property
    def order(self) -> list[int]:
        """Kahn's order, the least node first among those that are ready as far as a stack goes."""
        waiting = [len({maker for _, maker in reads}) for reads in self._reads]
        ready = [node for node in reversed(range(self.nodes)) if not waiting[node]]
        made = []
        while ready:
            node = ready.pop()
            made.append(node)
            for reader in sorted({reader for tensor in self.makes[node] for reader in self.readers[tensor]}, reverse=True):
                waiting[reader] -= 1
                if not waiting[reader]:
                    ready.append(reader)
        return made

    def boundary(self, inside: IndexSet) -> Boundary:
        """What crosses the border of `inside`; asked once for each set."""
        known = self._boundaries.get(inside)
        if known is None:
            known = self._boundaries[inside] = self._single(inside.base) if inside.rel == 1 else self._several(inside)
        return known

    def _single(self, node: int) -> Boundary:
        makes = tuple((tensor, len(self.readers[tensor]), self.is_output[tensor]) for tensor in self.makes[node])
        reads = tuple((tensor, 1) for tensor, _ in self._reads[node])
        return Boundary(tuple(self._host_reads[node]), reads, tuple(m for m in makes if m[1] or m[2]), 1)

    def _several(self, inside: IndexSet) -> Boundary:
        base, rel = inside.base, inside.rel
        host_reads: dict[int, None] = {}
        reads: dict[int, int] = {}
        makes: list[tuple[int, int, bool]] = []
        exits = 0
        for node in inside:
            if self._host_reads[node]:
                host_reads.update(dict.fromkeys(self._host_reads[node]))
            for tensor, maker in self._reads[node]:
                if maker < base or not rel >> maker - base & 1:
                    reads[tensor] = reads.get(tensor, 0) + 1
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


_frames: WeakKeyDictionary[SearchProblem, Boundaries] = WeakKeyDictionary()


def boundaries_of(problem: SearchProblem) -> Boundaries:
    """The frame of `problem`."""
    known = _frames.get(problem)
    if known is None:
        known = _frames[problem] = Boundaries(problem)
    return known
