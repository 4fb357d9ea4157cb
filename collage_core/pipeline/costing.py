"""`Costing`: the costs of a run's candidates, asked as far as they matter, and the search over them that says which do.

What enters is what phases 1 and 2 found; what leaves are costed candidates, and plans that rest on known costs. The
estimator lives and ends with it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.garbage import no_collector
from ..cost.cost import Cost
from ..cost.estimator import CostEstimator, Known, LazyEstimator
from ..cost.estimators.factory import Measuring, make_estimator
from ..cost.estimators.function import CostFunction
from ..errors import Cancelled
from ..events import CandidateBuilding, CandidateCosted, Emit, Event, Note, ignore
from ..graph.index_set import IndexSet
from ..options import Options
from ..rules.candidate import CandidatePartition, make_candidate
from ..rules.spec import HOST_TARGET
from ..search.constraints.constraints import Constraint, parse_constraints
from ..search.objectives import parse_objective
from ..search.plan_properties import plan_total
from ..search.problem import FEMTOSECONDS, SearchProblem, Transition
from ..toolchains.described import DescribedToolchain
from .discover import CandidateSet
from .lazy import SHARE, LazyCosts, is_bound, is_settled
from .planning import Planned, SearchSettings, considered_event, host_cost, make_problem, searched
from .record import CostedCandidate, search_candidates, usable
from .time_remaining import Pace

if TYPE_CHECKING:
    from ..cost.measuring.trial_backend import TrialBackend


class Costing:
    """Costs, and searches over them.

    Attributes:
        counts: Target → how many candidates are invalid, computations measured, and found in the cache.
        lazy: Where only what matters is measured.
        least: Of the total, in femtoseconds, as far as bounds tell, where the time was over before all that matters was measured.
        how: Plans are searched for.
        lowest_core_latency_s: As `LazyEstimator.lowest_core_latency_s` when the workers were let go.
    """

    def __init__(
        self,
        found: CandidateSet,
        inputs: Mapping[str, np.ndarray],
        options: Options,
        emit: Emit,
        is_over: Callable[[], bool],
        function: CostFunction | None = None,
    ):
        self.found = found
        self.options = options
        self.emit = emit
        self._is_over = is_over
        self._told: set[tuple[str, int]] = set()
        self._pace = Pace()
        self._best: int | None = None
        self._surest: set[Hashable] = set()
        self._invalid: set[tuple[str, IndexSet]] = set()
        self.lazy: LazyCosts | None = None
        self.estimator: CostEstimator = make_estimator(
            options.costs,
            model=found.model,
            inputs=inputs,
            threads=options.used_threads,
            accuracy=found.accuracy(),
            toolchains=found.toolchains,
            emit=self._pass_on,
            should_stop=is_over,
            function=function,
            how=self._measuring(),
        )
        self.counts = {name: {"invalid": 0, "measured": 0, "cache_hits": 0} for name in options.targets}
        self.least: int | None = None
        self._bare: SearchProblem | None = None
        self.lowest_core_latency_s = math.inf
        self.how = SearchSettings(options.search, parse_objective(options.objective), is_over)

    @property
    def machine(self) -> str:
        """Where costs are measured."""
        return self.estimator.machine

    def close(self) -> None:
        """Let go of the workers."""
        if isinstance(self.estimator, LazyEstimator):
            self.lowest_core_latency_s = self.estimator.lowest_core_latency_s()
        self.estimator.close()

    def first(self) -> list[CostedCandidate]:
        """The rules' candidates; where costs are measured, those that can matter are."""
        first, estimator = self.found.costed_first, self.estimator
        if isinstance(estimator, LazyEstimator) and not self.options.measure_all:
            return self._lazily(first, estimator)
        return self._costs_of(first)

    def _measuring(self) -> Measuring:
        if not self.options.is_measured:
            return Measuring()
        from ..rewrite.call_trial import call_rounds

        return Measuring(self.options.percentile, self.options.costs_db, self._place(), call_rounds)

    def _place(self) -> TrialBackend | None:
        """The fleet that measures; None where that is done here, or not at all."""
        options = self.options
        if options.tracker is None:
            return None
        from ..cost.fleet.runner import FleetRunner
        from ..cost.fleet.tracker import parse_address
        from ..cost.measuring.trial import TrialLimits
        from ..cost.measuring.trial_backend import flushed_bytes

        limits = TrialLimits.from_environment().of_percentile(options.percentile)
        real = [name for name, toolchain in self.found.toolchains.items() if not isinstance(toolchain, DescribedToolchain)]
        return FleetRunner(
            parse_address(options.tracker), options.key, self.found.accuracy(), limits, options.used_threads,
            targets=real, should_stop=self._is_over, flushed_bytes=flushed_bytes(self.found.graph), machine=options.machine, emit=self.emit,
        )  # fmt: skip

    def _transition_pairs(self) -> Mapping[tuple[str, str], Any]:
        """What hand-overs cost, in seconds; nothing where the time limit was over before they were measured."""
        try:
            return self.estimator.transitions(self.options.targets).pairs
        except Cancelled:
            self.emit(Note("the time limit was over before hand-overs were measured: they count as free"))
            return {}

    def _lazily(self, candidates: Sequence[CandidatePartition], estimator: LazyEstimator) -> list[CostedCandidate]:
        placed = [candidate for candidate in candidates if candidate.target != HOST_TARGET]
        known = {candidate: host_cost() for candidate in candidates if candidate.target == HOST_TARGET}
        self._tell(estimator.recall(placed), known, placed)
        self.lazy = LazyCosts(self.found.graph, candidates, estimator.sort_of, known, self._measured, self._places)
        return self._settled(self.lazy)

    def _settled(self, lazy: LazyCosts) -> list[CostedCandidate]:
        """The rules' candidates, measured as far as they matter."""
        costed = lazy.run()
        if not lazy.is_cut_off:
            return costed
        self.least = self._solved(costed).final.total
        late = Cost.unknown("the time limit was over before it was measured")
        missing = sum(is_bound(item.cost) for item in costed)
        placed = sum(item.target != HOST_TARGET for item in costed)
        self.emit(Note(f"the time limit was over: {missing} of {placed} candidates have no known cost"))
        return [CostedCandidate(item.held, late) if is_bound(item.cost) else item for item in costed]

    def _measured(self, wanted: Sequence[CandidatePartition]) -> dict[CandidatePartition, Cost]:
        """Costs of `wanted`, of as many as the time allows."""
        costs: dict[CandidatePartition, Cost] = {}
        if isinstance(self.estimator, LazyEstimator) and self.lazy is not None:
            self.estimator.most_s = self.lazy.most_s
        with suppress(Cancelled):
            self._tell(self.estimator.estimate(self.found.graph, wanted), costs, wanted)
        return costs

    def _places(self, costed: list[CostedCandidate]) -> list[int]:
        """Places in `costed` of the best plan's candidates."""
        planned = self._solved(costed)
        self._tell_considered(planned)
        return planned.places

    def _tell_considered(self, planned: Planned) -> None:
        """Say what is the best plan as far as one can tell, and the least total that rests on measurements alone."""
        problem, chosen = planned.problem, planned.final.chosen
        possible = usable(planned.costed)
        whole = [(index,) for index, candidate in enumerate(problem.candidates) if len(candidate.inside) == problem.nodes]
        settled = [plan for plan in (chosen, *whole) if all(is_settled(possible[index].cost) for index in plan)]
        totals = [plan_total(problem, plan) for plan in settled]
        self._best = min([*totals, *([] if self._best is None else [self._best])], default=None)
        self.emit(considered_event(planned, [is_settled(possible[index].cost) for index in chosen], self._best))

    def problem(self, costed: list[CostedCandidate]) -> SearchProblem:
        """What is searched where candidates cost what `costed` says."""
        if self._bare is None:
            transitions = {
                ends: Transition(pair.fixed_s * FEMTOSECONDS, pair.per_byte_s * FEMTOSECONDS)
                for ends, pair in self._transition_pairs().items()
            }
            self._bare = make_problem(self.found.graph, (), transitions, self.found.toolchains)
        return self._bare.with_candidates(search_candidates(costed))

    def _solved(self, costed: list[CostedCandidate], emit: Emit = ignore) -> Planned:
        problem = self.problem(costed)
        result = searched(problem, self.constraints(problem), self.how, emit)
        return Planned(result, result, problem, costed)

    def constraints(self, problem: SearchProblem) -> list[Constraint]:
        """Those of the user, for `problem`."""
        return parse_constraints(list(self.options.constraints), problem)

    def search_over(self, costed: list[CostedCandidate]) -> Planned:
        """The best plan, all of it measured where costs are."""
        while True:
            planned = self._solved(costed, self.emit)
            more = self.lazy.measured(costed, planned.places) if self.lazy is not None and not self.lazy.is_cut_off else None
            if more is None:
                return planned
            costed = more

    def spared(self, costed: Iterable[CostedCandidate]) -> dict[str, int]:
        """Target → how many distinct computations need not be measured, since no better plan has them."""
        held = [item.held for item in costed if is_bound(item.cost)]
        sorts = {(one.target, one.computation) for one in held if isinstance(one, CandidatePartition)}
        return {name: sum(target == name for target, _ in sorts) for name in self.counts}

    def surer(self, costed: list[CostedCandidate], planned: Planned, left_s: float) -> list[CostedCandidate] | None:
        """`costed` with what the plan rests on measured in further repetitions; None where all of it was.

        A plan is chosen since its costs are low, so by chance some of them are too low. Each is asked for once more in a run, and
        then what was left out because of them may matter. When all have been asked for, it is the turn of those that were left out
        because of costs that may be too high by chance: those in the best plan if each were as low as its interval allows. No
        further repetition begins after `left_s` seconds.
        """
        estimator = self.estimator
        if not self.options.is_measured or not isinstance(estimator, LazyEstimator):
            return None
        asked = self._not_surest(planned, estimator) or self._not_surest(self._hopeful(planned, estimator), estimator)
        if not asked:
            return None
        self._surest.update(estimator.sort_of(candidate) for candidate in asked)
        costs: dict[CandidatePartition, Cost] = {}
        with suppress(Cancelled):
            self._tell(estimator.again(asked, left_s), costs, asked)
        self._best = None  # It was the total of costs that are known better now.
        if self.lazy is not None and not self.lazy.is_cut_off:
            self.lazy.learn(costs)
            return self._settled(self.lazy)
        return self._renewed(costed, {estimator.sort_of(candidate): cost for candidate, cost in costs.items()}, estimator)

    def _not_surest(self, planned: Planned, estimator: LazyEstimator) -> list[CandidatePartition]:
        """The plan's candidates that were measured and not yet asked for in further repetitions."""
        chosen = [planned.costed[place] for place in planned.places]
        held = [item.held for item in chosen if item.cost.source == "measured"]
        return [c for c in held if isinstance(c, CandidatePartition) and estimator.sort_of(c) not in self._surest]

    def _hopeful(self, planned: Planned, estimator: LazyEstimator) -> Planned:
        """The best plan if all that was measured cost as little as its interval allows."""
        hopes: dict[Hashable, Cost] = {}
        for item in planned.costed:
            cost, held = item.cost, item.held
            if cost.source != "measured" or cost.seconds is None or cost.interval_s is None or cost.stopped_early:
                continue
            if isinstance(held, CandidatePartition):
                hopes[estimator.sort_of(held)] = replace(cost, seconds=max(cost.seconds - cost.interval_s, 0.0))
        return self._solved(self._renewed(planned.costed, hopes, estimator))

    def _renewed(self, costed: list[CostedCandidate], costs: Mapping[Hashable, Cost], estimator: LazyEstimator) -> list[CostedCandidate]:
        """`costed` with `costs`, which are by sort."""
        made = []
        for item in costed:
            if isinstance(item.held, CandidatePartition) and item.cost.source == "measured":
                item = CostedCandidate(item.held, costs.get(estimator.sort_of(item.held), item.cost))
            made.append(item)
        return made

    def cost_merged(self, wanted: Sequence[tuple[str, int]]) -> list[CostedCandidate]:
        """Costs of neighbours as one, given as (target, nodes as bits)."""
        graph = self.found.graph
        candidates = [make_candidate(graph, target, IndexSet.from_bits(bits), f"{target}.merged") for target, bits in wanted]
        return self._costs_of(candidates)

    def _costs_of(self, candidates: Sequence[CandidatePartition]) -> list[CostedCandidate]:
        """Ask the estimator, and keep the order of `candidates`. What the time limit leaves unmeasured is unknown."""
        placed = [candidate for candidate in candidates if candidate.target != HOST_TARGET]
        free = host_cost()
        costs = {candidate: free for candidate in candidates if candidate.target == HOST_TARGET}
        try:
            with nullcontext() if self.options.is_measured else no_collector():
                self._tell(self.estimator.estimate(self.found.graph, placed), costs, placed)
        except Cancelled:
            late = Cost.unknown("the time limit was over before it was measured")
            missing = [candidate for candidate in placed if candidate not in costs]
            costs.update(dict.fromkeys(missing, late))
            if missing:
                self.emit(Note(f"the time limit was over: {len(missing)} of {len(placed)} candidates have no known cost"))
        return [CostedCandidate(candidate, costs[candidate]) for candidate in candidates]

    def _pass_on(self, event: Event) -> None:
        """The estimator's news; it counts what it was asked for at once, and here is known how much that is in all."""
        if isinstance(event, CandidateBuilding):
            if event.repetition > 1:
                self.emit(replace(event, done=len(self._told), total=len(self._told)))
                return
            self._pace.begins(event.candidate)
            total = max(len(self._told) + event.total - event.done, self._likely())
            event = replace(event, done=len(self._told), total=total, left_s=self._pace.left_s(len(self._told), total))
        self.emit(event)

    def _likely(self) -> int:
        """How many distinct computations will be known in the end, about: lazy measuring seldom goes beyond its share."""
        return 0 if self.lazy is None else math.ceil(SHARE * self.lazy.distinct)

    def _tell(self, known: Iterable[Known], costs: dict[CandidatePartition, Cost], asked: Sequence[CandidatePartition]) -> None:
        """Fill `costs` as they get `known`, and tell each once for each distinct computation."""
        alike: dict[tuple[str, int], list[CandidatePartition]] = defaultdict(list)
        for candidate in asked:
            alike[candidate.target, candidate.computation].append(candidate)
        told = self._told
        total = max(len(alike.keys() | told), self._likely())
        for candidate, cost, from_cache in known:
            costs[candidate] = cost
            count = self.counts[candidate.target]
            if cost.is_invalid and (candidate.target, candidate.inside) not in self._invalid:
                self._invalid.add((candidate.target, candidate.inside))
                count["invalid"] += 1
            sort = (candidate.target, candidate.computation)
            if sort in told:
                continue
            told.add(sort)
            count["cache_hits"] += from_cache
            is_here = not isinstance(self.found.toolchains[candidate.target], DescribedToolchain)
            count["measured"] += self.options.is_measured and is_here and not from_cache
            if self.emit is not ignore:
                label, ids = candidate.sub_graph.label, tuple(same.id for same in alike[sort])
                took_s, left_s = self._pace.ended(ids), self._pace.left_s(len(told), total)
                known_now = CandidateCosted(candidate.target, ids, label, cost.to_json(), from_cache, len(told), total, took_s, left_s)
                self.emit(known_now)
