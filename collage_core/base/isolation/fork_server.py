"""`fork_worker`: starts a worker as a fork of a process that has imported what nearly every worker needs, in a tenth of the time.

There is one such process for each set of imports and of the variables that they may read. It ends by itself once it has no workers
(`fork_server_process`).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import psutil

from .environment import READ_BY_IMPORTS
from .fork_server_process import MESSAGE_BYTES
from .spawn import spawn
from .worker_errors import ending

START_TIMEOUT_S = 60.0
_LOOK_S = 0.5
"""How often a wait for an answer looks whether the server is stopped."""
_STOP_S = 0.05
"""How often a wait for imports asks whether to stop."""


class ForkedProcess:
    """A worker that a fork server forked, with those members of `subprocess.Popen` that its owner needs.

    The server reaps it when `wait` asks for this: until then no other process has its id.
    """

    def __init__(self, pid: int, control: socket.socket, server: _ForkServer):
        self.pid = pid
        self.returncode: int | None = None
        self._control, self._server = control, server

    def wait(self) -> int:
        """Wait until it has ended, and return its exit status (negative for a signal)."""
        if self.returncode is None:
            with self._control:
                answer = self._server.asked(self._control, None, b"reap")
            self.returncode = answer["status"] if answer else -signal.SIGKILL  # a server that ended took its workers along
        return self.returncode


class _ForkServer:
    """The process, and this side of its socket. Threads may ask at once: a request is one packet, and brings a socket for its answers."""

    def __init__(self, environment: Mapping[str, str], imports: Sequence[str]):
        self._requests, theirs = _packet_sockets()
        with theirs:
            module = "collage_core.base.isolation.fork_server_process"
            self._process = spawn(module, theirs.fileno(), *imports, output=subprocess.DEVNULL, environment=environment)
        threading.Thread(target=self._process.wait, name="collage-reap", daemon=True).start()

    def fork(self, environment: Mapping[str, str], descriptors: list[int]) -> ForkedProcess | None:
        """Return a new worker; None where the server has ended. Raises OSError where it cannot fork."""
        control, theirs = _packet_sockets()
        with theirs, suppress(ConnectionError):
            socket.send_fds(self._requests, [json.dumps(environment).encode()], [*descriptors, theirs.fileno()])
        answer = self.asked(control, START_TIMEOUT_S)
        if answer and "pid" in answer:
            return ForkedProcess(answer["pid"], control, self)
        control.close()
        if answer:
            raise OSError(answer["error"])
        return None

    def await_imports(self, timeout_s: float, should_stop: Callable[[], bool]) -> None:
        """Wait until it answers, but no longer than `timeout_s`, and not when `should_stop` says so. Raises OSError where it has ended."""
        end = time.monotonic() + timeout_s
        control, theirs = _packet_sockets()
        with control:
            with theirs:
                socket.send_fds(self._requests, [b"{}"], [theirs.fileno()])
            control.settimeout(_STOP_S)
            while time.monotonic() < end and not should_stop():
                with suppress(TimeoutError):
                    control.recv(MESSAGE_BYTES)
                    return

    def asked(self, control: socket.socket, timeout_s: float | None, request: bytes = b"") -> dict[str, Any] | None:
        """Send `request`, if there is one, and return the next answer; None where the server has ended, or gives none in time.

        A stopped server (SIGSTOP) is killed: it would answer only when it is continued, and a cancel would wait for that.
        """
        end = None if timeout_s is None else time.monotonic() + timeout_s
        control.settimeout(_LOOK_S)
        try:
            if request:
                control.send(request)
            while True:
                with suppress(TimeoutError):
                    answer = control.recv(MESSAGE_BYTES)
                    return json.loads(answer) if answer else None
                if self._is_stopped():
                    self._process.kill()
                if end is not None and time.monotonic() > end:
                    return None
        except (ConnectionError, TimeoutError):
            return None

    def _is_stopped(self) -> bool:
        with suppress(psutil.Error):
            return bool(psutil.Process(self._process.pid).status() == psutil.STATUS_STOPPED)
        return False

    def end(self) -> int:
        """End the process, with its workers, and return its exit status."""
        self._requests.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        self._process.kill()
        return self._process.wait()


_lock = threading.Lock()
_servers: dict[tuple[frozenset[tuple[str, str]], tuple[str, ...]], _ForkServer] = {}


def begin_server(environment: Mapping[str, str], imports: Sequence[str] = ()) -> _ForkServer:
    """Return the process that workers with this environment and these imports are forked from; it begins now, if there is none.

    Raises:
        OSError: the system cannot start it.
    """
    early = _early(environment)
    key = frozenset(early.items()), tuple(imports)
    with _lock:
        server = _servers.get(key) or _ForkServer(early, imports)
        _servers[key] = server
    return server


def _early(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(READ_BY_IMPORTS)}


def fork_worker(channel: int, output: int, environment: Mapping[str, str], imports: Sequence[str] = ()) -> ForkedProcess:
    """Start a worker that serves `channel`, in the current folder.

    Args:
        channel, output: Descriptors of its socket, and of the file for its standard output and error.
        environment: All of its environment.
        imports: Modules that it has imported when it starts, besides those that all have. None of them may start a thread.

    Raises:
        OSError: the system cannot start it.
    """
    early = _early(environment)
    late = {name: value for name, value in environment.items() if name not in early}
    key = frozenset(early.items()), tuple(imports)
    folder = os.open(".", os.O_RDONLY)
    try:
        for _ in range(2):  # a server without workers may have ended since it was last asked
            server = begin_server(environment, imports)
            worker = server.fork(late, [channel, output, folder])
            if worker is not None:
                return worker
            with _lock:
                if _servers.get(key) is server:
                    del _servers[key]
            status = server.end()
    finally:
        os.close(folder)
    raise OSError(f"the process that it is forked from {ending(status)}")


def _packet_sockets() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
