"""The echo: what it takes until a number that one core writes comes back from another, which answers as soon as it sees it.

The host of a virtual machine moves its cores about. Two that share a cache now may lie far apart a second later: then a kernel
on both takes up to 2.4 times as long, though each core alone is as fast as ever (docs/measuring.md, "What is thrown away").

The other core is that of a partner, a process of its own, which sleeps between the questions.
"""

from __future__ import annotations

import math
import mmap
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from statistics import median
from typing import TypeVar

from .core_latency_peer import ANSWER, BYTES, COUNT, QUESTION, READY
from .noise_filter import HIGH_LATENCY

T = TypeVar("T")

_PEER = Path(__file__).with_name("core_latency_peer.py")
_LOOKS = 500_000
"""How often is looked for an answer at most, some 20 ms."""
_STARTING = 50
"""So many times as long, the partner may take to be ready."""
_MOST_LOST = 3
"""So often without an answer, and nobody is asked any more: on a machine that is so busy an echo tells nothing."""


class CoreLatencyProbe:
    """This thread and a partner on another core; the partner starts with the first question."""

    def __init__(self) -> None:
        self._partner: _Partner | None = None
        self._lost = 0

    def seconds(self) -> float:
        """Of one echo, the median of some; 0 where there is one core alone, or none came."""
        cores = _two_cores()
        if cores is None or self._lost >= _MOST_LOST:
            return 0.0
        here, there = cores
        before = os.sched_getaffinity(0)
        try:
            self._partner = self._partner or _Partner(there)
            os.sched_setaffinity(0, {here})
            return self._partner.ask()
        except (OSError, TimeoutError):
            self._lost += 1
            self.close()
            return 0.0
        finally:
            os.sched_setaffinity(0, before)

    def close(self) -> None:
        """Let go of the partner."""
        if self._partner is not None:
            self._partner.close()
            self._partner = None


def rounds_at_low_latency(
    one_round: Callable[[], T], fewest: int, most: int, listen: Callable[[], float], lowest_core_latency_s: float = math.inf
) -> tuple[list[T], float]:
    """What rounds gave while the cores lay near each other: `fewest`, or as many as there were in `most` rounds.

    Args:
        listen: Seconds of an echo, now; 0 where nothing tells.
        lowest_core_latency_s: Of an echo while they lay as near as they can, where that is known.

    Returns:
        The rounds, and 0; where the cores never lay near, the rounds in which they lay least far, and how many times as long as
        it can an echo took meanwhile.
    """
    rounds: list[tuple[float, T]] = []
    near: list[T] = []
    after_s = listen()
    while len(near) < fewest and len(rounds) < most:
        before_s, made = after_s, one_round()
        after_s = listen()
        rounds.append((max(before_s, after_s), made))
        lowest_core_latency_s = min([lowest_core_latency_s, *(core_latency_s for core_latency_s, _ in rounds if core_latency_s)])
        near = _within(rounds, lowest_core_latency_s)
    least_s = min(core_latency_s for core_latency_s, _ in rounds)
    return (near, 0.0) if near else (_within(rounds, least_s), least_s / lowest_core_latency_s)


def _within(rounds: Sequence[tuple[float, T]], lowest_core_latency_s: float) -> list[T]:
    return [made for core_latency_s, made in rounds if core_latency_s <= (1 + HIGH_LATENCY) * lowest_core_latency_s]


def _two_cores() -> tuple[int, int] | None:
    """Where this system tells: two cores that this thread may use."""
    if not hasattr(os, "sched_setaffinity") or not hasattr(os, "memfd_create"):
        return None
    cores = sorted(os.sched_getaffinity(0))
    return (cores[0], cores[1]) if len(cores) > 1 else None


class _Partner:
    """The process on the core `core`, the memory that both see, and the pipe that wakes it."""

    def __init__(self, core: int):
        shared = os.memfd_create("collage-echo")
        asleep, self._wake = os.pipe()
        try:
            os.ftruncate(shared, BYTES)
            self._memory = mmap.mmap(shared, BYTES)
            command = [sys.executable, "-I", "-S", str(_PEER), str(shared), str(asleep), str(core)]
            nowhere = subprocess.DEVNULL
            self._process = subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, pass_fds=(shared, asleep))
        except OSError:
            os.close(self._wake)
            raise
        finally:
            os.close(shared)
            os.close(asleep)

    def ask(self) -> float:
        """Seconds of one echo. Raises TimeoutError where none comes."""
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
        """The first time it has to start."""
        for _ in range(_STARTING):
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


def _wait_for(memory: mmap.mmap, place: int, value: int) -> None:
    for _ in repeat(None, _LOOKS):
        if memory[place] == value:
            return
    raise TimeoutError
