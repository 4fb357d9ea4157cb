"""`TrialBackend`: where trials run: in worker processes here (`LocalBackend`), or on the machines of a fleet (`fleet.FleetRunner`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Protocol

from ...base.isolation.worker import Worker
from ...graph.dataflow_graph import DataflowGraph
from ...toolchains.base import Availability
from ..database.records import Record, machine_id
from .trial import TrialLimits, TrialRunner, TrialTask
from .trial_worker import GetToolchain

_OWN_CACHE = 1 << 20
_LARGEST_CACHE = 1 << 26


def flushed_bytes(graph: DataflowGraph) -> int:
    """What a model moves between two runs of one of its parts, as a power of two: its weights and activations.

    0 where all of it stays in a core's own cache, and no more than what empties the largest.
    """
    moved = sum(constant.type.bytes for constant in graph.constants.values()) + sum(kind.bytes for kind in graph.types.values())
    return 0 if moved < _OWN_CACHE else min(1 << (moved - 1).bit_length(), _LARGEST_CACHE)


class Caller(Protocol):
    """Calls functions in a process apart, as `isolation.Worker` does."""

    def call(self, function: Callable[..., Any], *args: Any, timeout_s: float, should_stop: Callable[[], bool] | None = None) -> Any: ...

    def close(self) -> None: ...


class TrialBackend(Protocol):
    """Runs trials, and says what machine that is."""

    limits: TrialLimits

    @property
    def machine(self) -> str:
        """As `machine_id` gives it there."""
        ...

    def availability(self, target: str) -> Availability:
        """Whether a target is usable there."""
        ...

    def run_all(self, tasks: Iterable[TrialTask]) -> Iterator[tuple[TrialTask, Record]]:
        """Each task with its record, in any order; a task is asked for when there is somebody to do it."""
        ...

    def caller(self) -> Caller:
        """For what is no trial, such as transitions."""
        ...

    def close(self) -> None:
        """Let go of the workers."""
        ...


class LocalBackend:
    """This machine."""

    def __init__(self, runner: TrialRunner, get_toolchain: GetToolchain):
        self._runner = runner
        self.limits = runner.limits
        self.run_all = runner.run_all
        self.close = runner.close
        self.machine = machine_id()
        self.availability = cache(lambda target: get_toolchain(target).availability())

    def caller(self) -> Caller:
        return Worker()
