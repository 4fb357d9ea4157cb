"""`RemoteWorker`: the run's side of one worker of the fleet, reached through a client process of its own (`rpc_client`).

It takes trials and calls, and gives records and plain values, all validated. A worker that vanished, is silent or
gives an invalid answer raises `WorkerLost`. It does one job at a time, for one thread.
"""

from __future__ import annotations

import hashlib
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...base.isolation.errors import WorkerError
from ...base.isolation.worker import Worker
from ...errors import CollageError
from ...toolchains.base import ToolchainError, with_weights_inside
from ..database.records import Record
from ..measuring.trial import TrialLimits, TrialTask
from ..measuring.trial_worker import ArrayFile
from . import rpc_client
from .protocol import Description, InvalidAnswer, Settings, description_from_json, error_from_json, parse, record_from_json
from .tracker import Offer, show_address

Stop = Callable[[], bool]

_POLL_S = 1.0
_ANSWER_S = 30.0
"""A worker that is silent for so long is gone: it answers within a second, unless its machine is very busy."""
_CONNECT_S = 60.0
_SLOWEST_BYTES_PER_S = 1e6
_CLIENT_MEMORY_BYTES = 4 << 30
_MISMATCH = "cannot find server that matches key"
"""Words of TVM's client for a server that answers ``RPC_MISMATCH``."""
_SLACK_S = 60.0


class WorkerLost(Exception):
    """Raised where a worker cannot be used any more.

    Attributes:
        is_fault: It misbehaves, and is not used again in this run; a worker that vanished may come back.
    """

    def __init__(self, reason: str, *, is_fault: bool):
        super().__init__(reason)
        self.is_fault = is_fault


class OfferExpired(WorkerLost):
    """Raised where a worker expects another key by now: it makes an offer anew when nobody comes for a few seconds."""

    def __init__(self) -> None:
        super().__init__("its offer had expired when it was taken up", is_fault=False)


class JobStopped(Exception):
    """Raised where nobody waits for the job any more; the worker can be used."""


class FileNames:
    """SHA-256 (hex) of files that do not change, each read once. Several threads may use it."""

    def __init__(self) -> None:
        self._names: dict[Path, str] = {}
        self._lock = threading.Lock()

    def of(self, path: Path) -> str:
        with self._lock:
            if path not in self._names:
                with path.open("rb") as file:
                    self._names[path] = hashlib.file_digest(file, "sha256").hexdigest()
            return self._names[path]


