"""`WorkerDiscovery`: asks the tracker for free workers and opens them; whether a run wants them is decided by whoever asked.

The tracker lends whichever worker is next. One that a run does not want goes back and is offered again; so those are
remembered by their address, and only where more are free than those are new ones asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ...errors import Cancelled
from .remote_worker import FileNames, RemoteWorker, WorkerLost
from .tracker import Address, Offer, Registered, TrackerConnection, TrackerLost

_MOST_AT_ONCE = 4

T = TypeVar("T")


class WorkerDiscovery:
    """Recruits from the tracker at `address`.

    Args:
        key: Under which the workers are registered.
        tell: Gets a line where a worker cannot be used.
        stop: Says when the run is over.
    """

    def __init__(self, address: Address, key: str, tell: Callable[[str], None], stop: Callable[[], bool]):
        self.address = address
        self._key = key
        self._tell = tell
        self._stop = stop
        self._names = FileNames()
        self._refused: set[Address] = set()
        self._lock = threading.Lock()
        self._tracker: TrackerConnection | None = None

    def refuse(self, address: Address) -> None:
        """Don't take the worker at `address` again, while it is registered."""
        with self._lock:
            self._refused.add(address)

    def look(self) -> Registered:
        """Who is registered. Raises `TrackerLost`."""
        return self._asked(lambda tracker: tracker.summary(self._key))

    def gather(self, registered: Registered) -> list[RemoteWorker]:
        """Open what is free and was not refused.

        Raises:
            TrackerLost: the tracker is gone.
            Cancelled: `stop` said so.
        """
        with self._lock:
            self._refused &= registered.addresses
            refused = frozenset(self._refused)
        if registered.free <= len(refused):
            return []
        offers = list(self._offers(registered.free))
        fresh = [offer for offer in offers if offer.address not in refused]
        if not fresh:
            return []
        with ThreadPoolExecutor(min(len(fresh), _MOST_AT_ONCE), thread_name_prefix="fleet-open") as pool:
            return [member for member in pool.map(self._opened, fresh) if member is not None]

    def close(self) -> None:
        """Leave the tracker."""
        if self._tracker is not None:
            self._tracker.close()
            self._tracker = None

    def _offers(self, most: int) -> Iterator[Offer]:
        for _ in range(most):
            offer = self._asked(lambda tracker: tracker.request(self._key))
            if offer is None:
                self.close()
                return
            yield offer

    def _opened(self, offer: Offer) -> RemoteWorker | None:
        member = RemoteWorker(offer, self._names, self._stop)
        try:
            member.open()
        except WorkerLost as lost:
            member.close()
            self.refuse(member.address)
            self._tell(f"the worker at {member.name} is not used: {lost}")
            return None
        except Cancelled:
            member.close()
            return None
        return member

    def _asked(self, question: Callable[[TrackerConnection], T]) -> T:
        try:
            if self._tracker is None:
                self._tracker = TrackerConnection(self.address)
            return question(self._tracker)
        except TrackerLost:
            self.close()
            raise
