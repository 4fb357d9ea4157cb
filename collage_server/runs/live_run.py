"""`LiveRun`: holds one run in memory and keeps its snapshot, its newest events, its journal and its files in step.

Plain events enter; the snapshot, its changes and batches of events for clients leave. It starts no process and knows no socket.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from collage_core.documents.run import RunDocument

from ..messages.live import ApiError, Batch, Change, Numbered, RunState, RunStateChanged
from ..messages.runs import RunSnapshot
from ..shared.run_files import STOP
from ..streaming.stream import Cursor, Ring, SnapshotCursor
from .journal import FLUSH_S, Journal
from .run_store import disown, save
from .state import ENDED, Nodes, apply, finish

_log = logging.getLogger(__name__)

STOP_S = 30.0
"""How long a run that has a plan may take to end with it; then its process is ended."""


class LiveRun:
    """A run that goes on, or has ended lately.

    Args:
        folder: The folder of its files.
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
        self._created = time.time() - snapshot.now_s
        with suppress(ValueError):  # of a record that was written elsewhere
            self._created = datetime.fromisoformat(snapshot.created).timestamp()
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._late: threading.Timer | None = None
        if snapshot.state in ENDED:
            self._ended.set()
        self.cancel = threading.Event()
        """Set when the user wants the run to stop."""
        self._stop_by_s: float | None = None
        self.is_followed = False
        """True if another server carries the run out."""

    @property
    def snapshot(self) -> RunSnapshot:
        with self._lock:
            return self._snapshot if self._snapshot.state in ENDED else replace(self._snapshot, now_s=self._now_s())

    def next_batch(self, cursor: Cursor) -> Batch | None:
        """Return what the client at `cursor` gets next, if anything."""
        with self._lock:
            batch = cursor.next_batch(self._ring)
            return batch and replace(batch, now_s=self._now_s())

    def next_change(self, cursor: SnapshotCursor) -> Change | None:
        """Return what the client at `cursor` has to change of its snapshot, if anything."""
        return cursor.next_change(self.snapshot)

    def add(self, events: Iterable[dict[str, Any]]) -> None:
        """Number the events, write them, and wake whoever sends them to pages."""
        with self._lock:
            for event in events:
                item = Numbered(self._snapshot.seq + 1, event, self._now_s())
                self._take(item, self._journal.add(item))
            self._flush()
        self._wake()

    def follow(self, items: Iterable[Numbered], final: RunSnapshot | None) -> None:
        """Take events that another server has numbered and written; `final` is the run when it has ended there."""
        with self._lock:
            for item in items:
                with suppress(KeyError, TypeError, ValueError):  # an event of another version
                    self._take(item, len(str(item.event)))
            if final is not None:
                self._snapshot = final
                self._ended.set()
        self._wake()

    def flush(self) -> None:
        """Flush every event so far to the journal on disk."""
        with self._lock:
            self._journal.flush(late=True)

    def _take(self, item: Numbered, size: int) -> None:
        self._snapshot = apply(self._snapshot, item, self._nodes)
        self._ring.add(item, size)

    def _now_s(self) -> float:
        """Return what the run's clock shows; it never goes back."""
        return max(self._snapshot.now_s, round(time.time() - self._created, 3))

    def _flush(self, *, late: bool = False) -> None:
        """Write the journal now or in a second: what a killed server did not write is lost."""
        with self._lock:
            if late:
                self._late = None
            if not self._journal.flush(late=late) and self._late is None:
                self._late = threading.Timer(FLUSH_S, self._flush, kwargs={"late": True})
                self._late.daemon = True
                self._late.start()

    def change(
        self,
        state: RunState,
        *,
        error: ApiError | None = None,
        conflict: Iterable[int] = (),
        uncovered: Iterable[int] = (),
        artifact: bool = False,
        document: RunDocument | None = None,
        machine: str | None = None,
        waits_for: str = "",
    ) -> None:
        """Enter `state`, with what the run's `document` says where it has one, and write the snapshot.

        Raises:
            OSError: the snapshot of a run that is to be queued cannot be written. One that has begun comes to its end all the same.
        """
        change = RunStateChanged(state, error, list(conflict), list(uncovered), artifact, waits_for)
        with self._lock:
            if document is not None:
                self._snapshot = replace(finish(self._snapshot, document), machine=machine or self._snapshot.machine)
            self.add([{"type": "RunStateChanged", **asdict(change)}])
            if state in ENDED:
                self._journal.close()
                self._ended.set()
            else:
                self._ended.clear()
            try:
                save(self.folder, self._snapshot)
            except OSError:
                if state == "queued":
                    raise
                _log.exception("the files of the run %s cannot be written", self._snapshot.id)
                if state in ENDED:
                    disown(self.folder)

    def request_stop(self, *, keeps_best: bool) -> None:
        """Note that the user wants the run to stop, for `must_end`.

        Args:
            keeps_best: Its process can end by itself, with the best plan so far, and has time for that if there is a plan yet.
        """
        has_time = keeps_best and self.snapshot.plan is not None
        if self._stop_by_s is None:
            self._stop_by_s = time.monotonic() + (STOP_S if has_time else 0.0)
        if has_time:
            with suppress(OSError):
                (self.folder / STOP).touch()
        self.cancel.set()

    def must_end(self) -> bool:
        """Return whether the run's process is to be ended now."""
        return self.cancel.is_set() and time.monotonic() >= (self._stop_by_s or 0.0)

    def clear_stop(self) -> None:
        """Forget that anybody wanted the run to stop."""
        self.cancel.clear()
        self._stop_by_s = None
        with suppress(OSError):
            (self.folder / STOP).unlink(missing_ok=True)

    def wait(self, seconds: float) -> None:
        """Wait until the run has ended, but no longer than `seconds`."""
        self._ended.wait(seconds)
