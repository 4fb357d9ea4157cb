"""`RatedCosts`: the measuring loop over candidates whose costs follow from how fast each target is at each kind of work; with noise."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from statistics import fmean

from collage_core.cost.cost import Cost
from collage_core.cost.error_limit import ErrorLimit
from collage_core.cost.profile import ProfiledPart
from collage_core.events import Emit, ignore
from collage_core.graph.dataflow_graph import DataflowGraph
from collage_core.graph.work_estimate import BY_BYTES, WorkEstimator, work_kind
from collage_core.pipeline.loop.budget import Budget
from collage_core.pipeline.loop.cost_table import CostTable
from collage_core.pipeline.loop.measure import MeasuringLoop
from collage_core.pipeline.loop.measuring_policy import MeasuringPolicy
from collage_core.pipeline.loop.search_and_merge import Planned
from collage_core.pipeline.record.record import CostedCandidate, flow_tensors, search_candidates
from collage_core.rules.base_rules import OpPredicate
from collage_core.rules.candidate import CandidatePartition, RejectionLog
from collage_core.rules.combinators import arbitrary_fusion
from collage_core.rules.rule import RuleOptions
from collage_core.rules.spec import find_candidates, gather_specs, taken_nodes
from collage_core.search.problem import SearchProblem
from collage_core.search.searcher import never
from collage_core.search.solve import solve

CALL_S, NODE_S = 5e-6, 0.5e-6
LIGHT_BYTES_PER_S = 10e9
UNEVEN = 0.15
"""By so much a node may be slower than its rate says, or faster: the same on every target of one seed."""
MOST_REPETITIONS = 11

Rates = Mapping[str, float]
"""Kind of heavy work → operations a second; ``""`` for the kinds that are not named."""


class RatedCosts:
    """Candidates of targets that take every operator, and what measuring them would give.

    Args:
        rates: Target → its rates.
        noise: Standard deviation of a measurement as a share of the cost.

    Attributes:
        asked: What was measured, in order.
        ahead: What was built ahead.
        is_over: Says that the time is over; asked before each measurement.
    """

    def __init__(self, graph: DataflowGraph, rates: Mapping[str, Rates], noise: float = 0.0, seed: int = 0):
        self.graph = graph
        self._rates = rates
        self._noise = noise
        self._random = random.Random(seed)
        self._values: dict[tuple[str, int], list[float]] = defaultdict(list)
        self._uneven = [1 + self._random.uniform(-UNEVEN, UNEVEN) for _ in graph.nodes]
        trees = {name: arbitrary_fusion(OpPredicate(), RuleOptions(), 3) for name in rates}
        specs = gather_specs(trees)
        taken = taken_nodes(graph, specs)
        found: dict[str, list[CandidatePartition]] = {}
        for spec in specs:
            found.update(find_candidates(graph, spec, RejectionLog(), taken))
        self.candidates = [candidate for listed in found.values() for candidate in listed if not candidate.deferred]
        self.asked: list[CandidatePartition] = []
        self.ahead: list[CandidatePartition] = []
        self.is_over: Callable[[], bool] = never
        self._work = WorkEstimator(graph)

    def loop(
        self, budget: Budget | None = None, *, is_profiled: bool = False, without_profiler: Collection[str] = (), emit: Emit = ignore
    ) -> MeasuringLoop:
        """The loop over these candidates.

        Args:
            is_profiled: Each target has a profiler (`profile`), but for those `without_profiler`.
        """
        table = CostTable(self.graph, self.candidates, lambda one: (one.target, one.computation))
        repeat = self.repeat if self._noise else None
        if budget is not None:
            self.is_over = budget.is_over
        profiled = [name for name in self._rates if is_profiled and name not in without_profiler]
        asks = table, MeasuringPolicy(), self.measure, self.search, emit, repeat
        profile = self.profile if profiled else None
        return MeasuringLoop(
            *asks, budget=budget, profile=profile, profiled_targets=profiled, limits=self.limits, build_ahead=self.ahead.append
        )

    def limits(self, candidate: CandidatePartition, ends: Sequence[int]) -> Iterable[ErrorLimit]:
        """As `measure.Limits`: none is known."""
        return ()

    def profile(self, candidate: CandidatePartition) -> ProfiledPart | None:
        """As `measure.Profile`: kernels of three nodes, slowed down by the profiler, and as noisy as measurements are."""
        nodes = list(candidate.inside)
        groups = [tuple(nodes[at : at + 3]) for at in range(0, len(nodes), 3)]
        slowed = [1.2 * self._nodes_s(candidate.target, group) * max(0.5, 1 + self._random.gauss(0.0, self._noise)) for group in groups]
        return ProfiledPart(candidate, tuple(zip(groups, slowed, strict=True)))

    def measure(self, wanted: Sequence[CandidatePartition], best_s: float | None) -> Iterator[tuple[CandidatePartition, Cost]]:
        """As `measure.Measure`."""
        for candidate in wanted:
            if self.is_over():
                return
            self.asked.append(candidate)
            yield candidate, self._noisy(candidate)

    def repeat(self, wanted: Sequence[CandidatePartition], best_s: float | None) -> list[tuple[CandidatePartition, Cost]]:
        """As `measure.Repeat`."""
        open_ = [candidate for candidate in wanted if len(self._values[candidate.target, candidate.computation]) < MOST_REPETITIONS]
        return [(candidate, self._noisy(candidate)) for candidate in open_]

    def search(self, costed: list[CostedCandidate], emit: Emit, limit_s: float | None = None) -> Planned:
        """As `measure.Search`."""
        problem = SearchProblem(len(self.graph), flow_tensors(self.graph), search_candidates(costed), {}, (), tuple(self._rates))
        result = solve(problem)
        return Planned(result, result, problem, costed)

    def best_s(self) -> float:
        """The least sum of the true costs."""
        costed = [CostedCandidate(candidate, Cost(self.seconds(candidate), "measured")) for candidate in self.candidates]
        return self.true_s(self.search(costed, ignore))

    def true_s(self, planned: Planned) -> float:
        """The sum of the true costs of a plan."""
        return sum(self.seconds(item.held) for item in planned.partitions if isinstance(item.held, CandidatePartition))

    def alone_s(self, target: str) -> float:
        """The true cost of the whole model on one target."""
        return min(self.seconds(one) for one in self.candidates if one.target == target and len(one.inside) == len(self.graph))

    def seconds(self, candidate: CandidatePartition) -> float:
        """The true cost."""
        return (CALL_S if candidate.target in self._rates else 0.0) + self._nodes_s(candidate.target, candidate.inside)

    def _nodes_s(self, target: str, nodes: Iterable[int]) -> float:
        """The true cost of some nodes, without a call."""
        rates, total = self._rates.get(target, {}), 0.0
        for index in nodes:
            node = self.graph.nodes[index]
            kind = work_kind(self.graph, node)
            if kind in BY_BYTES:
                own = sum(tensor.type.bytes for tensor in node.outputs) / LIGHT_BYTES_PER_S
            else:
                own = self._work.operations(index) / rates.get(kind, rates[""]) * self._uneven[index]
            total += own + NODE_S
        return total

    def _noisy(self, candidate: CandidatePartition) -> Cost:
        """The mean of what was measured so far, this once more."""
        values = self._values[candidate.target, candidate.computation]
        values.append(self.seconds(candidate) * max(0.1, 1 + self._random.gauss(0.0, self._noise)))
        return Cost(fmean(values), "measured", interval_s=1.96 * self._noise * fmean(values) / len(values) ** 0.5)
