"""How far what was computed is from the reference: the one definition of right and wrong (design, "Right").

Enters: arrays that a plan or a candidate made, and those of the reference. Leaves: a number. Pure numpy, no model.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .base import Arrays, Model

FLOAT_ACCURACY = 1e-3
QUANTISED_ACCURACY = 2e-2


def default_accuracy(model: Model) -> float:
    """The largest relative error that is still right, unless the user says otherwise."""
    return QUANTISED_ACCURACY if model.is_quantised else FLOAT_ACCURACY


def relative_error(got: np.ndarray, want: np.ndarray) -> float:
    """The error of one tensor.

    Floats: max|got − want| / max|want|, absolute where `want` is all zeros; NaN and the infinities must be in the same
    places. Integers, booleans and strings: the share of elements that differ. Another shape or dtype is infinitely wrong.
    """
    if got.shape != want.shape or got.dtype != want.dtype:
        return math.inf
    if want.size == 0:
        return 0.0
    if not is_float(want.dtype):
        return float(np.mean(got != want))
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    return _float_error(got.astype(wide), want.astype(wide))


def worst_element(got: np.ndarray, want: np.ndarray) -> str:
    """Which element errs most, in words: "[0, 3] is 1.5, not 2.5"; or that the shape or the dtype is another."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"it is {got.dtype}{list(got.shape)}, not {want.dtype}{list(want.shape)}"
    if want.size == 0:
        return ""
    place = np.unravel_index(int(np.argmax(_wrongness(got, want))), want.shape)
    return f"{[int(index) for index in place]} is {_shown(got[place])}, not {_shown(want[place])}"


def _shown(value: Any) -> str:
    kind = np.asarray(value).dtype
    if kind.kind == "c":
        return f"{complex(value):.6g}"
    return f"{float(value):.6g}" if is_float(kind) else str(value)


def _wrongness(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """How wrong each element is: infinitely, where one of both is no finite number and the other is another."""
    if not is_float(want.dtype):
        return np.asarray(got != want)
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    got, want = got.astype(wide), want.astype(wide)
    is_same = (got == want) | (np.isnan(got) & np.isnan(want))
    is_finite = np.isfinite(got) & np.isfinite(want)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(is_same, 0.0, np.where(is_finite, np.abs(got - want), np.inf))


def output_errors(got: Arrays, want: Arrays) -> dict[str, float]:
    """The error of each output of `want`, by name; infinite where it is missing in `got`."""
    return {name: relative_error(got[name], wanted) if name in got else math.inf for name, wanted in want.items()}


def largest_error(got: Arrays, want: Arrays) -> float:
    """The largest error over all outputs of `want`: the one that counts."""
    return max(output_errors(got, want).values(), default=0.0)


def is_float(dtype: np.dtype) -> bool:
    """Whether `dtype` is a float, a complex, or one of the small floats that numpy knows by extension only."""
    return dtype.kind in "fc" or "float" in dtype.name


def _float_error(got: np.ndarray, want: np.ndarray) -> float:
    finite = np.isfinite(want)
    if not finite.all():
        if not np.array_equal(got[~finite], want[~finite], equal_nan=True):
            return math.inf
        got, want = got[finite], want[finite]
        if want.size == 0:
            return 0.0
    if not np.isfinite(got).all():
        return math.inf
    size = float(np.max(np.abs(want)))
    if size > 0:
        # Divided first, since the difference of two large numbers may be too large for a float.
        got, want = got / size, want / size
    return float(np.max(np.abs(got - want)))
