"""Where a problem falls apart: positions in the order of the nodes that every candidate respects.

A cut lies before a node p when no candidate holds nodes on both sides, no tensor is read before the cut and made after it, and
few tensors pass it. A large candidate that holds everything between two cuts respects those in between too: it is a way past them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from ...graph.dataflow_graph import HOST
from ..problem import SearchProblem

LEAST_NODES = 16
"""Cuts nearer to each other than this save nothing."""
MOST_ALIVE = 3
"""Where more tensors than this pass from before to behind, there is no cut: each may be of any maker, so ways to it multiply."""


@dataclass(frozen=True, slots=True)
class Separators:
    """The cuts of a problem, and the candidates between them.

    Attributes:
        positions: Ascending; the first is 0, the last the number of nodes.
        within: For each part, between one position and the next, the indices of its candidates.
        past: For each part, the candidates that begin with it and hold it whole and at least the next one.
    """

    positions: list[int]
    within: list[list[int]]
    past: list[list[int]]


def find_separators(problem: SearchProblem, usable: Sequence[int]) -> Separators:
    """The cuts that all of `usable` respect."""
    spanned, alive = _Spans(problem.nodes), _Spans(problem.nodes)
    for tensor in problem.tensors:
        if tensor.maker != HOST and tensor.readers:
            alive.add(tensor.maker, tensor.readers[-1])
            if tensor.readers[0] < tensor.maker:
                spanned.add(tensor.readers[0], tensor.maker)
    narrow = [passing <= MOST_ALIVE for passing in alive.depths()]
    whole: list[int] = []
    for index in usable:
        inside = problem.candidates[index].inside
        if inside.rel & (inside.rel + 1) or len(inside) <= LEAST_NODES:
            spanned.add(inside.base, inside.last())
        else:
            whole.append(index)
    while True:
        free = [is_narrow and not depth for is_narrow, depth in zip(narrow, spanned.depths(), strict=True)]
        crooked = [index for index in whole if not _ends_at(problem, index, free)]
        if not crooked:
            break
        for index in crooked:
            spanned.add(problem.candidates[index].inside.base, problem.candidates[index].inside.last())
        gone = set(crooked)
        whole = [index for index in whole if index not in gone]
    return _sorted(problem, usable, _apart(problem, free, whole))


def _apart(problem: SearchProblem, free: Sequence[bool], whole: Sequence[int]) -> list[int]:
    """Where the candidates begin and end that hold everything between two cuts, and other free positions far enough apart."""
    kept = {0, problem.nodes}
    for index in whole:
        inside = problem.candidates[index].inside
        kept.update((inside.base, inside.last() + 1))
    before = 0
    for place in range(1, problem.nodes):
        if place in kept:
            before = place
        elif free[place] and place - before >= LEAST_NODES:
            before = place
            kept.add(place)
    return sorted(kept)


def _ends_at(problem: SearchProblem, index: int, free: Sequence[bool]) -> bool:
    inside = problem.candidates[index].inside
    return free[inside.base] and free[inside.last() + 1]


def _sorted(problem: SearchProblem, usable: Sequence[int], positions: list[int]) -> Separators:
    part_of = [0] * problem.nodes
    for part, (begin, end) in enumerate(pairwise(positions)):
        part_of[begin:end] = [part] * (end - begin)
    within: list[list[int]] = [[] for _ in positions[1:]]
    past: list[list[int]] = [[] for _ in positions[1:]]
    for index in usable:
        inside = problem.candidates[index].inside
        part = part_of[inside.base]
        (within if inside.last() < positions[part + 1] else past)[part].append(index)
    return Separators(positions, within, past)


class _Spans:
    """Counts what spans each position."""

    def __init__(self, nodes: int):
        self._change = [0] * (nodes + 2)

    def add(self, first: int, last: int) -> None:
        """Something holds `first`, `last`, and belongs together: no cut after the one up to the other."""
        self._change[first + 1] += 1
        self._change[last + 1] -= 1

    def depths(self) -> list[int]:
        """For each position from 0 to the number of nodes how many span it."""
        return list(accumulate(self._change[:-1]))
