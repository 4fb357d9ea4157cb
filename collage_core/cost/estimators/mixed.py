"""`MixedEstimator`: measured costs for the toolchains that are here, estimates for those that are only described.

"What would an accelerator bring that takes Conv and Relu at 4 TFLOP/s?" What leaves keeps its source: ``measured`` or
``estimate``. Estimates count as known from the start: they are never asked for, and never among what is measured.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Sequence

from ...graph.dataflow_graph import DataflowGraph
from ...rules.candidate import CandidatePartition
from ..estimator import CostEstimator, Known, LazyEstimator
from ..transition import TransitionModel


class MixedEstimator:
    """Costs of the targets `described` from `estimated`, all others from `measured`; both are closed with it."""

    def __init__(self, measured: LazyEstimator, estimated: CostEstimator, described: Collection[str]):
        self.name = measured.name
        self._measured = measured
        self._estimated = estimated
        self._described = frozenset(described)

    @property
    def most_s(self) -> float | None:
        """As `LazyEstimator.most_s`."""
        return self._measured.most_s

    @most_s.setter
    def most_s(self, seconds: float | None) -> None:
        self._measured.most_s = seconds

    @property
    def machine(self) -> str:
        """Where the measured ones are from."""
        return self._measured.machine

    def estimate(self, graph: DataflowGraph, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        """As `CostEstimator.estimate`: the estimates first."""
        yield from self._estimated.estimate(graph, self._of(candidates, is_described=True))
        yield from self._measured.estimate(graph, self._of(candidates, is_described=False))

    def recall(self, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        """As `LazyEstimator.recall`: every estimate, and what was measured before."""
        estimated = self._of(candidates, is_described=True)
        if estimated:
            yield from self._estimated.estimate(estimated[0].graph, estimated)
        yield from self._measured.recall(self._of(candidates, is_described=False))

    def again(self, candidates: Sequence[CandidatePartition], left_s: float = math.inf) -> Iterator[Known]:
        """As `LazyEstimator.again`: an estimate does not get surer."""
        yield from self._measured.again(self._of(candidates, is_described=False), left_s)

    def lowest_core_latency_s(self) -> float:
        """As `LazyEstimator.lowest_core_latency_s`."""
        return self._measured.lowest_core_latency_s()

    def sort_of(self, candidate: CandidatePartition) -> Hashable:
        """As `LazyEstimator.sort_of`."""
        if candidate.target in self._described:
            return candidate.target, candidate.computation
        return self._measured.sort_of(candidate)

    def transitions(self, targets: Sequence[str]) -> TransitionModel:
        """Measured between the toolchains that are here; to and from the others they are free, which `estimated` tells."""
        self._estimated.transitions([name for name in targets if name in self._described])
        return self._measured.transitions([name for name in targets if name not in self._described])

    def transition(self, maker: str, reader: str, size: int, dtype: str) -> float:
        if self._described & {maker, reader}:
            return self._estimated.transition(maker, reader, size, dtype)
        return self._measured.transition(maker, reader, size, dtype)

    def close(self) -> None:
        """Close both."""
        self._estimated.close()
        self._measured.close()

    def _of(self, candidates: Sequence[CandidatePartition], *, is_described: bool) -> list[CandidatePartition]:
        return [candidate for candidate in candidates if (candidate.target in self._described) == is_described]
