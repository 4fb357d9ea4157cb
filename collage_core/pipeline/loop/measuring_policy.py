"""`MeasuringPolicy`: which candidates are measured next, which once more, and when it is enough.

It takes a `CostTable` and the candidates of a plan, and gives candidates. A policy decides and does nothing else, so it
can be tried on recorded costs, with noise, without a machine (`tests/collage_core/pipeline/loop/test_measuring_policy.py`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...graph.work_estimate import WorkEstimator
from ...rules.candidate import CandidatePartition
from ...rules.spec import HOST_TARGET
from ...search.problem import FEMTOSECONDS, femtoseconds
from ..record.record import CostedCandidate
from .cost_table import CostTable
from .rivals import Rival, width_s
from .search_and_merge import Planned


@dataclass(frozen=True)
class MeasuringPolicy:
    """Measure what can matter, as far as heuristic bounds tell, and never more than a share of everything for safer bounds.

    Attributes:
        quantiles: Of the prediction's misses, from bold to safe bounds (`Predictor.bounds`); a plan is settled under one after another.
        profiled: Most parts of a target that are profiled, the largest.
        profiling: Share of the budget; when so much is spent on profiles, nothing more is profiled. Limits of errors have as much again.
        fewest_profiled: With no more open computations than these, nothing is profiled.
        largest_share: Share of the budget; when so much is spent, no largest candidate of a target without a profiler is built any more
            beside profiled ones: one that is slow to build is left for when better plans were looked for.
        slow_share: Of such a target no part with more than this share of the model's nodes is built while better plans are looked for.
        fewest_nodes, share_of_nodes: A coarse candidate has so many nodes at least, and that share of the model's.
        share: Of the distinct computations; when so many are known, the boldest bounds must do.
        batch: Candidates of one plan that are measured before the search runs again.
        explore: Share of the budget; when so much is spent, the boldest bounds must do: the rest is for what decides between plans.
        merge: Share of the budget; when so much is spent, no neighbours are measured as one any more.
        tie: Plans that differ by less than this share of the total are as good as each other.
        unsure: A part of a plan whose interval is wider than this share of its cost is repeated once in any case.
        batch_repeated: Candidates that are repeated before the search runs again.
        most_repeated: So often a computation is repeated in one run: plans that are as near then are told apart by measuring them whole.
        longest_called_s: Calls of the assembled module are measured for plans that take less: a call takes one or two µs.
    """

    quantiles: tuple[float, ...] = (0.5, 0.25, 0.1, 0.03)
    profiled: int = 4
    profiling: float = 0.25
    fewest_profiled: int = 50
    largest_share: float = 0.5
    slow_share: float = 0.25
    fewest_nodes: int = 4
    share_of_nodes: float = 0.02
    share: float = 0.25
    batch: int = 8
    explore: float = 0.5
    merge: float = 0.75
    tie: float = 0.01
    unsure: float = 0.1
    batch_repeated: int = 6
    most_repeated: int = 6
    longest_called_s: float = 10e-3

    def first(self, table: CostTable) -> list[CandidatePartition]:
        """The candidates whose costs are asked for before anything is searched."""
        return self.largest(table)

    def largest(self, table: CostTable) -> list[CandidatePartition]:
        """The largest candidate of each target: they are the plans to beat, and tell how fast the machine can be.

        The host's are not among them, nor those of another layout. The estimator tries the quick toolchains first.
        """
        largest = [max(found, key=lambda candidate: len(candidate.inside)) for found in table.by_target.values()]
        return [candidate for candidate in largest if not table.is_known(candidate)]

    def profiles(self, table: CostTable) -> bool:
        """Return whether profiles are worth their time: where few computations are open, measuring them takes no longer."""
        return table.open > self.fewest_profiled

    def next_to_profile(self, table: CostTable, target: str, tried: Mapping[CandidatePartition, bool]) -> CandidatePartition | None:
        """Return the largest part of `target` that shares no node with one that was profiled; None where enough is profiled, or failed.

        Args:
            tried: Parts of the target → whether they could be profiled.
        """
        profiled = [part.inside for part, is_told in tried.items() if is_told]
        if len(profiled) >= self.profiled or len(tried) >= 2 * self.profiled:
            return None
        fitting = (
            candidate
            for candidate in table.by_target.get(target, ())
            if len(candidate.inside) > 1
            and candidate not in tried
            and table.may_run(candidate)
            and all(part.isdisjoint(candidate.inside) for part in profiled)
        )
        return max(fitting, key=lambda one: len(one.inside), default=None)

    def grouped(self, table: CostTable) -> list[CandidatePartition]:
        """The candidates of the partitionings' groups, those with the most work first: each partitioning is a plan to beat."""
        open_, work = [candidate for candidate in table.grouped if not table.is_known(candidate)], table.graph.derive(WorkEstimator)
        return self.one_of_each(table, sorted(open_, key=lambda candidate: -work(candidate.inside).operations))

    def coarse(self, table: CostTable) -> list[CandidatePartition]:
        """The candidates with many nodes, and those that are known: few cuts win, so plans of large parts are tried first."""
        fewest = max(self.fewest_nodes, self.share_of_nodes * len(table.graph))
        return [one for one in table.candidates if len(one.inside) >= fewest or one.target == HOST_TARGET or table.is_known(one)]

    def next(self, table: CostTable, plan: Iterable[CostedCandidate], quantile: float) -> list[CandidatePartition]:
        """Return the candidates to measure next of a plan best under the bounds of `quantile`, largest first; empty if it is settled."""
        most = self.batch if quantile == self.quantiles[0] else min(self.batch, self.room(table))
        return self.one_of_each(table, sorted(self.open(table, plan), key=lambda candidate: -len(candidate.inside)))[:most]

    def open(self, table: CostTable, plan: Iterable[CostedCandidate]) -> list[CandidatePartition]:
        """The candidates of a plan that must be measured before the plan may rest on them."""
        return [item.held for item in plan if isinstance(item.held, CandidatePartition) and table.is_open(item.held)]

    def dearest(self, table: CostTable, plan: Iterable[CostedCandidate]) -> list[CandidatePartition]:
        """Return the candidates to measure next of a plan on estimates, the dearest first: they correct the estimates of the others."""
        dearest_first = sorted(plan, key=lambda item: -(item.cost.seconds or 0.0))
        return self.one_of_each(table, self.open(table, dearest_first))[: self.batch]

    def is_gain(self, plan: Planned, known: Planned | None) -> bool:
        """Return whether a plan on estimates could be better than the best one of `known` costs by more than anybody cares."""
        return known is None or plan.final.total < (1 - self.tie) * known.final.total

    def room(self, table: CostTable) -> int:
        """How many distinct computations may be measured yet for bounds that are safer than the boldest."""
        return max(0, int((self.share - table.share_known) * table.to_measure))

    def likely(self, table: CostTable) -> int:
        """About how many distinct computations will be known in the end."""
        return math.ceil(self.share * table.distinct)

    def undecided(self, rivals: Iterable[Rival], total_s: float) -> list[Rival]:
        """Those of `rivals` that could make a plan of `total_s` faster by more than anybody cares."""
        return [rival for rival in rivals if rival.could_gain_s > self.tie * total_s]

    def to_repeat(self, table: CostTable, undecided: Iterable[Rival], exhausted: Collection[Hashable]) -> list[CandidatePartition]:
        """The candidates in which a plan and its rivals differ, one of each computation, the widest interval first.

        Args:
            exhausted: Computations that cannot be known any better.
        """
        widest: dict[Hashable, float] = {}
        held: dict[Hashable, CandidatePartition] = {}
        for rival in undecided:
            for item in (*rival.partitions, *rival.instead):
                if isinstance(item.held, CandidatePartition) and (key := table.key(item.held)) in rival.widths and key not in exhausted:
                    widest[key] = max(widest.get(key, 0.0), rival.widths[key])
                    held[key] = item.held
        return [held[key] for key in sorted(widest, key=lambda key: -widest[key])][: self.batch_repeated]

    def to_confirm(self, table: CostTable, plan: Planned, repeated: Collection[Hashable]) -> list[CandidatePartition]:
        """The candidates of a plan that were looked at once alone, which may be the very reason why they are in it."""
        least_s = self.tie * plan.final.total / FEMTOSECONDS
        unsure = [item.held for item in plan.partitions if width_s(item.cost) > max(least_s, self.unsure * (item.cost.seconds or 0.0))]
        held = [candidate for candidate in unsure if isinstance(candidate, CandidatePartition)]
        return self.one_of_each(table, [candidate for candidate in held if table.key(candidate) not in repeated])

    def to_tune(self, table: CostTable, plan: Planned, hoped: Planned, could_gain_s: Mapping[Hashable, float]) -> CandidatePartition | None:
        """The candidate of the plan `hoped` whose computation could make it faster by most; None where even that gains hardly anything.

        Args:
            hoped: The best plan if tuning brought everything that it could.
            could_gain_s: Computation → by how much it is faster in `hoped` than it is.
        """
        if (plan.final.total - hoped.final.total) / FEMTOSECONDS <= self.tie * plan.final.total / FEMTOSECONDS:
            return None
        gains: dict[Hashable, float] = {}
        held: dict[Hashable, CandidatePartition] = {}
        for item in hoped.partitions:
            if isinstance(item.held, CandidatePartition) and (key := table.key(item.held)) in could_gain_s:
                gains[key] = gains.get(key, 0.0) + could_gain_s[key]
                held.setdefault(key, item.held)
        best = max(gains, key=gains.__getitem__, default=None)
        return held[best] if best is not None and gains[best] > 0 else None

    def calls_matter(self, total: int) -> bool:
        """Return whether what a call takes can change a plan of so many femtoseconds."""
        return total < femtoseconds(self.longest_called_s)

    @staticmethod
    def one_of_each(table: CostTable, candidates: Sequence[CandidatePartition]) -> list[CandidatePartition]:
        """The first candidate of each computation."""
        found: dict[Hashable, CandidatePartition] = {}
        for candidate in candidates:
            found.setdefault(table.key(candidate), candidate)
        return list(found.values())


class MeasureEverything(MeasuringPolicy):
    """Ask for every cost before the search: where asking is cheap, or was asked for (``--measure-all``)."""

    def __init__(self) -> None:
        super().__init__(quantiles=())

    def first(self, table: CostTable) -> list[CandidatePartition]:
        return [candidate for candidate in table.candidates if candidate.target != HOST_TARGET]

    def likely(self, table: CostTable) -> int:
        return 0
