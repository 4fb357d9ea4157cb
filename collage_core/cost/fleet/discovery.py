"""`WorkerDiscovery`: ask the tracker for free workers and open them; the caller decides whether a run can use them.

The tracker offers whichever worker is next. One that a run cannot use goes back and is offered again; so these are remembered by
their address, and new ones are asked for only where more workers are free than were refused.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ...base.isolation.errors import WorkerError
from ...base.isolation.worker import Worker
from ...errors import Cancelled, CollageError
from .remote_worker import FileNames, OfferExpired, RemoteWorker, WorkerLost, start_client
from .tracker import Address, Offer, Registered, TrackerConnection, TrackerLost

_MOST_AT_ONCE = 4
_MOST_EXPIRED = 5
"""A worker whose offers had expired so often is not asked again in this run."""

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
        self._expired: Counter[Address] = Counter()
        self._clients: list[Worker] = []
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
            CollageError: no session can be opened from this machine, whatever the worker.
            Cancelled: the run is over.
        """
        with self._lock:
            self._refused &= registered.addresses
            refused = frozenset(self._refused)
        if registered.free <= len(refused):
            return []
        with ThreadPoolExecutor(min(registered.free, _MOST_AT_ONCE), thread_name_prefix="fleet-open") as pool:
            self._start_clients(registered.free, pool)
            fresh = [offer for offer in self._offers(registered.free) if offer.address not in refused]
            return [worker for worker in pool.map(self._open, fresh) if worker is not None]

    def close(self) -> None:
        """Close the connection to the tracker, and end what was started for workers that did not come."""
        self._leave_tracker()
        while self._clients:
            self._clients.pop().close()

    def _start_clients(self, count: int, pool: ThreadPoolExecutor) -> None:
        """Have a client ready for each of `count` offers, before they are asked for: an offer is good for a few seconds only."""
        begun = [pool.submit(self._start_client) for _ in range(count - len(self._clients))]
        try:
            for future in begun:
                future.result()
        except WorkerError as error:
            message = f"no session with a worker can be opened from here: {error}"
            raise CollageError(message, "`python -c 'import tvm.rpc'` must work here", "worker") from error

    def _start_client(self) -> None:
        self._clients.append(start_client(self._stop))

    def _leave_tracker(self) -> None:
        if self._tracker is not None:
            self._tracker.close()
            self._tracker = None

    def _offers(self, most: int) -> Iterator[Offer]:
        for _ in range(most):
            offer = self._ask(lambda tracker: tracker.request(self._key))
            if offer is None:
                self._leave_tracker()
                return
            yield offer

    def _open(self, offer: Offer) -> RemoteWorker | None:
        client = self._clients.pop()
        worker = RemoteWorker(client, offer, self._names, self._stop)
        try:
            worker.open()
            return worker
        except OfferExpired as expired:
            self._clients.append(client)  # It has connected to nobody, and is ready for the next offer.
            if not self._expires_seldom(worker.address):
                self._give_up(worker, expired)
        except WorkerLost as lost:
            worker.close()
            self._give_up(worker, lost)
        except Cancelled:
            worker.close()
        return None

    def _give_up(self, worker: RemoteWorker, why: WorkerLost) -> None:
        self.refuse(worker.address)
        self._tell(f"the worker at {worker.name} is not used: {why}")

    def _expires_seldom(self, address: Address) -> bool:
        with self._lock:
            self._expired[address] += 1
            return self._expired[address] < _MOST_EXPIRED

    def _ask(self, question: Callable[[TrackerConnection], T]) -> T:
        try:
            if self._tracker is None:
                self._tracker = TrackerConnection(self.address)
            return question(self._tracker)
        except TrackerLost:
            self._leave_tracker()
            raise
