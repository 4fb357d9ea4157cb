"""`UserStop`: the user's wish to stop a run. `cancelled_document`: what a stopped run leaves undone, in words.

The function that says whether the user wants to stop enters, and the facts of the run; the ``cancelled`` part of its document leaves.
"""

from __future__ import annotations

from collections.abc import Callable

from ..documents.run import CancelledInfo, RunDocument
from .discover import Phases

NOT_BUILT = "not built, since the run was cancelled"
NOT_TIMED = "not timed, since the run was cancelled"
_UNSETTLED = "not all adjacent partitions on one target were tried fused, and close choices were not re-timed"


class UserStop:
    """Returns, when called, whether the user has stopped the run; once that was so it stays so.

    Attributes:
        phase: The phase in which the wish was seen first; empty as long as there was none.
    """

    def __init__(self, should_stop: Callable[[], bool], phases: Phases):
        self._should_stop, self._phases = should_stop, phases
        self.phase = ""

    def __call__(self) -> bool:
        if not self.phase and self._should_stop():
            self.phase = self._phases.current
        return bool(self.phase)


def cancelled_document(phase: str, late: int, asked: int, document: RunDocument, builds: bool) -> CancelledInfo | None:
    """The ``cancelled`` part of a run's document: the phase in which the run was stopped, and what is missing, one sentence each.

    None where nothing is missing: the user's wish came when everything was done.

    Args:
        phase: Empty for a run that nobody stopped.
        late: How many of the `asked` candidates have no known cost, since there was no time.
        document: The run's document, with all that was done.
        builds: The run was to build its plan.
    """
    if not phase:
        return None
    missing = [f"{late} of {asked} candidates have no known cost"] if late else []
    if phase in ("costs", "search", "merge"):
        missing.append(_UNSETTLED)
    if builds and document.verify.max_rel_error is None:
        missing.append("the plan was not built, and not compared with the reference")
    if builds and not document.alternatives:
        missing.append("the plan was not timed beside each target alone")
    return CancelledInfo(phase, tuple(missing)) if missing else None
