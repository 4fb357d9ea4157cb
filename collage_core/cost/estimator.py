"""`CostEstimator`: where the costs of candidates and of transitions come from; and the simplest of them, the mock.

Seeds: RFC 62 (0.81), Appendix E; design, "Mock costs".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from ..graph import DataflowGraph, IndexSet
from ..rules import CandidatePartition
from .cost import Cost


class CostEstimator(Protocol):
    """Answers what a candidate costs."""

    name: str
    """As given to ``--costs``."""

    def estimate(self, graph: DataflowGraph, candidates: Sequence[CandidatePartition]) -> Iterator[tuple[CandidatePartition, Cost, bool]]:
        """Yield (candidate, cost, whether it came from the cache) for each candidate, in any order, as they get known.

        Candidates of equal computation share one trial. Closing the iterator stops the work; nothing known is lost.
        """
        ...

    def transition(self, maker: str, reader: str, size: int, dtype: str) -> float:
        """Seconds that it takes to hand a tensor of `size` bytes from target `maker` to target `reader`.

        Either may be ``host``.
        """
        ...

    def close(self) -> None:
        """Let go of workers and files."""
        ...
