"""The text with which ``onednn_calls.c`` makes a primitive again, in a kernel of TVM's: numbers in the order in which it reads them.

A layout is its form, its extents and, where they are given, its strides. Floats stand as the integers of their bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .onednn_library import PostOperation

MOST_AXES = 12
"""``MOST_AXES`` of ``library_calls.h``."""
NO_LAYOUT, CHOSEN, GIVEN = 0, 1, 2
KINDS = {"Conv": 0, "Gemm": 1, "MatMul": 2}


def chosen(shape: Sequence[int]) -> list[int]:
    """Return a layout that the primitive chooses."""
    return [CHOSEN, len(shape), *shape]


def given(shape: Sequence[int], strides: Sequence[int] | None = None) -> list[int]:
    """Return a layout whose elements are `strides` apart; in C's order unless given."""
    steps = strides or [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    return [GIVEN, len(shape), *shape, *steps]


def post_numbers(operations: Sequence[PostOperation]) -> list[int]:
    """Return how many post-operations there are and, of each, the algorithm and its two numbers; 0 for a sum."""
    return [len(operations), *(number for name, arguments in operations for number in _post(name, arguments))]


def _post(name: str, arguments: Sequence[Any]) -> Iterator[int]:
    if name == "sum":
        yield 0
        return
    algorithm, alpha, beta = arguments
    yield algorithm
    for value in (alpha, beta):
        yield int(np.float32(value.value).view(np.uint32))
