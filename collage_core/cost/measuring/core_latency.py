"""The core-to-core latency probe: how long a number takes from one core to another and back, whose process answers as soon as it sees it.

The host of a virtual machine moves its cores about. Two that share a cache now may be on different sockets a second later: then a
kernel on both takes up to 2.4 times as long, though each core alone is as fast as ever (docs/measuring.md, "The noise filter").

The process on the other core sleeps between the probes.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from statistics import median

from ...base.isolation.environment import worker_environment
from .core_latency_peer import ANSWER, BYTES, COUNT, QUESTION, READY

_PEER = Path(__file__).with_name("core_latency_peer.py")
_MOST_LOOKS = 500_000
"""How often the answer is looked for at most, some 20 ms."""
_START_WAITS = 50
"""The peer process may take so many times as long to be ready."""
_MOST_LOST = 3
"""After so many probes without an answer there is no other: on a machine that is so busy the latency tells nothing."""


class CoreLatencyProbe:
    """Measures the latency between this thread's core and another one; its peer process starts with the first probe."""

    def __init__(self) -> None:
        self._peer: _Peer | None = None
        self._lost = 0

    def round_trip_s(self) -> float:
        """Return the median round-trip time between two cores in seconds; 0 where it cannot be measured."""
        cores = _two_cores()
        if cores is None or self._lost >= _MOST_LOST:
            return 0.0
        here, there = cores
        before = os.sched_getaffinity(0)
        try:
            self._peer = self._peer or _Peer(there)
            os.sched_setaffinity(0, {here})
            return self._peer.round_trip_s()
        except (OSError, TimeoutError):
            self._lost += 1
            self.close()
            return 0.0
        finally:
            os.sched_setaffinity(0, before)

    def close(self) -> None:
        """End the peer process."""
        peer, self._peer = self._peer, None  # first of all: Ctrl-C may come while the process ends, and this is called again
        if peer is not None:
            peer.close()


def _two_cores() -> tuple[int, int] | None:
    """Return two cores that this thread may use, where the system tells them apart."""
    if not hasattr(os, "sched_setaffinity") or not hasattr(os, "memfd_create"):
        return None
    cores = sorted(os.sched_getaffinity(0))
    return (cores[0], cores[1]) if len(cores) > 1 else None


class _Peer:
    """The process on the core `core`, the memory that both processes see, and the pipe that wakes it."""

    def __init__(self, core: int):
        shared = os.memfd_create("collage-core-latency")
        asleep, self._wake = os.pipe()
        try:
            os.ftruncate(shared, BYTES)
            self._memory = mmap.mmap(shared, BYTES)
            command = [sys.executable, "-I", "-S", str(_PEER), str(shared), str(asleep), str(core)]
            nowhere, environment = subprocess.DEVNULL, worker_environment(os.environ)
            self._process = subprocess.Popen(
                command, stdin=nowhere, stdout=nowhere, stderr=nowhere, pass_fds=(shared, asleep), env=environment
            )
        except OSError:
            os.close(self._wake)
            raise
        finally:
            os.close(shared)
            os.close(asleep)

    def round_trip_s(self) -> float:
        """Return the median seconds of some round trips. Raises TimeoutError where an answer does not come."""
        memory, clock = self._memory, time.perf_counter
        memory[QUESTION] = memory[ANSWER] = memory[READY] = 0
        os.write(self._wake, b"?")
        self._wait_until_ready()
        taken = []
        for number in range(1, COUNT + 1):
            asked = clock()
            memory[QUESTION] = number
            _wait_for(memory, ANSWER, number)
            taken.append(clock() - asked)
        return median(taken)

    def _wait_until_ready(self) -> None:
        """Wait for the process to wake, or to start the first time."""
        for _ in range(_START_WAITS):
            with suppress(TimeoutError):
                return _wait_for(self._memory, READY, 1)
            if self._process.poll() is not None:
                break
        raise TimeoutError

    def close(self) -> None:
        os.close(self._wake)
        self._process.kill()
        self._process.wait()
        self._memory.close()


def _wait_for(memory: mmap.mmap, offset: int, value: int) -> None:
    for _ in repeat(None, _MOST_LOOKS):
        if memory[offset] == value:
            return
    raise TimeoutError
