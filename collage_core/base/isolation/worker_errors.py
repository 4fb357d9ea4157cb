"""The failures of a call in a worker, and the form in which exceptions are sent from the child to the parent."""

from __future__ import annotations

import importlib
import pickle
import signal
import traceback
from dataclasses import dataclass, replace
from typing import Any

from ...errors import Cancelled, CollageError
from ..durations import duration

_LONGEST_TEXT = 20_000
_LONGEST_LINE = 200


class WorkerError(Exception):
    """Raised when a call in a worker has no result.

    Attributes:
        what: The event, as a phrase that follows a subject: ``crashed with SIGSEGV``.
        last_words: Last line that the child printed during the call; empty where it printed none.
        output: End of the text that it printed during the call.
    """

    def __init__(self, what: str, output: str = ""):
        self.what = what
        self.output = output
        self.last_words = last_line(output)
        super().__init__(what + (f"; its last output: {self.last_words!r}" if self.last_words else ""))


class WorkerFailed(WorkerError):
    """Raised when the function raised an exception that is no `CollageError`.

    Attributes:
        kind: Name of the exception's class.
        traceback: The child's traceback as text.
    """

    def __init__(self, kind: str, message: str, traceback_text: str):
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind
        self.traceback = traceback_text


class WorkerDied(WorkerError):
    """Raised when the child ended before it answered.

    Attributes:
        exit_status: As `subprocess.Popen.returncode`: negative for a signal; None where it never ran, or the worker ended it.
    """

    def __init__(self, what: str, exit_status: int | None = None, output: str = ""):
        super().__init__(what, output)
        self.exit_status = exit_status

    @property
    def was_killed(self) -> bool:
        """Return whether it was killed from outside, by a person or by a system that ran out of memory; a crash has another status."""
        return self.exit_status in (-signal.SIGKILL, -signal.SIGTERM)


class WorkerTimeout(WorkerError):
    """Raised when the child did not answer within `seconds`, and was killed."""

    def __init__(self, seconds: float, output: str = ""):
        super().__init__(f"gave no answer within {duration(seconds)}", output)
        self.seconds = seconds


def ending(status: int) -> str:
    """Return an exit status in words: ``crashed with SIGSEGV``, ``ended with exit status 3``."""
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"was killed by {name}" if -status in (signal.SIGKILL, signal.SIGTERM) else f"crashed with {name}"


def last_line(text: str) -> str:
    """Return the last line of `text` that is not empty, with printable characters only, cut off at `_LONGEST_LINE` characters."""
    for line in reversed(text.splitlines()):
        shown = "".join(char if char.isprintable() else " " for char in line).strip()
        if shown:
            return shown if len(shown) <= _LONGEST_LINE else shown[: _LONGEST_LINE - 1] + "…"
    return ""


@dataclass(frozen=True, slots=True)
class PackedError:
    """An exception as it is sent to the parent, which rebuilds it where it is one of ours, and else raises `WorkerFailed`."""

    module: str
    name: str
    message: str
    traceback: str
    is_ours: bool
    args: tuple[Any, ...] = ()
    attributes: dict[str, Any] | None = None

    @classmethod
    def pack(cls, error: BaseException) -> PackedError:
        text = "".join(traceback.format_exception(error))[-_LONGEST_TEXT:]
        kind = type(error)
        message = _message(error)[-_LONGEST_TEXT:]
        packed = cls(kind.__module__, kind.__qualname__, message, text, isinstance(error, CollageError | Cancelled))
        if not packed.is_ours:
            return packed
        return replace(packed, args=tuple(filter(_picklable, error.args)), attributes=_picklable_items(vars(error)))

    def unpack(self) -> Exception:
        """Return the exception to raise in the parent; one of ours keeps its class and attributes."""
        failed = WorkerFailed(self.name.rpartition(".")[2], last_line(self.message), self.traceback)
        if not self.is_ours:
            return failed
        try:
            kind: Any = by_name(self.module, self.name)
        except (ImportError, AttributeError):
            return failed
        error: Exception = kind.__new__(kind)
        error.args = self.args
        error.__dict__.update(self.attributes or {})
        return error


def by_name(module: str, name: str) -> Any:
    """Return the object of the qualified name `name` in `module`. Raises ImportError or AttributeError where there is none."""
    value: Any = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _message(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"it asked the process to end with {error.code!r}"
    try:
        return str(error)
    except Exception as mute:  # noqa: BLE001 - a foreign class may fail here in any way
        return f"its text is not available: {type(mute).__name__}"


def _picklable(value: Any) -> bool:
    try:
        pickle.dumps(value)
    except Exception:  # noqa: BLE001 - any class may refuse in any way; such a value stays behind
        return False
    return True


def _picklable_items(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if _picklable(value)}
