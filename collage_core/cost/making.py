"""`make_estimator`: the cost estimator that ``--costs`` names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ..errors import CollageError
from ..events import CandidateBuilding, Emit
from ..model.base import Arrays, Model
from ..rules import CandidatePartition
from ..toolchains.base import Toolchain
from .estimator import CostEstimator


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
) -> CostEstimator:
    """The estimator that `costs` names: ``measure``, ``mock:FILE`` or ``replay:FILE``.

    Args:
        toolchains: The targets; each must be known to a mock file.
        emit: Gets `CandidateBuilding` before each trial, and notes.
        should_stop: Asked often while something is measured; True ends the work with `Cancelled`.

    Raises:
        CollageError: there is no such estimator, its file cannot be used, or it does not know a target.
    """
    kind, _, name = costs.partition(":")
    if kind in ("mock", "replay") and not name:
        raise CollageError(f"--costs {costs!r} names no file", f"write {kind}:FILE", "bad_option")
    if kind == "mock":
        return _mock(Path(name), toolchains)
    if kind == "replay":
        from .replay import ReplayEstimator

        return ReplayEstimator(Path(name), emit=emit)
    if costs == "measure":
        return _measure(model, inputs, threads, accuracy, emit, should_stop)
    raise CollageError(f"unknown costs {costs!r}", "choose measure, mock:FILE or replay:FILE", "bad_option")


def _mock(path: Path, toolchains: Mapping[str, Toolchain]) -> CostEstimator:
    from .mock import MockEstimator

    estimator = MockEstimator(path)
    estimator.transitions(tuple(toolchains))
    return estimator


def _measure(
    model: Model, inputs: Arrays, threads: int, accuracy: float, emit: Emit, should_stop: Callable[[], bool] | None
) -> CostEstimator:
    from .database import CostDatabase
    from .measure import MeasureEstimator

    def tell(candidate: CandidatePartition, done: int, total: int) -> None:
        emit(CandidateBuilding(candidate.target, candidate.id, candidate.sub_graph.label, done, total))

    return MeasureEstimator(model, inputs, threads, CostDatabase(), accuracy, emit=emit, on_trial=tell, should_stop=should_stop)
