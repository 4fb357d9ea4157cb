"""`CostProgress`: tells how the costs of a run get known, by target and by event, and how long that takes still.

It takes the answers of an estimator, and gives events and counts. Nothing is decided here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from ..cost.cost import Cost
from ..cost.estimator import Known
from ..events import CandidateBuilding, CandidateCosted, Emit, Event, ignore
from ..graph.index_set import IndexSet
from ..rules.candidate import CandidatePartition
from .time_remaining import TimeRemaining


class CostProgress:
    """The progress of one run's costs.

    Args:
        targets: Of the run.
        measured: Those of them whose costs are measured here.
        likely: About how many distinct computations will be known in the end, as far as one can tell by now.

    Attributes:
        counts: Target → how many candidates are invalid, computations measured, and found in the cache.
    """

    def __init__(self, targets: Sequence[str], measured: Collection[str], emit: Emit, likely: Callable[[], int]):
        self.counts = {name: {"invalid": 0, "measured": 0, "cache_hits": 0} for name in targets}
        self._measured = measured
        self._emit = emit
        self._likely = likely
        self._known: set[tuple[str, int]] = set()
        self._invalid: set[tuple[str, IndexSet]] = set()
        self._time = TimeRemaining()

    def pass_on(self, event: Event) -> None:
        """Emit an event of the estimator. It counts what it was asked for at once; here is known how much that is in all."""
        if isinstance(event, CandidateBuilding):
            if event.repetition > 1:
                self._emit(replace(event, done=len(self._known), total=len(self._known)))
                return
            self._time.begins(event.candidate)
            total = max(len(self._known) + event.total - event.done, self._likely())
            event = replace(event, done=len(self._known), total=total, left_s=self._time.left_s(len(self._known), total))
        self._emit(event)

    def follow(self, known: Iterable[Known], asked: Sequence[CandidatePartition]) -> Iterator[tuple[CandidatePartition, Cost]]:
        """Yield each candidate with its cost as it gets known, counted, and told once for each distinct computation of `asked`."""
        groups: dict[tuple[str, int], list[CandidatePartition]] = defaultdict(list)
        for candidate in asked:
            groups[candidate.target, candidate.computation].append(candidate)
        total = max(len(groups.keys() | self._known), self._likely())
        for candidate, cost, from_cache in known:
            yield candidate, cost
            self._count_invalid(candidate, cost)
            computation = (candidate.target, candidate.computation)
            if computation in self._known:
                continue
            self._known.add(computation)
            self.counts[candidate.target]["cache_hits"] += from_cache
            self.counts[candidate.target]["measured"] += candidate.target in self._measured and not from_cache
            if self._emit is not ignore:
                self._tell(candidate, cost, from_cache, tuple(same.id for same in groups[computation]), total)

    def _count_invalid(self, candidate: CandidatePartition, cost: Cost) -> None:
        if cost.is_invalid and (candidate.target, candidate.inside) not in self._invalid:
            self._invalid.add((candidate.target, candidate.inside))
            self.counts[candidate.target]["invalid"] += 1

    def _tell(self, candidate: CandidatePartition, cost: Cost, from_cache: bool, ids: tuple[str, ...], total: int) -> None:
        done, took_s = len(self._known), self._time.ended(ids)
        left_s = self._time.left_s(done, total)
        label = candidate.sub_graph.label
        self._emit(CandidateCosted(candidate.target, ids, label, cost.to_json(), from_cache, done, total, took_s, left_s))
