"""Hold the connection to the scheduler, in a child process of the run: its memory is bounded, it can be killed, and it unpickles nothing.

`connect` once, then `exchange` again and again: requests enter, answers as bytes leave that were not looked into.
"""

from __future__ import annotations

import hashlib
import resource
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import plain_pickles
from .connection import CONNECT_S, Connection, set_up_dask
from .protocol import Settings
from .request_handler import Session, answer
from .self_description import ABOUT

if TYPE_CHECKING:
    from distributed import Client, Future

MOST_WORKERS = 256
"""Workers beyond these are not looked at, whatever the scheduler lists."""
_MEMORY_BYTES = 1 << 30
_MOST_FILE_BYTES = 4 << 30
"""Of the files that one worker keeps in memory, or where Dask spills it to; those that were used longest ago go first."""
_SMALL_BYTES = 1 << 20
_LIST_S = 0.5
_RESULT_S = 10.0
_LONGEST_ANSWER = 16 << 20
_LONGEST_ABOUT = 64 << 10
_LONGEST_TEXT = 300


@dataclass(frozen=True)
class Submit:
    """A request to one worker.

    Attributes:
        number: Names it among those of the run.
        files: The files that it reads; each is sent to a worker once, by the SHA-256 of its content.
        resources: Name → how much of it the worker must have free.
    """

    number: int
    worker: str
    request: bytes
    files: Sequence[Path]
    resources: Mapping[str, float]


@dataclass(frozen=True)
class Unanswered:
    """Why there is no answer, and whether the worker is to blame."""

    reason: str
    is_fault: bool


@dataclass(frozen=True)
class Listed:
    """A worker as the scheduler lists it.

    Attributes:
        about: What it says of itself; empty for a worker of Dask that is none of ours.
    """

    name: str
    about: bytes


@dataclass(frozen=True)
class Exchanged:
    """The events since the last exchange.

    Attributes:
        answers: Number of a request → the answer, or why there is none.
        workers: By their addresses; None where nobody looked.
    """

    answers: dict[int, bytes | Unanswered]
    workers: dict[str, Listed] | None


class _Connected:
    """The state of the connection.

    Attributes:
        futures: The requests in flight: number → the future, and the worker's address.
        sessions: Worker's address → the future that keeps the session of this run there.
        files: Worker's address → SHA-256 → the future that keeps the file there, and its bytes.
    """

    def __init__(self, client: Client, settings: Settings):
        self.client = client
        self.settings = settings
        self.futures: dict[int, tuple[Future, str]] = {}
        self.sessions: dict[str, Future] = {}
        self.files: dict[str, OrderedDict[str, tuple[Future, int]]] = {}
        self.digests: dict[Path, str] = {}
        self.next_list = 0.0
        self.wake = threading.Event()


_connections: list[_Connected] = []


def connect(to: Connection, settings: Settings, timeout_s: float) -> None:
    """Connect to the scheduler, once in a process, for a run with these settings.

    Raises:
        OSError: nothing answers there, or not with a certificate of this fleet.
        CollageError: the keys cannot be used.
    """
    _bound_memory(_MEMORY_BYTES)
    set_up_dask()
    plain_pickles.restrict()
    from distributed import Client

    security = to.security("client")
    client = Client(str(to), security=security, timeout=timeout_s, set_as_default=False, direct_to_workers=False, name="collage")
    _connections.append(_Connected(client, settings))


def exchange(submits: Sequence[Submit], cancels: Sequence[int], wait_s: float) -> Exchanged:
    """Send requests, take others back, and wait until one is answered, for at most `wait_s`.

    Raises:
        ConnectionError: the scheduler is gone, or does not answer in time.
    """
    (connected,) = _connections
    for number in cancels:
        if number in connected.futures:
            connected.futures.pop(number)[0].cancel()
    failed = {submit.number: reason for submit in submits if (reason := _submit(connected, submit)) is not None}
    workers = None
    if time.monotonic() >= connected.next_list:
        workers = _workers(connected.client)
        connected.sessions = {address: session for address, session in connected.sessions.items() if address in workers}
        connected.files = {address: files for address, files in connected.files.items() if address in workers}
        connected.next_list = time.monotonic() + _LIST_S
    if not failed and not any(future.done() for future, _ in connected.futures.values()):
        connected.wake.wait(wait_s)
    connected.wake.clear()
    if connected.client.status != "running":
        raise ConnectionError("it closed the connection")
    done = [number for number, (future, _) in connected.futures.items() if future.done()]
    return Exchanged({**failed, **{number: _result(connected, *connected.futures.pop(number)) for number in done}}, workers)


