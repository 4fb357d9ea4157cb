"""A fleet on loopback for tests: TVM's tracker, `collage worker` processes, and trials for them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil

from collage_core.cost.fleet.tracker import Registered, TrackerConnection, TrackerLost
from collage_core.cost.measuring.timing import TimingLimits
from collage_core.cost.measuring.trial import TrialLimits, TrialTask
from collage_core.cost.measuring.trial_worker import ArrayFile
from collage_core.model.probe import relu_model
from tests.helpers.paths import PLUGINS, ROOT

LIMITS = TrialLimits(timing=TimingLimits(warm_up_s=0.001, total_s=0.02, longest_s=1.0))
TOOLCHAINS = "collage_test_toolchains:Numpy,failing_toolchains:SegfaultsAtBuild,collage_test_toolchains:Slow"
TOOLCHAINS += ",fleet_functions:Waits,fleet_functions:EndsItsSession,tuning_toolchains:Tunes"
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


class Fleet:
    """Trackers and workers that a test starts; `close` ends all of them."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.port = free_port()
        self.address = ("127.0.0.1", self.port)
        self.started: list[Process] = []

    def start_tracker(self) -> Process:
        command = [sys.executable, "-m", "tvm.exec.rpc_tracker", "--host", "127.0.0.1", "--port", str(self.port)]
        tracker = self.start([*command, "--port-end", str(self.port + 1)], "tracker")
        until(self.has_tracker, "the tracker")
        return tracker

    def start_worker(self, key: str, name: str, toolchains: str = TOOLCHAINS, **environment: str) -> Process:
        command = [sys.executable, "-c", "from collage_core.cli.main import main; main()", "worker"]
        command += ["--tracker", f"127.0.0.1:{self.port}", "--key", key, "--name", name]
        return self.start(command, name, COLLAGE_TOOLCHAINS=toolchains, COLLAGE_TEST_FOLDER=str(self.folder), **environment)

    def start(self, command: list[str], name: str, **environment: str) -> Process:
        process = Process(command, self.folder / f"{name}-{len(self.started)}.log", **environment)
        self.started.append(process)
        return process

    def has_tracker(self) -> bool:
        try:
            TrackerConnection(self.address).close()
        except TrackerLost:
            return False
        return True

    def registered(self, key: str) -> Registered:
        connection = TrackerConnection(self.address)
        try:
            return connection.summary(key)
        finally:
            connection.close()

    def await_free(self, key: str, count: int) -> None:
        until(lambda: self.registered(key).free == count, f"{count} free workers under {key}")

    def close(self) -> None:
        for process in self.started:
            process.clear()


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
