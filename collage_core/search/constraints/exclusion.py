"""Targets that exclude each other, and the sets of targets that may be in one plan.

RFC 62 (Collage), "Drawbacks", has the reason: runtimes that cannot be mixed. A searcher whose states do not hold the targets in
use searches each largest compatible set by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..problem import SearchProblem


def exclusions_of(problem: SearchProblem, targets: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return for each of `targets` the others of them that must not be in one plan with it."""
    known = set(targets)
    excluded: dict[str, set[str]] = {target: set() for target in targets}
    for a, b in problem.exclusive:
        if a != b and a in known and b in known:
            excluded[a].add(b)
            excluded[b].add(a)
    return {target: frozenset(others) for target, others in excluded.items()}


def compatible_sets(problem: SearchProblem, targets: Sequence[str]) -> Iterator[frozenset[str]]:
    """Yield the maximal sets of `targets` of which no two exclude each other; one set of all targets when none do."""
    excluded = exclusions_of(problem, targets)
    neighbours = {target: frozenset(targets) - others - {target} for target, others in excluded.items()}
    yield from _cliques(frozenset(), frozenset(targets), frozenset(), neighbours)


def _cliques(
    clique: frozenset[str], may_join: frozenset[str], done: frozenset[str], neighbours: dict[str, frozenset[str]]
) -> Iterator[frozenset[str]]:
    """Yield the maximal cliques with `clique` by the Bron–Kerbosch algorithm with a pivot, in the order of the names."""
    if not may_join and not done:
        yield clique
        return
    pivot = max(sorted(may_join | done), key=lambda target: len(neighbours[target] & may_join))
    for target in sorted(may_join - neighbours[pivot]):
        yield from _cliques(clique | {target}, may_join & neighbours[target], done & neighbours[target], neighbours)
        may_join, done = may_join - {target}, done | {target}
