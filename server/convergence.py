"""`Convergence`: how the best total and the bound of a run went over time, bounded, kept in the run's folder.

In go the two figures as the run's snapshot has them; out come points, each where one of the two changed.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from .plain import plain, read_json, write_json
from .protocol import ConvergencePoint, RunSnapshot

FILE_NAME = "convergence.json"
POINTS_KEPT = 800


class Convergence:
    """The history of one run.

    Args:
        folder: The run's; what is there already is gone on with.
        created: When the run was: its time 0.
    """

    def __init__(self, folder: Path, created: str):
        self._path = folder / FILE_NAME
        self._zero = time.time()
        with suppress(ValueError):
            self._zero = datetime.fromisoformat(created).timestamp()
        self._points = read_points(folder)

    @property
    def points(self) -> list[ConvergencePoint]:
        return list(self._points)

    def add(self, snapshot: RunSnapshot) -> None:
        """Note the snapshot's figures where one of them is another."""
        last = self._points[-1] if self._points else ConvergencePoint(0.0, None, None)
        if (last.best_s, last.bound_s) == (snapshot.best_s, snapshot.lower_bound_s):
            return
        self._points.append(ConvergencePoint(max(0.0, time.time() - self._zero), snapshot.best_s, snapshot.lower_bound_s))
        if len(self._points) > POINTS_KEPT:
            self._points = [*self._points[:-1:2], self._points[-1]]

    def save(self) -> None:
        """Write it, where there is something to write."""
        if self._points:
            write_json(self._path, plain([asdict(point) for point in self._points]))


def read_points(folder: Path) -> list[ConvergencePoint]:
    """The history of the run in `folder`; empty where none was kept."""
    with suppress(OSError, ValueError, TypeError):
        return [ConvergencePoint(**point) for point in read_json(folder / FILE_NAME)]
    return []
