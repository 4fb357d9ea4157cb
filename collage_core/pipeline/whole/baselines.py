"""The baselines of a plan: each toolchain alone or with the rest elsewhere, partitionings, and greedy. Plain data in and out.

A toolchain alone is what its own users run: the whole model as one. Where it cannot take that, ``<target>+host`` is the best plan
in which only what it must leave goes elsewhere; a node whose bodies the host runs goes elsewhere. A partitioning's is the plan of exactly
its groups (`rules/partitionings.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from ...errors import InfeasibleError
from ...graph.index_set import IndexSet
from ...rules.partitionings import GREEDY, Partitioning, main_target
from ...rules.spec import HOST_TARGET
from ...search.objective_search import solve_for
from ...search.problem import SearchProblem
from ...search.searcher import SearchResult
from ...search.solve import solve
from ..loop.search_and_merge import SearchSettings
from ..record.record import CostedCandidate

UNKNOWN_S = 0.5
"""Longest search among candidates of unknown cost: they are all alike, and a search that proves which are best may take minutes."""


def baseline(
    name: str,
    problem: SearchProblem,
    costed: Sequence[CostedCandidate],
    settings: SearchSettings,
    partitionings: Iterable[Partitioning] = (),
) -> SearchResult | None:
    """Return the plan of the baseline `name`, whatever its errors; None where there is none.

    Args:
        costed: The candidates with their costs, those that failed among them.
        partitionings: Each has a baseline of its name.
    """
    for partitioning in partitionings:
        if partitioning.name == name:
            return _partitioned(partitioning, problem, settings)
    if name == GREEDY:
        try:
            return solve(problem, (), GREEDY)
        except InfeasibleError:
            return None
    target = main_target(name)
    if target is not None:
        return _with_rest(target, problem, settings)
    return _alone(name, problem, costed, settings)


def _alone(target: str, problem: SearchProblem, costed: Sequence[CostedCandidate], settings: SearchSettings) -> SearchResult | None:
    """The model as one partition; where the rules offer none of that size, the best plan on `target` alone.

    The host's nodes may stay the host's.
    """
    free = free_indices(problem)
    whole = IndexSet(range(problem.nodes)) - _nodes_of(problem, free)
    if any(_is_whole(item, target, whole) and item.cost.is_invalid and not item.is_merged for item in costed):
        return None
    mine = _indices(problem, target)
    as_one = [index for index in mine if whole.issubset(problem.candidates[index].inside)]
    return best_of([*(as_one or mine), *free], problem, settings)


def _is_whole(item: CostedCandidate, target: str, whole: IndexSet) -> bool:
    return item.target == target and whole.issubset(item.inside)


def _with_rest(target: str, problem: SearchProblem, settings: SearchSettings) -> SearchResult | None:
    mine, free = _indices(problem, target), free_indices(problem)
    if not mine:  # what is left to others is everything: no baseline of this target
        return None
    left = IndexSet(range(problem.nodes)) - _nodes_of(problem, mine) - _nodes_of(problem, free)
    others = [index for index, candidate in enumerate(problem.candidates) if candidate.inside.issubset(left)]
    return best_of([*mine, *free, *others], problem, settings)


def _partitioned(partitioning: Partitioning, problem: SearchProblem, settings: SearchSettings) -> SearchResult | None:
    """The plan of the groups of `partitioning`; other nodes go to the targets that it names, or to others where these cannot take them."""
    groups = set(partitioning.groups)
    forced = [index for index in _indices(problem, partitioning.target) if problem.candidates[index].inside in groups]
    if len(forced) < len(groups):
        return None
    left = IndexSet(range(problem.nodes)) - IndexSet({node for inside in groups for node in inside})
    free = [index for index, candidate in enumerate(problem.candidates) if candidate.inside.issubset(left)]
    named = [index for index in free if problem.candidates[index].target in (*partitioning.rest, HOST_TARGET)]
    others = [index for index in free if problem.candidates[index].target != partitioning.target or index in named]
    return best_of([*forced, *named], problem, settings) or best_of([*forced, *others], problem, settings)


def _indices(problem: SearchProblem, target: str) -> list[int]:
    return [index for index, candidate in enumerate(problem.candidates) if candidate.target == target]


def free_indices(problem: SearchProblem) -> list[int]:
    """Return the candidates of the host that cost nothing: they only rename tensors, and belong to no target's work."""
    return [index for index in _indices(problem, HOST_TARGET) if not problem.candidates[index].cost]


def _nodes_of(problem: SearchProblem, indices: Iterable[int]) -> IndexSet:
    return IndexSet({node for index in indices for node in problem.candidates[index].inside})


def best_of(indices: Collection[int], problem: SearchProblem, settings: SearchSettings) -> SearchResult | None:
    """Return the best plan of these candidates, whatever its errors; None where they do not make up the model.

    A plan of known costs comes before any other. Where there is none, a plan is only needed to say so, and any one does.
    """
    known = [index for index in indices if not problem.candidates[index].is_unknown]
    found = _best_of(known, problem, settings)
    if found is not None or len(known) == len(indices):
        return found
    return _best_of(indices, problem, settings.within(UNKNOWN_S))


def _best_of(indices: Collection[int], problem: SearchProblem, settings: SearchSettings) -> SearchResult | None:
    listed = sorted(indices)
    only = replace(problem, candidates=tuple(problem.candidates[index] for index in listed), error_budget=None)
    if len({node for candidate in only.candidates for node in candidate.inside}) < problem.nodes:
        return None
    try:
        result = solve_for(only, settings.objective, (), settings.search, settings.run())
    except InfeasibleError:
        return None
    return replace(result, chosen=tuple(listed[index] for index in result.chosen))
