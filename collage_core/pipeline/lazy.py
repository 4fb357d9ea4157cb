"""`LazyCosts`: only what can matter is measured.

What nobody measured yet stands in the search with the least that it may cost (`cost.prediction`). The plan that is best under
these costs says what to measure next: those of its candidates that are not measured. When every one of them is, no unmeasured
candidate could beat the plan, as far as the bounds hold. They are heuristic, so they are then made safer, step by step, until
a quarter of the distinct candidates is measured.

What enters: the candidates, who measures them, and who searches. What leaves: each with its cost; those that were not
measured have their bound as an estimate, and say so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from ..cost.cost import Cost
from ..cost.estimators.prediction import Predictor
from ..errors import Cancelled
from ..graph.dataflow_graph import DataflowGraph
from ..rules.candidate import CandidatePartition
from ..rules.spec import HOST_TARGET
from .record import CostedCandidate

LEVELS = (0.5, 0.25, 0.1, 0.03)
"""Quantiles of the prediction's misses, from bold to safe (`Predictor.bounds`)."""
SHARE = 0.25
"""Of the distinct candidates; when so many are measured, the boldest bounds must do."""
BATCH = 8
"""Candidates of one plan that are measured before the search runs again, the largest first."""
NOT_MEASURED = "not measured: a heuristic bound, and even with it no better plan was found"

Ask = Callable[[Sequence[CandidatePartition]], Mapping[CandidatePartition, Cost]]
"""Measures candidates; one that is missing in the answer was not measured because the time was over."""

Costed = list[CostedCandidate]
Search = Callable[[Costed], Sequence[int]]
"""Places, in the list, of the candidates of a best plan."""


def is_bound(cost: Cost) -> bool:
    """Whether `cost` stands for one that was not measured. An estimate of a toolchain on paper does not."""
    return cost.source == "estimate" and cost.reason == NOT_MEASURED


def is_settled(cost: Cost) -> bool:
    """Whether a plan may rest on `cost`: it is known, and not from a trial that was ended early."""
    return cost.seconds is not None and not is_bound(cost) and not cost.stopped_early


