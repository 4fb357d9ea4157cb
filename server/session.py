"""`Session`: one run while it is in memory: its snapshot, its newest events, its journal and its files, always in step.

What enters are plain events; what leaves are the snapshot and batches for clients. It starts no process and knows no socket.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from .convergence import Convergence
from .journal import Journal
from .protocol import ApiError, Batch, ConvergencePoint, Numbered, RunSnapshot, RunState, RunStateChanged
from .run_state import ENDED, Nodes, apply, finish
from .run_store import save
from .stream import Cursor, Ring


class Session:
    """A run.

    Args:
        folder: Where its files lie.
        nodes: Name and operator of the model's nodes, for plans that are still being improved.
        wake: Called after events were added.
    """

    def __init__(self, folder: Path, snapshot: RunSnapshot, nodes: Nodes, wake: Callable[[], None]):
        self.folder = folder
        self._snapshot = snapshot
        self._nodes = nodes
        self._wake = wake
        self._ring = Ring(snapshot.seq)
        self._journal = Journal(folder)
        self._convergence = Convergence(folder, snapshot.created)
        self._lock = threading.RLock()
        self._ended = threading.Event()
        if snapshot.state in ENDED:
            self._ended.set()
        self.cancel = threading.Event()
        """Set when the user wants it to stop."""

    @property
    def snapshot(self) -> RunSnapshot:
        with self._lock:
            return self._snapshot

    @property
    def convergence(self) -> list[ConvergencePoint]:
        with self._lock:
            return self._convergence.points

    def next_batch(self, cursor: Cursor) -> Batch | None:
        """What the client at `cursor` gets next, if anything."""
        with self._lock:
            return cursor.next_batch(self._ring)

    def add(self, events: Iterable[dict[str, Any]]) -> None:
        """Number the events and tell everybody."""
        with self._lock:
            for event in events:
                item = Numbered(self._snapshot.seq + 1, event)
                self._snapshot = apply(self._snapshot, item.seq, event, self._nodes)
                self._convergence.add(self._snapshot)
                self._ring.add(item, self._journal.add(item))
            self._journal.flush()
        self._wake()

    def change(
        self,
        state: RunState,
        *,
        error: ApiError | None = None,
        conflict: Iterable[int] = (),
        uncovered: Iterable[int] = (),
        artifact: bool = False,
        document: Mapping[str, Any] | None = None,
        machine: str | None = None,
    ) -> None:
        """Enter `state`, with what the run's `document` says where it has one, and write the snapshot."""
        change = RunStateChanged(state, error, list(conflict), list(uncovered), artifact)
        with self._lock:
            if document is not None:
                self._snapshot = replace(finish(self._snapshot, document), machine=machine or self._snapshot.machine)
            self.add([{"type": "RunStateChanged", **asdict(change)}])
            if state in ENDED:
                self._journal.close()
                self._ended.set()
            else:
                self._ended.clear()
            self._convergence.save()
            save(self.folder, self._snapshot)

    def wait(self, seconds: float) -> None:
        """Until it has ended, but no longer than `seconds`."""
        self._ended.wait(seconds)
