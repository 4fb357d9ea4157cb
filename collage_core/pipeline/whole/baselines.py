"""The baselines of a plan: each toolchain alone or with the rest elsewhere, partitionings, and greedy, over the costs of the plan.

A toolchain alone is what its own users run: the whole model as one. Where it cannot take that, ``<target>+host`` is the best plan
in which only what it must leave goes elsewhere; a node whose bodies the host runs goes elsewhere. A partitioning's is the plan of exactly
its groups (`rules/partitionings.py`). The candidates of a run and its plan enter; a `BaselinePlan` for each baseline leaves, those without
a plan among them, each with why. Nothing is built or timed here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from ...documents.plan import PlanPart
from ...documents.run import BaselineInfo
from ...errors import InfeasibleError
from ...graph.index_set import IndexSet
from ...rules.partitionings import GREEDY, Partitioning, is_alone, is_partitioning, main_target, with_rest
from ...rules.spec import HOST_TARGET
from ...search.objective_search import solve_for
from ...search.problem import SearchProblem
from ...search.searcher import SearchResult
from ...search.solve import solve
from ..discover import CandidateSet
from ..loop.search_and_merge import Planned, SearchSettings, guessed_total_s, known_total_s
from ..record.record import CostedCandidate
from .why_not_alone import why_not_alone, why_not_partitioned

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


@dataclass(frozen=True)
class BaselinePlan:
    """A baseline of a run.

    Attributes:
        chosen: Its candidates, as indices in the problem of the run's plan; None where it has no plan.
        total_s: Its predicted time; None where one of its costs is not known.
        reason: Why it has no time; empty where it has one.
        is_compared: It may be built and timed beside the plan. A plan of unknown costs may not where time was too short to measure them.
    """

    name: str
    chosen: tuple[int, ...] | None
    total_s: float | None
    reason: str = ""
    is_compared: bool = True


def find_baselines(found: CandidateSet, planned: Planned, settings: SearchSettings, *, is_cut_off: bool) -> list[BaselinePlan]:
    """Return every target alone, those that cannot be with the rest elsewhere, greedy, and each partitioning.

    Args:
        planned: The run's plan, in the problem that theirs are of.
        is_cut_off: Some costs are not known, since there was no time to measure them.
    """

    def search(name: str) -> SearchResult | None:
        return baseline(name, planned.problem, planned.costed, settings, found.partitionings)

    def of(name: str, result: SearchResult | None, why_not: str) -> BaselinePlan:
        if result is None:
            return BaselinePlan(name, None, None, why_not, is_compared=False)
        total_s = known_total_s(planned.costed, result)
        reason = "some of its costs are not known" if total_s is None else ""
        is_compared = guessed_total_s(planned.problem, result) is not None or not is_cut_off
        return BaselinePlan(name, result.chosen, total_s, reason, is_compared)

    plans = []
    for target in found.options.targets:
        alone = search(target)
        why_not = "" if alone else why_not_alone(found.graph, target, planned.costed, found.log.sample)
        plans.append(of(target, alone, why_not))
        others = None if alone else search(with_rest(target))
        if others:
            plans.append(of(with_rest(target), others, ""))
    plans.append(of(GREEDY, search(GREEDY), "the largest sub-graphs leave nodes that nothing covers"))
    for partitioning in found.partitionings:
        groups = search(partitioning.name)
        plans.append(of(partitioning.name, groups, "" if groups else why_not_partitioned(partitioning, planned.costed)))
    return plans


def baseline_rows(baselines: Iterable[BaselinePlan], problem: SearchProblem) -> tuple[BaselineInfo, ...]:
    """Return the `baselines` of the `partition` document; their times are filled in when they are measured.

    A partitioning's row has its partitions, from which whoever explains the plan tells where the two differ.
    """

    def order(one: BaselinePlan) -> int:
        ranks = is_alone(one.name), main_target(one.name) is not None, is_partitioning(one.name), one.name == GREEDY, True
        return ranks.index(True)

    rows = []
    for one in sorted(baselines, key=order):
        row = BaselineInfo(one.name, one.total_s, None, one.reason)
        if is_partitioning(one.name):
            chosen = [problem.candidates[index] for index in one.chosen or ()]
            row = replace(row, partitions=tuple(PlanPart(id=item.id, target=item.target, nodes=tuple(item.inside)) for item in chosen))
        rows.append(row)
    return tuple(rows)