class LazyCosts:
    """The costs of `candidates`, measured as far as they matter.

    Args:
        candidates: In the order of the result. The host's cost what `known` says of them.
        sort_of: Candidates of one sort share a cost. It is not asked about the host's.
        known: Costs that need no measuring.
        ask: Measures.
        search: Finds a best plan. Its errors are passed on: where there is no plan, nothing need be measured.

    Attributes:
        most_s: The cheapest candidate that is the whole model takes so long; None while none is known.
        is_cut_off: The time was over before the plan rested on measurements alone.
    """

    def __init__(
        self,
        graph: DataflowGraph,
        candidates: Sequence[CandidatePartition],
        sort_of: Callable[[CandidatePartition], Hashable],
        known: Mapping[CandidatePartition, Cost],
        ask: Ask,
        search: Search,
    ):
        self._candidates = candidates
        self._ask = ask
        self._search = search
        self._predictor = Predictor(graph)
        self._alike: dict[Hashable, list[CandidatePartition]] = defaultdict(list)
        self._sort: dict[CandidatePartition, Hashable] = {}
        for candidate in candidates:
            is_host = candidate.target == HOST_TARGET
            sort = self._sort[candidate] = (HOST_TARGET, candidate.computation) if is_host else sort_of(candidate)
            self._alike[sort].append(candidate)
        self._costs: dict[Hashable, Cost] = {}
        self.most_s: float | None = None
        self._learn(known)
        self._rough = {self._sort[candidate] for candidate, cost in known.items() if cost.stopped_early}
        """Known from a trial that was ended early, before this run: good enough, unless the plan rests on it."""
        self._estimated = sum(cost.source == "estimate" for cost in self._costs.values())
        self._level = LEVELS[0]
        self.is_cut_off = False

    def run(self) -> Costed:
        """Measure until the plan rests on measurements alone; the time may be over before that."""
        try:
            self._measure_largest()
            for level in LEVELS:
                self._level = level
                self._settle()
                if not self._room():
                    self._level = LEVELS[0]
                    self._settle()
                    break
        except Cancelled:
            self.is_cut_off = True
        return self._costed()

    def measured(self, costed: Costed, chosen: Iterable[int]) -> Costed | None:
        """`costed` with the estimates among `chosen` measured; None where there are none."""
        held = [(costed[place].held, costed[place].cost) for place in chosen]
        wanted = [one for one, _ in held if isinstance(one, CandidatePartition) and self._is_open(one)]
        if wanted:
            self._measure(wanted)
        elif not any(is_bound(cost) for _, cost in held):
            return None
        return [self._renewed(item) for item in costed]

    def learn(self, costs: Mapping[CandidatePartition, Cost]) -> None:
        """Costs that were measured, or measured again; what is none of the candidates is left out."""
        self._learn({candidate: cost for candidate, cost in costs.items() if candidate in self._sort})

    @property
    def distinct(self) -> int:
        """How many distinct candidates there are, the host's among them."""
        return len(self._alike)

    @property
    def share(self) -> float:
        """Of the distinct candidates that can be measured, those whose cost is known."""
        return (len(self._costs) - self._estimated) / max(1, len(self._alike) - self._estimated)

    def _renewed(self, item: CostedCandidate) -> CostedCandidate:
        known = self._costs.get(self._sort[item.held]) if isinstance(item.held, CandidatePartition) and item.held in self._sort else None
        return item if known is None else CostedCandidate(item.held, known)

    def _is_open(self, candidate: CandidatePartition) -> bool:
        return candidate in self._sort and (self._sort[candidate] not in self._costs or self._sort[candidate] in self._rough)

    def _measure_largest(self) -> None:
        """One of each target, the largest: they are the plans to beat, and say how fast the machine can be."""
        largest: dict[str, CandidatePartition] = {}
        for candidate in self._candidates:
            known = largest.get(candidate.target)
            if candidate.target != HOST_TARGET and (known is None or len(candidate.inside) > len(known.inside)):
                largest[candidate.target] = candidate
        self._measure([candidate for candidate in largest.values() if self._sort[candidate] not in self._costs])

    def _settle(self) -> None:
        while True:
            costed = self._costed()
            chosen = [costed[place].held for place in self._search(costed)]
            wanted = [held for held in chosen if isinstance(held, CandidatePartition) and self._is_open(held)]
            most = BATCH if self._level == LEVELS[0] else min(BATCH, self._room())
            if not wanted or not most:
                return
            self._measure(sorted(wanted, key=lambda candidate: -len(candidate.inside)), most)

    def _room(self) -> int:
        """How many distinct candidates may be measured yet for bounds that are safer than the boldest."""
        return max(0, int((SHARE - self.share) * (len(self._alike) - self._estimated)))

    def _measure(self, wanted: Sequence[CandidatePartition], most: int = BATCH) -> None:
        one_of_each = {self._sort[candidate]: candidate for candidate in reversed(wanted)}
        batch = [candidate for candidate in wanted if one_of_each[self._sort[candidate]] is candidate][:most]
        answered = self._ask(batch)
        self.learn(answered)
        self._rough -= {self._sort[candidate] for candidate in batch if candidate in answered}
        if any(candidate not in answered for candidate in batch):
            raise Cancelled

    def _learn(self, costs: Mapping[CandidatePartition, Cost]) -> None:
        for candidate, cost in costs.items():
            self._costs[self._sort[candidate]] = cost
            if cost.seconds is not None and len(candidate.inside) == len(candidate.graph):
                self.most_s = min(cost.seconds, self.most_s or cost.seconds)

    def _costed(self) -> Costed:
        """Every candidate with its cost; of those that were not measured, the bound."""
        known, open_ = {}, {}
        for sort, alike in self._alike.items():
            cost = self._costs.get(sort)
            if cost is None:
                open_[sort] = alike[0].target, alike[0].inside
            elif cost.seconds is not None and alike[0].target != HOST_TARGET and cost.source != "estimate":
                # What a toolchain on paper is said to do tells nothing of how fast this machine can be.
                known[alike[0].target, alike[0].inside] = cost.seconds
        bounds = self._predictor.bounds(known, open_.values(), self._level)
        estimates = {sort: Cost(bounds[place], "estimate", reason=NOT_MEASURED) for sort, place in open_.items()}
        return [CostedCandidate(c, self._costs.get(self._sort[c]) or estimates[self._sort[c]]) for c in self._candidates]
