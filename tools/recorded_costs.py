"""`RecordedCosts`: the measuring loop over a recorded run, whose costs stand in for a machine; with noise, if wanted.

The benchmark (`bench_costs`) and the tests replay recorded runs with it. Nothing is measured.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from collage_core.cost.cost import Cost
from collage_core.cost.profile import ProfiledPart
from collage_core.events import Emit, ignore
from collage_core.graph.index_set import IndexSet
from collage_core.pipeline.loop.budget import Budget
from collage_core.pipeline.loop.cost_table import CostTable
from collage_core.pipeline.loop.measure import MeasuringLoop
from collage_core.pipeline.loop.measuring_policy import MeasuringPolicy
from collage_core.pipeline.loop.search_and_merge import Planned, SearchSettings, searched
from collage_core.pipeline.record.record import CostedCandidate, RunRecord, search_candidates
from collage_core.rules.candidate import CandidatePartition
from collage_core.rules.spec import HOST_TARGET
from collage_core.search.searcher import SearchResult, never

MEASURED_WHOLLY = Path(__file__).resolve().parent.parent / "tests" / "data" / "measured_wholly"
"""Runs in which every candidate was measured (README.md in that folder)."""
MOST_REPETITIONS = 11
"""With so many repetitions a computation is as well known as it can be."""


def computation_key(candidate: CandidatePartition) -> tuple[str, int]:
    return candidate.target, candidate.computation


class RecordedCosts:
    """The rules' candidates of a recorded run, measured by looking their costs up.

    Args:
        most_nodes: Larger candidates are left out.
        noise: Standard deviation of one measurement as a share of the cost; further repetitions average it out. 0 for none.

    Attributes:
        asked: The measured candidates, in order.
        repeated: Those that were measured once more, in order.
        profiled: Those whose profile was asked for, in order.
        most: So many are measured before the time is over.
        is_over: Says so, too; asked before each measurement.
    """

    def __init__(self, record: RunRecord, most_nodes: int = 10**6, noise: float = 0.0, seed: int = 0):
        self.record = record
        items = [item for item in record.candidates if not item.candidate["rule"].endswith(".merged") and len(item.inside) <= most_nodes]
        self.candidates = [CandidatePartition(record.graph, item.target, item.inside, "recorded") for item in items]
        self.costs = {candidate: item.cost for candidate, item in zip(self.candidates, items, strict=True)}
        self._recorded = {(item.target, item.inside): item.cost for item in record.candidates}
        self.asked: list[CandidatePartition] = []
        self.repeated: list[CandidatePartition] = []
        self.profiled: list[CandidatePartition] = []
        self.most = len(self.candidates)
        self.is_over: Callable[[], bool] = never
        self._noise = noise
        self._random = random.Random(seed)
        self._values: dict[tuple[str, int], list[float]] = defaultdict(list)

    def loop(
        self,
        policy: MeasuringPolicy | None = None,
        known: Mapping[CandidatePartition, Cost] | None = None,
        emit: Emit = ignore,
        budget: Budget | None = None,
        is_profiled: bool = False,
    ) -> MeasuringLoop:
        """The loop over these candidates.

        Args:
            known: Costs of before the run.
            is_profiled: All toolchains but TVM have profilers (`profile`).
        """
        table = CostTable(self.record.graph, self.candidates, computation_key)
        table.recall({candidate: cost for candidate, cost in (known or {}).items() if candidate.target != HOST_TARGET})
        repeat = self.repeat if self._noise else None
        asks = self.measure, self.search, emit, repeat
        if not is_profiled:
            return MeasuringLoop(table, policy or MeasuringPolicy(), *asks, budget=budget)
        targets = [name for name in table.by_target if name != "tvm"]
        return MeasuringLoop(table, policy or MeasuringPolicy(), *asks, budget=budget, profile=self.profile, profiled_targets=targets)

    def profile(self, candidate: CandidatePartition) -> ProfiledPart | None:
        """As `measure.Profile`: each node takes about what it takes alone. None where it has no cost alone, or the part has none."""
        self.profiled.append(candidate)
        alone = [self._recorded.get((candidate.target, IndexSet((node,)))) for node in candidate.inside]
        seconds = [cost.seconds for cost in alone if cost is not None and cost.seconds is not None]
        if self.cost(candidate).seconds is None or len(seconds) < len(candidate.inside):
            return None
        spread = random.Random(len(self.profiled))
        groups = [((node,), cost_s * spread.uniform(0.9, 1.1)) for node, cost_s in zip(candidate.inside, seconds, strict=True)]
        return ProfiledPart(candidate, tuple(groups))

    def measure(self, wanted: Sequence[CandidatePartition], best_s: float | None) -> Iterator[tuple[CandidatePartition, Cost]]:
        """As `measure.Measure`."""
        for candidate in wanted[: self.most - len(self.asked)]:
            if self.is_over():
                return
            self.asked.append(candidate)
            yield candidate, self._noisy(candidate)

    def repeat(self, wanted: Sequence[CandidatePartition], best_s: float | None) -> Iterator[tuple[CandidatePartition, Cost]]:
        """As `measure.Repeat`."""
        for candidate in wanted:
            if self.is_over():
                return
            if len(self._values[computation_key(candidate)]) < MOST_REPETITIONS:
                self.repeated.append(candidate)
                yield candidate, self._noisy(candidate)

    def search(self, costed: list[CostedCandidate], emit: Emit, limit_s: float | None = None) -> Planned:
        """As `measure.Search`."""
        problem = self.record.problem.with_candidates(search_candidates(costed))
        result = searched(problem, [], SearchSettings(), emit)
        return Planned(result, result, problem, costed)

    def best(self, costed: Iterable[CostedCandidate] | None = None) -> SearchResult:
        """The best plan over `costed`; over the recorded costs unless given."""
        return self.search(list(self.recorded if costed is None else costed), ignore).final

    @property
    def recorded(self) -> list[CostedCandidate]:
        return [CostedCandidate(candidate, cost) for candidate, cost in self.costs.items()]

    @property
    def distinct(self) -> int:
        """How many distinct computations there are, the host's among them."""
        return len({computation_key(candidate) for candidate in self.candidates})

    def cost(self, candidate: CandidatePartition) -> Cost:
        """As it was recorded, also where merging makes the candidate."""
        return self._recorded.get((candidate.target, candidate.inside)) or Cost.invalid("build", "it was not recorded")

    def _noisy(self, candidate: CandidatePartition) -> Cost:
        """The mean of what was measured so far, this once more."""
        cost = self.cost(candidate)
        if not self._noise or cost.seconds is None:
            return cost
        values = self._values[computation_key(candidate)]
        values.append(cost.seconds * max(0.1, 1 + self._random.gauss(0.0, self._noise)))
        seconds = fmean(values)
        return replace(cost, seconds=seconds, interval_s=1.96 * self._noise * seconds / len(values) ** 0.5)
