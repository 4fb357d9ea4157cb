"""`RecordedCosts`: the measuring loop over a recorded run, whose costs stand in for a machine; with noise, if wanted.

The benchmark (`bench_costs`) and the tests replay recorded runs with it. Nothing is measured.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from collage_core.cost.cost import Cost
from collage_core.events import Emit, ignore
from collage_core.pipeline.cost_table import CostTable
from collage_core.pipeline.measure import MeasuringLoop
from collage_core.pipeline.measuring_policy import MeasuringPolicy
from collage_core.pipeline.record import CostedCandidate, RunRecord, search_candidates
from collage_core.pipeline.search_and_merge import Planned
from collage_core.rules.candidate import CandidatePartition
from collage_core.rules.spec import HOST_TARGET
from collage_core.search.searcher import SearchResult
from collage_core.search.solve import solve

REPETITIONS = 7
"""So many repetitions a further measurement averages."""


def computation_key(candidate: CandidatePartition) -> tuple[str, int]:
    return candidate.target, candidate.computation


class RecordedCosts:
    """The rules' candidates of a recorded run, measured by looking their costs up.

    Args:
        most_nodes: Larger candidates are left out.
        noise: Standard deviation of a first measurement as a share of the cost; further repetitions average it out. 0 for none.

    Attributes:
        asked: The measured candidates, in order.
        most: So many are measured before the time is over.
    """

    def __init__(self, record: RunRecord, most_nodes: int = 10**6, noise: float = 0.0, seed: int = 0):
        self.record = record
        items = [item for item in record.candidates if not item.candidate["rule"].endswith(".merged") and len(item.inside) <= most_nodes]
        self.candidates = [CandidatePartition(record.graph, item.target, item.inside, "recorded") for item in items]
        self.costs = {candidate: item.cost for candidate, item in zip(self.candidates, items, strict=True)}
        self._recorded = {(item.target, item.inside): item.cost for item in record.candidates}
        self.asked: list[CandidatePartition] = []
        self.repeated: list[CandidatePartition] = []
        self.most = len(self.candidates)
        self._noise = noise
        self._random = random.Random(seed)

    def loop(
        self, policy: MeasuringPolicy | None = None, known: Mapping[CandidatePartition, Cost] | None = None, emit: Emit = ignore
    ) -> MeasuringLoop:
        """The loop over these candidates; `known` are costs of before the run."""
        table = CostTable(self.record.graph, self.candidates, computation_key)
        table.recall({candidate: cost for candidate, cost in (known or {}).items() if candidate.target != HOST_TARGET})
        repeat = self.repeat if self._noise else None
        return MeasuringLoop(table, policy or MeasuringPolicy(), self.measure, self.search, emit, repeat)

    def measure(self, wanted: Sequence[CandidatePartition], best_s: float | None) -> dict[CandidatePartition, Cost]:
        """As `measure.Measure`."""
        wanted = wanted[: self.most - len(self.asked)]
        self.asked += wanted
        return {candidate: self._noisy(self.cost(candidate), 1) for candidate in wanted}

    def repeat(self, wanted: Sequence[CandidatePartition], best_s: float | None, left_s: float) -> dict[CandidatePartition, Cost]:
        """As `measure.Repeat`."""
        self.repeated += wanted
        return {candidate: self._noisy(self.cost(candidate), REPETITIONS) for candidate in wanted}

    def search(self, costed: list[CostedCandidate], emit: Emit) -> Planned:
        """As `measure.Search`."""
        problem = self.record.problem.with_candidates(search_candidates(costed))
        result = solve(problem)
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

    def _noisy(self, cost: Cost, repetitions: int) -> Cost:
        if not self._noise or cost.seconds is None:
            return cost
        share = self._noise / repetitions**0.5
        seconds = cost.seconds * max(0.1, 1 + self._random.gauss(0.0, share))
        return replace(cost, seconds=seconds, interval_s=1.96 * share * seconds)
