"""`prune`: the heuristic by which TVM's implementation of Collage reduced the candidates before its search.

It keeps each candidate whose nodes no other candidate of its target holds together with more. If one of two overlapping kept
candidates is chosen, the rest of the other is a gap; the largest candidates inside each gap are kept too, until no gap is new.
The best plan may be lost, so the caller compares with a search over all candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..graph.index_set import IndexSet
from .problem import SearchProblem


def prune(problem: SearchProblem, usable: Sequence[int]) -> list[int]:
    """Return the candidates of `usable` that the heuristic keeps, ascending; there may be no best plan among them, or none at all."""
    beginning: list[list[int]] = [[] for _ in range(problem.nodes)]
    for index in usable:
        beginning[problem.candidates[index].inside.base].append(index)
    kept = set[int]()
    holding: list[list[int]] = [[] for _ in range(problem.nodes)]
    gaps = set[IndexSet]()
    new = _maximal(problem, usable)
    while new:
        for index in new:
            kept.add(index)
            for node in problem.candidates[index].inside:
                holding[node].append(index)
        fresh = {gap for index in new for gap in _gaps(problem, index, holding)} - gaps
        gaps |= fresh
        inside_gaps = {index for gap in fresh for index in _maximal(problem, _within(problem, gap, beginning))}
        new = sorted(inside_gaps - kept)
    return sorted(kept)


def _maximal(problem: SearchProblem, indices: Iterable[int]) -> list[int]:
    """Return those of `indices` whose nodes no other of them, on the same target, holds together with more."""
    candidates = problem.candidates
    by_node: dict[tuple[str, int], list[IndexSet]] = {}
    maximal = []
    for index in sorted(indices, key=lambda index: -len(candidates[index].inside)):
        inside, target = candidates[index].inside, candidates[index].target
        if any(len(inside) < len(larger) and inside.issubset(larger) for larger in by_node.get((target, inside.base), ())):
            continue
        maximal.append(index)
        for node in inside:
            by_node.setdefault((target, node), []).append(inside)
    return maximal


def _gaps(problem: SearchProblem, index: int, holding: Sequence[Sequence[int]]) -> set[IndexSet]:
    """Return what the kept candidate `index` leaves of each overlapping kept one, and what that leaves of it."""
    inside = problem.candidates[index].inside
    others = {problem.candidates[other].inside for node in inside for other in holding[node]}
    return {gap for other in others for gap in (inside - other, other - inside) if gap}


def _within(problem: SearchProblem, gap: IndexSet, beginning: Sequence[Sequence[int]]) -> list[int]:
    """Return the candidates inside `gap`; `beginning` lists the candidates by their first node."""
    return [index for node in gap for index in beginning[node] if problem.candidates[index].inside.issubset(gap)]
