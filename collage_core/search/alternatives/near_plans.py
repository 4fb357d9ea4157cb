"""`near_plans`: plans nearly as good as a given one that differ from it, and from each other, in a good share of their cost.

The k best plans of a model are mostly one plan with small parts exchanged. So each plan here is the best one that holds some
candidate which is large and not in the given plan (`ForcedCandidateSearch`); those whose dual prices promise most come first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from ..problem import SearchProblem
from ..searcher import QUIET, SearchResult, SearchRun
from ..searchers.cover import Cover
from .forced_candidate import ForcedCandidateSearch

DIFFERENT = 0.1
"""Plans are different if partitions that only one of them has make up this share of its total."""


def near_plans(
    problem: SearchProblem,
    usable: Sequence[int],
    chosen: Sequence[int],
    most: int,
    keys: Sequence[Hashable],
    count: int,
    run: SearchRun = QUIET,
) -> list[SearchResult]:
    """Return at most `count` plans over the candidates `usable`, the best first; those found so far when `run` is stopped.

    Args:
        chosen: The given plan, from which all others differ.
        most: Greatest total of such a plan in femtoseconds.
        keys: Of each candidate of the problem. Candidates of one key are one computation on one target: a plan that only exchanges
            these is no other plan.
    """
    found: dict[frozenset[int], SearchResult] = {}
    forced: ForcedCandidateSearch | None = None
    for index in _promising(problem, usable, chosen, most):
        if run.should_stop():
            break
        if any(index in plan for plan in found):
            continue
        forced = forced or ForcedCandidateSearch(problem, usable)
        plan = forced.plan_with(index, run)
        if plan.is_feasible and plan.total <= most:
            found.setdefault(frozenset(plan.chosen), plan)
    accepted: list[SearchResult] = []
    for plan in sorted(found.values(), key=lambda plan: (plan.total, len(plan.chosen), plan.chosen)):
        others = [chosen, *(known.chosen for known in accepted)]
        if len(accepted) < count and all(_share_of_others(problem, plan.chosen, other, keys) >= DIFFERENT for other in others):
            accepted.append(plan)
    return accepted


def _promising(problem: SearchProblem, usable: Sequence[int], chosen: Sequence[int], most: int) -> list[int]:
    """Return the candidates of which one may make a plan different, by the least total that dual prices allow a plan with it."""
    cover = Cover(problem, usable)
    least = {index: cover.weights.total((cover.bound or 0) + weight) for index, weight in cover.least_weights()}
    large = [index for index in least if (problem.candidates[index].cost or 0) >= DIFFERENT / 2 * most and index not in chosen]
    return sorted((index for index in large if least[index] <= most), key=lambda index: (least[index], index))


def _share_of_others(problem: SearchProblem, plan: Sequence[int], other: Iterable[int], keys: Sequence[Hashable]) -> float:
    """Return the share of the cost of `plan` that is in partitions which `other` does not have."""
    left = Counter(keys[index] for index in other)
    own = whole = 0
    for index in plan:
        cost = problem.candidates[index].cost or 0
        whole += cost
        if left[keys[index]]:
            left[keys[index]] -= 1
        else:
            own += cost
    return own / whole if whole else 0.0
