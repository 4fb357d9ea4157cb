"""The worker's side of a run: `Session` is what it keeps for the run, `answer` the one function that runs submit to Dask's workers.

A request is the pickle of plain objects (whoever may submit may run anything there anyway), an answer is JSON. Trials and calls run in
isolated children, so nothing that a toolchain does ends the worker. No request raises: an error here is answered as a fault.
"""

from __future__ import annotations

import pickle
import shutil
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from ...base.isolation.scratch import scratch_folder
from ...base.isolation.worker import Worker
from ...base.isolation.worker_errors import WorkerError, by_name
from ...errors import Cancelled, CollageError
from ...toolchains.border import one_line
from ..measuring.trial import TrialRunner, TrialTask
from .protocol import Settings, dump, error_to_json

Stop = Callable[[], bool]

_sessions: weakref.WeakSet[Session] = weakref.WeakSet()
_is_ending = threading.Event()


class Session:
    """The warm children that a worker has for one run: the result of a task of Dask's, on which all requests of the run depend.

    So Dask lets go of it when the run does, or its connection is over, and the children end with it.
    """

    def __init__(self, settings: Settings):
        self._stop = _Stop()
        self._calls = Worker(should_stop=self._stop)
        self._trials = TrialRunner(settings.get_toolchain, settings.threads, settings.accuracy, settings.limits, self._stop)
        self.close = weakref.finalize(self, _close, self._calls, self._trials)
        _sessions.add(self)

    def answer(self, request: bytes, files: Mapping[str, bytes], is_stopped: Stop) -> str:
        """Answer one request: the pickle of its name and its arguments, with the content of each file on the machine of the run."""
        self._stop.is_asked = is_stopped
        try:
            wanted, *arguments = pickle.loads(request)
            requests: dict[str, Callable[..., dict[str, Any]]] = {"trial": self._trial, "call": self._call}
            return dump(requests[wanted](files, *arguments))
        except Cancelled:
            return dump({"state": "stopped"})
        except (CollageError, WorkerError) as error:
            return dump({"error": error_to_json(error)})
        except Exception as error:  # noqa: BLE001 - the border: the other side gets the reason
            return dump({"fault": one_line(f"{type(error).__name__}: {error}")})

    def _trial(self, files: Mapping[str, bytes], task: TrialTask) -> dict[str, Any]:
        """Run a trial whose arrays are in `files`."""
        folder = scratch_folder()
        try:
            here = {name: folder / f"{index}.npy" for index, name in enumerate(files)}
            for name, path in here.items():
                path.write_bytes(files[name])
            return {"record": asdict(self._trials.run(task.with_files(here)))}
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _call(self, files: object, module: str, name: str, arguments: tuple[Any, ...], timeout_s: float) -> dict[str, Any]:
        return {"value": self._calls.call(by_name(module, name), *arguments, timeout_s=timeout_s)}


def answer(session: Session, request: bytes, files: Mapping[str, bytes]) -> bytes:
    """Answer a request of a run, as a task in a thread of a worker."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_stopped() -> bool:
        """Return whether the run takes the request back, or is gone (Dask then cancels the task), or this process ends."""
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled" or _is_ending.is_set()

    return session.answer(request, files, is_stopped).encode()


def end_sessions() -> None:
    """End what this process does for any run, once and for all."""
    _is_ending.set()
    for session in list(_sessions):
        session.close()


class _Stop:
    """Asks whether the request in progress shall stop. It is no method of the session, which would then outlive its last reference."""

    def __init__(self) -> None:
        self.is_asked: Stop = lambda: False

    def __call__(self) -> bool:
        return self.is_asked()


def _close(calls: Worker, trials: TrialRunner) -> None:
    calls.close()
    trials.close()
