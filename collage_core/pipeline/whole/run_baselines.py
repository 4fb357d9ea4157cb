"""`find_baselines`: the plans that the plan of a run is compared with, over the same costs.

The candidates of a run and its plan enter; a `BaselinePlan` for each baseline leaves, those without a plan among them, each with why.
Nothing is built or timed here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ...documents.plan import PlanPart
from ...documents.run import BaselineInfo
from ...rules.partitionings import GREEDY, is_alone, is_partitioning, main_target, with_rest
from ...search.problem import SearchProblem
from ...search.searcher import SearchResult
from ..discover import CandidateSet
from ..loop.search_and_merge import Planned, SearchSettings, guessed_total_s, known_total_s
from .baselines import baseline
from .why_not_alone import why_not_alone, why_not_partitioned


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
