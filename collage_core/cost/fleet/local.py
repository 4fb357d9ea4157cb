"""`LocalFleet`: a scheduler and workers on this machine, for one run: ``--fleet local:2``, and tests."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import weakref
from contextlib import suppress
from pathlib import Path
from typing import IO

from ...base.isolation.environment import child_environment
from ...base.isolation.scratch import scratch_folder
from ...errors import CollageError
from .connection import Connection, connection
from .keys import make_keys

_START_S = 60.0
_END_S = 5.0


def local_fleet(count: int) -> LocalFleet:
    """Return the fleet of `count` workers that this process uses already, since bodies of a model share that of their run, or a new one."""
    fleet = _in_use.get(count)
    if fleet is None:
        fleet = _in_use[count] = LocalFleet(count)
    return fleet


class LocalFleet:
    """Processes with keys of their own, which nobody else has; they end with the last reference to this object, or with this process.

    Each worker has cores of its own where there are as many as workers.

    Attributes:
        connection: Where the scheduler is.
        processes: The scheduler, then the workers.
        shares_cores: There are fewer cores than workers.

    Raises:
        CollageError: they cannot be started.
    """

    def __init__(self, count: int):
        folder = scratch_folder()
        self.processes: list[subprocess.Popen[bytes]] = []
        weakref.finalize(self, _end, self.processes, folder)
        keys = folder / "keys"
        make_keys(keys)
        scheduler = self._start("scheduler", str(keys))
        assert scheduler.stdout is not None
        address = _first_line(scheduler.stdout)
        self.connection: Connection = connection(address, "address", keys)
        shares = _shares(count)
        self.shares_cores = shares[0] is None
        for index, cores in enumerate(shares, start=1):
            self._start("worker", str(keys), address, f"local-{index}", cores=cores)

    def _start(self, *arguments: str, cores: set[int] | None = None) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "collage_core.cost.fleet.nodes", *arguments]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True, env=child_environment())
        self.processes.append(process)
        if cores is not None and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(process.pid, cores)
        return process


_in_use: weakref.WeakValueDictionary[int, LocalFleet] = weakref.WeakValueDictionary()


def _end(processes: list[subprocess.Popen[bytes]], folder: Path) -> None:
    """End the processes, and remove their keys."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_S)
        process.kill()
        process.wait()
    shutil.rmtree(folder, ignore_errors=True)


def _shares(count: int) -> list[set[int] | None]:
    """Return the cores of each worker; None for all, where there are fewer cores than workers."""
    own = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    each = len(own) // count
    return [set(own[index * each : (index + 1) * each]) if each else None for index in range(count)]


def _first_line(output: IO[bytes]) -> str:
    is_there, _, _ = select.select([output], [], [], _START_S)
    if is_there and (line := output.readline().decode().strip()):
        return line
    message = "the scheduler of the embedded fleet did not start; its output stands above"
    raise CollageError(message, f"`{Path(sys.executable).name} -c 'import distributed'` must work here", "worker")
