"""`CostProgress`: tells how the costs of a run get known, by target and by event; `TimeRemaining`: how long that takes still.

It takes the answers of an estimator and the times at which trials begin and end, and gives events, counts and seconds. Nothing is decided
here.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from ...cost.cost import Cost
from ...cost.estimator import Known
from ...events import CandidateBuilding, CandidateCosted, Emit, Event, ignore
from ...graph.index_set import IndexSet
from ...rules.candidate import CandidatePartition
from .budget import Budget

FEWEST = 3
"""Trials that must have ended before anything is said of those to come, but for `SLOW_S`."""
SLOW_S = 30.0
"""From that long after the first trial began, something is said all the same: where trials are slow, it is needed most."""
NEWEST = 12
"""Trials that the pace is taken from: the first ones are whole models, and much slower than the rest."""


class TimeRemaining:
    """How long the trials of a run take, several of which may go on at once, and how long the others will.

    Args:
        clock: Gives seconds that only go up.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._began: dict[str, float] = {}
        self._ends: deque[float] = deque(maxlen=NEWEST + 1)
        """When the first trial began, and when the newest ones ended."""

    def begins(self, candidate: str) -> None:
        """A trial of `candidate` begins."""
        now = self._began[candidate] = self._clock()
        if not self._ends:
            self._ends.append(now)

    def ended(self, candidates: Iterable[str]) -> float | None:
        """How long the trial took whose outcome holds for all `candidates`; None where there was none."""
        known = [self._began.pop(candidate) for candidate in candidates if candidate in self._began]
        if not known:
            return None
        now = self._clock()
        self._ends.append(now)
        return now - min(known)

    def left_s(self, done: int, total: int) -> float | None:
        """About how long it takes until `total` costs are known, of which `done` are; None while too little is known of trials."""
        trials = len(self._ends) - 1
        if trials < FEWEST:
            began_s = self._clock() - self._ends[0] if self._ends else 0.0
            return began_s / max(1, trials) * max(0, total - done) if began_s >= SLOW_S else None
        return (self._ends[-1] - self._ends[0]) / trials * max(0, total - done)


class CostProgress:
    """The progress of one run's costs.

    Args:
        targets: Of the run.
        measured: Those of them whose costs are measured here.
        likely: About how many distinct computations will be known in the end, as far as one can tell by now.
        budget: Ends measuring.

    Attributes:
        counts: Target → how many candidates are invalid, computations measured, and found in the cache.
        quickest_s: Seconds of the quickest trial; None while there was none.
    """

    def __init__(self, targets: Sequence[str], measured: Collection[str], emit: Emit, likely: Callable[[], int], budget: Budget):
        self.counts = {name: {"invalid": 0, "measured": 0, "cache_hits": 0} for name in targets}
        self._measured = measured
        self._emit = emit
        self._likely = likely
        self._budget = budget
        self._said = (0, 0)
        self._known: set[tuple[str, int]] = set()
        self._invalid: set[tuple[str, IndexSet]] = set()
        self._time = TimeRemaining()
        self.quickest_s: float | None = None

    def pass_on(self, event: Event) -> None:
        """Emit an event of the estimator. It counts what it was asked for at once; here is known how much that is in all."""
        if isinstance(event, CandidateBuilding):
            is_new = event.repetition == 1
            if is_new:
                self._time.begins(event.candidate)
            done, total = self._done_of(event.total - event.done if is_new else 0)
            trials_s = self._time.left_s(done, total) if is_new else None
            event = replace(event, done=done, total=total, left_s=self._budget.left_s(trials_s))
        self._emit(event)

    def _done_of(self, open_: int) -> tuple[int, int]:
        """How many computations are known, and of about how many: never of fewer than before, and never a smaller share.

        Where something is measured, more may always come: then it is never all of them.

        Args:
            open_: How many of those that were asked for are not known yet.
        """
        done, (done_before, total_before) = len(self._known), self._said
        least = done + max(open_, 1 if self._measured else 0)
        total = max(least, self._likely(), total_before)
        if done_before:
            total = min(total, max(done, done * total_before // done_before))
        self._said = done, total
        return self._said

    def follow(
        self, known: Iterable[Known], asked: Sequence[CandidatePartition], *, recalls: bool = False
    ) -> Iterator[tuple[CandidatePartition, Cost]]:
        """Yield each candidate with its cost as it gets known, counted, and told once for each distinct computation of `asked`.

        Args:
            recalls: What is not known stays unknown.
        """
        groups: dict[tuple[str, int], list[CandidatePartition]] = defaultdict(list)
        for candidate in asked:
            groups[candidate.target, candidate.computation].append(candidate)
        open_ = 0 if recalls else len(groups.keys() - self._known)
        for candidate, cost, from_cache in known:
            yield candidate, cost
            self._count_invalid(candidate, cost)
            computation = (candidate.target, candidate.computation)
            if computation in self._known:
                continue
            self._known.add(computation)
            open_ = max(0, open_ - 1)
            self.counts[candidate.target]["cache_hits"] += from_cache and not cost.is_unknown
            self.counts[candidate.target]["measured"] += candidate.target in self._measured and not from_cache
            if self._emit is not ignore:
                self._tell(candidate, cost, from_cache, tuple(same.id for same in groups[computation]), open_)

    def _count_invalid(self, candidate: CandidatePartition, cost: Cost) -> None:
        if cost.is_invalid and (candidate.target, candidate.inside) not in self._invalid:
            self._invalid.add((candidate.target, candidate.inside))
            self.counts[candidate.target]["invalid"] += 1

    def _tell(self, candidate: CandidatePartition, cost: Cost, from_cache: bool, ids: tuple[str, ...], open_: int) -> None:
        (done, total), took_s = self._done_of(open_), self._time.ended(ids)
        if took_s is not None:
            self.quickest_s = took_s if self.quickest_s is None else min(took_s, self.quickest_s)
        left_s = self._budget.left_s(self._time.left_s(done, total))
        label = candidate.sub_graph.label
        self._emit(CandidateCosted(candidate.target, ids, label, cost.to_json(), from_cache, done, total, took_s, left_s))
