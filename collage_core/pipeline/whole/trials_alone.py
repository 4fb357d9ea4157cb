"""`TrialsAlone`: builds, runs and compares candidates by themselves, in a run whose costs are no measurements.

Candidates of a plan that fails or errs enter; their costs as measured leave, which are invalid, with stage and reason, where they cannot be
used. Nothing that is timed on the way is kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...cost.cost import Cost
from ...cost.estimator import LazyEstimator
from ...errors import Cancelled
from ...events import ignore
from ...graph.index_set import IndexSet
from ...options import Options
from ...rules.candidate import CandidatePartition
from ...rules.spec import HOST_TARGET
from ..discover import CandidateSet
from ..run_estimator import estimator_of


class TrialsAlone:
    """The trials of one run; a computation is tried once.

    Args:
        inputs: The model's inputs while its activations are recorded.
        should_stop: Ends the trials; what is known by then is all there is.
    """

    def __init__(self, found: CandidateSet, inputs: Mapping[str, np.ndarray], options: Options, should_stop: Callable[[], bool]):
        self._found, self._inputs, self._should_stop = found, inputs, should_stop
        self._options = replace(options, costs="measure", fleet=None, machine=None, fleet_keys=None)
        self._known: dict[tuple[str, int], Cost] = {}

    def costs(self, candidates: Iterable[CandidatePartition]) -> dict[CandidatePartition, Cost]:
        """Return what trials say of these candidates, as far as there was time; the host's are left out."""
        wanted = [candidate for candidate in candidates if candidate.target != HOST_TARGET]
        open_ = [candidate for candidate in wanted if _key(candidate) not in self._known]
        if open_:
            self._try(open_)
        return {candidate: self._known[_key(candidate)] for candidate in wanted if _key(candidate) in self._known}

    def failing_nodes(self, candidate: CandidatePartition, among: Iterable[CandidatePartition]) -> list[tuple[IndexSet, Cost]]:
        """Return the nodes that fail alone on the target of `candidate`, which holds one of each of these computations.

        Args:
            among: All candidates; single nodes of the target are tried.
        """
        singles: dict[int, list[CandidatePartition]] = {}
        for one in among:
            if one.target == candidate.target and len(one.inside) == 1:
                singles.setdefault(one.computation, []).append(one)
        inside = [same for same in singles.values() if any(one.inside.issubset(candidate.inside) for one in same)]
        costs = self.costs(same[0] for same in inside)
        failed = [(same, costs[same[0]]) for same in inside if same[0] in costs and costs[same[0]].is_invalid]
        return [(IndexSet(one.inside.first() for one in same), cost) for same, cost in failed]

    def _try(self, candidates: list[CandidatePartition]) -> None:
        with tempfile.TemporaryDirectory(prefix="collage-alone-") as folder, suppress(Cancelled):
            options = replace(self._options, costs_db=str(Path(folder) / "costs.sqlite"))
            with closing(estimator_of(self._found, self._inputs, options, ignore, self._should_stop)) as estimator:
                assert isinstance(estimator, LazyEstimator)
                for candidate, cost, _ in estimator.measure(candidates, None):
                    self._known[_key(candidate)] = cost


def _key(candidate: CandidatePartition) -> tuple[str, int]:
    return candidate.target, candidate.computation
