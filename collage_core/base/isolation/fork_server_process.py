"""The fork server's side: imports what nearly every worker needs, then forks itself for each worker that is asked for.

It does nothing else, so it has one thread, and a fork is a whole copy of it. It ends with its parent, and after a while without
workers; a worker ends with it.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import socket
from contextlib import suppress
from typing import Any

from .child import end_with_parent, serve
from .light_imports import spare

PRELOADED = ("numpy", "onnx")
IDLE_S = 300.0
MESSAGE_BYTES = 1 << 20
_REAP_AGAIN_S = 0.002
_DESCRIPTORS = 4


def main(descriptor: int, *imports: str) -> None:
    """Serve requests on the inherited socket `descriptor`, once `PRELOADED` and the modules `imports` are loaded; never return."""
    os.set_inheritable(descriptor, False)
    end_with_parent()
    spare()
    for name in (*PRELOADED, *imports):
        with suppress(Exception):  # a worker that needs it will say what is wrong with it
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # else the collector of each worker would write to, and so copy, all that was imported
    _Server(socket.socket(fileno=descriptor)).run()
    os._exit(0)


class _Server:
    """The workers, each under the socket on which its owner gets its id and asks for its exit status; `ending` are asked for."""

    def __init__(self, requests: socket.socket):
        self._requests = requests
        self._workers: dict[socket.socket, int] = {}
        self._ending: dict[socket.socket, int] = {}

    def run(self) -> None:
        """Serve until the parent closes its end, or no worker has been there for a while."""
        while True:
            wait_s = _REAP_AGAIN_S if self._ending else IDLE_S
            ready = select.select([self._requests, *self._workers], [], [], wait_s)[0]
            if not (ready or self._workers or self._ending):
                return
            for control in self._workers.keys() & ready:  # its owner asks for its status, or has no more use for it
                with suppress(ConnectionError):
                    control.recv(MESSAGE_BYTES)  # closing a socket with something unread would undo the answer
                self._ending[control] = self._workers.pop(control)
            for control, pid in list(self._ending.items()):
                self._reap(control, pid)
            if self._requests in ready and not self._serve():
                return

    def _reap(self, control: socket.socket, pid: int) -> None:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            del self._ending[control]
            _tell(control, {"status": os.waitstatus_to_exitcode(status)})
            control.close()

    def _serve(self) -> bool:
        """Fork a worker; return False where the parent has closed its end."""
        data, descriptors, _, _ = socket.recv_fds(self._requests, MESSAGE_BYTES, _DESCRIPTORS)
        if not data:
            return False
        *given, answers = descriptors
        control = socket.socket(fileno=answers)
        if not given:  # no worker is wanted, but an answer: all imports are over
            with control:
                _tell(control, {})
            return True
        try:
            pid = os.fork()
        except OSError as error:
            _tell(control, {"error": error.strerror or str(error)})
            control.close()
        else:
            if pid == 0:
                for one in (self._requests, control, *self._workers, *self._ending):
                    one.close()
                _become_worker(json.loads(data), *given)
            self._workers[control] = pid
            _tell(control, {"pid": pid})
        for descriptor in given:
            os.close(descriptor)
        return True


def _tell(control: socket.socket, answer: dict[str, Any]) -> None:
    with suppress(OSError):  # nobody wants to know any more
        control.send(json.dumps(answer).encode())


def _become_worker(environment: dict[str, str], channel: int, output: int, folder: int) -> None:
    """Turn this fork into a worker with a session, environment and folder of its own; never return."""
    try:
        os.setsid()
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.fchdir(folder)
        os.close(output)
        os.close(folder)
        os.environ.update(environment)
        serve(channel)
    finally:
        os._exit(1)
