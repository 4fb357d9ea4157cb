"""Measures roughly how fast this machine computes and copies; `roofline` uses it for toolchains that run here.

It takes a number of threads and gives two rates. They are measured in a fraction of a second, in a worker process,
because a BLAS reads its number of threads when it is loaded, and kept for the life of this process. They are no costs.

The matrix product runs on one core, and its rate is multiplied by the number of threads: on a busy machine the threads of a BLAS
wait for each other, and rates measured with them were off by 15 times.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np

from ...base.isolation.worker import Worker
from ...base.isolation.worker_errors import WorkerError
from ...errors import CollageError

_SIDE = 384
_COPY_BYTES = 64 << 20
_LONGEST_S = 0.15
_FEWEST = 3
_TIMEOUT_S = 60.0
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True, slots=True)
class MachineSpeed:
    """Operations per second of a float32 matrix product, and bytes per second, read and written, of a copy in memory."""

    operations_per_s: float
    bytes_per_s: float


@cache
def machine_speed(threads: int) -> MachineSpeed:
    """Return this machine's rates with `threads` threads; they are measured the first time.

    Raises:
        CollageError: no worker process can be started.
    """
    with Worker(environment=_ONE_THREAD) as worker:
        try:
            speed: MachineSpeed = worker.call(measure_speed, threads, timeout_s=_TIMEOUT_S)
        except WorkerError as error:
            hint = "try again, or use another source of costs with --costs"
            raise CollageError(f"this machine's speed cannot be measured: {error}", hint, "bad_costs") from error
    return speed


def measure_speed(threads: int) -> MachineSpeed:
    """Return, in the worker, where a product takes one core, the best rates of some runs."""
    left, right, made = np.ones((_SIDE, _SIDE), np.float32), np.ones((_SIDE, _SIDE), np.float32), np.empty((_SIDE, _SIDE), np.float32)
    product_s = _fastest_s(lambda: np.matmul(left, right, out=made))
    source, target = (np.ones(_COPY_BYTES, np.uint8) for _ in range(2))
    parts = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
    with ThreadPoolExecutor(threads) as pool:
        copy_s = _fastest_s(lambda: list(pool.map(lambda part: np.copyto(*part), parts)))
    return MachineSpeed(2.0 * _SIDE**3 / product_s * threads, 2.0 * _COPY_BYTES / copy_s)


def _fastest_s(run: Callable[[], object]) -> float:
    """Return the seconds of the fastest of as many runs as fit in the time, a few in any case."""
    run()
    fastest, runs, began = float("inf"), 0, time.perf_counter()
    while runs < _FEWEST or time.perf_counter() - began < _LONGEST_S:
        start = time.perf_counter()
        run()
        fastest, runs = min(fastest, time.perf_counter() - start), runs + 1
    return max(fastest, 1e-9)
