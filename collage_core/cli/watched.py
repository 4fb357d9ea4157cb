"""Runs a command that reads models in a child of the process that the user started, and says in clear words how the child died.

ONNX Runtime folds the model and computes the reference inside the command's own process. A model of a stranger may end it there: by a
division that the processor refuses, or by all of the memory. The child is a fork that is made before anything heavy is imported, so it
costs a few milliseconds. It has the terminal and the standard streams of its parent, and goes on as the command.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from ..errors import CollageError
from .interrupt import end_after_interrupt

F = TypeVar("F", bound=Callable[..., Any])

OWN_PROCESS = "own process"
"""The object of the click context where the command is the whole process, and not called by a test or a notebook."""
MEMORY_SHARE = 0.75
"""Most memory that the command itself may take, as a share of the machine's; each of its workers has the same bound."""

_BEGAN_S = time.monotonic()
_LOOK_S = 0.5
_FROM_KERNEL = 0x80
"""`si_code` of a signal that the terminal sends: to the child too, since it is in the same group."""
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1


def watched(command: F) -> F:
    """Have `command` run in a child, where it is the whole process."""

    @wraps(command)
    def run(*args: Any, **given: Any) -> Any:
        model = str(given.get("model") or "")
        if click.get_current_context().find_root().obj == OWN_PROCESS:
            _fork(model)
        try:
            return command(*args, **given)
        except MemoryError as error:
            raise _too_large(model) from error

    run.is_watched = True  # type: ignore[attr-defined]
    return run  # type: ignore[return-value]


def waited_s() -> float:
    """Return the seconds that the user has waited since the command began; 0 where it is not the whole process."""
    return time.monotonic() - _BEGAN_S if click.get_current_context().find_root().obj == OWN_PROCESS else 0.0


def _fork(model: str) -> None:
    """Return in the child; in the parent, wait for it and end as it does."""
    parent = os.getpid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (*_PASSED_ON, signal.SIGCHLD))
    child = os.fork()
    if child == 0:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        end_after_interrupt()
        return
    status, is_too_large, interrupts = _wait(child)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if is_too_large:
        raise _too_large(model)
    if interrupts > 1 and status == -signal.SIGKILL:
        raise KeyboardInterrupt
    if -status in _PASSED_ON:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(parent, -status)
    if status < 0:
        raise _crash(model, -status)
    sys.exit(status)


def _wait(child: int) -> tuple[int, bool, int]:
    """Wait for `child` while passing signals on; return its exit status, whether it took too much memory, and how often it was interrupted.

    A second interrupt kills it: inside of a library it does not hear the first.
    """
    most_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * MEMORY_SHARE
    is_too_large, interrupts = False, 0
    while True:
        arrived = signal.sigtimedwait((*_PASSED_ON, signal.SIGCHLD), _LOOK_S)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status), is_too_large, interrupts
        if arrived is None:
            is_too_large = is_too_large or _own_bytes(child) > most_bytes
            if is_too_large:
                os.kill(child, signal.SIGKILL)
        elif arrived.si_signo in _PASSED_ON:
            interrupts += arrived.si_signo == signal.SIGINT
            if interrupts > 1:
                os.kill(child, signal.SIGKILL)
            elif arrived.si_code != _FROM_KERNEL:
                os.kill(child, arrived.si_signo)


def _own_bytes(process: int) -> int:
    """Return the bytes of memory of `process` alone, without mapped files; 0 where it is gone."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{process}/statm").read_text().split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def _too_large(model: str) -> CollageError:
    return CollageError(f"{model!r} takes more memory than this machine has to spare", "try a smaller model", "model_kills")


def _crash(model: str, number: int) -> CollageError:
    if number == signal.SIGKILL:
        message = f"the command was killed while it worked on {model!r}: by hand, or since the memory was used up"
        return CollageError(message, "run it again: what was measured is stored; or try a smaller model", "model_kills")
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    hint = "the model is damaged, or triggers a bug of the library: check it with `onnx.checker`, or export it again"
    return CollageError(f"a library crashed with {name} while it read or ran {model!r}", hint, "model_kills")