class RemoteWorker:
    """A worker that the tracker offered.

    Args:
        client: A process from `start_client`, which this object ends.
        offer: The tracker's offer.
        names: Names of the files that are sent.
        is_over: Returns whether the run is over; called often. Then whatever is going on raises `Cancelled`, and the worker is lost.

    Attributes:
        address: The address it listens on.
        description: Its own description; after `open`.
    """

    description: Description

    def __init__(self, client: Worker, offer: Offer, names: FileNames, is_over: Stop):
        self.address = offer.address
        self._offer = offer
        self._names = names
        self._is_over = is_over
        self._client = client

    @property
    def name(self) -> str:
        return self.description.name if hasattr(self, "description") else show_address(self.address)

    def open(self) -> None:
        """Connect, and ask for its description.

        Raises:
            OfferExpired: it waits for somebody else by now.
            WorkerLost: it is no worker of ours.
            Cancelled: the run is over.
        """
        offer = self._offer
        try:
            self._client.call(rpc_client.connect, offer.host, offer.port, offer.match_key, timeout_s=_CONNECT_S, should_stop=self._is_over)
        except (WorkerError, CollageError) as error:
            if _MISMATCH in str(error):
                raise OfferExpired from error
            raise WorkerLost(f"it is no worker that can be used: {error}", is_fault=True) from error
        answer = self._do(("describe",), time.monotonic() + _CONNECT_S + _SLACK_S, self._is_over)
        self._check_no_error(answer)
        try:
            self.description = description_from_json(answer.get("description"))
        except InvalidAnswer as invalid:
            raise WorkerLost(str(invalid), is_fault=True) from invalid

    def ping(self) -> None:
        """Tell the worker that the run is still there. Raises `WorkerLost` where the worker is not."""
        if self._ask("poll", 0.0) != {"state": "idle"}:
            raise WorkerLost("it is busy with something that it was not given", is_fault=True)

    def trial(self, settings: Settings, task: TrialTask, stop: Stop) -> Record:
        """Run a trial there and return its record.

        Raises:
            WorkerLost: it gave no valid answer.
            JobStopped: `stop` said so; the worker is idle again.
            Cancelled: the run is over.
        """
        try:
            task = replace(task, model=with_weights_inside(task.model))  # The model's files are not there.
        except ToolchainError as error:
            return Record(stage="import", reason=error.message)
        name = self._send_task(task)
        start = time.monotonic()
        answer = self._do(("trial", settings, name), start + _longest_s(settings.limits), stop)
        self._check_no_error(answer)
        try:
            record = record_from_json(answer.get("record"), time.monotonic() - start)
        except InvalidAnswer as invalid:
            raise WorkerLost(str(invalid), is_fault=True) from invalid
        return replace(record, worker=self.name)

    def call(self, module: str, name: str, arguments: tuple[Any, ...], timeout_s: float, stop: Stop) -> Any:
        """Call the function `name` of `module` in a child of the worker; return its result, plain data with lists for tuples.

        Raises:
            CollageError, WorkerError: as the function raised, or failed, there.
            WorkerLost: it gave no valid answer.
            JobStopped: `stop` said so; the worker is idle again.
            Cancelled: the run is over.
        """
        answer = self._do(("call", module, name, arguments, timeout_s), time.monotonic() + timeout_s + _SLACK_S, stop)
        try:
            if "error" in answer:
                raise error_from_json(answer["error"])
            return answer["value"]
        except (InvalidAnswer, KeyError) as invalid:
            raise WorkerLost(f"its answer holds nothing that was asked for: {invalid}", is_fault=True) from invalid

    def close(self) -> None:
        """Disconnect; it is free for others as soon as it notices."""
        self._client.close()

    def _send_task(self, task: TrialTask) -> str:
        """Send the trial and the files that it reads, without those that are there; return the name of the trial's own file."""
        paths = {self._names.of(file.path): file.path for file in (*task.given, *task.wanted)}
        there = replace(task, given=self._renamed(task.given), wanted=self._renamed(task.wanted))
        data = pickle.dumps(there, protocol=5)
        name = hashlib.sha256(data).hexdigest()
        contents: dict[str, bytes | Path] = {**paths, name: data}
        missing = self._ask("need", list(contents)).get("missing")
        if not isinstance(missing, list) or not set(map(str, missing)) <= set(contents):
            raise WorkerLost("it asks for files that there are not", is_fault=True)
        for one in missing:
            self._send(one, contents[one])
        return name

    def _check_no_error(self, answer: dict[str, Any]) -> None:
        """Raise `WorkerLost` for an error of the worker itself; one of a toolchain would be in a record."""
        if "error" in answer:
            try:
                reason = error_from_json(answer["error"])
            except InvalidAnswer as invalid:
                reason = invalid
            raise WorkerLost(f"it cannot measure: {reason}", is_fault=True)

    def _renamed(self, files: Sequence[ArrayFile]) -> list[ArrayFile]:
        return [replace(file, path=Path(self._names.of(file.path))) for file in files]

    def _send(self, name: str, content: bytes | Path) -> None:
        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        self._exchange(rpc_client.send, name, content, timeout_s=_ANSWER_S + size / _SLOWEST_BYTES_PER_S)

    def _do(self, job: tuple[Any, ...], deadline: float, stop: Stop) -> dict[str, Any]:
        """Start a job and wait for its answer, asking every second whether it is still running."""
        answer = self._ask("start", *job)
        while answer == {"state": "running"}:
            if stop():
                self._stop_job()
                raise JobStopped
            if time.monotonic() > deadline:
                raise WorkerLost("it did not come to an end with what it was given", is_fault=True)
            answer = self._ask("poll", _POLL_S)
        if answer == {"state": "stopped"}:
            raise WorkerLost("it vanished: it was ended over what it was given", is_fault=False)
        return answer

    def _stop_job(self) -> None:
        answer = self._ask("cancel")
        deadline = time.monotonic() + _ANSWER_S
        while answer.get("state") in ("stopping", "running"):
            if time.monotonic() > deadline:
                raise WorkerLost("it does not stop what it was told to stop", is_fault=True)
            answer = self._ask("poll", _POLL_S)

    def _ask(self, *request: Any) -> dict[str, Any]:
        return self._exchange(rpc_client.ask, pickle.dumps(request, protocol=5), timeout_s=_ANSWER_S)

    def _exchange(self, function: Callable[..., bytes], *args: Any, timeout_s: float) -> dict[str, Any]:
        """Call `function` of `rpc_client`; return the answer, validated as far as every answer can be."""
        try:
            answer = parse(self._client.call(function, *args, timeout_s=timeout_s, should_stop=self._is_over))
        except WorkerError as error:
            raise WorkerLost(f"it vanished: {error}", is_fault=False) from error
        except (InvalidAnswer, CollageError) as invalid:
            raise WorkerLost(str(invalid), is_fault=True) from invalid
        if "fault" in answer:
            raise WorkerLost(f"it cannot do what it is asked: {str(answer['fault'])[:300]!r}", is_fault=True)
        return answer


def start_client(is_over: Stop) -> Worker:
    """Return a process for one session, in which all is imported, so that it connects at once.

    Raises:
        WorkerError: it cannot be started.
        Cancelled: the run is over.
    """
    client = Worker(memory_bytes=_CLIENT_MEMORY_BYTES)
    client.call(rpc_client.prepare, timeout_s=_CONNECT_S, should_stop=is_over)
    return client


def _longest_s(limits: TrialLimits) -> float:
    """Return the seconds after which no trial that keeps its limits is still running: it may be tried twice."""
    timing_s = limits.run_s + limits.timing.longest_s + 4 * limits.run_s
    return 2 * (limits.start_s + limits.build_s + limits.run_s + timing_s) + _SLACK_S
