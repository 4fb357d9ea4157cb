"""`Calls`: how an artifact calls its kernels, whatever its form, and `PartitionCall`: one of them.

`module_calls` calls a module of TVM, and `piece_calls` kernels alone. Here is what both have in common: a copy of the outputs, a profile,
and an error that names the partition which failed.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import CollageError
from ...toolchains.border import one_line
from ...toolchains.toolchain import Kernel
from .inputs import InputBuffers
from .manifest import REBUILD, PartitionEntry


class OpaqueValue:
    """A value that is no plain memory, as it passes through an artifact: from an input, or from one partition to another."""

    def __init__(self, value: Any = None):
        self.value = value


@dataclass(frozen=True)
class Inference:
    """The times of one inference, as `time.perf_counter` tells them.

    Attributes:
        spans: Id of a partition that is a kernel → the begin and the end of each of its runs.
    """

    begin_s: float
    end_s: float
    spans: Mapping[str, Sequence[tuple[float, float]]]

    @property
    def whole_s(self) -> float:
        return self.end_s - self.begin_s

    def seconds(self, id: str) -> float:
        """Return the seconds of the partition `id`, which is a kernel."""
        return sum(end - begin for begin, end in self.spans[id])

    def gap_s(self, before: str | None, after: str | None) -> float:
        """Return the seconds from the end of the kernel `before` to the begin of `after`; None is an end of the inference."""
        first, last = (self.spans[id] if id is not None else () for id in (after, before))
        return max((first[0][0] if first else self.end_s) - (last[-1][1] if last else self.begin_s), 0.0)


class PartitionCall:
    """A partition whose kernel is called.

    Attributes:
        failure: The kernel's exception in the last call, of which TVM's virtual machine only reports the text.
        run: Runs the kernel once more on the buffers of the last call.
        wait: Returns when all that `run` queued on a device is done.
    """

    def __init__(self, entry: PartitionEntry, kernel: Kernel):
        self.entry = entry
        self.failure: Exception | None = None
        self.run = kernel.run
        self.wait: Callable[[], None] = _nothing
        self._kernel = kernel

    def unguarded_run(self) -> Callable[[], object]:
        """Return what runs the kernel once more, and raises whatever its toolchain raises where the kernel offers that."""
        direct: Callable[[], Callable[[], object]] | None = getattr(self._kernel, "unguarded_run", None)
        return self._kernel.run if direct is None else direct()

    @contextmanager
    def timed(self, spans: list[tuple[float, float]]) -> Iterator[None]:
        """Add the begin and the end of each run of the kernel to `spans` meanwhile, as `time.perf_counter` tells them."""

        def run() -> None:
            begin = time.perf_counter()
            self._kernel.run()
            self.wait()
            spans.append((begin, time.perf_counter()))

        self.run = run
        try:
            yield
        finally:
            self.run = self._kernel.run


class Calls(ABC):
    """The kernels of an artifact, with the buffers that they read and write.

    Attributes:
        inputs: The memory of the model's inputs.
        reads: The tensors that partitions read.
        is_open: Some output has a shape that depends on data: its array is another one after each call.
    """

    inputs: InputBuffers
    reads: frozenset[str]
    is_open: bool
    _partitions: Sequence[PartitionCall]

    @abstractmethod
    def call(self) -> None:
        """Run one inference.

        Raises:
            CollageError: a partition failed; it names the partition.
        """

    @abstractmethod
    def bound(self) -> Callable[[], None]:
        """Return a function that runs one inference as `call` does. Raises as `call`."""

    @abstractmethod
    def made(self) -> dict[str, Any]:
        """Return the outputs of the last call, by name; the next call may overwrite them."""

    def outputs(self) -> dict[str, Any]:
        """Return copies of the outputs of the last call, by name."""
        return {name: _copied(value) for name, value in self.made().items()}

    def profile(self, times: int) -> list[Inference]:
        """Run some inferences; return for each the times of the whole and of each partition that is a kernel."""
        made = []
        for _ in range(times):
            spans: dict[str, list[tuple[float, float]]] = {partition.entry.id: [] for partition in self._partitions}
            with ExitStack() as stack:
                for partition in self._partitions:
                    stack.enter_context(partition.timed(spans[partition.entry.id]))
                begin = time.perf_counter()
                self.call()
                end = time.perf_counter()
            made.append(Inference(begin, end, spans))
        return made

    def _single_call(self, partition: PartitionCall) -> Callable[[], None]:
        """Return a function that runs the only kernel, with nothing in between but what explains a failure."""
        run = partition.unguarded_run()

        def call() -> None:
            try:
                run()
            except Exception as error:
                partition.failure = error
                raise self._explained(error) from error

        return call

    def _explained(self, error: Exception) -> CollageError:
        """Return an error that names the partition that failed, if one did, with its toolchain's own message."""
        for partition in self._partitions:
            failure, partition.failure = partition.failure, None
            if failure is not None:
                where = f"partition {partition.entry.id} on {partition.entry.target}"
                return CollageError(f"{where} failed as it ran: {one_line(failure)}", REBUILD, "toolchain")
        return CollageError(f"the artifact's module failed as it ran: {one_line(error)}", REBUILD, "toolchain")


def _nothing() -> None:
    """Return at once: a kernel of the host has computed when it returns."""


def _copied(value: Any) -> Any:
    """Return a copy of an array; a sequence or an optional as it is, which every run makes anew."""
    plain = value.value if isinstance(value, OpaqueValue) else value
    return plain.copy() if isinstance(plain, np.ndarray) else plain
