"""`make_estimator`: the cost estimator that ``--costs`` names, or that a Python function of the user's makes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import CollageError
from ...events import CandidateBuilding, Emit
from ...graph.value_policy import FINITE
from ...model.model import Arrays, Model
from ...rules.candidate import CandidatePartition
from ...toolchains.abilities import StatesCosts
from ...toolchains.described import DescribedToolchain
from ...toolchains.toolchain import Toolchain
from ..estimator import CostEstimator, TuningEstimator
from .function import KIND, CostFunction, FunctionEstimator

if TYPE_CHECKING:
    from ...base.isolation.worker import Pool
    from ..measuring.call_meter import CallRounds
    from ..measuring.trial_backend import TrialBackend


SCHEME = "http://"
"""Beginning of ``--costs`` where a server gives the costs."""


@dataclass(frozen=True)
class Measuring:
    """How and where is measured.

    Attributes:
        percentile: Of the samples, as the cost.
        database: Path or URL; None for the user's own.
        backend: Runs trials; None for this machine.
        call_rounds: Measures calls of the assembled module (`CallMeter`); None where they count as free.
        is_afresh: Measure what the database knows already, too; the new figure takes the place of the old one.
        workers: Workers for trials on this machine that others use before and after; None for workers of its own.
        answers_s: Longest that all answers of a cost server together may take; None for no limit.
        value_policy: How NaN and infinities of the reference are compared.
    """

    percentile: float = 50.0
    database: str | None = None
    backend: TrialBackend | None = None
    call_rounds: CallRounds | None = None
    is_afresh: bool = False
    workers: Pool | None = None
    answers_s: float | None = None
    value_policy: str = FINITE


def make_estimator(
    costs: str,
    *,
    model: Model,
    inputs: Arrays,
    threads: int,
    accuracy: float,
    toolchains: Mapping[str, Toolchain],
    emit: Emit,
    should_stop: Callable[[], bool] | None = None,
    function: CostFunction | None = None,
    measuring: Measuring = Measuring(),
) -> CostEstimator:
    """The estimator that `costs` names: ``measure``, ``roofline``, ``mock:FILE``, ``replay:DB`` or the address of a cost server.

    Args:
        toolchains: The targets; each must be known to a mock file. With ``measure``, the described ones are estimated, and those that have
            costs of their own (`StatesCosts.cost_s`) are asked for them.
        emit: Gets `CandidateBuilding` before each trial, and notes.
        should_stop: Asked often while something is measured; True ends the work with `Cancelled`.
        function: Gives the costs, whatever `costs` says.
        measuring: How and where is measured, where that is done; its percentile holds for a replayed database, too.

    Raises:
        CollageError: there is no such estimator, its file cannot be used, it does not know a target, or a described target
            that is to be estimated has no ``[cost]``.
    """
    if function is not None:
        return FunctionEstimator(function, emit, should_stop)
    if costs.startswith(KIND):
        raise CollageError(
            f"--costs {costs!r} names a Python function, which only Python can give",
            "call collage_core.partition(…, costs=the_function), or choose measure, roofline, mock:FILE or replay:DB",
            "bad_option",
        )
    if costs.startswith(SCHEME):
        from .served import ServedCosts

        served = ServedCosts(costs, model, threads, accuracy, should_stop, measuring.answers_s)
        return FunctionEstimator(served, emit, should_stop, words=f"the cost server {costs!r}")
    kind, _, name = costs.partition(":")
    if kind in ("mock", "replay") and not name:
        raise CollageError(f"--costs {costs!r} names no file", f"write {kind}:FILE", "bad_option")
    if kind == "mock":
        return _mock(Path(name), toolchains)
    if kind == "replay":
        from .replay import ReplayEstimator

        return ReplayEstimator(name, percentile=measuring.percentile, emit=emit)
    if costs == "roofline":
        from .roofline import RooflineEstimator

        return RooflineEstimator(toolchains, threads, emit)
    if costs == "measure":
        from .mixed import MixedEstimator

        estimated = list(_estimated(toolchains, threads, emit, should_stop))
        made = _measure(model, inputs, threads, accuracy, emit, should_stop, measuring)
        for estimator, targets in estimated:
            made = MixedEstimator(made, estimator, targets)
        return made
    raise CollageError(f"unknown costs {costs!r}", "choose measure, roofline, mock:FILE, replay:DB or http://HOST:PORT", "bad_option")


def _mock(path: Path, toolchains: Mapping[str, Toolchain]) -> CostEstimator:
    from .mock import MockEstimator

    estimator = MockEstimator(path)
    estimator.transitions(tuple(toolchains))
    return estimator


def _estimated(
    toolchains: Mapping[str, Toolchain], threads: int, emit: Emit, should_stop: Callable[[], bool] | None
) -> Iterator[tuple[CostEstimator, Collection[str]]]:
    """Yield estimators, each with its targets: for those that are only described, and for those that say what they cost themselves."""
    from .roofline import RooflineEstimator

    described = {name: found for name, found in toolchains.items() if isinstance(found, DescribedToolchain)}
    if described:
        yield RooflineEstimator(described, threads, emit), described
    own = {name: found for name, found in toolchains.items() if isinstance(found, StatesCosts)}
    if own:

        def cost_s(candidate: CandidatePartition) -> float | None:
            return own[candidate.target].cost_s(candidate)

        yield FunctionEstimator(cost_s, emit, should_stop, f"cost of {' and '.join(own)}"), own


def _measure(
    model: Model, inputs: Arrays, threads: int, accuracy: float, emit: Emit, should_stop: Callable[[], bool] | None, measuring: Measuring
) -> TuningEstimator:
    from ..database.database import open_database
    from .measure import MeasureEstimator

    def tell(candidate: CandidatePartition, done: int, total: int, repetition: int) -> None:
        spans = tuple(candidate.inside.spans())
        emit(CandidateBuilding(candidate.target, candidate.id, candidate.sub_graph.label, spans, done, total, repetition=repetition))

    database = open_database(measuring.database)
    return MeasureEstimator(
        model, inputs, threads, database, accuracy,
        percentile=measuring.percentile, emit=emit, on_trial=tell, should_stop=should_stop, call_rounds=measuring.call_rounds,
        backend=measuring.backend, is_afresh=measuring.is_afresh, workers=measuring.workers, value_policy=measuring.value_policy,
    )  # fmt: skip
