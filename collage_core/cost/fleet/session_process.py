"""`SessionProcess`: starts a session's process (`session.py`), hands it a connection, and leaves nothing of it behind."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import suppress

from ...base.home import home
from ...base.isolation.environment import child_environment
from ...base.isolation.errors import ending
from ...base.isolation.spawn import spawn
from ...errors import CollageError
from .session import READY

_GRACE_S = 10.0


class SessionProcess:
    """A process that waits for one connection.

    Args:
        name: Name of the worker.
        start_s: Limit in seconds until the process is ready.

    Raises:
        CollageError: it cannot be started.
    """

    def __init__(self, name: str, start_s: float):
        ours, theirs = socket.socketpair()
        with theirs:
            where, output = "collage_core.cost.fleet.session", sys.stderr.fileno()
            self._process = spawn(where, theirs.fileno(), name, output=output, environment=child_environment())
        self._control = ours
        try:
            self._await_ready(start_s)
        except BaseException:
            self.end()
            raise

    def fileno(self) -> int:
        """Readable once the process has ended."""
        return self._control.fileno()

    def pass_on(self, connection: socket.socket) -> None:
        """Send it a copy of `connection`, which it then serves."""
        with suppress(OSError):  # the process is gone, which `fileno` shows
            socket.send_fds(self._control, [b"c"], [connection.fileno()])

    def end(self) -> str:
        """End the process with all that it started; return how it ended, empty where it ended by itself and well."""
        self._control.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_S)
        status = self._process.poll()
        if status is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for folder in (home() / "scratch").glob(f"{self._process.pid}-*"):
            shutil.rmtree(folder, ignore_errors=True)
        if status is None:
            return f"its process did not end within {_GRACE_S:g} s and was killed"
        return "" if status == 0 else f"its process {ending(status)}"

    def _await_ready(self, start_s: float) -> None:
        ready, _, _ = select.select([self._control], [], [], start_s)
        if not ready or self._control.recv(1) != READY:
            raise CollageError(
                "the process that serves trials cannot be started; its output stands above",
                "`python -c 'import tvm.rpc'` must work here",
                "worker",
            )
