"""`RequestHandler`: serves the requests of one run to a worker: takes files, and does one job at a time in the background.

Requests are pickles (whoever may send them may run anything here anyway), answers are JSON. A request is answered at once, or
within the seconds that it asks for; so both sides notice early when the other is gone. Nothing that a toolchain does ends
this process: trials and calls run in isolated children. No request raises: an error here is answered as a fault.
"""

from __future__ import annotations

import os
import pickle
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ...base.cores import usable_cores
from ...base.isolation.errors import WorkerError, by_name
from ...base.isolation.worker import Worker
from ...errors import Cancelled, CollageError
from ...toolchains import registry
from ...toolchains.reasons import one_line
from ...version import __version__
from ..database.records import machine_id
from ..measuring.trial import TrialRunner, TrialTask
from ..measuring.trial_worker import ArrayFile
from .file_store import FileStore
from .protocol import Description, Settings, dump, error_to_json

PIECE = struct.Struct("!32sQQ")
"""Header before the bytes of a piece: the file's SHA-256, the offset of the piece, and the size of the file."""
_DESCRIBE_S = 60.0
_LONGEST_WAIT_S = 5.0


@dataclass
class _Job:
    """A job that is running, and its answer once it has one."""

    stop: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    answer: dict[str, Any] = field(default_factory=dict)


class RequestHandler:
    """Serves one run; `close` ends whatever is going on.

    Attributes:
        last_request: `time.monotonic` of the last request.
    """

    def __init__(self, name: str):
        self._name = name
        self._store = FileStore()
        self._worker = Worker()
        self._runner: tuple[Settings, TrialRunner] | None = None
        self._job: _Job | None = None
        self.last_request = time.monotonic()

    def ask(self, request: bytes) -> str:
        """Answer a pickled tuple of the name of a request and its arguments."""
        self.last_request = time.monotonic()
        try:
            name, *arguments = pickle.loads(request)
            requests: dict[str, Callable[..., dict[str, Any]]] = {
                "need": self._need,
                "start": self._start,
                "poll": self._poll,
                "cancel": self._cancel,
            }
            return dump(requests[name](*arguments))
        except Exception as error:  # noqa: BLE001 - the border: the other side gets the reason
            return dump(_fault(error))

    def put(self, data: bytes) -> str:
        """Store a piece of a file: `PIECE`, then its bytes."""
        self.last_request = time.monotonic()
        try:
            digest, offset, size = PIECE.unpack(data[: PIECE.size])
            self._store.put(digest.hex(), offset, size, data[PIECE.size :])
        except Exception as error:  # noqa: BLE001 - the border: the other side gets the reason
            return dump(_fault(error))
        return dump({})

    def close(self) -> None:
        """End the job and the children, and remove the files."""
        job = self._job
        if job is not None:
            job.stop.set()
            job.done.wait(_LONGEST_WAIT_S)
        if self._runner is not None:
            self._runner[1].close()
        self._worker.close()
        self._store.close()

    def _need(self, names: list[str]) -> dict[str, Any]:
        return {"missing": self._store.missing(names)}

    def _start(self, kind: str, *arguments: Any) -> dict[str, Any]:
        if self._job is not None:
            raise RuntimeError("it was given a job while it has one")
        jobs: dict[str, Callable[..., dict[str, Any]]] = {"describe": self._describe, "trial": self._trial, "call": self._call}
        function = jobs[kind]
        self._job = job = _Job()
        threading.Thread(target=_run_job, args=(job, function, arguments), daemon=True).start()
        return {"state": "running"}

    def _poll(self, wait_s: float) -> dict[str, Any]:
        """Return the answer of the job, which is then forgotten, or the state after at most `wait_s` seconds."""
        job = self._job
        if job is None:
            return {"state": "idle"}
        if not job.done.wait(min(wait_s, _LONGEST_WAIT_S)):
            return {"state": "running"}
        self._job = None
        return job.answer

    def _cancel(self) -> dict[str, Any]:
        if self._job is not None:
            self._job.stop.set()
        return {"state": "stopping"}

    def _describe(self, stop: Callable[[], bool]) -> dict[str, Any]:
        found = self._worker.call(describe, self._name, timeout_s=_DESCRIBE_S, should_stop=stop)
        return {"description": found}

    def _trial(self, stop: Callable[[], bool], settings: Settings, task_name: str) -> dict[str, Any]:
        task: TrialTask = pickle.loads(self._store.path(task_name).read_bytes())
        self._store.remove(task_name)
        given, wanted = ([self._here(file) for file in files] for files in (task.given, task.wanted))
        record = self._runner_for(settings).run(replace(task, given=given, wanted=wanted))
        return {"record": asdict(record)}

    def _here(self, file: ArrayFile) -> ArrayFile:
        """Return `file`, whose path is its SHA-256, with its path here."""
        return replace(file, path=self._store.path(file.path.name))

    def _runner_for(self, settings: Settings) -> TrialRunner:
        if self._runner is None or self._runner[0] != settings:
            if self._runner is not None:
                self._runner[1].close()
            runner = TrialRunner(
                settings.get_toolchain, settings.threads, settings.accuracy, settings.limits, self._is_stopped, settings.flushed_bytes
            )
            self._runner = settings, runner
        return self._runner[1]

    def _is_stopped(self) -> bool:
        return self._job is not None and self._job.stop.is_set()

    def _call(self, stop: Callable[[], bool], module: str, name: str, arguments: tuple[Any, ...], timeout_s: float) -> dict[str, Any]:
        return {"value": self._worker.call(by_name(module, name), *arguments, timeout_s=timeout_s, should_stop=stop)}


def describe(name: str) -> dict[str, Any]:
    """Describe this worker; runs in a child, and loads no toolchain's library."""
    toolchains = {toolchain.name: toolchain.availability() for toolchain in registry.all_toolchains()}
    return asdict(Description(name, __version__, machine_id(), _host(), usable_cores(), toolchains))


def _host() -> str:
    """Return a name that is the same for all processes of a computer until it starts again."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return os.uname().nodename


def _run_job(job: _Job, function: Callable[..., dict[str, Any]], arguments: tuple[Any, ...]) -> None:
    try:
        answer = function(job.stop.is_set, *arguments)
        dump(answer)
    except Cancelled:
        answer = {"state": "stopped"}
    except (CollageError, WorkerError) as error:
        answer = {"error": error_to_json(error)}
    except Exception as error:  # noqa: BLE001 - the border: the other side gets the reason
        answer = _fault(error)
    job.answer = answer
    job.done.set()


def _fault(error: Exception) -> dict[str, Any]:
    return {"fault": one_line(f"{type(error).__name__}: {error}")}
