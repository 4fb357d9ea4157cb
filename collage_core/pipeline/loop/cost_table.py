"""`CostTable`: what a run knows of the costs of its candidates, one cost for each computation, and in no other part.

It takes candidates as the rules found them and as merging makes them, and costs as they get known. It gives each candidate with a
cost: the known one, an estimate from a profile or a lower bound that says what it is, or none. Plain data: nothing is measured or
searched here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from statistics import fmean

from ...cost.cost import HOST_COST, Cost
from ...cost.error_limit import ErrorLimit
from ...cost.estimators.prediction import Predictor
from ...cost.estimators.profiles import Profiles
from ...cost.profile import ProfiledPart
from ...graph.cut_points import accumulators
from ...graph.dataflow_graph import DataflowGraph
from ...graph.index_set import IndexSet
from ...rules.candidate import CandidatePartition
from ...rules.spec import HOST_TARGET
from ..record.record import CostedCandidate

TOO_LATE = Cost.unknown("measuring ended before it was measured")
TORN_SUM = Cost.unknown("not tried: it begins or ends at a sum of integer products, which toolchains add up in other ways")
NOT_PLANNED = Cost.invalid("predicate", "the host runs no bodies of this kind")

ComputationKey = Callable[[CandidatePartition], Hashable]
"""Candidates of equal key share a cost."""


def is_settled(cost: Cost) -> bool:
    """Return whether a plan may rest on `cost` without a further trial: it is known, and not from a trial that was ended early."""
    return cost.seconds is not None and not cost.is_guess and not cost.stopped_early


def _host_cost(candidate: CandidatePartition) -> Cost:
    """Return what `candidate`, one of the host's, costs: nothing where it only renames tensors, else what nobody knows yet."""
    nodes = candidate.graph.nodes
    return HOST_COST if all(nodes[index].is_host for index in candidate.inside) else NOT_PLANNED


