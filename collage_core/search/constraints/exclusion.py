"""Toolchains that exclude each other: the sets of targets that may meet in one plan.

Seeds: RFC 62 (0.81), "Drawbacks" (incompatible runtimes). Searchers that cannot carry "which targets were used" along ask
for the sets, and search each by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..problem import SearchProblem


def rivals_of(problem: SearchProblem, targets: Sequence[str]) -> dict[str, frozenset[str]]:
    """For each of `targets`: the others among them that must not be in one plan with it."""
    known = set(targets)
    rivals: dict[str, set[str]] = {target: set() for target in targets}
    for a, b in problem.exclusive:
        if a != b and a in known and b in known:
            rivals[a].add(b)
            rivals[b].add(a)
    return {target: frozenset(others) for target, others in rivals.items()}


def compatible_sets(problem: SearchProblem, targets: Sequence[str]) -> Iterator[frozenset[str]]:
    """The largest sets of `targets` of which no two exclude each other, one after another: all of them where none do."""
    rivals = rivals_of(problem, targets)
    friends = {target: frozenset(targets) - others - {target} for target, others in rivals.items()}
    yield from _cliques(frozenset(), frozenset(targets), frozenset(), friends)


def _cliques(
    held: frozenset[str], may_join: frozenset[str], done: frozenset[str], friends: dict[str, frozenset[str]]
) -> Iterator[frozenset[str]]:
    """Bron and Kerbosch's enumeration with a pivot; friends of a clique are tried in the order of their names."""
    if not may_join and not done:
        yield held
        return
    pivot = max(sorted(may_join | done), key=lambda target: len(friends[target] & may_join))
    for target in sorted(may_join - friends[pivot]):
        yield from _cliques(held | {target}, may_join & friends[target], done & friends[target], friends)
        may_join, done = may_join - {target}, done | {target}
