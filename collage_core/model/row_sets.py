"""Outputs whose length depends on values, such as the boxes of a detector: compared as rows, and not element by element.

The number of boxes changes where a score lies near a threshold, so rounding alone changes it. Such outputs are sets of rows, and a box with
its score and label is one row. Arrays and a `RowSet` for each enter; an error for each leaves. Pure.

The error of a set of rows is the least e such that, of all rows, no larger a share than e has no partner within e. So a set is right
within an accuracy if all but that share of its rows are. Matching is greedy: the error may be overstated, and never understated.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_COMPARED = 200_000_000
"""Pairs of rows past which they are not matched: each costs some nanoseconds."""
TOLERANCES = (1e-4, 1e-3, 1e-2, 0.1, 1.0)
"""Rows find partners within the first of these, then those that are left within the next: a near row is not taken by a far one."""

_MATCHED, _ALONE = 0, 1


@dataclass(frozen=True, slots=True)
class RowSet:
    """How an output whose length depends on values is compared.

    Attributes:
        axis: The dimension whose size depends on values; an index along it is a row.
        is_ordered: Whether the operators define the order of rows: then rows of another order count as unmatched, but for equal ones.
        moves: How far rounding alone moves the set in the reference itself; an error is what goes beyond that.
        origin: The nodes that decided on its rows: outputs of one origin are columns of the same rows.
    """

    axis: int
    is_ordered: bool
    moves: float = 0.0
    origin: frozenset[str] = frozenset()


def row_errors(got: Mapping[str, Any], want: Mapping[str, Any], row_sets: Mapping[str, RowSet]) -> dict[str, float]:
    """Return the error of each output of `want` that `row_sets` names and that is a set of rows in both.

    Outputs of one origin that have as many rows in `want` are columns of the same rows, so all of them have one error.
    """
    groups: dict[tuple[frozenset[str], int], list[str]] = {}
    for name, rows in row_sets.items():
        if name in want and name in got and _has_rows(got[name], want[name], rows.axis):
            groups.setdefault((rows.origin, want[name].shape[rows.axis]), []).append(name)
    errors: dict[str, float] = {}
    for names in groups.values():
        columns = [(_rows_of(got[name], row_sets[name].axis), _rows_of(want[name], row_sets[name].axis)) for name in names]
        if len({len(made) for made, _ in columns}) > 1:
            error = math.inf
        else:
            error = _set_error(columns, is_ordered=all(row_sets[name].is_ordered for name in names))
        errors |= {name: max(0.0, error - row_sets[name].moves) for name in names}
    return errors


def _has_rows(got: Any, want: Any, axis: int) -> bool:
    """Return whether two values are tensors that differ in the number of their rows at most."""
    if not isinstance(got, np.ndarray) or not isinstance(want, np.ndarray) or got.dtype != want.dtype or got.ndim != want.ndim:
        return False
    return got.dtype.kind in "fiub" and axis < want.ndim and _without(got.shape, axis) == _without(want.shape, axis)


def _without(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _rows_of(array: np.ndarray, axis: int) -> np.ndarray:
    moved = np.moveaxis(array, axis, 0)
    return moved.reshape(len(moved), math.prod(moved.shape[1:]))


def _set_error(columns: Sequence[tuple[np.ndarray, np.ndarray]], *, is_ordered: bool) -> float:
    """Return the error of rows whose columns are given as (made, wanted) arrays."""
    got, want = _prepared(columns, _MATCHED), _prepared(columns, _ALONE)
    count = max(len(got.keys), len(want.keys))
    if count == 0:
        return 0.0
    pairs = _matched(got, want)
    if is_ordered:
        pairs = _in_order(pairs)
    apart = sorted(distance for _, _, distance in pairs)
    return min(max(within, (count - number) / count) for number, within in enumerate([0.0, *apart]))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows with their columns taken apart.

    Attributes:
        keys: Of each row what must be equal: its integers, and where its floats are NaN or infinite.
        values: Of each row its floats, each output divided by its largest magnitude in the reference.
    """

    keys: list[bytes]
    values: np.ndarray


def _prepared(columns: Sequence[tuple[np.ndarray, np.ndarray]], side: int) -> _Rows:
    count = len(columns[0][side])
    exact: list[np.ndarray] = []
    floats: list[np.ndarray] = [np.zeros((count, 0))]
    for pair in columns:
        values = pair[side]
        if values.dtype.kind != "f":
            exact.append(values)
            continue
        wanted = np.abs(pair[_ALONE].astype(np.float64))
        size = float(np.max(wanted, initial=0.0, where=np.isfinite(wanted))) or 1.0
        wide = values.astype(np.float64)
        exact.append(np.where(np.isnan(wide), 2, np.where(np.isinf(wide), np.sign(wide), 0)).astype(np.int8))
        floats.append(np.where(np.isfinite(wide), wide, 0.0) / size)
    keys = [b"".join(np.ascontiguousarray(part[row]).tobytes() for part in exact) for row in range(count)]
    return _Rows(keys, np.concatenate(floats, axis=1))


def _matched(got: _Rows, want: _Rows) -> list[tuple[int, int, float]]:
    """Return (wanted row, made row, distance) of partners. Equal rows are partners in their order, then near ones."""
    made: dict[bytes, list[int]] = {}
    for index, key in enumerate(got.keys):
        made.setdefault(key + got.values[index].tobytes(), []).append(index)
    pairs: list[tuple[int, int, float]] = []
    left: list[int] = []
    for queue in made.values():
        queue.reverse()
    for index, key in enumerate(want.keys):
        equal = made.get(key + want.values[index].tobytes())
        if equal:
            pairs.append((index, equal.pop(), 0.0))
        else:
            left.append(index)
    free: dict[bytes, list[int]] = {}
    for index in sorted(index for queue in made.values() for index in queue):
        free.setdefault(got.keys[index], []).append(index)
    wanted: dict[bytes, list[int]] = {}
    for index in left:
        wanted.setdefault(want.keys[index], []).append(index)
    if sum(len(rows) * len(free.get(key, ())) for key, rows in wanted.items()) <= MOST_COMPARED:
        for key, rows in wanted.items():
            pairs += _near(got.values, want.values, free.get(key, []), rows)
    return pairs


def _near(got: np.ndarray, want: np.ndarray, free: list[int], wanted: list[int]) -> Iterator[tuple[int, int, float]]:
    """Yield partners among rows of one key, each wanted row with the nearest made one that is still free."""
    for tolerance in TOLERANCES:
        left = []
        for index in wanted:
            if not free:
                return
            distances = np.max(np.abs(got[free] - want[index]), axis=1, initial=0.0)
            nearest = int(np.argmin(distances))
            if distances[nearest] > tolerance:
                left.append(index)
                continue
            yield index, free.pop(nearest), float(distances[nearest])
        wanted = left


def _in_order(pairs: Iterable[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
    """Return the most partners whose rows have the same order on both sides: a longest increasing subsequence."""
    listed = sorted(pairs)
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, made, _) in enumerate(listed):
        length = bisect_left(ends, made)
        ends[length : length + 1] = [made]
        last[length : length + 1] = [number]
        before.append(last[length - 1] if length else -1)
    kept = []
    number = last[-1] if last else -1
    while number >= 0:
        kept.append(listed[number])
        number = before[number]
    return kept[::-1]
