"""`TrialBackend`: runs trials in worker processes of this machine (`LocalBackend`) or on the machines of a fleet (`fleet.FleetRunner`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Protocol

from ...base.isolation.worker import Worker
from ...graph.dataflow_graph import DataflowGraph
from ...toolchains.border import availability_of
from ...toolchains.profiling import NodeTime
from ...toolchains.toolchain import Availability
from ..database.records import Record, machine_id
from .trial import TrialLimits, TrialRunner, TrialTask
from .trial_worker import GetToolchain

_OWN_CACHE = 1 << 20
_LARGEST_CACHE = 1 << 26


def flushed_bytes(graph: DataflowGraph) -> int:
    """Return the bytes that a model reads and writes between two runs of one of its parts, rounded up to a power of two.

    These are its weights and activations; 0 where all of them stay in a core's own cache, and no more than what flushes the largest cache.
    """
    moved = sum(constant.type.bytes for constant in graph.constants.values()) + sum(kind.bytes for kind in graph.types.values())
    return 0 if moved < _OWN_CACHE else min(1 << (moved - 1).bit_length(), _LARGEST_CACHE)


class Caller(Protocol):
    """Calls functions in another process, as `base.isolation.worker.Worker` does."""

    def call(
        self,
        function: Callable[..., Any],
        *args: Any,
        timeout_s: float,
        on_progress: Callable[[Any], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> Any: ...

    def close(self) -> None: ...


class TrialBackend(Protocol):
    """Runs trials, and says on what machine."""

    limits: TrialLimits

    @property
    def machine(self) -> str:
        """The machine, as `machine_id` names it there."""
        ...

    def availability(self, target: str) -> Availability:
        """Return whether a target is usable there."""
        ...

    def run_all(self, tasks: Iterable[TrialTask]) -> Iterator[tuple[TrialTask, Record]]:
        """Yield each task with its record, in any order; the next task is taken when a worker is free."""
        ...

    def profile(self, task: TrialTask) -> Sequence[NodeTime]:
        """Return where the time of a run goes, by the target's own profiler; empty if it has none, or the run fails."""
        ...

    def caller(self) -> Caller:
        """Return a process for calls that are no trial, such as those that measure transitions."""
        ...

    def close(self) -> None:
        """End the workers."""
        ...


class LocalBackend:
    """Runs trials on this machine, in the workers of a `TrialRunner`."""

    def __init__(self, runner: TrialRunner, get_toolchain: GetToolchain):
        self._runner = runner
        self.limits = runner.limits
        self.run_all = runner.run_all
        self.profile = runner.profile
        self.close = runner.close
        self.machine = machine_id()
        self.availability = cache(lambda target: availability_of(get_toolchain(target)))

    def caller(self) -> Caller:
        return Worker()
