"""`Meter`: what the meters of transitions (`transition_meter`) and of calls (`call_meter`) share.

A meter has something timed where trials run, in a worker process of its own, keeps the result in the database, and
tells the user once what could not be measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...events import Emit, Note, ignore
from ..database.database import CostDatabase
from .trial_backend import TrialBackend

TIMEOUT_S = 60.0
"""Of a call; less where building may not take so long."""


@dataclass(kw_only=True, eq=False)
class Meter:
    """Measures once, and keeps the result in the database.

    Attributes:
        threads: For each toolchain.
        backend: Measures.
        should_stop: Asked often; when it says so, the work ends with `Cancelled`.
    """

    threads: int
    database: CostDatabase
    backend: TrialBackend
    emit: Emit = ignore
    should_stop: Callable[[], bool] | None = None

    def __post_init__(self) -> None:
        self._caller = self.backend.caller()
        self._told: set[str] = set()

    def close(self) -> None:
        """End the worker."""
        self._caller.close()

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        timeout_s = min(TIMEOUT_S, self.backend.limits.build_s)
        return self._caller.call(function, *args, timeout_s=timeout_s, should_stop=self.should_stop)

    def _tell(self, note: str) -> None:
        """Tell a note that was not told yet; an empty one is none."""
        if note and note not in self._told:
            self._told.add(note)
            self.emit(Note(note))
