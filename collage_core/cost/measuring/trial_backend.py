"""`TrialBackend`: runs trials in worker processes of this machine (`LocalBackend`) or on the machines of a fleet (`fleet.FleetRunner`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
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


class RestOfModel:
    """How much of a model goes through the caches between two runs of one of its parts: the weights and activations of all other nodes."""

    def __init__(self, graph: DataflowGraph):
        self._of_node = [sum(tensor.type.bytes for tensor in node.outputs) for node in graph.nodes]
        counted = set[str]()
        for node in graph.nodes:  # a weight that several nodes read counts once, for the first of them
            read = {name for name in node.inputs if name in graph.constants} - counted
            self._of_node[node.index] += sum(graph.constants[name].type.bytes for name in read)
            counted |= read
        self._all = sum(self._of_node)

    def flushed_bytes(self, inside: Iterable[int] = ()) -> int:
        """Return how many bytes are read before each run of the nodes `inside`, so that it meets the caches as the model leaves them.

        It is what the rest of the model moves, rounded up to a power of two; 0 where that stays in a core's own cache, as it does where
        there is no rest, and no more than what flushes the largest cache.
        """
        moved = self._all - sum(self._of_node[index] for index in inside)
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

    def build_ahead(self, task: TrialTask) -> None:
        """Begin to build the model of `task` beside what comes next, so that its trial finds it built."""
        ...

    def profile(self, task: TrialTask) -> Sequence[NodeTime]:
        """Return where the time of a run goes, by the target's own profiler; empty if it has none, or the run fails."""
        ...

    def own_values(self, task: TrialTask, folder: Path) -> Sequence[Mapping[str, Path]]:
        """Write what the target makes of the model on each set of the task into `folder`; return the files by tensor, none if it fails."""
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
        self.build_ahead = runner.build_ahead
        self.own_values = runner.own_values
        self.close = runner.close
        self.machine = machine_id()
        self.availability = cache(lambda target: availability_of(get_toolchain(target)))

    def caller(self) -> Caller:
        return Worker()
