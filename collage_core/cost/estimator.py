"""`CostEstimator`: where the costs of candidates and of transitions come from.

Seeds: RFC 62 (0.81), Appendix E. Measured (`measure`), replayed (`replay`), made up by rule for tests (`mock`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from ..graph.dataflow_graph import DataflowGraph
from ..rules.candidate import CandidatePartition
from .cost import Cost
from .transition import TransitionModel

Known = tuple[CandidatePartition, Cost, bool]
"""A candidate, its cost, and whether that came from the cache."""


class CostEstimator(Protocol):
    """Answers what a candidate costs."""

    name: str
    """As given to ``--costs``."""

    @property
    def machine(self) -> str:
        """Where the costs were measured (`machine_id`); empty where they were not."""
        ...

    def estimate(self, graph: DataflowGraph, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        """Yield (candidate, cost, whether it came from the cache) for each candidate, in any order, as they get known.

        Candidates of equal computation share one trial. Closing the iterator stops the work; nothing known is lost.
        """
        ...

    def transitions(self, targets: Sequence[str]) -> TransitionModel:
        """What handing tensors over between these targets and the host costs, as plain data for the search."""
        ...

    def transition(self, maker: str, reader: str, size: int, dtype: str) -> float:
        """Seconds that it takes to hand a tensor of `size` bytes from target `maker` to target `reader`.

        Either may be ``host``.
        """
        ...

    def close(self) -> None:
        """Let go of workers and files."""
        ...


@runtime_checkable
class LazyEstimator(CostEstimator, Protocol):
    """One whose answers take work, so that it is asked for what can matter alone.

    Attributes:
        most_s: A plan of so many seconds is known: what takes longer alone is in no better one. None while there is none.
    """

    most_s: float | None

    def recall(self, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        """As `estimate`, of those alone whose cost is known without any work."""
        ...

    def again(self, candidates: Sequence[CandidatePartition], left_s: float = math.inf) -> Iterator[Known]:
        """As `estimate`, of those that were measured and may be off by more than the plan can bear: measured in further repetitions.

        Args:
            left_s: No further repetition begins after so many seconds.
        """
        ...

    def lowest_core_latency_s(self) -> float:
        """Seconds of an echo between two cores that lie near each other (`echo`), as of late; infinite where that is not known."""
        ...

    def sort_of(self, candidate: CandidatePartition) -> Hashable:
        """Candidates of one sort share a cost."""
        ...
