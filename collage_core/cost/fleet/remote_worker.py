"""`RemoteWorker`: one worker of the fleet as a run holds it: asked through a link process of its own, its answers checked.

What enters are trials and calls; what leaves are records and plain values. A worker that vanished, keeps silent or answers
nonsense is a `WorkerLost`, and nothing else of it gets out. One thing at a time; not for several threads.
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
from ..database.records import Record
from ..measuring.trial import TrialLimits, TrialTask
from ..measuring.trial_worker import ArrayFile
from . import rpc_client
from .protocol import Description, Nonsense, Settings, error_from_json, parse, record_from_json
from .tracker import Offer, show_address

Stop = Callable[[], bool]

_POLL_S = 1.0
_ANSWER_S = 30.0
"""A worker that says nothing for so long is gone: it answers within a second, unless its machine is very busy."""
_CONNECT_S = 60.0
_SLOWEST_BYTES_PER_S = 1e6
_LINK_MEMORY_BYTES = 4 << 30
_SLACK_S = 60.0


class WorkerLost(Exception):
    """A worker cannot be used any more.

    Attributes:
        is_fault: It misbehaves, and is not asked again in this run; a worker that vanished may come back.
    """

    def __init__(self, reason: str, *, is_fault: bool):
        super().__init__(reason)
        self.is_fault = is_fault


class JobStopped(Exception):
    """Nobody waits for the job any more; the worker is well."""


class FileNames:
    """SHA-256 (hex) of files that don't change, each read once; for all threads."""

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
    """A worker that the tracker lent.

    Args:
        offer: What the tracker said.
        names: Of the files that are sent.
        is_over: Asked often; when it says so, whatever is going on ends with `Cancelled`, and the worker is of no more use.

    Attributes:
        address: Where it listens.
        description: What it said of itself; after `open`.
    """

    description: Description

    def __init__(self, offer: Offer, names: FileNames, is_over: Stop):
        self.address = offer.address
        self._offer = offer
        self._names = names
        self._is_over = is_over
        self._link = Worker(memory_bytes=_LINK_MEMORY_BYTES)

    @property
    def name(self) -> str:
        return self.description.name if hasattr(self, "description") else show_address(self.address)

    def open(self) -> None:
        """Connect, and ask what it is.

        Raises:
            MemberLost: it is no worker of ours.
            Cancelled: the run is over.
        """
        offer = self._offer
        try:
            self._link.call(rpc_client.connect, offer.host, offer.port, offer.match_key, timeout_s=_CONNECT_S, should_stop=self._is_over)
        except (WorkerError, CollageError) as error:
            raise WorkerLost(f"it is no worker that can be used: {error}", is_fault=True) from error
        answer = self._do(("describe",), time.monotonic() + _CONNECT_S + _SLACK_S, self._is_over)
        self._check_no_error(answer)
        try:
            self.description = Description.from_json(answer.get("description"))
        except Nonsense as nonsense:
            raise WorkerLost(str(nonsense), is_fault=True) from nonsense

    def ping(self) -> None:
        """Say that the run is still there. Raises `WorkerLost` where the worker is not."""
        if self._ask("poll", 0.0) != {"state": "idle"}:
            raise WorkerLost("it is busy with something that it was not given", is_fault=True)

    def trial(self, settings: Settings, task: TrialTask, stop: Stop) -> Record:
        """What the trial comes to there.

        Raises:
            MemberLost: no answer that can be believed.
            JobStopped: `stop` said so; the worker is idle again.
            Cancelled: the run is over.
        """
        name = self._send_task(task)
        start = time.monotonic()
        answer = self._do(("trial", settings, name), start + _longest_s(settings.limits), stop)
        self._check_no_error(answer)
        try:
            record = record_from_json(answer.get("record"), time.monotonic() - start)
        except Nonsense as nonsense:
            raise WorkerLost(str(nonsense), is_fault=True) from nonsense
        return replace(record, worker=self.name)

    def call(self, module: str, name: str, arguments: tuple[Any, ...], timeout_s: float, stop: Stop) -> Any:
        """What the function `name` of `module` gives in a child of the worker's: plain data, tuples turned into lists.

        Raises:
            CollageError, WorkerError: as the function raised, or failed, there.
            MemberLost: no answer that can be believed.
            JobStopped: `stop` said so; the worker is idle again.
            Cancelled: the run is over.
        """
        answer = self._do(("call", module, name, arguments, timeout_s), time.monotonic() + timeout_s + _SLACK_S, stop)
        try:
            if "error" in answer:
                raise error_from_json(answer["error"])
            return answer["value"]
        except (Nonsense, KeyError) as nonsense:
            raise WorkerLost(f"its answer holds nothing that was asked for: {nonsense}", is_fault=True) from nonsense

    def close(self) -> None:
        """Let go of it: it is free for others as soon as it sees that."""
        self._link.close()

    def _send_task(self, task: TrialTask) -> str:
        """Send the trial and what it reads, apart from files that are there; gives the name of the trial's own."""
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
        """What a toolchain does is a record; an error is that of the worker itself."""
        if "error" in answer:
            try:
                said: object = error_from_json(answer["error"])
            except Nonsense as nonsense:
                said = nonsense
            raise WorkerLost(f"it cannot measure: {said}", is_fault=True)

    def _renamed(self, files: Sequence[ArrayFile]) -> list[ArrayFile]:
        return [replace(file, path=Path(self._names.of(file.path))) for file in files]

    def _send(self, name: str, content: bytes | Path) -> None:
        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        self._exchange(rpc_client.send, name, content, timeout_s=_ANSWER_S + size / _SLOWEST_BYTES_PER_S)

    def _do(self, job: tuple[Any, ...], deadline: float, stop: Stop) -> dict[str, Any]:
        """Have a job done, and look every second whether the worker is still at it."""
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
        """Ask by `function` in the link; the answer, checked as far as it can be here."""
        try:
            answer = parse(self._link.call(function, *args, timeout_s=timeout_s, should_stop=self._is_over))
        except WorkerError as error:
            raise WorkerLost(f"it vanished: {error}", is_fault=False) from error
        except (Nonsense, CollageError) as nonsense:
            raise WorkerLost(str(nonsense), is_fault=True) from nonsense
        if "fault" in answer:
            raise WorkerLost(f"it cannot do what it is asked: {str(answer['fault'])[:300]!r}", is_fault=True)
        return answer


def _longest_s(limits: TrialLimits) -> float:
    """Seconds after which no trial that is within its limits is still going on: they may be tried twice."""
    timing_s = limits.run_s + limits.timing.longest_s + 4 * limits.run_s
    return 2 * (limits.start_s + limits.build_s + limits.run_s + timing_s) + _SLACK_S
