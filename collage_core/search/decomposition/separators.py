"""Separators: positions in the order of the nodes at which a problem can be decomposed.

There is a separator before a node when no candidate holds nodes on both sides, no tensor is read before it and made after it, and
few tensors are live across it. Where tensors are copied, the readers of a tensor that is live across it are all behind it: so nothing
of its copies is paid before. A large candidate of consecutive nodes that begins and ends at separators may span others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from ...graph.dataflow_graph import HOST
from ..problem import SearchProblem

LEAST_NODES = 16
"""Least distance between separators; shorter subproblems save no time."""
MOST_LIVE = 3
"""Most tensors that are live across a separator; each may have any maker, so the states at a separator multiply."""


@dataclass(frozen=True, slots=True)
class Separators:
    """The separators of a problem, and the candidates of the subproblems between them.

    Attributes:
        positions: Ascending; the first is 0, the last the number of nodes.
        within: For each subproblem, between one position and the next, its candidates.
        spanning: For each subproblem the candidates that begin with it and hold it whole and at least the next one.
    """

    positions: list[int]
    within: list[list[int]]
    spanning: list[list[int]]


def find_separators(problem: SearchProblem, usable: Sequence[int]) -> Separators:
    """Return the separators that all candidates of `usable` respect."""
    crossed, live = _Spans(problem.nodes), _Spans(problem.nodes)
    for tensor in problem.tensors:
        if tensor.maker != HOST and tensor.readers:
            live.add(tensor.maker, tensor.readers[-1])
            if tensor.readers[0] < tensor.maker:
                crossed.add(tensor.readers[0], tensor.maker)
            if problem.needs_copies:
                crossed.add(tensor.maker if tensor.is_output else tensor.readers[0], tensor.readers[-1])
        elif tensor.readers and problem.needs_copies:
            crossed.add(tensor.readers[0], tensor.readers[-1])
    is_narrow = [count <= MOST_LIVE for count in live.counts()]
    large: list[int] = []
    for index in usable:
        inside = problem.candidates[index].inside
        if inside.rel & (inside.rel + 1) or len(inside) <= LEAST_NODES:
            crossed.add(inside.base, inside.last())
        else:
            large.append(index)
    while True:
        free = [narrow and not count for narrow, count in zip(is_narrow, crossed.counts(), strict=True)]
        misfits = [index for index in large if not _fits_between(problem, index, free)]
        if not misfits:
            break
        for index in misfits:
            crossed.add(problem.candidates[index].inside.base, problem.candidates[index].inside.last())
        dropped = set(misfits)
        large = [index for index in large if index not in dropped]
    return _with_candidates(problem, usable, _chosen_positions(problem, free, large))


def _chosen_positions(problem: SearchProblem, free: Sequence[bool], large: Sequence[int]) -> list[int]:
    """Return the positions where large candidates begin and end, and other free positions that are far enough apart."""
    kept = {0, problem.nodes}
    for index in large:
        inside = problem.candidates[index].inside
        kept.update((inside.base, inside.last() + 1))
    previous = 0
    for position in range(1, problem.nodes):
        if position in kept:
            previous = position
        elif free[position] and position - previous >= LEAST_NODES:
            previous = position
            kept.add(position)
    return sorted(kept)


def _fits_between(problem: SearchProblem, index: int, free: Sequence[bool]) -> bool:
    """Return whether the candidate begins and ends at free positions."""
    inside = problem.candidates[index].inside
    return free[inside.base] and free[inside.last() + 1]


def _with_candidates(problem: SearchProblem, usable: Sequence[int], positions: list[int]) -> Separators:
    subproblem_of = [0] * problem.nodes
    for number, (begin, end) in enumerate(pairwise(positions)):
        subproblem_of[begin:end] = [number] * (end - begin)
    within: list[list[int]] = [[] for _ in positions[1:]]
    spanning: list[list[int]] = [[] for _ in positions[1:]]
    for index in usable:
        inside = problem.candidates[index].inside
        number = subproblem_of[inside.base]
        (within if inside.last() < positions[number + 1] else spanning)[number].append(index)
    return Separators(positions, within, spanning)


class _Spans:
    """Counts the spans that cross each position."""

    def __init__(self, nodes: int):
        self._change = [0] * (nodes + 2)

    def add(self, first: int, last: int) -> None:
        """Add the span from node `first` to node `last`, which crosses the positions after the one up to the other."""
        self._change[first + 1] += 1
        self._change[last + 1] -= 1

    def counts(self) -> list[int]:
        """Return for each position, from 0 to the number of nodes, how many spans cross it."""
        return list(accumulate(self._change[:-1]))
