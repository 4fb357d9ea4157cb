"""The reference kernel: a small fixed computation whose time tells how fast a core is just now.

It takes some 25 microseconds, stays in the first cache and runs on one core. It notices a core that is slowed down (its clock, a
neighbour on the same physical core), and no other process that takes the core in turns: it is over before that one's turn comes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...graph.dataflow_graph import TensorType
from ...toolchains.buffers import aligned_empty

Clock = Callable[[], float]

_RUNS = 3
_PRODUCTS = 8
_SIDE = 48
"""Matrices of this side are too small for a second thread."""


def time_reference(clock: Clock) -> float:
    """Return the seconds of the fastest of a few runs, so that no interrupt counts."""
    _run()
    return min(_time_once(clock) for _ in range(_RUNS))


def _time_once(clock: Clock) -> float:
    start = clock()
    _run()
    return clock() - start


_LEFT, _RIGHT, _PRODUCT = (aligned_empty(TensorType((_SIDE, _SIDE), "float32")) for _ in range(3))
_LEFT[...], _RIGHT[...] = (np.linspace(low, 1, _SIDE * _SIDE).reshape(_SIDE, _SIDE) for low in (-1, 0))


def _run() -> None:
    for _ in range(_PRODUCTS):
        np.matmul(_LEFT, _RIGHT, out=_PRODUCT)
