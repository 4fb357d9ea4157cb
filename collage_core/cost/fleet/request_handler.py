"""The worker's side of a run: `answer` is the one function that runs submit to Dask's workers.

A request is the pickle of plain objects (whoever may submit may run anything there anyway), an answer is JSON. Trials and calls run in
isolated children, so nothing that a toolchain does ends the worker. No request raises: an error here is answered as a fault.
"""

from __future__ import annotations

import os
import pickle
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ...base.cores import usable_cores
from ...base.isolation.errors import WorkerError, by_name
from ...base.isolation.scratch import scratch_folder
from ...base.isolation.worker import Worker
from ...errors import Cancelled, CollageError
from ...toolchains import registry
from ...toolchains.reasons import one_line
from ...version import __version__
from ..database.records import machine_id
from ..measuring.trial import TrialRunner, TrialTask
from .protocol import Description, Settings, dump, error_to_json

TRIAL = "collage"
"""Resource of which a trial takes all that a worker has: one."""
_DESCRIBE_S = 60.0
_IDLE_S = 60.0
"""Children of a run that asks for nothing so long are ended."""

Stop = Callable[[], bool]


def resources() -> dict[str, float]:
    """Return what a worker announces to the scheduler: that it takes one trial at a time, and its kind of machine."""
    return {TRIAL: 1, machine_resource(machine_id()): 1}


def machine_resource(machine: str) -> str:
    """Return the resource that workers of this kind have."""
    return f"machine: {machine}"


def answer(request: bytes, files: Mapping[str, bytes]) -> bytes:
    """Answer a request of a run, as a task in a thread of a worker.

    Args:
        request: The pickle of its name, the run's id, and arguments.
        files: Path on the machine of the run → content.
    """
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_stopped() -> bool:
        """Return whether the run takes the request back, or is gone: Dask then cancels the task."""
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    return HANDLER.answer(request, files, str(worker.name), is_stopped).encode()


class _Run:
    """A run that this worker measures for, and its children."""

    def __init__(self) -> None:
        self.worker = Worker()
        self.settings: Settings | None = None
        self.trials: TrialRunner | None = None
        self.is_stopped: Stop = lambda: False
        self.last_request = time.monotonic()

    def runner(self, settings: Settings) -> TrialRunner:
        if self.settings != settings or self.trials is None:
            self.close()
            get_toolchain, threads, accuracy, limits = settings.get_toolchain, settings.threads, settings.accuracy, settings.limits
            self.trials = TrialRunner(get_toolchain, threads, accuracy, limits, lambda: self.is_stopped(), settings.flushed_bytes)
            self.settings = settings
        return self.trials

    def close(self) -> None:
        self.worker.close()
        if self.trials is not None:
            self.trials.close()
            self.trials = None


class RequestHandler:
    """Serves any number of runs; Dask's resources see to it that one trial or call runs at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[str, _Run] = {}
        self._timer: threading.Timer | None = None
        self._busy: _Run | None = None
        self._is_closed = False

    def answer(self, request: bytes, files: Mapping[str, bytes], name: str, is_stopped: Stop) -> str:
        """Answer one request, for the worker called `name`."""
        try:
            wanted, run_id, *arguments = pickle.loads(request)
            run = self._run(run_id)

            def is_over() -> bool:
                return is_stopped() or self._is_closed

            if wanted == "describe":
                found = run.worker.call(describe, name, timeout_s=_DESCRIBE_S, should_stop=is_over)
                return dump({"description": found})
            self._busy, run.is_stopped = run, is_over
            try:
                return dump(_ANSWERS[wanted](run, files, *arguments))
            finally:
                run.last_request, self._busy = time.monotonic(), None
        except Cancelled:
            return dump({"state": "stopped"})
        except (CollageError, WorkerError) as error:
            return dump({"error": error_to_json(error)})
        except Exception as error:  # noqa: BLE001 - the border: the other side gets the reason
            return dump({"fault": one_line(f"{type(error).__name__}: {error}")})

    def close(self) -> None:
        """End all children."""
        with self._lock:
            self._is_closed = True
            if self._timer is not None:
                self._timer.cancel()
            while self._runs:
                self._runs.popitem()[1].close()

    def _run(self, run_id: str) -> _Run:
        with self._lock:
            if self._is_closed:
                raise RuntimeError("this worker ends")
            run = self._runs.setdefault(run_id, _Run())
            run.last_request = time.monotonic()
            if self._timer is None:
                self._look_later()
            return run

    def _look_later(self) -> None:
        self._timer = threading.Timer(_IDLE_S, self._end_idle)
        self._timer.daemon = True
        self._timer.start()

    def _end_idle(self) -> None:
        with self._lock:
            for run_id, run in list(self._runs.items()):
                if run is not self._busy and time.monotonic() - run.last_request >= _IDLE_S:
                    self._runs.pop(run_id).close()
            self._timer = None
            if self._runs and not self._is_closed:
                self._look_later()


HANDLER = RequestHandler()
"""The one of this process."""


def _trial(run: _Run, files: Mapping[str, bytes], settings: Settings, task: TrialTask) -> dict[str, Any]:
    """Run a trial whose arrays are in `files`."""
    folder = scratch_folder()
    try:
        here = {name: folder / f"{index}.npy" for index, name in enumerate(files)}
        for name, path in here.items():
            path.write_bytes(files[name])
        given, wanted = ([replace(one, path=here[str(one.path)]) for one in arrays] for arrays in (task.given, task.wanted))
        return {"record": asdict(run.runner(settings).run(replace(task, given=given, wanted=wanted)))}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _call(run: _Run, files: object, module: str, name: str, arguments: tuple[Any, ...], timeout_s: float) -> dict[str, Any]:
    return {"value": run.worker.call(by_name(module, name), *arguments, timeout_s=timeout_s, should_stop=run.is_stopped)}


_ANSWERS: Mapping[str, Callable[..., dict[str, Any]]] = {"trial": _trial, "call": _call}


def describe(name: str) -> dict[str, Any]:
    """Describe this worker; runs in a child, and loads no toolchain's library."""
    toolchains = {toolchain.name: toolchain.availability() for toolchain in registry.all_toolchains()}
    return asdict(Description(name, __version__, machine_id(), _host(), usable_cores(), toolchains))


def _host() -> str:
    """Return a name that is the same for all processes of a computer until it starts again."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return os.uname().nodename
