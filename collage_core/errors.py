"""`CollageError`: a mistake of the user, which the command line, the server and a notebook show in the same way.

It holds one clear line, a hint that says what to do, and a short code for programs. Nothing here is raised for a fault of ours:
such a fault keeps its traceback.
"""

from __future__ import annotations

import re
from typing import Any

_LONGEST_WORD, _LONGEST_TEXT = 300, 4000
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")


def printable(text: str) -> str:
    """Return `text` with everything escaped that does not print: what moves a terminal's cursor, or turns the direction of reading.

    Names come from models of strangers. Line ends and tabs stay.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode() for char in text)


def shortened(text: str) -> str:
    """Return `text` with the middle of each long word left out, and its own middle where it is long: a name may be a megabyte."""
    text = _LONG_WORD.sub(lambda found: f"{found[0][: _LONGEST_WORD - 60]}…{found[0][-50:]}", text)
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 200]}… …{text[-180:]}"


class CollageError(Exception):
    """A mistake of the user or of what the user brought (exit status 2).

    Args:
        message: One line that says what was found (the value quoted) and why it matters; long names are shortened, and escaped.
        hint: One line that says what to do about it; may be empty.
        code: A stable word for programs, such as ``unknown_target``.
    """

    exit_status = 2

    def __init__(self, message: str, hint: str = "", code: str = "invalid"):
        self.message, self.hint = printable(shortened(message)), printable(shortened(hint))
        super().__init__(self.message)
        self.code = code

    def to_json(self) -> dict[str, str]:
        """Return the error as the web API answers it."""
        return {"code": self.code, "message": self.message, "hint": self.hint}


class PartitionBuildError(CollageError):
    """A partition of a plan cannot be built.

    Args:
        partition_id: That of the partition.
        target: Its target.
        reason: The toolchain's own words.
    """

    def __init__(self, partition_id: str, target: str, reason: str):
        hint = f"veto {target} for these nodes, or leave it out of --targets"
        super().__init__(f"{target} cannot build partition {partition_id}: {reason}", hint, "toolchain")
        self.partition_id, self.reason = partition_id, reason


class InfeasibleError(CollageError):
    """No plan covers the model (exit status 3).

    Args:
        conflict: Indices of a minimal set of constraints that cannot hold together.
        switched_off: Targets that are switched off and belong to that set.
        uncovered: Indices of the nodes that no usable candidate holds.
    """

    exit_status = 3

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        conflict: list[int] | None = None,
        switched_off: list[str] | None = None,
        uncovered: list[int] | None = None,
    ):
        super().__init__(message, hint, "infeasible")
        self.conflict = conflict or []
        self.switched_off = switched_off or []
        self.uncovered = uncovered or []


class AccuracyError(CollageError):
    """The outputs of the assembled plan differ from the reference by more than the accuracy asked for (exit status 3).

    Attributes:
        nearest: Where a run found no plan that is right, the toolchain that alone comes nearest (`verify.Nearest`).
        document: The `RunDocument` of that run; None where the plan was given.
    """

    exit_status = 3

    def __init__(self, message: str, hint: str = "", *, nearest: Any = None):
        super().__init__(message, hint, "over_accuracy")
        self.nearest = nearest
        self.document: Any = None


class Cancelled(Exception):
    """Raised when the user stopped the work; all measurements so far are kept."""
