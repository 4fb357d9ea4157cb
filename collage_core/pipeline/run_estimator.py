"""The cost estimator of a run, as its options name it: this machine, a fleet, a database, a file, or a function of the user's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..cost.estimator import CostEstimator
from ..cost.estimators.factory import Measuring, make_estimator
from ..cost.estimators.function import CostFunction
from ..events import Emit
from ..options import Options
from ..toolchains.described import has_trials
from .discover import CandidateSet

if TYPE_CHECKING:
    from ..base.isolation.worker import Pool
    from ..cost.measuring.trial_backend import TrialBackend


def estimator_of(
    found: CandidateSet,
    inputs: Mapping[str, np.ndarray],
    options: Options,
    emit: Emit,
    should_stop: Callable[[], bool],
    function: CostFunction | None = None,
    workers: Pool | None = None,
) -> CostEstimator:
    """Make the estimator; it is the caller's to close.

    Args:
        inputs: The model's inputs while its activations are recorded.
        function: Gives the costs, in this process; ``options.costs`` is then only its name.
        workers: As `Measuring` has them.

    Raises:
        CollageError: as `make_estimator`.
    """
    measuring = replace(_measuring(found, options, emit, should_stop), workers=workers)
    try:
        return make_estimator(
            options.costs,
            model=found.model,
            inputs=inputs,
            threads=options.used_threads,
            accuracy=found.accuracy(),
            toolchains=found.toolchains,
            emit=emit,
            should_stop=should_stop,
            function=function,
            measuring=measuring,
        )
    except BaseException:
        if measuring.backend is not None:
            measuring.backend.close()
        raise


def _measuring(found: CandidateSet, options: Options, emit: Emit, should_stop: Callable[[], bool]) -> Measuring:
    if not options.is_measured:
        return Measuring(options.percentile, answers_s=options.budget_s)
    from ..rewrite.call_trial import call_rounds

    backend = _backend(found, options, emit, should_stop)
    return Measuring(options.percentile, options.costs_db, backend, call_rounds, value_policy=options.value_policy)


def _backend(found: CandidateSet, options: Options, emit: Emit, should_stop: Callable[[], bool]) -> TrialBackend | None:
    """The fleet that measures; None where this machine does."""
    if options.fleet is None:
        return None
    from ..cost.fleet.runner import FleetRunner
    from ..cost.measuring.trial import TrialLimits

    limits = TrialLimits.from_environment().of_percentile(options.percentile)
    real = [name for name, toolchain in found.toolchains.items() if has_trials(toolchain)]
    return FleetRunner(
        options.fleet, found.accuracy(), limits, options.used_threads, keys=options.fleet_keys,
        targets=real, should_stop=should_stop, machine=options.machine, emit=emit,
    )  # fmt: skip
