"""How sure a plan is: its stability, and what priority decides because measurements cannot (docs/measuring.md, "How sure a plan is").

A plan with its candidates' costs enters; shares, or another plan, leave. A measured cost says by how much it may be off
(`Cost.interval_s`). An estimate does not, nor does a cost that was recorded without an interval: these are taken as they are.
"""

from __future__ import annotations

import math
import random
import time
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import replace

from ...cost.cost import HOST_COST
from ...cost.measuring.intervals import NORMAL_95
from ...errors import InfeasibleError
from ...events import ignore
from ...graph.computation import Computations
from ...graph.dataflow_graph import DataflowGraph
from ...rules.candidate import CandidatePartition
from ...rules.spec import HOST_TARGET
from ...search.constraints.constraints import Constraint
from ...search.problem import FEMTOSECONDS, SearchCandidate, SearchProblem, femtoseconds
from ...search.searcher import SearchResult
from ..record.record import CostedCandidate, usable
from .search_and_merge import Planned, SearchSettings, searched

DRAWS = 100
LONGEST_S = 1.0
FEWEST_DRAWS = 10
"""With fewer draws in the time, nothing is said of stability."""


def stability(planned: Planned, constraints: Sequence[Constraint], settings: SearchSettings) -> dict[str, float]:
    """Id of each partition of the plan → share of the draws in which it is in the best plan; empty where no cost says how sure it is.

    A partition is left out where a candidate of its nodes has an unknown cost: whether it would stay beside that nobody knows.

    In each draw every measured cost is moved by its standard error times a normal number, the same for equal computations.
    """
    errors = _errors(planned)
    if not any(errors):
        return {}
    candidates, in_plan = planned.problem.candidates, set(planned.final.chosen)
    chosen = [candidates[index] for index in planned.final.chosen]
    stayed = {(candidate.target, candidate.inside): 0 for candidate in chosen}
    keys = computation_keys(planned)
    # No plan of known costs gives way to one with an unknown cost, however they are drawn.
    known = [index for index, candidate in enumerate(candidates) if index in in_plan or not candidate.is_unknown]
    draw, ends, draws = random.Random(0), time.monotonic() + LONGEST_S, 0
    while draws < DRAWS and (left_s := ends - time.monotonic()) > 0 and not settings.should_stop():
        shift = {key: draw.gauss() for key in dict.fromkeys(keys)}
        moved = [_moved(candidates[index], shift[keys[index]] * errors[index]) for index in known]
        problem = planned.problem.with_candidates(moved)
        found = searched(problem, constraints, settings.within(left_s), ignore)
        if found.stopped:  # Its plan is not the best one of the draw, and says nothing.
            break
        for index in found.chosen:
            chosen_again = moved[index].target, moved[index].inside
            if chosen_again in stayed:
                stayed[chosen_again] += 1
        draws += 1
    if draws < FEWEST_DRAWS:
        return {}
    unknown = [candidate.inside for index, candidate in enumerate(candidates) if candidate.is_unknown and index not in in_plan]
    sure = [candidate for candidate in chosen if all(candidate.inside.isdisjoint(inside) for inside in unknown)]
    return {candidate.id: stayed[candidate.target, candidate.inside] / draws for candidate in sure}


def break_ties_by_priority(planned: Planned, constraints: Sequence[Constraint], settings: SearchSettings, most_s: float | None) -> Planned:
    """The plan with targets of higher priority in place of others, where the total stays within what measuring can tell.

    Nothing that was not measured takes the index of what was.

    Args:
        most_s: The total may not be above this in any case; None for no such bound.
    """
    noise = noise_s(planned)
    most = planned.final.total + femtoseconds(noise)
    if most_s is not None:
        most = min(most, femtoseconds(most_s))
    if not noise or most <= planned.final.total or not planned.final.optimal:
        return planned
    best, held = planned.final, list(constraints)
    others, ends = MeasuredPlans(planned, settings, planned.final.chosen), time.monotonic() + LONGEST_S
    for index in sorted(best.chosen, key=lambda index: -_rank(planned.problem, index)):
        candidate = planned.problem.candidates[index]
        left_s = ends - time.monotonic()
        if index not in best.chosen or not _rank(planned.problem, index) or left_s <= 0:
            continue
        veto = Constraint("veto", candidate.bits, candidate.target)
        found = others.best([*held, veto], left_s)
        if (
            found is not None
            and found.total <= most
            and priority_rank(planned.problem, found.chosen) < priority_rank(planned.problem, best.chosen)
        ):
            best, held = replace(found, optimal=False, lower_bound=planned.final.total), [*held, veto]
    return replace(planned, final=best)


