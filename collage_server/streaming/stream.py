"""`Ring`, `Cursor` and `SnapshotCursor`: choose what a client of a run gets next. Pure: no socket, no clock, no thread.

A ring keeps the newest events of a run, decisions far longer than thinnable ones. A cursor is the position of one client in it:
it gives batches while its window of unacknowledged ones is open, leaves thinnable events out where there are many,
and says `gap` where decisions that the client has not seen are gone. A snapshot cursor holds the snapshot that its client has, and
gives what changed since; however late a client is, that is one change.
"""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from ..messages.live import Batch, Change, Numbered, PatchOperation
from ..messages.runs import RunSnapshot
from ..shared.thinning import is_thinnable, thin
from .patches import patch_between

WINDOW = 8
"""Messages of one subscription that may be on their way to a client."""

BATCH_ITEMS = 500
BATCH_BYTES = 512 << 10

RING_DECISIONS = 20_000
RING_DECISION_BYTES = 16 << 20
RING_THINNABLE = 2_000


@dataclass(frozen=True, slots=True)
class _Kept:
    item: Numbered
    bytes: int


class Ring:
    """The newest events of a run.

    Args:
        seq: Number of the last event that is over already and not kept, 0 for none.
    """

    def __init__(self, seq: int = 0):
        self.seq = seq
        self.lost = seq
        """Number of the newest decision that was dropped."""
        self._decisions: deque[_Kept] = deque()
        self._decision_bytes = 0
        self._thinnable: deque[_Kept] = deque(maxlen=RING_THINNABLE)

    def add(self, item: Numbered, size: int) -> None:
        """Keep an event; numbers ascend. `size` is about its length as JSON."""
        self.seq = item.seq
        if is_thinnable(item.event["type"]):
            self._thinnable.append(_Kept(item, size))
            return
        self._decisions.append(_Kept(item, size))
        self._decision_bytes += size
        while len(self._decisions) > RING_DECISIONS or self._decision_bytes > RING_DECISION_BYTES:
            gone = self._decisions.popleft()
            self._decision_bytes -= gone.bytes
            self.lost = gone.item.seq

    def after(self, seq: int) -> Iterator[_Kept]:
        """Return the decisions with a number above `seq`, and a thinned share of the other events up to the newest, in order."""
        decisions = _later(self._decisions, seq)
        thinned = thin([kept for kept in _later(self._thinnable, seq) if kept.item.seq > self.lost])
        yield from sorted([*decisions, *thinned], key=lambda kept: kept.item.seq)


class _Window:
    """Counts the messages that a client has not acknowledged."""

    def __init__(self) -> None:
        self._unacknowledged = 0

    @property
    def is_open(self) -> bool:
        """Return whether the client may be sent another message."""
        return self._unacknowledged < WINDOW

    def acknowledged(self) -> None:
        """Note that the client has taken one message."""
        self._unacknowledged = max(0, self._unacknowledged - 1)


class Cursor(_Window):
    """The position of one client in a run's events."""

    def __init__(self, run: str, after: int):
        super().__init__()
        self.run = run
        self._after = after

    def next_batch(self, ring: Ring) -> Batch | None:
        """Return the batch to send now; None where there is nothing new or the window is closed."""
        if not self.is_open or self._after >= ring.seq:
            return None
        gap = self._after < ring.lost
        start = max(self._after, ring.lost)
        items: list[Numbered] = []
        size = 0
        for kept in ring.after(start):
            if items and (len(items) >= BATCH_ITEMS or size + kept.bytes > BATCH_BYTES):
                break
            items.append(kept.item)
            size += kept.bytes
        self._after = items[-1].seq if items else start
        if not items and not gap:
            return None
        self._unacknowledged += 1
        return Batch(self.run, items, gap, start)


class SnapshotCursor(_Window):
    """The snapshot of a run that one client has.

    Args:
        after: Its number. Only the newest is still there to compare with; a client that has an older one gets the whole once.
    """

    def __init__(self, after: int, newest: RunSnapshot):
        super().__init__()
        self._known = newest if newest.seq == after else None

    def next_change(self, snapshot: RunSnapshot) -> Change | None:
        """Return what turns the client's snapshot into `snapshot`; None where there is nothing new or the window is closed."""
        known = self._known
        if not self.is_open or (known is not None and known.seq == snapshot.seq):
            return None
        self._known = snapshot
        self._unacknowledged += 1
        if known is None:
            return Change(snapshot.id, None, [PatchOperation("replace", "", snapshot)])
        return Change(snapshot.id, known.seq, patch_between(known, snapshot))


def _later(kept: deque[_Kept], seq: int) -> list[_Kept]:
    everything = list(kept)
    return everything[bisect.bisect_right(everything, seq, key=lambda entry: entry.item.seq) :]
