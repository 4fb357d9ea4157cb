"""`ChildProcess`: a process of a worker: its start, its output and its end. `worker` calls functions in it.

A child has its own session (Ctrl-C in the terminal does not reach it, and its own children end with it), one socket, an empty
standard input, a nameless file for its output, and a folder for temporary files that is removed with it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol

import psutil

from .channel import Channel
from .environment import child_environment
from .fork_server import begin_server, fork_worker
from .scratch import scratch_folder
from .spawn import spawn
from .worker_errors import WorkerDied

OUTPUT_TAIL_BYTES = 8 << 10
OUTPUT_LIMIT_BYTES = 4 << 20
_LAST_BREATH_S = 1.0


class Process(Protocol):
    """A started process, as `subprocess.Popen` has it."""

    pid: int
    returncode: int | None

    def wait(self) -> int:
        """Wait until it has ended, and return its exit status (negative for a signal)."""
        ...


class ChildProcess:
    """A running child, its channel and its output. `end` kills and reaps it; so does the end of this object."""

    def __init__(self, environment: Mapping[str, str], imports: Sequence[str] = ()):
        """Start a child with `environment` on top of the parent's, in which `imports` need no time.

        Raises:
            WorkerDied: the system cannot start the child.
            CollageError: the folder for its temporary files cannot be created.
        """
        folder = scratch_folder()
        ours, theirs = socket.socketpair()
        output = _append_only_file()
        variables = {"TMPDIR": str(folder), **environment}
        try:
            self._process = _start(theirs.fileno(), output.fileno(), child_environment(variables), imports)
        except OSError as error:
            ours.close()
            output.close()
            shutil.rmtree(folder, ignore_errors=True)
            raise WorkerDied(f"could not be started: {error}") from error
        finally:
            theirs.close()
        self._output = output
        self.channel = Channel(ours)
        self._finalizer = weakref.finalize(self, _end, self._process, self.channel, output, folder)
        with suppress(psutil.NoSuchProcess):
            self._status = psutil.Process(self._process.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    def own_bytes(self) -> int:
        """Return the bytes of memory of the child alone, without mapped files as far as the system reports them."""
        try:
            memory = self._status.memory_info()
        except (psutil.Error, AttributeError):
            return 0
        return memory.rss - getattr(memory, "shared", 0)

    def forget_output(self) -> None:
        """Discard the output so far, before the next call."""
        os.ftruncate(self._output.fileno(), 0)

    def output(self) -> str:
        """Return the end of the output since `forget_output`."""
        descriptor = self._output.fileno()
        size = os.fstat(descriptor).st_size
        start = max(0, size - OUTPUT_TAIL_BYTES)
        return os.pread(descriptor, size - start, start).decode("utf-8", "replace")

    def bound_output(self) -> None:
        """Discard the output where it is over the bound, so that a child that never stops printing does not fill the disk."""
        if os.fstat(self._output.fileno()).st_size > OUTPUT_LIMIT_BYTES:
            self.forget_output()

    def end(self) -> int:
        """Kill and reap the child, and return its exit status (negative for a signal)."""
        if self._finalizer.alive:
            self._finalizer()
        return self._process.wait()

    def await_end(self) -> None:
        """Wait until the child, whose socket is closed, has ended by itself, so that its exit status gives the cause."""
        deadline = time.monotonic() + _LAST_BREATH_S
        with suppress(psutil.NoSuchProcess, AttributeError):
            while self._status.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
                time.sleep(0.002)


def begin_imports(environment: Mapping[str, str], imports: Sequence[str]) -> None:
    """Have `imports` imported in another process, without waiting for it, so that children with this environment begin at once later."""
    if sys.platform == "linux":
        with suppress(OSError):  # the child that needs them says what is wrong
            begin_server(child_environment(environment), imports)


def await_imports(environment: Mapping[str, str], imports: Sequence[str], timeout_s: float, should_stop: Callable[[], bool]) -> None:
    """Wait for the end of what `begin_imports` began, but no longer than `timeout_s`, and not when `should_stop` says so."""
    if sys.platform == "linux":
        with suppress(OSError):
            begin_server(child_environment(environment), imports).await_imports(timeout_s, should_stop)


def _start(channel: int, output: int, environment: Mapping[str, str], imports: Sequence[str]) -> Process:
    if sys.platform == "linux":
        return fork_worker(channel, output, environment, imports)
    return spawn("collage_core.base.isolation.child", channel, output=output, environment=environment)


def _append_only_file() -> IO[bytes]:
    """Return a file without a name; every write goes to its end, also after it was truncated."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - it is open as long as the child runs
    flags = fcntl.fcntl(file, fcntl.F_GETFL)
    fcntl.fcntl(file, fcntl.F_SETFL, flags | os.O_APPEND)
    return file


def _end(process: Process, channel: Channel, output: IO[bytes], folder: Path) -> None:
    """Kill the child's whole session, then reap it: until it is reaped, no other process has its id."""
    if process.returncode is None:
        for kill in (os.killpg, os.kill):  # a worker that has only just been forked has no session yet
            with suppress(ProcessLookupError, PermissionError):
                kill(process.pid, signal.SIGKILL)
        process.wait()
    channel.close()
    output.close()
    shutil.rmtree(folder, ignore_errors=True)
