"""Which plans are timed end to end: the search's plan, rivals whose sums are nearly as good, and the baselines. Nothing is built here.

Where the plan rests on estimates from profiles, the best plan of measured costs is among them, too: whole times decide between the two.

A `Planned` and the baselines' plans enter; finalists leave. `another_plan` makes the `Planned` of one that was faster, and
`carried_over` the same finalists over corrected costs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

from ...cost.cost import PROFILE
from ...rewrite.plan import Plan
from ...rules.candidate import CandidatePartition
from ...rules.spec import HOST_TARGET
from ...search.alternatives.near_plans import near_plans
from ...search.constraints.constraints import Constraint, allowed_indices
from ...search.plan_properties import plan_total
from ...search.problem import SearchProblem, femtoseconds
from ...search.searcher import SearchRun, after
from ..loop.certainty import MeasuredPlans, computation_keys, noise_s, priority_rank
from ..loop.search_and_merge import Planned, SearchSettings, guessed_total_s, known_total_s
from ..record.record import usable
from .finalists import BASELINE, RIVAL, SEARCHED, Finalist, Kind

MOST_RIVALS = 3
NEAR = 0.05
"""A rival's total is above the plan's by this share at most, or by what the plan's total may be off."""
ON_MEASURED = "best of measured parts"
"""The best plan whose parts were all measured, where the search's plan rests on estimates."""
BEFORE = "before correction"
"""The plan of the least sum before costs were corrected, where another one has the least sum now."""
RIVALS_S = 1.0
"""Longest that looking for rivals may take."""


def another_plan(searched: Planned, chosen: tuple[int, ...]) -> Planned:
    """The plan `chosen` of the same problem in place of the one that was searched; it is not the one of the least sum."""
    total = plan_total(searched.problem, chosen)
    final = replace(searched.final, chosen=chosen, total=total, optimal=False, lower_bound=min(searched.final.lower_bound, total))
    return replace(searched, final=final)


def best_known(stopped: Planned, others: Iterable[tuple[int, ...]], constraints: Sequence[Constraint]) -> Planned:
    """Return the plan of a search that was stopped, or one of `others` of the same problem that is known to cost less.

    Where errors count, it stays: `others` may err more than they may.
    """
    problem, allowed = stopped.problem, set(allowed_indices(stopped.problem, constraints))
    if problem.error_budget is not None:
        return stopped
    plans = [another_plan(stopped, chosen) for chosen in others if allowed.issuperset(chosen)]
    known = [plan for plan in plans if known_total_s(stopped.costed, plan.final) is not None]
    return min([stopped, *known], key=lambda plan: plan.final.total)


def finalists(
    searched: Planned,
    planned: Planned,
    baselines: Mapping[str, tuple[int, ...]],
    plan_of: Callable[[Planned], Plan],
    constraints: Sequence[Constraint],
    settings: SearchSettings,
    refused: Mapping[tuple[int, ...], str],
    key_of: Callable[[CandidatePartition], Hashable],
) -> list[Finalist]:
    """Return the plan, which is the first, and the plans that are measured beside it, each once.

    Only plans that hold the constraints may become the plan, and only where plans are chosen by time. Two plans of the same computations
    are one, though they name other targets: a target with a layout runs as the one without it does where no tensor has the layout.

    Args:
        searched: The search's plan; `planned` unless that was found wrong.
        refused: Plan → why it is out already.
        key_of: The key of a candidate's computation (`CostTable.key`).
    """
    allowed = set(allowed_indices(searched.problem, constraints))
    held = [item.held for item in usable(searched.costed)]
    made: dict[Hashable, Finalist] = {}

    def may_ship(chosen: tuple[int, ...]) -> bool:
        return settings.objective.is_time and allowed.issuperset(chosen)

    def key(chosen: tuple[int, ...]) -> Hashable:
        found = ((index, held[index]) for index in chosen)
        computations = ((one.inside, key_of(one)) if isinstance(one, CandidatePartition) else index for index, one in found)
        return may_ship(chosen), frozenset(computations)

    def add(name: str, kind: Kind, chosen: tuple[int, ...]) -> None:
        known = made.get(key(chosen))
        if known is None:
            one = planned if chosen == planned.final.chosen else another_plan(searched, chosen)
            known = made[key(chosen)] = _finalist(searched, one, plan_of, may_ship(chosen), refused.get(chosen, ""))
        known.names[name] = kind

    firsts = [name for name, chosen in baselines.items() if frozenset(chosen) == frozenset(planned.final.chosen)]
    for name in [] if planned is searched else firsts:
        add(name, BASELINE, planned.final.chosen)
    add(SEARCHED, SEARCHED, searched.final.chosen)
    for name, chosen in baselines.items():
        add(name, BASELINE, chosen)
    on_measured = _on_measured(searched, constraints, settings)
    if on_measured is not None and key(on_measured) not in made:
        add(ON_MEASURED, RIVAL, on_measured)
    new = [chosen for chosen in _rivals(searched, constraints, settings) if key(chosen) not in made]
    for number, chosen in enumerate(new, 1):
        add(f"rival {number}", RIVAL, chosen)
    return list(made.values())