def noise_s(planned: Planned) -> float:
    """By how much, in seconds, the plan's total may be off (95 %), as far as costs say: what is nearer cannot be told apart."""
    errors, keys = _errors(planned), computation_keys(planned)
    return NORMAL_95 * together_s((keys[index], errors[index]) for index in planned.final.chosen)


def total_interval_s(planned: Planned) -> float | None:
    """Half of the 95 % interval of the plan's total, transitions left out; None where a cost in it does not say how sure it is."""
    possible = usable(planned.costed)
    costs = [possible[index].cost for index in planned.final.chosen]
    if any(cost.source != "host" and cost.interval_s is None for cost in costs):
        return None
    return noise_s(planned)


def recorded_interval_s(graph: DataflowGraph, partitions: Sequence[CostedCandidate]) -> float | None:
    """Return `total_interval_s` of a plan of `partitions`, which may come from a file and do not know which of them compute the same."""
    placed = [item for item in partitions if item.cost.source != HOST_COST.source]
    if any(item.cost.interval_s is None for item in placed):
        return None
    computations = graph.derive(Computations)
    return together_s(((item.target, computations.of(item.inside)), item.cost.interval_s or 0.0) for item in placed)


def together_s(parts: Iterable[tuple[Hashable, float]]) -> float:
    """By how much a sum may be off, of whose parts each may be off by so many seconds.

    Parts of one key are one measurement, and off by one amount; others know nothing of each other.
    """
    groups: dict[Hashable, float] = defaultdict(float)
    for key, off_s in parts:
        groups[key] += off_s
    return math.hypot(*groups.values())


class MeasuredPlans:
    """Plans of a problem's candidates without those that have a guess in place of a cost.

    Args:
        kept: Indices of candidates that they may hold all the same.
    """

    def __init__(self, planned: Planned, settings: SearchSettings, kept: Collection[int] = ()):
        self._indices = [index for index, item in enumerate(usable(planned.costed)) if index in kept or not item.cost.is_guess]
        self._problem = planned.problem.with_candidates([planned.problem.candidates[index] for index in self._indices])
        self._settings = settings

    def best(self, constraints: Sequence[Constraint], limit_s: float) -> SearchResult | None:
        """The best one found in `limit_s` seconds, its candidates numbered as in the problem; None where there is none."""
        try:
            found = searched(self._problem, constraints, self._settings.within(limit_s), ignore)
        except InfeasibleError:
            return None
        return replace(found, chosen=tuple(self._indices[index] for index in found.chosen))


def _rank(problem: SearchProblem, index: int) -> int:
    target = problem.candidates[index].target
    return 0 if target == HOST_TARGET else problem.priority(target)


def priority_rank(problem: SearchProblem, chosen: Sequence[int]) -> int:
    """Return the ranks of the targets of a plan, added up over its nodes: the least is the plan that priority prefers."""
    return sum(_rank(problem, index) * len(problem.candidates[index].inside) for index in chosen)


def _errors(planned: Planned) -> list[float]:
    """Standard error in seconds of each candidate of the problem; 0 where it is not known."""
    return [(item.cost.interval_s or 0.0) / NORMAL_95 for item in usable(planned.costed)]


def computation_keys(planned: Planned) -> list[Hashable]:
    """Return the key of each candidate of the problem: target and computation, or the id of a candidate read from a file."""
    held = [item.held for item in usable(planned.costed)]
    return [(c.target, c.computation) if isinstance(c, CandidatePartition) else c.id for c in held]


def _moved(candidate: SearchCandidate, by_s: float) -> SearchCandidate:
    if candidate.cost is None or not by_s:
        return candidate
    return replace(candidate, cost=max(0, candidate.cost + round(by_s * FEMTOSECONDS)))