def _submit(connected: _Connected, submit: Submit) -> Unanswered | None:
    """Send a request with what it reads; return why that cannot be done."""
    client, here = connected.client, {"workers": [submit.worker], "pure": False}
    try:
        session = connected.sessions.get(submit.worker)
        if session is None or session.status in ("cancelled", "lost"):
            session = connected.sessions[submit.worker] = client.submit(Session, connected.settings, **here)
        files = {str(path): _sent(connected, submit.worker, path) for path in submit.files}
        request: Any = submit.request
        if len(request) > _SMALL_BYTES:
            request = _scattered(client, submit.worker, request)
    except Exception as error:  # noqa: BLE001 - a worker that vanishes meanwhile, or anything that a stranger sends
        return Unanswered(f"it cannot be sent what it needs: {type(error).__name__}: {error}"[:_LONGEST_TEXT], is_fault=False)
    future = client.submit(answer, session, request, files, resources=dict(submit.resources), **here)
    connected.futures[submit.number] = future, submit.worker
    future.add_done_callback(lambda _: connected.wake.set())
    return None


def _sent(connected: _Connected, worker: str, path: Path) -> Future:
    """Return the file as the worker has it, after sending it where it is not there."""
    if path not in connected.digests:
        with path.open("rb") as file:
            connected.digests[path] = hashlib.file_digest(file, "sha256").hexdigest()
    digest, kept = connected.digests[path], connected.files.setdefault(worker, OrderedDict())
    if digest not in kept or kept[digest][0].status != "finished":
        content = path.read_bytes()
        kept[digest] = _scattered(connected.client, worker, content), len(content)
    kept.move_to_end(digest)
    while sum(size for _, size in kept.values()) > _MOST_FILE_BYTES and len(kept) > 1:
        kept.popitem(last=False)  # a request that still needs it holds it by itself
    return kept[digest][0]


def _scattered(client: Client, worker: str, content: bytes) -> Future:
    _bound_memory(_MEMORY_BYTES + 4 * len(content))
    return client.scatter(content, workers=[worker], hash=False)


def _result(connected: _Connected, future: Future, worker: str) -> bytes | Unanswered:
    if future.status == "error" and worker in _workers(connected.client):
        return Unanswered("it cannot run what it is sent: the same version of Collage Explorer must be installed there", is_fault=True)
    if future.status != "finished":
        return Unanswered("it vanished", is_fault=False)
    try:
        result = future.result(timeout=_RESULT_S)
    except Exception as error:  # noqa: BLE001 - whatever a peer sends, it is an answer that did not come
        return Unanswered(f"its answer did not come: {type(error).__name__}: {error}"[:_LONGEST_TEXT], is_fault=False)
    if not isinstance(result, bytes):
        return Unanswered("its answer is no plain data", is_fault=True)
    return result if len(result) <= _LONGEST_ANSWER else Unanswered(f"it answered with {len(result)} bytes", is_fault=True)


def _workers(client: Client) -> dict[str, Listed]:
    """Ask the scheduler which workers there are. Raises ConnectionError."""
    try:
        info = client.sync(
            client.scheduler.identity,  # type: ignore[union-attr]
            n_workers=MOST_WORKERS,
            callback_timeout=CONNECT_S,
        )
        return listed(info)
    except Exception as error:  # a stranger's answer may fail in any way
        raise ConnectionError(f"it does not answer: {type(error).__name__}: {error}"[:_LONGEST_TEXT]) from error


def listed(info: Any) -> dict[str, Listed]:
    """Return the workers in what a scheduler says of itself. Raises whatever reading nonsense raises."""
    workers = {}
    for address, worker in list(info["workers"].items())[:MOST_WORKERS]:
        about = worker.get(ABOUT)
        workers[str(address)] = Listed(
            str(worker["name"])[:_LONGEST_TEXT], about.encode()[:_LONGEST_ABOUT] if isinstance(about, str) else b""
        )
    return workers


def _bound_memory(size: int) -> None:
    """Let this process have `size` bytes of memory of its own at most: whatever a stranger sends, reading it fails beyond that."""
    resource.setrlimit(resource.RLIMIT_DATA, (size, resource.getrlimit(resource.RLIMIT_DATA)[1]))
