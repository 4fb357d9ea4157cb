"""`CostEstimator`: the interface of all that says what candidates and transitions cost (RFC 62, Collage, Appendix E).

The estimators stand in `cost.estimators`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from ..graph.dataflow_graph import DataflowGraph
from ..rules.candidate import CandidatePartition
from .cost import Cost, TransitionModel
from .error_limit import ErrorLimit
from .profile import ProfiledPart

Known = tuple[CandidatePartition, Cost, bool]
"""A candidate, its cost, and whether that came from the cache."""


class CostEstimator(Protocol):
    """Answers what a candidate costs."""

    name: str
    """As given to ``--costs``."""

    @property
    def machine(self) -> str:
        """The machine that measured the costs (`machine_id`); empty if they were not measured."""
        ...

    def estimate(self, graph: DataflowGraph, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        """Yield (candidate, cost, whether it came from the cache) for each candidate, in any order, as they get known.

        Candidates of equal computation share one trial. Closing the iterator stops the work; nothing known is lost.
        """
        ...

    def transitions(self, targets: Sequence[str]) -> TransitionModel:
        """Return the costs of transitions between these targets and the host, as plain data for the search."""
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
    """A `CostEstimator` whose answers take work, so that it is asked for what can matter alone.

    `best_s` says everywhere: a plan of so many seconds is known, so what takes longer alone is in no better one. None while there is
    no such plan.
    """

    def recall(self, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        """Yield as `estimate` does, for those alone whose cost is known without any work."""
        ...

    def measure(self, candidates: Sequence[CandidatePartition], best_s: float | None = None) -> Iterator[Known]:
        """Yield as `estimate` does; a trial ends as soon as the candidate is sure to take longer than it may under `best_s`."""
        ...

    def repeat(self, candidates: Sequence[CandidatePartition], best_s: float | None = None) -> Iterator[Known]:
        """Yield as `estimate` does, for those that were measured, each timed in one repetition more.

        One that is not among the answers is as well known as it can be.

        Args:
            best_s: A part of the plan need not be known better than the whole of it.
        """
        ...

    def calls(self, targets: Sequence[str]) -> Iterator[Known]:
        """Measure what a call of a partition on these targets takes in the assembled module; yield once more what was told without it.

        Raises:
            Cancelled: the time was over.
        """
        ...

    def known_transitions(self, targets: Sequence[str]) -> TransitionModel:
        """Return the transitions between these targets that are known without any work."""
        ...

    def transitions_between(self, pairs: Collection[tuple[str, str]]) -> TransitionModel:
        """Return the transitions that are known once those from maker to reader of `pairs` are.

        Raises:
            Cancelled: the time was over.
        """
        ...

    def computation_key(self, candidate: CandidatePartition) -> Hashable:
        """Return what candidates have in common that share a cost."""
        ...


@dataclass(frozen=True)
class TunedCosts:
    """The outcome of a slice of tuning.

    Attributes:
        costs: Costs that tuning changed, be it what was spent on them; empty where nothing is faster than the default schedules.
        trials: Number of schedules that were tried.
        is_done: Nothing more can be found for this computation.
        note: Why tuning failed; empty where it did not.
    """

    costs: Mapping[CandidatePartition, Cost] = field(default_factory=dict)
    trials: int = 0
    is_done: bool = False
    note: str = ""


@runtime_checkable
class ProfilingEstimator(LazyEstimator, Protocol):
    """A `LazyEstimator` that can ask toolchains for the times of their kernels."""

    def build_ahead(self, candidate: CandidatePartition) -> None:
        """Begin to build `candidate`, which is measured later, beside what comes next; unless a build would slow down what is timed."""
        ...

    def has_profiler(self, target: str) -> bool:
        """Return whether `profile` can answer for candidates of this target."""
        ...

    def profile(self, candidate: CandidatePartition) -> ProfiledPart | None:
        """Return where the time of `candidate` goes; None where it cannot be built or profiled.

        Raises:
            Cancelled: the time was over, or the user stopped it.
        """
        ...

    def error_limits(self, candidate: CandidatePartition, ends: Sequence[int]) -> Iterable[ErrorLimit]:
        """Give up to which of the nodes `ends` the target of `candidate`, which errs too much, may compute it, then that of what is behind.

        There is none where the target does not run it.

        Raises:
            Cancelled: the time was over, or the user stopped it.
        """
        ...


@runtime_checkable
class TuningEstimator(LazyEstimator, Protocol):
    """A `LazyEstimator` that can lower costs by tuning kernels."""

    @property
    def tunings(self) -> Mapping[str, bytes]:
        """Digest (`Tuned.digest`) → schedules, of all that costs were told with."""
        ...

    def take(self, candidate: CandidatePartition, tuning: bytes) -> None:
        """Build the computation of `candidate` with these schedules from now on (`SubModel.tuning`), which another run found."""
        ...

    def tune(self, candidate: CandidatePartition, seconds: float, best_s: float | None = None) -> TunedCosts:
        """Look for faster schedules of the computation of `candidate` for about so many seconds, and measure it with them.

        The candidate must be measured already. Its cost stays where no schedule makes it less.

        Raises:
            Cancelled: the time was over, or the user stopped it; what was found before is kept.
        """
        ...
