"""`WorkerDiscovery`: ask the tracker for free workers and open them; the caller decides whether a run can use them.

The tracker offers whichever worker is next. One that a run cannot use goes back and is offered again; so these are remembered by
their address, and new ones are asked for only where more workers are free than were refused.
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
    """Finds the workers that are registered with the tracker at `address`.

    Args:
        key: Key under which the workers are registered.
        tell: Called with a line where a worker cannot be used.
        stop: Returns whether the run is over.
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
        """Do not open the worker at `address` again, while it is registered."""
        with self._lock:
            self._refused.add(address)

    def registered(self) -> Registered:
        """Ask the tracker which workers are registered. Raises `TrackerLost`."""
        return self._ask(lambda tracker: tracker.summary(self._key))

    def open_free(self, registered: Registered) -> list[RemoteWorker]:
        """Open the workers that are free and were not refused.

        Raises:
            TrackerLost: the tracker is gone.
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
            return [worker for worker in pool.map(self._open, fresh) if worker is not None]

    def close(self) -> None:
        """Close the connection to the tracker."""
        if self._tracker is not None:
            self._tracker.close()
            self._tracker = None

    def _offers(self, most: int) -> Iterator[Offer]:
        for _ in range(most):
            offer = self._ask(lambda tracker: tracker.request(self._key))
            if offer is None:
                self.close()
                return
            yield offer

    def _open(self, offer: Offer) -> RemoteWorker | None:
        worker = RemoteWorker(offer, self._names, self._stop)
        try:
            worker.open()
        except WorkerLost as lost:
            worker.close()
            self.refuse(worker.address)
            self._tell(f"the worker at {worker.name} is not used: {lost}")
            return None
        except Cancelled:
            worker.close()
            return None
        return worker

    def _ask(self, question: Callable[[TrackerConnection], T]) -> T:
        try:
            if self._tracker is None:
                self._tracker = TrackerConnection(self.address)
            return question(self._tracker)
        except TrackerLost:
            self.close()
            raise
