"""`MixedEstimator`: measured costs for most toolchains, estimates for those that are only described or say what they cost themselves.

"What would an accelerator bring that takes Conv and Relu at 4 TFLOP/s?" Each cost keeps its source: ``measured`` or
``estimate``. Estimates count as known from the start: they are never asked for, and never among what is measured.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence

from ...graph.dataflow_graph import DataflowGraph
from ...rules.candidate import CandidatePartition
from ..cost import TransitionModel
from ..estimator import CostEstimator, Known, TunedCosts, TuningEstimator


class MixedEstimator:
    """Costs of the targets `described` from `estimated`, all others from `measured`; both are closed with it.

    Targets that say themselves what they cost count as described, too.
    """

    def __init__(self, measured: TuningEstimator, estimated: CostEstimator, described: Collection[str]):
        self.name = measured.name
        self._measured = measured
        self._estimated = estimated
        self._described = frozenset(described)

    @property
    def machine(self) -> str:
        """The machine of the measured costs."""
        return self._measured.machine

    def estimate(self, graph: DataflowGraph, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        """As `CostEstimator.estimate`: the estimates first."""
        yield from self._estimates(candidates)
        yield from self._measured.estimate(graph, self._of(candidates, is_described=False))

    def measure(self, candidates: Sequence[CandidatePartition], best_s: float | None = None) -> Iterator[Known]:
        """As `LazyEstimator.measure`: the estimates first."""
        yield from self._estimates(candidates)
        yield from self._measured.measure(self._of(candidates, is_described=False), best_s)

    def recall(self, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        """As `LazyEstimator.recall`: every estimate, and what was measured before."""
        yield from self._estimates(candidates)
        yield from self._measured.recall(self._of(candidates, is_described=False))

    def repeat(self, candidates: Sequence[CandidatePartition], best_s: float | None = None) -> Iterator[Known]:
        """As `LazyEstimator.repeat`: an estimate is not repeated."""
        yield from self._measured.repeat(self._of(candidates, is_described=False), best_s)

    @property
    def tunings(self) -> Mapping[str, bytes]:
        """As `TuningEstimator.tunings`."""
        return self._measured.tunings

    def take(self, candidate: CandidatePartition, tuning: bytes) -> None:
        """As `TuningEstimator.take`."""
        self._measured.take(candidate, tuning)

    def tune(self, candidate: CandidatePartition, seconds: float, best_s: float | None = None) -> TunedCosts:
        """As `TuningEstimator.tune`: an estimate is not tuned."""
        if candidate.target in self._described:
            return TunedCosts(is_done=True)
        return self._measured.tune(candidate, seconds, best_s)

    def calls(self, targets: Sequence[str]) -> Iterator[Known]:
        """As `LazyEstimator.calls`."""
        return self._measured.calls([name for name in targets if name not in self._described])

    def computation_key(self, candidate: CandidatePartition) -> Hashable:
        """As `LazyEstimator.computation_key`."""
        if candidate.target in self._described:
            return candidate.target, candidate.computation
        return self._measured.computation_key(candidate)

    def transitions(self, targets: Sequence[str]) -> TransitionModel:
        """Measured between the toolchains that are here; to and from the others they are free, which `estimated` tells."""
        self._estimated.transitions([name for name in targets if name in self._described])
        return self._measured.transitions([name for name in targets if name not in self._described])

    def known_transitions(self, targets: Sequence[str]) -> TransitionModel:
        """As `LazyEstimator.known_transitions`."""
        self._estimated.transitions([name for name in targets if name in self._described])
        return self._measured.known_transitions([name for name in targets if name not in self._described])

    def transitions_between(self, pairs: Collection[tuple[str, str]]) -> TransitionModel:
        """As `LazyEstimator.transitions_between`: to and from described targets they are free."""
        return self._measured.transitions_between([pair for pair in pairs if self._described.isdisjoint(pair)])

    def transition(self, maker: str, reader: str, size: int, dtype: str) -> float:
        if self._described & {maker, reader}:
            return self._estimated.transition(maker, reader, size, dtype)
        return self._measured.transition(maker, reader, size, dtype)

    def close(self) -> None:
        """Close both."""
        self._estimated.close()
        self._measured.close()

    def _estimates(self, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        described = self._of(candidates, is_described=True)
        if described:
            yield from self._estimated.estimate(described[0].graph, described)

    def _of(self, candidates: Sequence[CandidatePartition], *, is_described: bool) -> list[CandidatePartition]:
        return [candidate for candidate in candidates if (candidate.target in self._described) == is_described]
