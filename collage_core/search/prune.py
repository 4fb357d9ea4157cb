"""`prune`: upstream's heuristic for fewer candidates, and not a proof: what it loses is for its caller to measure.

Requirement 140. A candidate is kept when no other on its target holds all of its nodes and more. Where two that are kept
overlap, and one is taken, the rest of the other is a gap: the largest candidates inside such gaps are kept too, and so on
until no gap is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..graph.index_set import IndexSet
from .problem import SearchProblem


def prune(problem: SearchProblem, usable: Sequence[int]) -> list[int]:
    """Those of `usable` that the heuristic keeps, ascending. They need not hold a best plan, nor any."""
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
    """Those of `indices` whose nodes no other on the same target holds beside more."""
    candidates = problem.candidates
    by_node: dict[tuple[str, int], list[IndexSet]] = {}
    made = []
    for index in sorted(indices, key=lambda index: -len(candidates[index].inside)):
        inside, target = candidates[index].inside, candidates[index].target
        if any(len(inside) < len(larger) and inside.issubset(larger) for larger in by_node.get((target, inside.base), ())):
            continue
        made.append(index)
        for node in inside:
            by_node.setdefault((target, node), []).append(inside)
    return made


def _gaps(problem: SearchProblem, index: int, holding: Sequence[Sequence[int]]) -> set[IndexSet]:
    """What is left of the kept candidate `index` beside each that overlaps it, and of those beside it."""
    inside = problem.candidates[index].inside
    others = {problem.candidates[other].inside for node in inside for other in holding[node]}
    return {gap for other in others for gap in (inside - other, other - inside) if gap}


def _within(problem: SearchProblem, gap: IndexSet, beginning: Sequence[Sequence[int]]) -> list[int]:
    return [index for node in gap for index in beginning[node] if problem.candidates[index].inside.issubset(gap)]