def carried_over(
    others: Sequence[Finalist], before: SearchProblem, searched: Planned, plan_of: Callable[[Planned], Plan]
) -> list[Finalist]:
    """Return finalists of an earlier search over other costs, and the plan of the later one, which is the last unless it is among them.

    The earlier search's plan is a rival now, unless both found the same.

    Args:
        before: The problem of the earlier search; the later one has all its candidates.
    """
    index_of = {(candidate.target, candidate.inside): index for index, candidate in enumerate(searched.problem.candidates)}
    found, made = frozenset(searched.final.chosen), dict[frozenset[int], Finalist]()
    for one in others:
        chosen = tuple(index_of[before.candidates[index].target, before.candidates[index].inside] for index in one.chosen)
        same = _finalist(searched, another_plan(searched, chosen), plan_of, one.may_ship, one.reason)
        same.names, same.folder, same.verify, same.is_late = dict(one.names), one.folder, one.verify, one.is_late
        if SEARCHED in same.names and frozenset(chosen) != found:
            del same.names[SEARCHED]
            same.names[BEFORE] = RIVAL
        made[frozenset(chosen)] = same
    newest = made.setdefault(found, _finalist(searched, searched, plan_of, may_ship=True))
    newest.names = {SEARCHED: SEARCHED, **newest.names}
    return list(made.values())


def _finalist(searched: Planned, one: Planned, plan_of: Callable[[Planned], Plan], may_ship: bool, reason: str = "") -> Finalist:
    """Return the finalist, without a name, that is `one`, a plan of the problem of `searched`."""
    problem, chosen = searched.problem, one.final.chosen
    rank = len(chosen), priority_rank(problem, chosen)
    total_s, guessed_s = known_total_s(one.costed, one.final), guessed_total_s(problem, one.final)
    return Finalist({}, plan_of(one), chosen, rank, may_ship, total_s, guessed_s, reason=reason)


def _on_measured(searched: Planned, constraints: Sequence[Constraint], settings: SearchSettings) -> tuple[int, ...] | None:
    """Return the best plan of measured costs; None where the plan itself is one, or there is none."""
    if not any(item.cost.is_guess for item in searched.partitions):
        return None
    found = MeasuredPlans(searched, settings).best(constraints, RIVALS_S)
    return None if found is None or guessed_total_s(searched.problem, found) is None else found.chosen


def _rivals(searched: Planned, constraints: Sequence[Constraint], settings: SearchSettings) -> list[tuple[int, ...]]:
    """Return the rivals of a plan that is proven, as far as its candidates' costs were measured.

    Those of a plan that rests on estimates may do so as well, and no proof is wanted: what is to be expected is near it.
    """
    final, problem = searched.final, searched.problem
    is_estimated = any(item.cost.is_guess for item in searched.partitions)
    if not settings.objective.is_time or (final.stopped and not is_estimated) or settings.should_stop():
        return []
    items, barred = usable(searched.costed), ("bound",) if is_estimated else ("bound", PROFILE)
    is_known = [item.target == HOST_TARGET or (item.cost.seconds is not None and item.cost.source not in barred) for item in items]
    usable_now = [index for index in allowed_indices(problem, constraints) if is_known[index]]
    if not set(usable_now).issuperset(final.chosen):
        return []
    most = final.total + max(round(final.total * NEAR), femtoseconds(noise_s(searched)))
    stop = after(RIVALS_S)
    run = SearchRun(should_stop=lambda: stop() or settings.should_stop())
    return [plan.chosen for plan in near_plans(problem, usable_now, final.chosen, most, computation_keys(searched), MOST_RIVALS, run)]
