"""`MeasuringPolicy`: which candidates are measured next, which once more, and when it is enough.

It takes a `CostTable` and the candidates of a plan, and gives candidates. A policy decides and does nothing else, so it
can be tried on recorded costs, with noise, without a machine (`tests/collage_core/pipeline/test_measuring_policy.py`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass

from ..rules.candidate import CandidatePartition
from ..rules.spec import HOST_TARGET
from .cost_table import CostTable
from .record import CostedCandidate


@dataclass(frozen=True)
class MeasuringPolicy:
    """Measure what can matter, as far as heuristic bounds tell, and never more than a share of everything for safer bounds.

    Attributes:
        quantiles: Of the prediction's misses, from bold to safe bounds (`Predictor.bounds`); a plan is settled under one after another.
        share: Of the distinct computations; when so many are known, the boldest bounds must do.
        batch: Candidates of one plan that are measured before the search runs again.
        least_repeat_s: Repetitions may take so many seconds in any case.
    """

    quantiles: tuple[float, ...] = (0.5, 0.25, 0.1, 0.03)
    share: float = 0.25
    batch: int = 8
    least_repeat_s: float = 10.0

    def first(self, table: CostTable) -> list[CandidatePartition]:
        """The largest candidate of each target: they are the plans to beat, and tell how fast the machine can be."""
        largest: dict[str, CandidatePartition] = {}
        for candidate in table.candidates:
            found = largest.get(candidate.target)
            if candidate.target != HOST_TARGET and (found is None or len(candidate.inside) > len(found.inside)):
                largest[candidate.target] = candidate
        return [candidate for candidate in largest.values() if not table.is_known(candidate)]

    def next(self, table: CostTable, plan: Iterable[CostedCandidate], quantile: float) -> list[CandidatePartition]:
        """Return the candidates to measure next of a plan best under the bounds of `quantile`, largest first; empty if it is settled."""
        most = self.batch if quantile == self.quantiles[0] else min(self.batch, self.room(table))
        return self.one_of_each(table, sorted(self.open(table, plan), key=lambda candidate: -len(candidate.inside)))[:most]

    def open(self, table: CostTable, plan: Iterable[CostedCandidate]) -> list[CandidatePartition]:
        """The candidates of a plan that must be measured before the plan may rest on them."""
        return [item.held for item in plan if isinstance(item.held, CandidatePartition) and table.is_open(item.held)]

    def room(self, table: CostTable) -> int:
        """How many distinct computations may be measured yet for bounds that are safer than the boldest."""
        return max(0, int((self.share - table.share_known) * table.to_measure))

    def likely(self, table: CostTable) -> int:
        """About how many distinct computations will be known in the end."""
        return math.ceil(self.share * table.distinct)

    def to_repeat(self, table: CostTable, plan: Iterable[CostedCandidate], repeated: Collection[Hashable]) -> list[CandidatePartition]:
        """The measured candidates of a plan whose computations were not repeated yet in this run."""
        measured = [item.held for item in plan if item.cost.source == "measured"]
        return [held for held in measured if isinstance(held, CandidatePartition) and table.key(held) not in repeated]

    def repeat_s(self, costs_s: float) -> float:
        """Seconds that repetitions may take where costs took `costs_s`."""
        return max(self.least_repeat_s, costs_s)

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