class CostTable:
    """The candidates of one run and their costs.

    Args:
        candidates: As the rules found them, in the order of all results. The host's cost nothing, unless `set_own` says what they cost.
        key_of: It is not asked about the host's candidates. None where each candidate has a cost of its own.
        layouts: Target of another boundary layout → the target of the same kernels: what is measured on that one bounds it too.
        grouped: Those of the candidates that are the groups of partitionings.

    Attributes:
        merged: Candidates that merging made since `restart_merging`.
    """

    def __init__(
        self,
        graph: DataflowGraph,
        candidates: Sequence[CandidatePartition],
        key_of: ComputationKey | None,
        layouts: Mapping[str, str] | None = None,
        grouped: Sequence[CandidatePartition] = (),
    ):
        self.graph = graph
        self.candidates = candidates
        self.grouped = grouped
        self._layouts = layouts or {}
        self.merged: list[CandidatePartition] = []
        self._key_of = key_of
        self._keys: dict[CandidatePartition, Hashable] = {}
        self._costs: dict[Hashable, Cost] = {}
        self._bounds: dict[Hashable, Cost] = {}
        self._estimates: dict[Hashable, Cost] = {}
        self._rough: set[Hashable] = set()
        self._own: dict[CandidatePartition, Cost] = {}
        self._whole: dict[CandidatePartition, Cost] = {}
        self._failed: dict[tuple[str, int], Cost] = {}
        self._failing_nodes: dict[str, list[tuple[IndexSet, Cost]]] = {}
        self._profiled: list[ProfiledPart] = []
        self._limits: list[ErrorLimit] = []
        self._learn({candidate: _host_cost(candidate) for candidate in candidates if candidate.target == HOST_TARGET})

    @cached_property
    def _predictor(self) -> Predictor:
        return Predictor(self.graph)

    @property
    def best_s(self) -> float | None:
        """Seconds of the cheapest candidate that is the whole model; None while none is known."""
        costs = [self._own.get(candidate, cost).seconds for candidate, cost in self._whole.items() if not self._failure(candidate)]
        return min((seconds for seconds in costs if seconds is not None), default=None)

    def key(self, candidate: CandidatePartition) -> Hashable:
        """The key of the candidate's computation on its target."""
        if self._key_of is None:
            return candidate
        if candidate not in self._keys:
            is_host = candidate.target == HOST_TARGET
            self._keys[candidate] = (HOST_TARGET, candidate.computation) if is_host else self._key_of(candidate)
        return self._keys[candidate]

    def recall(self, costs: Mapping[CandidatePartition, Cost]) -> None:
        """Take costs that were known before this run. One whose trial was ended early must do, unless a plan rests on it."""
        self._learn(costs)
        self._rough |= {self.key(candidate) for candidate, cost in costs.items() if cost.stopped_early}

    def learn(self, costs: Mapping[CandidatePartition, Cost]) -> None:
        """Take costs that this run measured."""
        self._learn(costs)
        if self._rough:
            self._rough -= {self.key(candidate) for candidate in costs}

    def fail(self, candidate: CandidatePartition, cost: Cost) -> None:
        """Let no candidate of this computation be used on its target any more, whatever its cost was; merging makes such ones anew."""
        self.learn({candidate: cost})
        self._failed[candidate.target, candidate.computation] = cost

    def fail_nodes(self, target: str, nodes: IndexSet, cost: Cost) -> None:
        """Let no candidate of `target` be used any more that holds one of these nodes."""
        self._failing_nodes.setdefault(target, []).append((nodes, cost))

    def _failure(self, candidate: CandidatePartition) -> Cost | None:
        if not self._failed and not self._failing_nodes:  # of a large model each computation takes time to find out
            return None
        failing = (cost for nodes, cost in self._failing_nodes.get(candidate.target, ()) if not nodes.isdisjoint(candidate.inside))
        return self._failed.get((candidate.target, candidate.computation)) or next(failing, None)

    def is_known(self, candidate: CandidatePartition) -> bool:
        return self._failure(candidate) is not None or self.key(candidate) in self._costs

    def is_open(self, candidate: CandidatePartition) -> bool:
        """Return whether a plan that holds `candidate` calls for measuring it."""
        return not self.is_known(candidate) or self.key(candidate) in self._rough

    def seconds(self, candidate: CandidatePartition) -> float | None:
        """The known cost of `candidate`; None where it is not known, or invalid."""
        return self._cost(candidate).seconds if self.is_known(candidate) else None

    def may_run(self, candidate: CandidatePartition) -> bool:
        """Return whether no trial showed that the target cannot build or run `candidate`; its results may be wrong."""
        cost = self._cost(candidate) if self.is_known(candidate) else TOO_LATE
        return cost.seconds is not None or cost.is_unknown or cost.stage == "numerics"

    def _is_torn(self, candidate: CandidatePartition) -> bool:
        """Return whether an accumulator crosses the border of `candidate`: only a trial tells whether its target sums as the others do."""
        inside = candidate.inside
        return any((maker in inside) != (reader in inside) for maker, reader in self._sums)

    @cached_property
    def _sums(self) -> list[tuple[int, int]]:
        """The nodes that make and that read each accumulator of integers."""
        graph = self.graph
        names = graph.derive(accumulators)
        return [(graph.producer[name], reader) for name in names for reader in graph.readers[name]]

    def errs(self, candidate: CandidatePartition) -> bool:
        """Return whether a trial showed that `candidate` errs too much."""
        return self.is_known(candidate) and self._cost(candidate).stage == "numerics"

    def set_own(self, candidate: CandidatePartition, cost: Cost) -> None:
        """Let `candidate` have `cost` from now on, which may be an invalid one.

        No other of its computation has it, but the same nodes on a target that runs them in the same way (one without the layout).
        """
        key = self.key(candidate)
        same = [one for one in (*self._groups.get(key, ()), *self.merged) if one.inside == candidate.inside and self.key(one) == key]
        for one in (candidate, *same):
            self._own[one] = cost
            if len(one.inside) == len(self.graph):
                self._whole[one] = cost

    def learn_profile(self, part: ProfiledPart) -> None:
        """Take where the time of a candidate goes; it counts for what is not known on its target."""
        self._profiled.append(part)

    def learn_limit(self, limit: ErrorLimit) -> None:
        """Take up to where a target may compute the nodes of one of its runs: no guess stands for what goes further."""
        self._limits.append(limit)

    def _beyond_limit(self, candidate: CandidatePartition) -> Cost | None:
        """Return an unknown cost where the target errs too much at the end of `candidate`; the last run that began before it tells.

        It is not invalid: a part alone may err less than where the target computes all that comes before it, too.
        """
        for limit in reversed(self._limits):
            if limit.target == candidate.target and candidate.inside.issubset(limit.inside):
                is_beyond = limit.last is None or candidate.inside.last() > limit.last
                return Cost.unknown(limit.reason) if is_beyond else None
        return None

    def _scale_profiles(self) -> None:
        """Scale all profiles to the costs of their parts, as these are known now."""
        profiles = [(part, self._costs.get(self.key(part.candidate), TOO_LATE)) for part in self._profiled]
        self._predictor.profiles = Profiles(self.graph, ((part, cost.seconds if is_settled(cost) else None) for part, cost in profiles))

    def set_bounds(self, quantile: float) -> None:
        """Bound what is not known, from what is (`Predictor.bounds`)."""
        self._scale_profiles()
        self._estimates = {}
        wanted = {key: (group[0].target, group[0].inside) for key, group in self._groups.items() if key not in self._costs}
        bounds = self._predictor.bounds(self._measured(), wanted.values(), quantile)
        self._bounds = {key: Cost.bound(bounds[part]) for key, part in wanted.items()}

    def set_estimates(self) -> None:
        """Expect of what is not known what profiles tell of it (`Predictor.estimates`), and at least its bound; merged ones included.

        A profile has a time for each of several equal computations, and they have one cost: the mean of these.
        """
        self._estimates = {}
        if not self._profiled:
            return
        self._scale_profiles()
        open_ = [candidate for candidate in (*self.candidates, *self.merged) if not self.is_known(candidate)]
        estimates = self._predictor.estimates(self._measured(), ((one.target, one.inside) for one in open_))
        by_key: dict[Hashable, list[tuple[float, float]]] = defaultdict(list)
        for candidate in open_:
            if (candidate.target, candidate.inside) in estimates:
                by_key[self.key(candidate)].append(estimates[candidate.target, candidate.inside])
        for key, found in by_key.items():
            least_s = self._bounds[key].seconds if key in self._bounds else None
            seconds, interval_s = map(fmean, zip(*found, strict=True))
            self._estimates[key] = Cost.from_profile(max(seconds, least_s or 0.0), interval_s)

    def drop_estimates(self) -> None:
        """Let what is not known be unknown; no plan is to rest on estimates any more."""
        self._estimates = {}

    def estimated(self, costed: Iterable[CostedCandidate]) -> list[CostedCandidate]:
        """Return candidates with estimates in place of bounds, where there are any: none is below its bound."""
        self.set_estimates()

        def expected(item: CostedCandidate) -> CostedCandidate:
            if item.cost.is_bound and isinstance(item.held, CandidatePartition):
                return CostedCandidate(item.held, self._cost(item.held))
            return item

        return [expected(item) for item in costed]

    @property
    def has_estimates(self) -> bool:
        """Return whether estimates stand for some of what is not known (`set_estimates`)."""
        return bool(self._estimates)

    def _measured(self) -> dict[tuple[str, IndexSet], float]:
        """(target, nodes) → known seconds. A described toolchain's estimate tells nothing of how fast this machine can be."""
        known = {}
        for key, group in self._groups.items():
            cost = self._costs.get(key)
            if cost and cost.seconds is not None and group[0].target != HOST_TARGET and cost.source != "estimate" and not cost.is_guess:
                known[group[0].target, group[0].inside] = cost.seconds
        for layout, plain in self._layouts.items():
            same = {(layout, inside): seconds for (target, inside), seconds in known.items() if target == plain}
            known = same | known
        return known

    def drop_bounds(self) -> int:
        """Let what is not known be what profiles tell of it, else unknown, since there is no time left to measure it.

        Return how many candidates are not known.
        """
        self._bounds = {}
        self.set_estimates()
        return sum(not self.is_known(candidate) for candidate in self.candidates)

    def add_merged(self, candidates: Sequence[CandidatePartition]) -> None:
        """Take candidates that merging made."""
        self.merged += candidates
        if self.has_estimates:
            self.set_estimates()
        self._learn({candidate: _host_cost(candidate) for candidate in candidates if candidate.target == HOST_TARGET})

    def restart_merging(self) -> None:
        """Forget which candidates merging made; their costs stay known."""
        self.merged = []

    def costed(self) -> list[CostedCandidate]:
        """Every candidate with its cost, the merged ones last."""
        return self.costed_of([*self.candidates, *self.merged])

    def costed_of(self, candidates: Iterable[CandidatePartition]) -> list[CostedCandidate]:
        """These candidates with their costs."""
        return [CostedCandidate(candidate, self._cost(candidate)) for candidate in candidates]

    @property
    def distinct(self) -> int:
        """How many distinct computations the rules' candidates are, the host's among them."""
        return len(self._groups)

    @property
    def to_measure(self) -> int:
        """How many distinct computations need measuring to be known."""
        return len(self._groups) - sum(
            cost.source == "estimate" or cost.is_guess for key, cost in self._costs.items() if key in self._groups
        )

    @property
    def open(self) -> int:
        """How many distinct computations are not known."""
        return sum(key not in self._costs for key in self._groups)

    @property
    def share_known(self) -> float:
        """The share of `to_measure` that is known."""
        return (self.to_measure - self.open) / max(1, self.to_measure)

    def spared(self, targets: Iterable[str]) -> dict[str, int]:
        """Target → how many distinct computations were not measured, since no better plan has them."""
        keys = [group[0].target for key, group in self._groups.items() if key in self._bounds and key not in self._costs]
        return {name: keys.count(name) for name in targets}

    @cached_property
    def by_target(self) -> dict[str, list[CandidatePartition]]:
        """The rules' candidates of each target but the host, and but those of other layouts, which are as fast as the plain ones."""
        found: dict[str, list[CandidatePartition]] = defaultdict(list)
        for candidate in self.candidates:
            if candidate.target != HOST_TARGET and candidate.target not in self._layouts:
                found[candidate.target].append(candidate)
        return dict(found)  # a look-up of a target without candidates must not add it

    @cached_property
    def _groups(self) -> dict[Hashable, list[CandidatePartition]]:
        """The rules' candidates by their keys."""
        groups: dict[Hashable, list[CandidatePartition]] = defaultdict(list)
        for candidate in self.candidates:
            groups[self.key(candidate)].append(candidate)
        return groups

    def _cost(self, candidate: CandidatePartition) -> Cost:
        key = self.key(candidate)
        known = self._failure(candidate) or self._own.get(candidate) or self._costs.get(key)
        if known := known or self._beyond_limit(candidate):
            return known
        return TORN_SUM if self._is_torn(candidate) else self._estimates.get(key) or self._bounds.get(key) or TOO_LATE

    def _learn(self, costs: Mapping[CandidatePartition, Cost]) -> None:
        for candidate, cost in costs.items():
            self._costs[self.key(candidate)] = cost
            if len(candidate.inside) == len(self.graph):
                self._whole[candidate] = cost
