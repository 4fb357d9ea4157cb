"""`Worker`: a warm child process for calls that may crash, hang or be cancelled; `Pool`: a worker for each name.

The child starts with the first call, and again after it has ended. It runs one call at a time; threads that share a worker take turns.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ...errors import Cancelled
from .channel import ChannelClosed, Garbled
from .process import ChildProcess
from .scratch import ScratchFolder
from .worker_errors import PackedError, WorkerDied, WorkerTimeout, by_name, ending, last_line

START_TIMEOUT_S = 60.0
_MEMORY_CHECK_S = 0.2


class Worker:
    """A warm child process.

    Args:
        memory_bytes: Bound on the child's own memory, over which it is killed (`WorkerDied`); None for no bound.
        environment: Environment variables of the child besides those of the parent.
        imports: Modules that its calls need: its child starts with them where the system can fork. None of them may start a thread.
        should_stop: That of every call that brings none.
    """

    def __init__(
        self,
        *,
        memory_bytes: int | None = None,
        environment: Mapping[str, str] | None = None,
        imports: Sequence[str] = (),
        should_stop: Callable[[], bool] | None = None,
    ):
        self._memory_bytes = memory_bytes
        self._environment = dict(environment or {})
        self._imports = tuple(imports)
        self._should_stop = should_stop
        self._child: ChildProcess | None = None
        self._lock = threading.Lock()
        self.calls = 0
        """Number of calls of the current child; 0 where the next call starts one."""

    @property
    def pid(self) -> int | None:
        """Process id of the child; None while there is none."""
        return self._child.pid if self._child else None

    def call(
        self,
        function: Callable[..., Any],
        *args: Any,
        timeout_s: float,
        on_progress: Callable[[Any], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> Any:
        """Run `function(*args)` in the child and return its result.

        Args:
            function: A module-level function of an importable module; it is sent by name.
            args: Picklable arguments.
            timeout_s: Seconds for the call itself; the start of a child has its own limit.
            on_progress: Called with each object that the function gives to `report`.
            should_stop: Called about every 50 ms while the call waits.

        Raises:
            CollageError: the function raised it (or a subclass); it keeps its class and attributes.
            WorkerFailed: the function raised anything else.
            WorkerDied: the child crashed, ended, took too much memory, or sent no message.
            WorkerTimeout: the child did not answer in time, and was killed.
            Cancelled: `should_stop` returned true; the child was killed.
        """
        request = (*_dotted_name(function), pickle.dumps(args, protocol=5))
        should_stop = should_stop or self._should_stop
        with self._lock:
            try:
                child = self._running(should_stop)
                self.calls += 1
                numbered = (self.calls, *request)
                child.forget_output()
                watch = _Watch(child, timeout_s, should_stop, self._memory_bytes)
                return _exchange(child, numbered, watch, on_progress)
            except ChannelClosed:
                raise self._died() from None
            except Garbled as garbled:
                output = self._child.output() if self._child else ""
                self._end()
                raise WorkerDied(f"answered with something that is not a message ({last_line(str(garbled))})", None, output) from garbled
            except _Answered as answered:
                raise answered.error from None
            except BaseException:
                self._end()
                raise

    def close(self) -> None:
        """End the child, if there is one. The next call starts a new one."""
        with self._lock:
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _running(self, should_stop: Callable[[], bool] | None) -> ChildProcess:
        if self._child is None:
            self._child = ChildProcess(self._environment, self._imports)
            self.calls = 0
            self._child.channel.receive(_Watch(self._child, START_TIMEOUT_S, should_stop, None))
        return self._child

    def _died(self) -> WorkerDied:
        assert self._child is not None
        self._child.await_end()
        output = self._child.output()
        status = self._end()
        return WorkerDied(ending(status), status, output)

    def _end(self) -> int:
        child, self._child = self._child, None
        return child.end() if child else 0


class Pool:
    """A warm worker for each name, so that toolchains whose thread pools would conflict do not share a process.

    Args:
        memory_bytes, should_stop: As for each `Worker`.
    """

    def __init__(self, *, memory_bytes: int | None = None, should_stop: Callable[[], bool] | None = None):
        self._memory_bytes = memory_bytes
        self._should_stop = should_stop
        self._workers: dict[str, Worker] = {}
        self._scratch = ScratchFolder()

    @property
    def folder(self) -> Path:
        """A folder for what the workers share, until `remove_folder`. Raises CollageError where it cannot be created."""
        return self._scratch.path

    def worker(self, name: str, environment: Mapping[str, str] | None = None, imports: Sequence[str] = ()) -> Worker:
        """Return the worker called `name`, which is created at the first call, with `environment` and `imports` as `Worker` takes them."""
        if name not in self._workers:
            own = Worker(memory_bytes=self._memory_bytes, environment=environment, imports=imports, should_stop=self._should_stop)
            self._workers[name] = own
        return self._workers[name]

    def close(self) -> None:
        """End all children; a later call starts them again."""
        for worker in self._workers.values():
            worker.close()

    def remove_folder(self) -> None:
        """Remove the folder, if there is one; else it goes with this object."""
        self._scratch.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class _Answered(Exception):
    """Raised when the function itself raised `error`: the child can go on."""

    def __init__(self, error: Exception):
        super().__init__(str(error))
        self.error = error


class _Watch:
    """Checks, while a call waits, whether to stop, the time limit, and the child's memory and output."""

    def __init__(self, child: ChildProcess, timeout_s: float, should_stop: Callable[[], bool] | None, memory_bytes: int | None):
        self._child = child
        self._timeout_s = timeout_s
        self._should_stop = should_stop
        self._memory_bytes = memory_bytes
        now = time.monotonic()
        self._deadline = now + timeout_s
        self._next_look = now + _MEMORY_CHECK_S

    def __call__(self) -> None:
        if self._should_stop is not None and self._should_stop():
            raise Cancelled
        now = time.monotonic()
        if now >= self._deadline:
            raise WorkerTimeout(self._timeout_s, self._child.output())
        if now >= self._next_look:
            self._next_look = now + _MEMORY_CHECK_S
            self._child.bound_output()
            if self._memory_bytes is not None and self._child.own_bytes() > self._memory_bytes:
                limit = f"{self._memory_bytes / 2**30:.1f} GB"
                raise WorkerDied(f"took more than the {limit} of memory that it may", None, self._child.output())


def _exchange(child: ChildProcess, request: tuple[int, str, str, bytes], watch: _Watch, on_progress: Callable[[Any], None] | None) -> Any:
    """Send a request, and return its answer. Answers carry the number of their request, so that none is taken for another."""
    child.channel.send(request, watch)
    while True:
        match child.channel.receive(watch):
            case ("result", number, value) if number == request[0]:
                return value
            case ("error", number, PackedError() as packed) if number == request[0]:
                raise _Answered(packed.unpack())
            case ("progress", number, value) if number == request[0]:
                if on_progress is not None:
                    on_progress(value)
            case other:
                raise Garbled(f"a {type(other).__name__} that answers nothing")
        watch()


def _dotted_name(function: Callable[..., Any]) -> tuple[str, str]:
    """Return the module and name under which the child finds `function`.

    Raises:
        ValueError: `function` is no module-level function of an importable module.
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if module is None or module == "__main__" or not name or "<" in name:
        raise ValueError(f"a worker can only run module-level functions of importable modules, not {function!r}")
    if by_name(module, name) is not function:
        raise ValueError(f"{module}.{name} is another object than {function!r}")
    return module, name
