"""A fleet on loopback for tests: a scheduler in a thread of the test, `collage worker` processes, and trials for them."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from collage_core.cost.fleet.connection import Connection, set_up_dask
from collage_core.cost.fleet.protocol import Description
from collage_core.cost.measuring.timing import TimingLimits
from collage_core.cost.measuring.trial import TrialLimits, TrialTask
from collage_core.cost.measuring.trial_worker import ArrayFile
from collage_core.model.probe import relu_model
from collage_core.toolchains.toolchain import Availability
from collage_core.version import __version__
from tests.helpers.paths import PLUGINS, ROOT

LIMITS = TrialLimits(timing=TimingLimits(warm_up_s=0.001, total_s=0.02, longest_s=1.0))
TOOLCHAINS = "collage_test_toolchains:Numpy,failing_toolchains:SegfaultsAtBuild,collage_test_toolchains:Slow"
TOOLCHAINS += ",fleet_functions:Waits,fleet_functions:EndsItsWorker,tuning_toolchains:Tunes"
PATIENCE_S = 60.0


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for a condition, not for a fixed time; fail where it does not come within a minute."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)


class Process:
    """A child with a log file, in a session of its own."""

    def __init__(self, command: list[str], log: Path, **environment: str):
        self.log = log
        with log.open("wb") as out:
            path = os.pathsep.join((str(PLUGINS), str(ROOT)))
            variables = {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", **environment}
            self.popen = subprocess.Popen(
                command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True, env=variables,
            )  # fmt: skip

    def said(self) -> str:
        return self.log.read_text()

    def family(self) -> list[psutil.Process]:
        """Return the process and all its descendants."""
        own = psutil.Process(self.popen.pid)
        return [own, *own.children(recursive=True)]

    def end(self, number: int = signal.SIGKILL) -> int:
        """Send a signal to the process alone, and wait for its end."""
        with suppress(ProcessLookupError):
            self.popen.send_signal(number)
        return self.popen.wait(PATIENCE_S)

    def clear(self) -> None:
        """Kill the process and all its descendants, whatever the test did."""
        with suppress(psutil.NoSuchProcess):
            family = self.family()
            self.end()
            for process in family:
                with suppress(psutil.NoSuchProcess):
                    process.kill()


class SchedulerThread:
    """A scheduler in a thread of this process, so that tests see what it knows.

    Args:
        silent_s: As `nodes.SILENT_S`.
        keys: Folder of keys; without, it goes without TLS.
    """

    def __init__(self, port: int, silent_s: float = 30.0, keys: Path | None = None):
        set_up_dask()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        at = Connection("tcp" if keys is None else "tls", "127.0.0.1", port, keys)
        self.scheduler: Any = self._do(self._start(at, silent_s))

    async def _start(self, at: Connection, silent_s: float) -> Any:
        from distributed import Scheduler

        return await Scheduler(
            host=at.host, port=at.port, protocol=at.scheme, security=at.security("scheduler"), dashboard=False,
            dashboard_address="127.0.0.1:0", worker_ttl=silent_s,
        )  # fmt: skip

    @property
    def names(self) -> set[str]:
        return {str(worker.name) for worker in list(self.scheduler.workers.values())}

    @property
    def is_idle(self) -> bool:
        return not any(worker.processing for worker in list(self.scheduler.workers.values()))

    def close(self) -> None:
        self._do(self.scheduler.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)


class Fleet:
    """A scheduler and the workers that a test starts; `close` ends all of them."""

    def __init__(self, folder: Path, *, silent_s: float = 30.0, keys: Path | None = None):
        self.folder = folder
        self.port = free_port()
        self.keys = keys
        self.address = f"{'tcp' if keys is None else 'tls'}://127.0.0.1:{self.port}"
        self.started: list[Process] = []
        self._silent_s = silent_s
        self.meeting: SchedulerThread | None = None

    def start_scheduler(self) -> None:
        self.meeting = SchedulerThread(self.port, self._silent_s, self.keys)

    def stop_scheduler(self) -> None:
        if self.meeting is not None:
            self.meeting.close()
            self.meeting = None

    def start_worker(
        self, name: str, toolchains: str = TOOLCHAINS, before: str = "pass", more: Sequence[str] = (), **environment: str
    ) -> Process:
        """Start a `collage worker`; `before` is what its process does first."""
        command = [sys.executable, "-c", f"from collage_core.cli.main import main; {before}; main()", "worker"]
        command += ["--scheduler", self.address, "--name", name, *(() if self.keys is None else ("--keys", str(self.keys))), *more]
        return self.start(command, name, COLLAGE_TOOLCHAINS=toolchains, COLLAGE_TEST_FOLDER=str(self.folder), **environment)

    def start(self, command: list[str], name: str, **environment: str) -> Process:
        process = Process(command, self.folder / f"{name}-{len(self.started)}.log", **environment)
        self.started.append(process)
        return process

    def scheduler(self) -> Any:
        assert self.meeting is not None
        return self.meeting.scheduler

    def await_workers(self, *names: str) -> None:
        """Wait until these workers have joined, no others are there, and none has anything to do."""
        meeting = self.meeting
        assert meeting is not None
        until(lambda: meeting.names == set(names) and meeting.is_idle, f"the workers {', '.join(names)}")

    def close(self) -> None:
        for process in self.started:
            process.clear()
        self.stop_scheduler()


class SampleTasks:
    """Trials of a small Relu, each on inputs of its own."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.model = relu_model(256)
        self.count = 0

    def task(self, target: str = "numpy") -> TrialTask:
        self.count += 1
        values = np.linspace(-self.count, 1, 256, dtype=np.float32).reshape(self.model.inputs[0].type.shape)
        given, wanted = self._file(values), self._file(np.maximum(values, 0))
        return TrialTask(target, self.model, [ArrayFile(self.model.inputs[0], given)], [ArrayFile(self.model.outputs[0], wanted)], None)

    def tasks(self, count: int, target: str = "numpy") -> list[TrialTask]:
        return [self.task(target) for _ in range(count)]

    def _file(self, values: np.ndarray) -> Path:
        path = self.folder / f"{len(list(self.folder.glob('*.npy')))}.npy"
        np.save(path, values)
        return path


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def description_of(
    name: str = "one", machine: str = "A, 2 cores", cores: int = 2, version: str = __version__, **toolchains: Any
) -> Description:
    """Return a description of a worker with these toolchains: name → availability, or the version of a usable one."""
    found = {target: item if isinstance(item, Availability) else Availability(True, version=item) for target, item in toolchains.items()}
    return Description(name, version, machine, name, cores, found)
